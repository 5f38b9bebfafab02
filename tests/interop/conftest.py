"""Fixtures of the tests beside Apache Kafka."""

from __future__ import annotations

import pytest

from support.java_kafka import make_archive, require_java
from support.processes import free_ports


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The class path of Apache Kafka; skips, or fails in CI, where it cannot be had."""
    found = require_java()
    make_archive(tmp_path_factory.mktemp("archive"), free_ports(1)[0])
    return found
