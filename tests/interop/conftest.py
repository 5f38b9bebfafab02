"""Fixtures of the tests beside Apache Kafka."""

from __future__ import annotations

import os

import pytest

from support import sampling
from support.java_kafka import make_archive, require_java
from support.processes import free_ports

SAMPLED = {
    "test_operator_asks_java.py": (0, "the operator beside Apache Kafka 4.2 and 4.3.1"),
    "test_update_voter_java.py": (1, "voters' endpoints corrected beside Apache Kafka"),
}
"""Many starts of Java: each told by every third seed of `make test` (the rest of its division), always by `make soak`, and when it is asked for."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = any(".py" in argument for argument in config.args)
    if asked or os.environ.get("QUORATE_SOAK"):
        return
    for name, (rest, what) in SAMPLED.items():
        mine = [item for item in items if item.path.name == name]
        told = sampling.run_seed() % 3 == rest
        if mine and not told:
            config.hook.pytest_deselected(items=mine)
            items[:] = [item for item in items if item not in mine]
        if mine:
            config.stash[sampling.ACCOUNT].append(f"{what}: {'told' if told else 'left out'}")


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The class path of Apache Kafka; skips, or fails in CI, where it cannot be had."""
    found = require_java()
    make_archive(tmp_path_factory.mktemp("archive"), free_ports(1)[0])
    return found
