"""A share group that is led and coordinated, its states too, by a broker of ours, then by one of Java's, then by ours
again: its members live on, what was accepted is given to nobody again, and both have the same logs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.protocol.messages import create_topics_request as create_q
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.share_group_describe_request import ShareGroupDescribeRequest
from interop.test_replicas_of_ours import BOTH, JAVAS, OURS, Mixed, mixed
from support.clients.share_members import STATES, Shared, ShareMember, ask_once, join
from support.nodes.processes import NodeProcess, eventually
from support.nodes.strangers import ask

__all__ = ["mixed"]

pytestmark = [pytest.mark.interop, pytest.mark.slow]

OFFSETS, TOPIC, PARTITIONS = "__consumer_offsets", "work", 2
SECONDS = 180.0
OF_JAVA = 50
"""Partitions: Java counts them when it starts, before there are any, and serves no other number then."""
GROUP = "d"
"""Of partition 0 of 1, and of 50."""


def create(broker: NodeProcess, name: str, partitions: int, **configs: str) -> Any:
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
    return answer.topics[0].topic_id


def configure(broker: NodeProcess) -> None:
    wanted = {"share.auto.offset.reset": "earliest", "share.session.timeout.ms": "60000"}
    configs = tuple(AlterableConfig(name=name, config_operation=0, value=value) for name, value in wanted.items())
    resource = AlterConfigsResource(resource_type=32, resource_name=GROUP, configs=configs)
    answer: Any = ask(broker, IncrementalAlterConfigsRequest(resources=(resource,)), 1)
    assert answer.responses[0].error_code == 0


def log_of(broker: NodeProcess, partition: str) -> bytes:
    (path,) = Path(broker.properties["log.dirs"]).glob(partition)
    return b"".join(segment.read_bytes() for segment in sorted(path.glob("*.log")))


def shown(broker: NodeProcess) -> Any:
    answer: Any = ask_once(broker, ShareGroupDescribeRequest(group_ids=(GROUP,)), 1)
    (group,) = answer.groups
    members = sorted(
        (each.member_id, each.member_epoch, sorted(sorted(one.partitions) for one in each.assignment.topic_partitions))
        for each in group.members
    )
    return group.error_code, group.group_state, group.group_epoch, group.assignment_epoch, members


class Hands:
    def __init__(self, mixed: Mixed) -> None:
        self.mixed, nodes = mixed, mixed.cluster.nodes
        self.ours, self.javas = nodes[OURS], nodes[JAVAS]
        create(self.ours, OFFSETS, 1, cleanup_policy="compact", min_insync_replicas="1")
        create(self.ours, STATES, OF_JAVA, min_insync_replicas="1")
        topic_id = create(self.ours, TOPIC, PARTITIONS)
        self.shared = Shared({OURS: self.ours, JAVAS: self.javas}, TOPIC, topic_id, GROUP)
        configure(self.ours)
        self.members = [ShareMember(self.shared, name) for name in ("a", "b")]
        self.written = 0

    def write(self, count: int) -> None:
        for index in range(PARTITIONS):
            self.shared.write(index, count)
        self.written += count

    def accept(self, *offsets: int) -> None:
        """These of each partition; the rest stays with who has it."""
        wanted = {(index, at) for index in range(PARTITIONS) for at in offsets}

        def done() -> bool:
            self.beat()
            for member in self.members:
                given = member.fetch()
                said = {
                    broker: {index: [(at, at) for at in places_of(spans) if (index, at) in wanted]
                             for index, spans in parts.items()}
                    for broker, parts in given.items()
                }  # fmt: skip
                member.accept(said)
            return wanted <= self.shared.accepted

        eventually(f"{offsets} are accepted", done, SECONDS)

    def beat(self) -> None:
        for member in self.members:
            member.beat()

    def lags(self) -> set[int]:
        return set(self.shared.lags().values())

    def are_alike(self) -> None:
        """Both brokers have the same bytes."""
        keys = [str(ShareKey(GROUP, self.shared.topic_id, index)) for index in range(PARTITIONS)]
        kept = {f"{STATES}-{partition_for(key, OF_JAVA)}" for key in keys}
        for name in (f"{OFFSETS}-0", *sorted(kept)):
            assert log_of(self.ours, name), name
            self.wait_for(f"both have {name}", partial(self._is_alike, name))

    def _is_alike(self, name: str) -> bool:
        return log_of(self.ours, name) == log_of(self.javas, name)

    def is_in_sync(self, name: str) -> bool:
        asked = MetadataRequest(topics=(MetadataRequestTopic(name=name),))
        parts = ask_once(self.shared.living[0], asked, 12).topics[0].partitions
        return bool(parts) and all({*each.isr_nodes} == BOTH for each in parts)

    def wait_for(self, what: str, holds: Callable[[], bool]) -> None:
        """Members live meanwhile."""

        def held() -> bool:
            self.beat()
            return holds()

        eventually(what, held, SECONDS)

    def close(self) -> None:
        """What members have in hand goes to others."""
        for member in self.members:
            member.close()


def places_of(spans: list[tuple[int, int]]) -> list[int]:
    return [at for first, last in spans for at in range(first, last + 1)]


def test_its_members_live_on_and_nothing_accepted_is_given_again(mixed: Mixed) -> None:
    """CGP-21, GRP-23: epochs, assignments and states mean the same to both."""
    hands = Hands(mixed)
    hands.write(10)
    join(hands.members, PARTITIONS)

    def is_whole(broker: NodeProcess) -> bool:
        hands.beat()
        code, state, epoch, assigned, members = shown(broker)
        whole = (code, state, assigned, len(members)) == (0, "Stable", epoch, 2)
        return whole and {each[1] for each in members} == {epoch}

    eventually("two members share", lambda: is_whole(hands.ours), SECONDS)
    before = shown(hands.ours)
    hands.accept(0, 1, 2, 3, 5)
    assert hands.lags() == {5}
    hands.are_alike()

    hands.ours.kill()
    hands.shared.away.add(OURS)
    hands.close()
    hands.beat()
    assert shown(hands.javas) == before
    hands.accept(4, 7)
    assert hands.lags() == {3}
    hands.ours.start()
    hands.wait_for("ours is ready", lambda: hands.ours.http("/readyz")[0] == 200)
    followed = (OFFSETS, STATES, TOPIC)
    hands.wait_for("ours follows", lambda: all(map(hands.is_in_sync, followed)))
    hands.shared.away.discard(OURS)
    hands.write(5)
    hands.are_alike()
    mixed.java[JAVAS].kill()
    hands.shared.away.add(JAVAS)
    hands.close()
    hands.beat()
    assert shown(hands.ours) == before
    hands.accept(*range(hands.written))
    assert hands.lags() == {0}
    hands.close()
