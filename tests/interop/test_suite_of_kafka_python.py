"""kafka-python's own integration tests, at a broker of ours: all of those that run at a broker which is there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support.clients.kafka_python_suite import suite_of_kafka_python
from support.nodes.processes import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(900)]

TESTS = ("test_admin_integration.py", "test_consumer_integration.py", "test_producer_integration.py")
"""The others start Apache Kafka brokers with TLS and SASL from files that the distribution has not."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """As its tests configure the broker that they start: node 0, an authorizer, four partitions."""
    settings = {
        "num.partitions": "4",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
        "group.min.session.timeout.ms": "500",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    made = Cluster(tmp_path / "cluster", controllers=1, brokers=1, extra=settings)
    (broker,) = made.broker_nodes
    broker.node_id = 0
    broker.properties |= {"node.id": "0", "advertised.listeners": broker.properties["listeners"]}
    with made as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120.0)
        yield cluster


def test_its_own_tests_pass(cluster: Cluster, tmp_path: Path) -> None:
    suite, told = suite_of_kafka_python(), tmp_path / "told.xml"
    settings = {
        "KAFKA_URI": f"kafka://{cluster.bootstrap_servers}",
        "KAFKA_VERSION": "4.3",
        "KAFKA_ROOT": str(tmp_path),
        "PYTHONPATH": str(suite),
    }
    options = ("-q", "--tb=short", "--show-capture=no", "-p", "no:cacheprovider", "--timeout=120", f"--junitxml={told}")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *options, *(f"test/integration/{each}" for each in TESTS)),
        env=os.environ | settings, cwd=suite, capture_output=True, text=True, timeout=800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
    (ran,) = ET.parse(told).getroot().iter("testsuite")
    assert int(ran.attrib["tests"]) - int(ran.attrib["skipped"]) >= 55, "what its tests skip, they do not show"
