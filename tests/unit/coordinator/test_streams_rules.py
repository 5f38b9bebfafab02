"""Rules of streams groups (KIP-1071) that a member meets when it is late, wrong or of another mind: which epochs are
believed, whose topology holds, which tasks there are, how many partitions its topics get.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from controller_runtime.coordinator.streams.members import MemberState, Owned, StreamsMember, Target
from controller_runtime.coordinator.streams.reconciliation import Course, reconciled
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from controller_runtime.protocol.messages.streams_group_describe_request import StreamsGroupDescribeRequest
from controller_runtime.protocol.messages.streams_group_heartbeat_request import (
    CopartitionGroup,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from support.groups.consumers import Members
from support.groups.coordinated import READ, codes, commit, topic_records

pytestmark = pytest.mark.unit

EIGHT = tuple(range(8))
READS = Subtopology(subtopology_id="0", source_topics=(READ,))
STALE_TOPOLOGY, MISSING_SOURCES, WRONG_PARTITIONS, MISSING_INTERNAL, _, DELAYED = range(6)


class Streamers(Members):
    def __init__(self) -> None:
        super().__init__()
        self.replay(FeatureLevelRecord(name="streams.version", feature_level=1))

    def come(self, member_id: str, *parts: Subtopology, epoch: int = 0, **more: Any) -> Any:
        """With a topology of this epoch."""
        told: dict[str, Any] = {
            "rebalance_timeout_ms": 10_000, "topology": Topology(epoch=epoch, subtopologies=parts or (READS,)),
            "process_id": member_id, **owns(),
        }  # fmt: skip
        return self.stream(member_id, 0, **(told | more))

    def stream(self, member_id: str, epoch: int, **more: Any) -> Any:
        told: dict[str, Any] = {"group_id": "s", "member_id": member_id, "member_epoch": epoch}
        return self.ask(StreamsGroupHeartbeatRequest(**(told | more)))

    def epoch(self) -> int:
        described: Any = self.ask(StreamsGroupDescribeRequest(group_ids=("s",)))
        found: int = described.groups[0].group_epoch
        return found


def owns(*indexes: int) -> dict[str, Any]:
    active = (TaskIds(subtopology_id="0", partitions=indexes),) if indexes else ()
    return {"active_tasks": active, "standby_tasks": (), "warmup_tasks": ()}


def statuses(answer: Any) -> list[int]:
    assert answer.error_code == ErrorCode.NONE, answer.error_message
    return [each.status_code for each in answer.status]


def tasks(answer: Any) -> tuple[int, ...]:
    return tuple(index for each in answer.active_tasks for index in each.partitions)


def shared() -> tuple[Streamers, tuple[int, ...]]:
    """Member a had all tasks at epoch 2, and has given up half of them: what it has at epoch 3."""
    world = Streamers()
    world.come("a")
    world.wait(3.1)
    assert tasks(world.stream("a", 1)) == EIGHT
    world.come("b")
    world.wait(1.1)
    world.stream("b", 2)
    kept = tasks(world.stream("a", 2, **owns(*EIGHT)))
    assert len(kept) == 4
    assert world.stream("a", 2, **owns(*kept)).member_epoch == 3
    return world, kept


def test_an_epoch_that_a_member_has_not_got_yet_is_refused() -> None:
    world, kept = shared()
    refused = world.stream("a", 4, **owns(*kept))
    assert refused.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert "has a greater member epoch (4) than the one known by the group coordinator (3)" in refused.error_message


def test_who_did_not_hear_of_his_new_epoch_goes_on_with_the_one_before() -> None:
    """If he has nothing but what is his: else he has missed more than an answer."""
    world, kept = shared()
    assert world.stream("a", 2, **owns(*kept)).member_epoch == 3
    assert world.stream("a", 2, **owns(*kept[:2])).member_epoch == 3
    refused = world.stream("a", 2, **owns(*EIGHT))
    assert refused.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert "has a smaller member epoch (2)" in refused.error_message
    assert world.stream("a", 2).error_code == ErrorCode.FENCED_MEMBER_EPOCH, "it does not say what it has"
    assert world.stream("a", 1, **owns(*kept)).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_tasks_that_are_not_in_the_topology_are_refused() -> None:
    world, kept = shared()
    refused = world.stream("a", 3, **owns(*kept, 8))
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.INVALID_REQUEST, "Task 8 for subtopology 0 is invalid. Number of tasks for this subtopology: 8",
    )  # fmt: skip
    other = {**owns(), "standby_tasks": (TaskIds(subtopology_id="9", partitions=(0,)),)}
    assert world.stream("a", 3, **other).error_message == "Subtopology 9 does not exist in the topology."
    assert world.stream("a", 3, **owns(*kept)).error_code == ErrorCode.NONE


def test_the_first_topology_holds_and_who_is_behind_is_told() -> None:
    world = Streamers()
    assert statuses(world.come("a", epoch=1)) == [DELAYED]
    other = Subtopology(subtopology_id="1", source_topics=(READ,))
    for epoch in (1, 2):
        refused = world.come("b", other, epoch=epoch)
        assert (refused.error_code, refused.error_message) == (
            ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.",
        )  # fmt: skip
    behind = world.come("b", other, epoch=0)
    assert statuses(behind)[0] == STALE_TOPOLOGY
    assert STALE_TOPOLOGY not in statuses(world.come("c", epoch=1))


def test_offsets_may_come_with_the_epoch_at_which_the_task_was_assigned() -> None:
    world, kept = shared()
    lost = next(each for each in EIGHT if each not in kept)
    assert codes(world.ask(commit({kept[0]: 5}, "a", 2, "s"), 9)) == {ErrorCode.NONE}
    assert codes(world.ask(commit({lost: 5}, "a", 2, "s"), 9)) == {ErrorCode.STALE_MEMBER_EPOCH}
    taken = tasks(world.stream("b", 3))
    assert lost in taken
    assert codes(world.ask(commit({lost: 5}, "b", 2, "s"), 9)) == {ErrorCode.STALE_MEMBER_EPOCH}
    assert codes(world.ask(commit({lost: 5}, "b", 3, "s"), 9)) == {ErrorCode.NONE}


def test_offsets_are_told_to_members_with_their_epoch() -> None:
    world, _ = shared()

    def asked(member_id: str | None, epoch: int) -> int:
        topics = (OffsetFetchRequestTopics(name=READ, partition_indexes=(0,)),)
        group = OffsetFetchRequestGroup(group_id="s", member_id=member_id, member_epoch=epoch, topics=topics)
        answer: Any = world.ask(OffsetFetchRequest(groups=(group,)), 9)
        code: int = answer.groups[0].error_code
        return code

    assert [asked("a", epoch) for epoch in (2, 3, 4)] == [
        ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH,
    ]  # fmt: skip
    assert (asked("z", 3), asked(None, -1)) == (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE)


def test_a_member_that_goes_leaves_its_tasks_to_the_others() -> None:
    world, kept = shared()
    world.stream("b", 3)
    before = world.epoch()
    assert world.stream("a", -1).member_epoch == -1
    assert world.epoch() == before + 1
    world.wait(1.1)
    assert tasks(world.stream("b", 3)) == EIGHT
    assert set(kept) < set(EIGHT)


def test_joined_topics_have_the_same_number_of_partitions() -> None:
    """A repartition topic gets that of the topic that it is joined with; what cannot be is told."""
    writes = Subtopology(subtopology_id="0", source_topics=("few",), repartition_sink_topics=("by-key",))

    def joins(partitions: int = 0) -> Subtopology:
        return Subtopology(
            subtopology_id="1",
            source_topics=(READ,),
            repartition_source_topics=(TopicInfo(name="by-key", partitions=partitions),),
            state_changelog_topics=(TopicInfo(name="joined"),),
            copartition_groups=(CopartitionGroup(source_topics=(0,), repartition_source_topics=(0,)),),
        )

    with three_partitions("few") as world:
        assert MISSING_INTERNAL in statuses(world.come("a", writes, joins()))
        assert {name: each.num_partitions for name, each in world.logs.to_make.items()} == {"by-key": 8, "joined": 8}
    with three_partitions("few") as world:
        assert WRONG_PARTITIONS in statuses(world.come("a", writes, joins(5)))
        assert not world.logs.to_make
    with three_partitions("few") as world:
        both = CopartitionGroup(source_topics=(0, 1))
        two = Subtopology(subtopology_id="0", source_topics=(READ, "few"), copartition_groups=(both,))
        assert WRONG_PARTITIONS in statuses(world.come("a", two))
    with three_partitions("few") as world:
        apart = Subtopology(
            subtopology_id="0", source_topics=(READ, "few"), state_changelog_topics=(TopicInfo(name="log"),)
        )
        world.come("a", apart)
        assert world.logs.to_make["log"].num_partitions == 8, "as many as it has tasks"


@contextmanager
def three_partitions(name: str) -> Iterator[Streamers]:
    world = Streamers()
    world.replay(*topic_records(name, 9, 3))
    yield world


@dataclass
class Elsewhere:
    """Implements `reconciliation.Holders`: subtopology 0's tasks that are active, and those at hand, by process."""

    active: dict[int, str] = field(default_factory=dict)
    passive: dict[int, str] = field(default_factory=dict)

    def is_active(self, subtopology: str, index: int) -> bool:
        return index in self.active

    def is_active_on(self, process_id: str, subtopology: str, index: int) -> bool:
        return self.active.get(index) == process_id

    def is_passive_on(self, process_id: str, subtopology: str, index: int) -> bool:
        return self.passive.get(index) == process_id


def test_a_process_has_a_task_once_in_whichever_role() -> None:
    member = StreamsMember("a", epoch=1, process_id="p")
    nothing, wanted = Target(), Target({"0": frozenset({0, 1})})

    def next_of(target: Target, holders: Elsewhere) -> tuple[MemberState, Owned]:
        found = reconciled(member, Course(2, target, nothing, holders))
        return found.state, found.assigned

    free = {"0": {0: 2}}
    both = {"0": {0: 2, 1: 2}}
    assert next_of(wanted, Elsewhere(active={1: "q"})) == (MemberState.UNRELEASED, Owned(free))
    assert next_of(wanted, Elsewhere(passive={1: "p"})) == (MemberState.UNRELEASED, Owned(free))
    assert next_of(wanted, Elsewhere(passive={1: "q"})) == (MemberState.STABLE, Owned(both))
    at_hand = Target(standby={"0": frozenset({0, 1})})
    one, two = Owned(standby={"0": frozenset({0})}), Owned(standby={"0": frozenset({0, 1})})
    assert next_of(at_hand, Elsewhere(active={1: "q"}, passive={0: "q"})) == (MemberState.STABLE, two)
    assert next_of(at_hand, Elsewhere(active={1: "p"})) == (MemberState.UNRELEASED, one)
    assert next_of(at_hand, Elsewhere(passive={1: "p"})) == (MemberState.UNRELEASED, one)


def test_nothing_new_is_got_before_the_old_is_given_up() -> None:
    has = Owned({"0": {0: 1, 1: 1}})
    member = StreamsMember("a", epoch=1, process_id="p", assigned=has)
    target = Target({"0": frozenset({1, 2})})
    held = Target({"0": frozenset({0, 1})})
    revoking = reconciled(member, Course(2, target, held, Elsewhere(active={0: "p", 1: "p"})))
    assert (revoking.state, revoking.epoch, revoking.assigned) == (MemberState.UNREVOKED, 1, Owned({"0": {1: 1}}))
    assert reconciled(revoking, Course(2, target, held, Elsewhere(active={0: "p", 1: "p"}))) is revoking
    assert reconciled(revoking, Course(2, target, None, Elsewhere(active={0: "p", 1: "p"}))) is revoking
    given_up = Target({"0": frozenset({1})})
    done = reconciled(revoking, Course(2, target, given_up, Elsewhere(active={1: "p"})))
    assert (done.state, done.epoch, done.assigned) == (MemberState.STABLE, 2, Owned({"0": {1: 1, 2: 2}}))
