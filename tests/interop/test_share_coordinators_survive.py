"""A share group whose partitions are led by one broker and kept by another: both are killed, of ours and of Java's, and
each record is accepted by a member, and given to nobody after that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.messages import create_topics_request as creates
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from support.apache_kafka.java_brokers import JavaBrokers
from support.clients.share_members import STATES, Shared, ShareMember, ask_once, group_coordinated_elsewhere, join
from support.nodes.processes import NodeProcess, eventually
from support.sampling import SOAK

pytestmark = [pytest.mark.interop, pytest.mark.slow]

OFFSETS, TOPIC, PARTITIONS = "__consumer_offsets", "work", 3
SECONDS = 180.0
JAVAS: Final = 13
ROUNDS: Final = 4 if SOAK else 1
SETTINGS = {
    "share.coordinator.state.topic.num.partitions": str(PARTITIONS),
    "offsets.topic.num.partitions": "1",
    "group.share.delivery.count.limit": "10",
}


class Brokers(JavaBrokers):
    """Three, of which some are ours."""

    def __init__(self, directory: Path, javas: tuple[int, ...]) -> None:
        super().__init__(directory, extra=SETTINGS)
        self._javas = javas
        for broker in javas:
            self.cluster.nodes[broker].properties.pop("quorate.http.listener")

    def boot(self, node_id: int) -> None:
        if node_id in self.controllers or node_id in self._javas:
            super().boot(node_id)
        else:
            self.cluster.nodes[node_id].start()

    def wait_until_started(self, broker: int) -> None:
        if broker in self._javas:
            super().wait_until_started(broker)
        else:
            node = self.cluster.nodes[broker]
            eventually(f"broker {broker} is ready", lambda: node.http("/readyz")[0] == 200, SECONDS)


def _create(broker: NodeProcess, name: str, partitions: int, brokers: tuple[int, ...]) -> Uuid:
    """Every broker has a replica; the first of partition n is the nth."""
    places = tuple(
        creates.CreatableReplicaAssignment(
            partition_index=index, broker_ids=tuple(brokers[(index + n) % len(brokers)] for n in range(len(brokers)))
        )
        for index in range(partitions)
    )
    configs = (creates.CreatableTopicConfig(name="min.insync.replicas", value="2"),)
    topic = creates.CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=places, configs=configs
    )
    made = ask_once(broker, creates.CreateTopicsRequest(timeout_ms=60_000, topics=(topic,)), 7)
    assert [each.error_code for each in made.topics] == [0], made
    found: Uuid = made.topics[0].topic_id
    return found


def _begins_early(broker: NodeProcess, group: str) -> None:
    config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    resource = AlterConfigsResource(resource_type=32, resource_name=group, configs=(config,))
    answer: Any = ask_once(broker, IncrementalAlterConfigsRequest(resources=(resource,)), 1)
    assert answer.responses[0].error_code == 0


class Story:
    def __init__(self, nodes: Brokers) -> None:
        self.nodes = nodes
        by_id = {node.node_id: node for node in nodes.cluster.broker_nodes}
        first = nodes.cluster.broker_nodes[0]
        _create(first, OFFSETS, 1, nodes.brokers)
        _create(first, STATES, PARTITIONS, nodes.brokers)
        self.shared = Shared(by_id, TOPIC, _create(first, TOPIC, PARTITIONS, nodes.brokers), "")
        preferred = {index: nodes.brokers[index % len(nodes.brokers)] for index in range(PARTITIONS)}
        self.shared.group = group_coordinated_elsewhere(self.shared.topic_id, preferred, preferred)
        _begins_early(first, self.shared.group)
        self.members = [ShareMember(self.shared, name) for name in ("a", "b")]
        self.written = 0

    def write(self, count: int) -> None:
        for index in range(PARTITIONS):
            self.shared.write(index, count)
        self.written += count

    def everything_is_accepted(self) -> None:
        def done() -> bool:
            for member in self.members:
                member.beat()
                member.accept(member.fetch())
            known = self.shared.accepted | self.shared.uncertain
            return len(known) >= self.written * PARTITIONS and set(self.shared.lags().values()) == {0}

        eventually("each record is accepted", done, SECONDS)
        places = {(index, offset) for index in range(PARTITIONS) for offset in range(self.written)}
        assert places <= self.shared.accepted | self.shared.uncertain

    def kill_with_records_in_hand(self, broker: int) -> None:
        """One member has said nothing yet of what it was given, the other one has."""
        self.write(10)
        given = []
        for member in self.members:
            given.append(member.fetch())
            self.write(10)
        self.members[0].accept(given[0])
        self.nodes.kill(broker)
        self.shared.away.add(broker)
        self.members[1].accept({leader: spans for leader, spans in given[1].items() if leader != broker})
        self.write(5)
        self.everything_is_accepted()
        self.nodes.boot(broker)
        self.nodes.wait_until_started(broker)
        for topic in (OFFSETS, STATES, TOPIC):
            self.nodes.wait_until_in_sync(topic)
        self.shared.away.discard(broker)

    def end(self) -> None:
        self.everything_is_accepted()
        for member in self.members:
            member.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("javas", [(), (JAVAS,)], ids=["ours", "one of Java's"])
def test_nothing_is_lost_and_nothing_given_again_when_leader_and_coordinator_are_killed(
    java: str, tmp_path: Path, javas: tuple[int, ...]
) -> None:
    """CGP-21: the coordinator of partition 0, then its leader; beside Java every broker, Java's first."""
    with Brokers(tmp_path, javas) as nodes:
        nodes.start()
        story = Story(nodes)
        join(story.members, PARTITIONS)
        story.write(20)
        story.everything_is_accepted()
        for _ in range(ROUNDS):
            story.kill_with_records_in_hand(JAVAS if javas else story.shared.coordinator(0))
            story.kill_with_records_in_hand(story.shared.leaders()[0])
            if javas:
                story.kill_with_records_in_hand(story.shared.coordinator(0))
        story.end()
        assert len(story.shared.accepted) > story.written, "most of it is known to be"
