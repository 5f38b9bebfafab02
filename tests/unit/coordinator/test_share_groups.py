"""Share groups (KIP-932), told by requests: what their members are told, what is written, what share coordinators are
asked for. The same stories beside Apache Kafka are in `tests/interop/test_differential_share_groups.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.coordinator import retention
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_share_group_offsets_request as alters
from controller_runtime.protocol.messages import delete_share_group_offsets_request as deletes
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from support.groups.consumers import ORDERS, indexes
from support.groups.coordinated import READ, topic_records
from support.groups.sharers import Sharers

pytestmark = pytest.mark.unit

EIGHT = list(range(8))


def assigned() -> Sharers:
    """Member a has all of its topic."""
    world = Sharers()
    world.share()
    world.settle()
    world.wait(1.1)
    world.share("a", 2)
    return world


@pytest.mark.parametrize(
    ("told", "error", "words"),
    [
        ({"member_id": ""}, 42, None),
        ({"member_id": "\t"}, 42, "MemberId can't be empty."),
        ({"group_id": " "}, 42, "GroupId can't be empty."),
        ({"rack_id": ""}, 42, "RackId can't be empty."),
        ({"subscribed_topic_names": ()}, 42, "SubscribedTopicNames must be set in first request."),
        ({"epoch": -2}, 42, "MemberEpoch is invalid."),
        ({"epoch": 5}, 69, "Share group s not found."),
        ({"epoch": -1}, 69, "Group s not found."),
    ],
)
def test_what_is_wrong_with_a_request(told: dict[str, Any], error: int, words: str | None) -> None:
    world = Sharers()
    answer = world.share(**told)
    assert (answer.error_code, answer.error_message) == (error, words)
    assert not world.logs.logs, "nothing is written"


def test_a_partition_is_assigned_when_its_state_is_initialized() -> None:
    world = Sharers()
    first = world.share()
    assert (first.error_code, first.member_epoch, first.heartbeat_interval_ms, indexes(first)) == (0, 2, 5_000, [])
    assert world.written() == ["10", "11", "13", "12", "14", "15"]
    assert world.wanted() == [{READ: EIGHT}]
    world.share("a", 2)
    assert world.wanted() == [], "it is asked for"
    world.wait(30.1)
    world.share("a", 2)
    world.settle()
    assert world.written() == ["10", "11", "13", "12", "14", "15", "15", "15"], "asked for once more, and done"
    second = world.share("a", 2)
    assert (second.member_epoch, indexes(second)) == (3, EIGHT)


def test_what_share_coordinators_refuse_is_asked_for_with_the_next_heartbeat() -> None:
    world = Sharers()
    world.share()
    world.settle(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert indexes(world.share("a", 2, subscribed_topic_names=(READ,))) == []
    assert world.wanted() == [{READ: EIGHT}]


def test_new_partitions_are_initialized_and_assigned() -> None:
    world = assigned()
    world.replay(*topic_records(READ, 2, 10, 8))
    world.share("a", 3)
    assert world.wanted() == [{READ: [8, 9]}]


def test_members_have_even_parts_and_share_what_is_too_little() -> None:
    world = assigned()
    world.share("b")
    world.wait(1.1)
    counts = {name: len(indexes(world.share(name, subscribed_topic_names=(READ,))) or ()) for name in "ab"}
    assert counts == {"a": 4, "b": 4}
    world.share("narrow", group_id="t", subscribed_topic_names=(READ,))
    world.settle("t")
    for number in range(11):
        world.wait(1.1)
        world.share(f"m-{number}", group_id="t", subscribed_topic_names=(READ,))
    world.wait(1.1)
    shown = [world.share(name, group_id="t") for name in ("narrow", *(f"m-{number}" for number in range(11)))]
    assert {len(indexes(each) or ()) for each in shown} <= {1, 2}
    assert sorted(index for each in shown for index in indexes(each) or ()) == sorted([*EIGHT, *EIGHT])


def test_epochs_of_members_are_judged() -> None:
    world = assigned()
    assert world.share("a", 2).error_code == 0, "its last answer may be lost"
    assert world.share("a", 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    newer = world.share("a", 9)
    assert newer.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert newer.error_message.startswith("The share group member has a greater member epoch (9) than the one known")
    assert world.share("x", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.share("x", -1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_nobody() -> None:
    from controller_runtime.coordinator.share.settings import ShareGroupSettings

    world = Sharers(share=ShareGroupSettings(max_size=1))
    world.share()
    answer = world.share("b")
    words = "The share group has reached its maximum capacity of 1 members."
    assert (answer.error_code, answer.error_message) == (ErrorCode.GROUP_MAX_SIZE_REACHED, words)


def test_a_silent_member_is_gone_after_its_session() -> None:
    world = assigned()
    world.wait(46.0)
    assert world.share("a", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.written()[-4:] == ["-14", "-13", "-10", "11"]
    (listed,) = world.ask(ListGroupsRequest(types_filter=("share",))).groups
    assert (listed.group_id, listed.group_state, listed.protocol_type) == ("s", "Empty", "share")


def test_another_coordinator_goes_on_with_the_group() -> None:
    before = assigned()
    other = Sharers(logs=before.logs)
    other.now, other.wall = before.now, before.wall
    again = other.share("a", 3, subscribed_topic_names=(READ,))
    assert (again.error_code, again.member_epoch, indexes(again)) == (0, 3, EIGHT)
    assert other.wanted() == []
    other.wait(46.0)
    assert other.share("a", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_log_that_takes_nothing_changes_nothing() -> None:
    world = assigned()
    world.logs.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.share("b").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.share("a", -1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.wait(50.0)
    world.logs.refusal = None
    world.wait(1.5)
    assert world.share("a", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID, "it is late still"


def test_a_group_is_deleted_when_its_states_are() -> None:
    world = assigned()
    asks = DeleteGroupsRequest(groups_names=("s", "nobodys"))
    assert [each.error_code for each in world.ask(asks).results] == [ErrorCode.NON_EMPTY_GROUP, 69]
    world.share("a", -1)
    asked = world.send(asks)
    assert world.answer(asked) is None, "the share coordinator has not answered"
    world.settle(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert [each.error_code for each in world.answer(asked).results] == [ErrorCode.COORDINATOR_NOT_AVAILABLE, 69]
    again = world.send(asks)
    world.settle()
    assert [each.error_code for each in world.answer(again).results] == [0, 69]
    assert world.written()[-5:] == ["15", "15", "-12", "-15", "-11"]
    assert world.ask(ListGroupsRequest()).groups == ()


def test_who_joins_while_the_states_go_keeps_the_group() -> None:
    world = assigned()
    world.share("a", -1)
    asked = world.send(DeleteGroupsRequest(groups_names=("s",)))
    world.share("b")
    world.settle()
    assert [each.error_code for each in world.answer(asked).results] == [ErrorCode.NON_EMPTY_GROUP]
    assert world.described_sharers().group_state == "Stable"


def test_topics_that_are_deleted_have_no_states() -> None:
    world = assigned()
    world.replay(RemoveTopicRecord(topic_id=ORDERS))
    work = retention.forget_topics(world.partition("s"), {READ: ORDERS}, world.now, world.wall)
    whole(work)
    assert not world.partition("s").shares.by_id["s"].topics.initialized
    assert indexes(world.share("a", 3, subscribed_topic_names=(READ,))) == []


def test_members_are_described() -> None:
    world = assigned()
    group = world.described_sharers()
    assert (group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name) == (
        "Stable",
        3,
        3,
        "simple",
    )
    (member,) = group.members
    (topic,) = member.assignment.topic_partitions
    assert (member.member_id, member.member_epoch, topic.topic_name, list(topic.partitions)) == ("a", 3, READ, EIGHT)
    unknown = world.described_sharers("nobodys")
    assert (unknown.error_code, unknown.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group nobodys not found.")


def test_offsets_are_altered_and_deleted_when_share_coordinators_have_answered() -> None:
    world = Sharers()
    partitions = (
        alters.AlterShareGroupOffsetsRequestPartition(partition_index=each, start_offset=7) for each in (0, 9)
    )
    topic = alters.AlterShareGroupOffsetsRequestTopic(topic_name=READ, partitions=tuple(partitions))
    altered = world.send(alters.AlterShareGroupOffsetsRequest(group_id="s", topics=(topic,)))
    assert world.answer(altered) is None
    world.settle()
    (said,) = world.answer(altered).responses
    assert [(each.partition_index, each.error_code) for each in said.partitions] == [(0, 0), (9, 3)]
    assert world.partition("s").shares.by_id["s"].topics.initialized[ORDERS].partitions == {0}
    asks = deletes.DeleteShareGroupOffsetsRequest(
        group_id="s", topics=(deletes.DeleteShareGroupOffsetsRequestTopic(topic_name=READ),)
    )
    refused = world.send(asks)
    world.settle(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert world.answer(refused).responses[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    deleted = world.send(asks)
    world.settle()
    assert world.answer(deleted).responses[0].error_code == 0
    topics = world.partition("s").shares.by_id["s"].topics
    assert (topics.initializing, topics.initialized, topics.deleting) == ({}, {}, {})
    assert world.written() == ["15"] * 5
