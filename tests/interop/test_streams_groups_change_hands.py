"""A streams group (KIP-1071) that is coordinated by a broker of ours, then by one of Java's, then by ours again: its
members live on with their tasks and standbys, and who joins at the one is known to the other.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.protocol.messages import metadata_request as metadata_q
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.streams_group_describe_request import StreamsGroupDescribeRequest
from controller_runtime.protocol.messages.streams_group_heartbeat_request import (
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from interop.test_consumer_groups_change_hands import GROUP, OFFSETS, PARTITIONS, READ, SECONDS, create
from interop.test_replicas_of_ours import BOTH, JAVAS, OURS, Mixed, described, isr, mixed, wait_until_serving
from support.nodes.processes import NodeProcess, eventually
from support.nodes.strangers import ask

__all__ = ["mixed"]

pytestmark = [pytest.mark.interop, pytest.mark.slow]

CHANGELOG = f"{GROUP}-counts-changelog"
COUNTS = Subtopology(
    subtopology_id="0",
    source_topics=(READ,),
    state_changelog_topics=(
        TopicInfo(name=CHANGELOG, topic_configs=(KeyValue(key="cleanup.policy", value="compact"),)),
    ),
)
SETTINGS = {
    "streams.initial.rebalance.delay.ms": "0",
    "streams.session.timeout.ms": "60000",
    "streams.num.standby.replicas": "1",
}
Tasks = tuple[TaskIds, ...]


class Streams:
    """The members of a group, wherever it is coordinated."""

    def __init__(self) -> None:
        self.epochs: dict[str, int] = {}
        self.active: dict[str, Tasks] = {}
        self.standby: dict[str, Tasks] = {}
        self.given: list[str] = []
        """Whom a coordinator told of tasks, in this order."""

    def beat(self, broker: NodeProcess, member: str) -> int:
        epoch = self.epochs.get(member, 0)
        told: dict[str, Any] = {}
        if epoch == 0:
            told = {
                "rebalance_timeout_ms": 60_000,
                "topology": Topology(epoch=0, subtopologies=(COUNTS,)),
                "process_id": f"process of {member}",
            }
        request = StreamsGroupHeartbeatRequest(
            group_id=GROUP, member_id=member, member_epoch=epoch, active_tasks=self.active.get(member, ()),
            standby_tasks=self.standby.get(member, ()), warmup_tasks=(), **told,
        )  # fmt: skip
        answer: Any = ask(broker, request, 0)
        if answer.error_code == 0:
            self.epochs[member] = answer.member_epoch
            if answer.active_tasks is not None:
                self.given.append(member)
                self.active[member] = owned(answer.active_tasks)
                self.standby[member] = owned(answer.standby_tasks)
        return int(answer.error_code)

    def are_known(self, broker: NodeProcess, *members: str) -> bool:
        return {self.beat(broker, member) for member in members} == {0}

    def is_stable(self, broker: NodeProcess, *members: str) -> bool:
        """Every partition is processed by one member, and its state kept by another one."""
        if not self.are_known(broker, *members):
            return False
        active = [index for member in members for index in indexes(self.active.get(member, ()))]
        standby = [index for member in members for index in indexes(self.standby.get(member, ()))]
        is_shared = sorted(active) == sorted(standby) == list(range(PARTITIONS))
        return is_shared and self.show(broker)[1] == "Stable"

    def show(self, broker: NodeProcess) -> Any:
        answer: Any = ask(broker, StreamsGroupDescribeRequest(group_ids=(GROUP,)), 0)
        (group,) = answer.groups
        members = sorted(
            (
                each.member_id,
                each.member_epoch,
                each.process_id,
                *shown(each.assignment),
                *shown(each.target_assignment),
            )
            for each in group.members
        )
        parts = [(each.subtopology_id, each.source_topics, named(each)) for each in group.topology.subtopologies]
        return group.error_code, group.group_state, group.group_epoch, group.assignment_epoch, parts, members


def owned(tasks: Any) -> Tasks:
    return tuple(TaskIds(subtopology_id=each.subtopology_id, partitions=each.partitions) for each in tasks)


def named(part: Any) -> list[str]:
    """Java's coordinator shows how many partitions a changelog has only after it has changed the assignment itself."""
    return [each.name for each in part.state_changelog_topics]


def indexes(tasks: Tasks) -> list[int]:
    return [index for each in tasks for index in each.partitions]


def shown(assignment: Any) -> tuple[list[int], ...]:
    parts = (assignment.active_tasks, assignment.standby_tasks, assignment.warmup_tasks)
    return tuple(sorted(index for each in part for index in each.partitions) for part in parts)


def configure(broker: NodeProcess) -> None:
    configs = tuple(AlterableConfig(name=name, config_operation=0, value=value) for name, value in SETTINGS.items())
    resource = AlterConfigsResource(resource_type=32, resource_name=GROUP, configs=configs)
    answer: Any = ask(broker, IncrementalAlterConfigsRequest(resources=(resource,)), 1)
    assert answer.responses[0].error_code == 0, answer


def is_made(broker: NodeProcess, name: str) -> bool:
    asked = metadata_q.MetadataRequest(topics=(metadata_q.MetadataRequestTopic(name=name),))
    answer: Any = ask(broker, asked, 12)
    return len(answer.topics[0].partitions) == PARTITIONS


def test_its_members_live_on_and_who_joins_at_the_one_is_known_to_the_other(mixed: Mixed) -> None:
    """CGP-23, GRP-23: epochs, topology, tasks and standbys mean the same to both."""
    ours, javas = mixed.cluster.nodes[OURS], mixed.cluster.nodes[JAVAS]
    create(ours, OFFSETS, 1, cleanup_policy="compact", min_insync_replicas="1")
    create(ours, READ, PARTITIONS)
    eventually("it is led", lambda: described(ours, READ) is not None and isr(ours, OFFSETS) == BOTH, SECONDS)
    configure(ours)
    group = Streams()
    eventually("two members share", lambda: group.is_stable(ours, "a", "b"), SECONDS)
    assert is_made(ours, CHANGELOG)
    before = group.show(ours)
    group.given.clear()

    ours.kill()
    eventually("Java coordinates", lambda: group.are_known(javas, "a", "b"), SECONDS)
    assert group.show(javas) == before
    assert group.given == [], "somebody was told of tasks anew"
    ours.start()
    wait_until_serving(ours)
    eventually("ours follows", lambda: isr(javas, OFFSETS) == BOTH, SECONDS)
    eventually("three members share", lambda: group.is_stable(javas, "a", "b", "c"), SECONDS)
    widened = group.show(javas)
    assert widened[2] > before[2], widened
    group.given.clear()

    mixed.java[JAVAS].kill()
    eventually("ours coordinates", lambda: group.are_known(ours, "a", "b", "c"), SECONDS)
    assert group.show(ours) == widened
    assert group.given == [], "somebody was told of tasks anew"
