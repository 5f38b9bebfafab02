"""Fixtures of the tests beside Apache Kafka."""

from __future__ import annotations

import os

import pytest

from support import sampling
from support.java_kafka import make_archive, require_java
from support.processes import free_ports

SAMPLED = "test_operator_asks_java.py"
"""Nine starts of Java: told by every third seed of `make test`, always by `make soak`, and when it is asked for."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mine = [item for item in items if item.path.name == SAMPLED]
    asked = any(".py" in argument for argument in config.args)
    if not mine or asked or os.environ.get("QUORATE_SOAK"):
        return
    told = sampling.run_seed() % 3 == 0
    if not told:
        config.hook.pytest_deselected(items=mine)
        items[:] = [item for item in items if item not in mine]
    config.stash[sampling.ACCOUNT].append(
        f"the operator beside Apache Kafka 4.2 and 4.3.1: {'told' if told else 'left out'}"
    )


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The class path of Apache Kafka; skips, or fails in CI, where it cannot be had."""
    found = require_java()
    make_archive(tmp_path_factory.mktemp("archive"), free_ports(1)[0])
    return found
