"""Fixtures of the tests beside Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.differential import Pair
from support.java_kafka import make_archive, require_java
from support.node_pairs import pair_of_nodes
from support.processes import free_ports
from support.sampling import Sometimes, leave_out

SAMPLED = (
    Sometimes("test_operator_asks_java.py", "the operator beside Apache Kafka 4.2 and 4.3.1", 3, 0),
    Sometimes("test_update_voter_java.py", "voters' endpoints corrected beside Apache Kafka", 3, 1),
    Sometimes("test_snapshots_java.py", "snapshots that observers fetch from the other kind, disks taken over", 2, 0),
    Sometimes("test_mixed_snapshots.py", "voters that live from the other kind's snapshots", 2, 1),
)
"""Many starts of Java, each half a minute and more. Of two that resemble each other every run tells one."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out(config, items, SAMPLED)


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The class path of Apache Kafka; skips, or fails in CI, where it cannot be had."""
    found, ports = require_java(), free_ports(2)
    make_archive(tmp_path_factory.mktemp("archive"), (ports[0], ports[1]))
    return found


@pytest.fixture(scope="session")
def pair(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A Java node and one of ours, in both roles, for the differential tests of all files: what one side is told, the
    other is told, too.
    """
    with pair_of_nodes(tmp_path_factory.mktemp("pair")) as made:
        yield made
