"""A group of the consumer protocol whose coordinator is a broker of ours, then one of Java's, then ours again: its
members live on, and nobody is assigned anything anew.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.messages import create_topics_request as create_q
from controller_runtime.protocol.messages import metadata_request as metadata_q
from controller_runtime.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from interop.test_replicas_of_ours import BOTH, JAVAS, OURS, Mixed, described, isr, mixed, wait_until_serving
from support.nodes.processes import NodeProcess, eventually
from support.nodes.strangers import ask

__all__ = ["mixed"]

pytestmark = [pytest.mark.interop, pytest.mark.slow]

OFFSETS, READ, PARTITIONS = "__consumer_offsets", "orders", 4
SECONDS = 120.0
GROUP = "d"
"""Of partition 0 of 1, and of 50: Java counts the partitions when it starts, before there are any."""


def create(broker: NodeProcess, name: str, partitions: int, **configs: str) -> None:
    places = tuple(
        create_q.CreatableReplicaAssignment(partition_index=index, broker_ids=(OURS, JAVAS))
        for index in range(partitions)
    )
    wanted = tuple(
        create_q.CreatableTopicConfig(name=key.replace("_", "."), value=text) for key, text in configs.items()
    )
    topic = create_q.CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=places, configs=wanted
    )
    answer: Any = ask(broker, create_q.CreateTopicsRequest(timeout_ms=60_000, topics=(topic,)), 7)
    assert [one.error_code for one in answer.topics] == [0], answer


class Group:
    """Its members, wherever it is coordinated."""

    def __init__(self, topic_id: Uuid) -> None:
        self.topic_id = topic_id
        self.has: dict[str, tuple[int, ...]] = {}
        self.epochs: dict[str, int] = {}

    def beat(self, broker: NodeProcess, member: str) -> int:
        epoch = self.epochs.get(member, 0)
        told: dict[str, Any] = {}
        if epoch == 0:
            told = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": (READ,)}
        owned = (TopicPartitions(topic_id=self.topic_id, partitions=self.has[member]),) if self.has.get(member) else ()
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=member, member_epoch=epoch, topic_partitions=owned, **told
        )
        answer: Any = ask(broker, request, 1)
        if answer.error_code == 0:
            self.epochs[member] = answer.member_epoch
            if answer.assignment is not None:
                found = [index for topic in answer.assignment.topic_partitions for index in topic.partitions]
                self.has[member] = tuple(sorted(found))
        return int(answer.error_code)

    def show(self, broker: NodeProcess) -> Any:
        answer: Any = ask(broker, ConsumerGroupDescribeRequest(group_ids=(GROUP,)), 1)
        (group,) = answer.groups
        members = sorted(
            (
                each.member_id,
                each.member_epoch,
                [sorted(topic.partitions) for topic in each.assignment.topic_partitions],
                [sorted(topic.partitions) for topic in each.target_assignment.topic_partitions],
            )
            for each in group.members
        )
        return (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch, members)


def test_its_members_live_on(mixed: Mixed) -> None:
    """CGP-20, GRP-23: epochs, assignments and the hash of the metadata mean the same to both."""
    cluster = mixed.cluster
    ours, javas = cluster.nodes[OURS], cluster.nodes[JAVAS]
    create(ours, OFFSETS, 1, cleanup_policy="compact", min_insync_replicas="1")
    create(ours, READ, PARTITIONS)
    eventually("it is led", lambda: described(ours, READ) is not None and isr(ours, OFFSETS) == BOTH, SECONDS)
    asked: Any = ask(ours, metadata_q.MetadataRequest(topics=(metadata_q.MetadataRequestTopic(name=READ),)), 12)
    group = Group(asked.topics[0].topic_id)

    def is_stable(broker: NodeProcess) -> bool:
        codes = {group.beat(broker, member) for member in ("a", "b")}
        return codes == {0} and sorted(map(len, group.has.values())) == [2, 2]

    eventually("two members share", lambda: is_stable(ours), SECONDS)
    eventually("they have said so", lambda: is_stable(ours) and group.show(ours)[1] == "Stable", SECONDS)
    before = group.show(ours)
    ours.kill()
    eventually("Java coordinates", lambda: group.beat(javas, "a") == 0 and group.beat(javas, "b") == 0, SECONDS)
    assert group.show(javas) == before
    ours.start()
    wait_until_serving(ours)
    eventually("ours follows", lambda: isr(javas, OFFSETS) == BOTH, SECONDS)
    assert is_stable(javas)
    mixed.java[JAVAS].kill()
    eventually("ours coordinates", lambda: group.beat(ours, "a") == 0 and group.beat(ours, "b") == 0, SECONDS)
    assert group.show(ours) == before
