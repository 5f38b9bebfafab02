"""Three brokers of Apache Kafka replicate a partition under our controller: INT-01, REP-07, REP-08, REP-09, REP-12.

Each is killed in turn under a client that demands every acknowledgement; before the next one goes the killed one has to
be in sync again. Then Apache Kafka's own tools move the partition and give it its preferred leader.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from controller_runtime.admin.client import AdminClient as QuorateAdmin
from controller_runtime.admin.results import PartitionDescription, TopicDescription
from support.apache_kafka.java_kafka import JavaNode, ToolResult, require_java, run_tool
from support.clients.acknowledged_writer import TOPIC, Writer, everything
from support.nodes.processes import Cluster, eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

BROKERS = (11, 12, 13)
SECONDS = 180.0


class Brokers:
    """Apache Kafka's, under one controller of ours."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.running: dict[int, JavaNode] = {}

    def boot(self, broker: int) -> None:
        node = self.cluster.nodes[broker]
        self.running[broker] = JavaNode(node.properties_file, node.directory / "java.log")

    def partition(self) -> PartitionDescription | None:
        async def ask() -> PartitionDescription | None:
            async with QuorateAdmin(bootstrap_servers=self.cluster.bootstrap_servers, timeout_seconds=10) as admin:
                topic = (await admin.describe_topics([TOPIC]))[TOPIC]
            return topic.partitions[0] if isinstance(topic, TopicDescription) else None

        return asyncio.run(ask())

    def wait_for(self, what: str, seen: Callable[[PartitionDescription], bool]) -> None:
        eventually(what, lambda: (found := self.partition()) is not None and seen(found), SECONDS)

    def tool(self, name: str, *arguments: str) -> ToolResult:
        done = run_tool(name, "--bootstrap-server", self.cluster.bootstrap_servers, *arguments, timeout_s=SECONDS)
        assert done.rc == 0, done
        return done


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Brokers]:
    require_java()
    with Cluster(tmp_path, controllers=1, brokers=len(BROKERS)) as cluster:
        made = Brokers(cluster)
        try:
            cluster.format()
            cluster.nodes[1].start()
            cluster.wait_for_leader(seconds=SECONDS)
            for broker in BROKERS:
                made.boot(broker)
            for broker in BROKERS:
                made.running[broker].wait_for_log("Transition from STARTING to STARTED", SECONDS)
            yield made
        finally:
            for node in made.running.values():
                node.kill()


@pytest.mark.timeout(900)
def test_killed_brokers_come_back_in_sync_and_nothing_acknowledged_is_lost(brokers: Brokers, tmp_path: Path) -> None:
    servers = brokers.cluster.bootstrap_servers
    topic = NewTopic(TOPIC, 1, 3, config={"min.insync.replicas": "2"})
    admin = AdminClient({"bootstrap.servers": servers})  # a name of its own: its requests end with it
    admin.create_topics([topic])[TOPIC].result(60)
    writer = Writer(servers)
    try:
        for broker in BROKERS:
            brokers.wait_for("all three are in sync", lambda it: len(it.isr) == 3)
            brokers.running[broker].kill()
            writer.wait_for_more(20)
            brokers.boot(broker)
        brokers.wait_for("all three are in sync again", lambda it: len(it.isr) == 3)
        assert reassigned(brokers, tmp_path, 13, 12)
        brokers.wait_for("it has moved", lambda it: it.replicas == (13, 12) and set(it.isr) == {13, 12})
        brokers.tool("kafka-leader-election", "--election-type", "preferred", "--topic", TOPIC, "--partition", "0")
        brokers.wait_for("the preferred one leads", lambda it: it.leader == 13)
        writer.wait_for_more(20)
    finally:
        acknowledged = writer.stop()
    assert set(acknowledged) - everything(servers, len(acknowledged)) == set()


def reassigned(brokers: Brokers, directory: Path, *replicas: int) -> bool:
    wanted = directory / "reassignment.json"
    partition = {"topic": TOPIC, "partition": 0, "replicas": replicas}
    wanted.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    brokers.tool("kafka-reassign-partitions", "--reassignment-json-file", str(wanted), "--execute")

    def complete() -> bool:
        verified = brokers.tool("kafka-reassign-partitions", "--reassignment-json-file", str(wanted), "--verify")
        return "is completed" in verified.out

    return eventually("the reassignment is complete", complete, SECONDS)
