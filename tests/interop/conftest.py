"""Fixtures of the tests beside Apache Kafka."""

from __future__ import annotations

import pytest

from support.java_kafka import require_java


@pytest.fixture(scope="session")
def java() -> str:
    """The class path of Apache Kafka; skips, or fails in CI, where it cannot be had."""
    return require_java()
