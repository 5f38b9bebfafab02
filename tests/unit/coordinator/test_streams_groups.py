"""Streams groups (KIP-1071; CGP-23), told by requests: what the stories beside Apache Kafka cannot show without waiting
(those are in `tests/interop/test_differential_streams_groups.py`): time-outs, a coordinator that changes, what is asked
outside.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.coordinator import retention
from controller_runtime.coordinator.streams.java_order import Heap, hash_order
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.streams_group_describe_request import StreamsGroupDescribeRequest
from controller_runtime.protocol.messages.streams_group_heartbeat_request import (
    Endpoint,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from support.groups.consumers import Members
from support.groups.coordinated import READ, codes, commit, topic_records

pytestmark = pytest.mark.unit

COUNTS = TopicInfo(name="counts")
WITH_STATE = Subtopology(subtopology_id="0", source_topics=(READ,), state_changelog_topics=(COUNTS,))
EIGHT = tuple(range(8))


class Streamers(Members):
    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.replay(FeatureLevelRecord(name="streams.version", feature_level=1))

    def stream(self, member_id: str = "a", epoch: int = 0, **more: Any) -> Any:
        told: dict[str, Any] = {"group_id": "s", "member_id": member_id, "member_epoch": epoch}
        if epoch == 0:
            plain = Topology(subtopologies=(Subtopology(subtopology_id="0", source_topics=(READ,)),))
            told |= {
                "rebalance_timeout_ms": 10_000, "topology": plain, "active_tasks": (), "standby_tasks": (),
                "warmup_tasks": (), "process_id": member_id,
            }  # fmt: skip
        return self.ask(StreamsGroupHeartbeatRequest(**(told | more)))

    def shown(self) -> Any:
        return self.ask(StreamsGroupDescribeRequest(group_ids=("s",))).groups[0]


def assigned() -> Streamers:
    """Member a has all tasks, at epoch 2."""
    world = Streamers()
    world.stream()
    world.wait(3.1)
    assert tasks(world.stream("a", 1)) == EIGHT
    return world


def tasks(answer: Any) -> tuple[int, ...] | None:
    if answer.active_tasks is None:
        return None
    return tuple(index for each in answer.active_tasks for index in each.partitions)


def statuses(answer: Any) -> list[int]:
    return [each.status_code for each in answer.status]


def owns(*indexes: int) -> dict[str, Any]:
    active = (TaskIds(subtopology_id="0", partitions=indexes),) if indexes else ()
    return {"active_tasks": active, "standby_tasks": (), "warmup_tasks": ()}


def test_the_first_members_are_waited_for() -> None:
    world = Streamers()
    assert (world.stream().member_epoch, statuses(world.stream("b")), tasks(world.stream("a", 1))) == (1, [5], None)
    world.wait(2.9)
    assert world.shown().assignment_epoch == 1
    world.wait(0.2)
    assert world.shown().assignment_epoch == 3
    first, second = world.stream("a", 1), world.stream("b", 1)
    assert sorted((*(tasks(first) or ()), *(tasks(second) or ()))) == list(EIGHT)


def test_a_member_that_does_not_give_up_its_tasks_is_fenced() -> None:
    world = assigned()
    world.stream("b")
    world.wait(1.1)
    world.stream("b", 2)
    first = world.stream("a", 2, **owns(*EIGHT))
    assert (first.member_epoch, len(tasks(first) or ())) == (2, 4)
    assert tasks(world.stream("b", 3)) is None, "all are still at the other one"
    world.wait(10.1)
    assert world.stream("a", 2, **owns(*EIGHT)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    answer = world.stream("b", 3)
    assert (answer.error_code, tasks(answer)) == (0, EIGHT)


def test_a_session_ends_and_the_group_is_empty() -> None:
    world = assigned()
    world.wait(45.1)
    assert (world.shown().group_state, world.shown().members) == ("Empty", ())
    assert world.stream("a", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_another_coordinator_goes_on_with_the_same_members() -> None:
    before = assigned()
    world = Streamers(logs=before.moved().logs)
    world.now, world.wall = before.now, before.wall
    assert (world.shown().group_state, world.shown().members[0].member_epoch) == ("Stable", 2)
    assert tasks(world.stream("a", 2)) is None
    world.wait(45.1)
    assert world.shown().group_state == "Empty", "it has a session of its own"


def test_its_own_topics_are_asked_for_until_they_are_there() -> None:
    world = Streamers()
    world.logs.against = "Unauthorized to CREATE on topics counts."
    answer = world.stream(topology=Topology(subtopologies=(WITH_STATE,)))
    assert [(each.status_code, each.status_detail) for each in answer.status][-1] == (
        3, "Internal topics are missing: counts; Unauthorized to CREATE on topics counts.",
    )  # fmt: skip
    assert {name: each.num_partitions for name, each in world.logs.to_make.items()} == {"counts": 8}
    world.replay(*topic_records("counts", 9, 8))
    world.wait(3.1)
    answer = world.stream("a", 1)
    assert (statuses(answer), tasks(answer)) == ([], EIGHT)


def test_a_topic_of_its_name_with_other_partitions_is_told() -> None:
    world = Streamers()
    world.replay(*topic_records("counts", 9, 3))
    answer = world.stream(topology=Topology(subtopologies=(WITH_STATE,)))
    assert statuses(answer) == [5, 2]
    assert not world.logs.to_make


def chain(length: int) -> Topology:
    """Each subtopology writes what the one before it in the list reads."""
    return Topology(
        subtopologies=tuple(
            Subtopology(
                subtopology_id=str(at),
                source_topics=() if at else (READ,),
                repartition_sink_topics=(f"r{at + 1}",),
                repartition_source_topics=(TopicInfo(name=f"r{at}"),) if at else (),
            )
            for at in reversed(range(length))
        )
    )


def test_a_topology_that_is_too_large_for_one_step_is_refused() -> None:
    world = Streamers()
    refused = world.stream(topology=chain(334))
    assert refused.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert "names 1002 subtopologies" in refused.error_message
    assert world.shown().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.stream(topology=chain(333)).error_code == 0


def test_offsets_are_committed_by_who_has_the_task() -> None:
    world = assigned()
    ask = world.ask
    assert codes(ask(commit({0: 5}, "a", 2, "s"), 9)) == {ErrorCode.NONE}
    assert codes(ask(commit({0: 5}, "a", 2, "s"), 8)) == {ErrorCode.UNSUPPORTED_VERSION}
    assert codes(ask(commit({0: 5}, "a", 1, "s"), 9)) == {ErrorCode.STALE_MEMBER_EPOCH}, "it had no task then"
    assert codes(ask(commit({0: 5}, "a", 9, "s"), 9)) == {ErrorCode.STALE_MEMBER_EPOCH}
    assert codes(ask(commit({0: 5}, "z", 2, "s"), 9)) == {ErrorCode.UNKNOWN_MEMBER_ID}
    world.stream("a", -1)
    assert codes(ask(commit({0: 7}, group_id="s"), 9)) == {ErrorCode.NONE}
    assert world.committed("s") == {0: 7}
    assert [each.error_code for each in ask(DeleteGroupsRequest(groups_names=("s",))).results] == [0]
    assert world.committed("s") == {}


def test_a_group_without_offsets_or_members_is_forgotten() -> None:
    world = assigned()
    whole(retention.expire(world.partition("s"), world.now, world.wall))
    assert world.shown().group_state == "Stable"
    world.stream("a", -1)
    whole(retention.expire(world.partition("s"), world.now, world.wall))
    assert world.shown().error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_places_of_members_are_told_to_who_does_not_know_them() -> None:
    world = assigned()
    answer = world.stream("a", 0, user_endpoint=Endpoint(host="h", port=1))
    assert answer.endpoint_information_epoch == 1
    ((place, shown),) = ((each.user_endpoint, each.active_partitions) for each in answer.partitions_by_user_endpoint)
    assert (place.host, [(each.topic, each.partitions) for each in shown]) == ("h", [(READ, EIGHT)])
    assert world.stream("a", 2, endpoint_information_epoch=1).partitions_by_user_endpoint is None


def test_what_the_log_refuses_has_changed_nothing() -> None:
    world = Streamers()
    world.logs.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.stream().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.shown().error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_the_orders_of_java() -> None:
    """As Java's own `HashMap` and `PriorityQueue` give them."""
    assert hash_order(["m-9", "m-1", "b", "a", "abc"]) == ["m-1", "a", "b", "abc", "m-9"]
    heap = Heap("dacb", lambda _: 0.0)
    assert [heap.take() for _ in range(4)] == ["d", "b", "c", "a"]
