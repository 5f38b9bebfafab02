"""Fixtures of the tests beside Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.apache_kafka.differential import Pair
from support.apache_kafka.java_kafka import make_archive, require_java
from support.apache_kafka.node_pairs import GUARDED, KEEPING, pair_of_nodes
from support.nodes.processes import free_ports
from support.sampling import Sometimes, leave_out

SAMPLED = (
    Sometimes("test_operator_asks_java.py", "the operator beside Apache Kafka 4.2 and 4.3.1", 3, 0),
    Sometimes("test_update_voter_java.py", "voters' endpoints corrected beside Apache Kafka", 3, 1),
    Sometimes("test_java_brokers_survive.py", "Apache Kafka's brokers and our controllers, killed in turn", 3, 0),
    Sometimes("test_java_brokers_coordinate.py", "transactions and groups of Apache Kafka's brokers", 3, 1),
    Sometimes("test_java_brokers_change.py", "directories, replicas and levels of Java's brokers change", 3, 1),
    Sometimes("test_java_brokers_stream.py", "a streams group of Apache Kafka's library and broker", 3, 2),
    Sometimes("test_live_migration.py", "controllers of Apache Kafka replaced by ours and back, by the runbook", 3, 2),
    Sometimes("test_tools_beside_java.py", "the tools beside Java's, answer for answer", 3, 2),
    Sometimes("test_security_tools_java.py", "Java's tools for ACLs, quotas, SCRAM and tokens beside ours", 3, 0),
    Sometimes("test_java_broker_enforces.py", "a broker of Java enforces what our controllers keep", 3, 1),
    Sometimes("test_snapshots_java.py", "snapshots that observers fetch from the other kind, disks taken over", 2, 0),
    Sometimes("test_mixed_snapshots.py", "voters that live from the other kind's snapshots", 2, 1),
)
"""Many starts of Java, each half a minute and more. Of those that resemble each other every run tells one."""


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


@pytest.fixture(scope="session")
def guarded_pair(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """As `pair`, of a Java node that has an authorizer, and of one of ours that keeps ACLs."""
    with pair_of_nodes(tmp_path_factory.mktemp("guarded"), GUARDED, KEEPING) as made:
        yield made
