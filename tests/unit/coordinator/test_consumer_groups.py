"""Groups of the consumer protocol (KIP-848): who is told what, what is written, and what becomes of who is late."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from support.groups.consumers import Members, indexes
from support.groups.coordinated import READ, codes, commit, topic_id, topic_records

pytestmark = pytest.mark.unit

OK = ErrorCode.NONE


@pytest.mark.parametrize(
    ("version", "told", "error", "words"),
    [
        (1, {"member_id": ""}, 42, "MemberId can't be empty."),
        (0, {"member_id": "", "epoch": 3}, 42, "MemberId can't be empty."),
        (1, {"group_id": " "}, 42, "GroupId can't be empty."),
        (1, {"instance_id": ""}, 42, "InstanceId can't be empty."),
        (1, {"rack_id": "\t"}, 42, "RackId can't be empty."),
        (1, {"rebalance_timeout_ms": -1}, 42, "RebalanceTimeoutMs must be provided in first request."),
        (1, {"topic_partitions": None}, 42, "TopicPartitions must be empty when (re-)joining."),
        (1, {"subscribed_topic_names": None}, 42, "Either SubscribedTopicNames or SubscribedTopicRegex must be"),
        (1, {"epoch": -2}, 42, "InstanceId can't be null."),
        (1, {"epoch": -3}, 42, "MemberEpoch is invalid."),
        (1, {"server_assignor": "sticky"}, 112, "ServerAssignor sticky is not supported. Supported assignors: uniform"),
        (1, {"epoch": 5}, 69, "Consumer group g not found."),
        (1, {"epoch": -1}, 69, "Group g not found."),
        (1, {"subscribed_topic_names": None, "subscribed_topic_regex": "("}, 128, "SubscribedTopicRegex `(` is not a"),
    ],
)
def test_what_is_wrong_with_a_request(version: int, told: dict[str, Any], error: int, words: str) -> None:
    """CGP-01, CGP-11, CGP-14"""
    world = Members()
    answer = world.say(version=version, **told)
    assert (answer.error_code, answer.error_message[: len(words)]) == (error, words)
    assert not world.logs.logs, "nothing is written"


def test_the_first_member_has_everything_and_the_first_epoch_is_two() -> None:
    """CGP-02, CGP-04"""
    world = Members()
    answer = world.say()
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (OK, "a", 2)
    assert (answer.heartbeat_interval_ms, indexes(answer)) == (5_000, list(range(8)))
    assert world.written() == ["5", "3", "7", "6", "8"]
    assert indexes(world.say("a", 2)) is None, "nothing has changed"
    full = world.owns("a", 2, *range(8), rebalance_timeout_ms=60_000, subscribed_topic_names=(READ,))
    assert indexes(full) == list(range(8)), "a full request is answered in full"
    assert world.written() == ["5", "3", "7", "6", "8"], "a heartbeat writes nothing"


def test_a_member_gives_up_before_another_one_gets_it() -> None:
    """CGP-05"""
    world = Members()
    world.say("a")
    world.wait(2)
    second = world.say("b")
    assert (second.member_epoch, indexes(second)) == (3, []), "all is held by the first one"
    first = world.say("a", 2)
    assert (first.member_epoch, len(indexes(first) or ())) == (2, 4), "it stays in its epoch until it has given up"
    kept = indexes(first) or []
    assert indexes(world.say("b", 3)) is None
    assert indexes(world.owns("a", 2, *range(8))) is None, "it has it still"
    done = world.owns("a", 2, *kept)
    assert (done.member_epoch, indexes(world.say("b", 3))) == (3, sorted(set(range(8)) - set(kept)))
    assert world.described().group_state == "Stable"


def test_who_does_not_give_up_in_time_is_fenced() -> None:
    """CGP-06: after its rebalance timeout, though it beats."""
    world = Members()
    world.say("a", rebalance_timeout_ms=10_000)
    world.wait(2)
    world.say("b")
    world.say("a", 2)
    world.wait(9.9)
    assert world.say("a", 2).error_code == OK
    world.wait(0.2)
    assert world.say("a", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert indexes(world.say("b", 3)) == list(range(8))


def test_epochs_tell_who_has_missed_something() -> None:
    """CGP-03: a greater one is fenced, a smaller one unless the answer was lost; epoch 0 begins anew."""
    world = Members()
    world.say("a")
    world.wait(2)
    world.say("b")
    kept = indexes(world.say("a", 2)) or []
    assert world.owns("a", 2, *kept).member_epoch == 3
    assert world.say("a", 4).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.say("a", 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.say("a", 2).error_code == ErrorCode.FENCED_MEMBER_EPOCH, "it does not say what it has"
    assert world.owns("a", 2, *range(8)).error_code == ErrorCode.FENCED_MEMBER_EPOCH, "it has what is not its own"
    assert world.owns("a", 2, *kept).member_epoch == 3, "the answer was lost"
    again = world.say("a", 0)
    assert (again.member_epoch, indexes(again)) == (3, kept)


def test_what_is_not_subscribed_any_more_is_given_up_at_once() -> None:
    """CGP-07"""
    world = Members()
    world.say("a")
    answer = world.owns("a", 2, *range(8), subscribed_topic_names=("other",))
    assert (answer.member_epoch, indexes(answer)) == (2, [])
    assert world.owns("a", 2).member_epoch == 2, "the next target is due a second after the last"
    world.wait(1)
    assert world.owns("a", 2).member_epoch == 3


def test_members_go_by_themselves_or_are_silent_for_too_long() -> None:
    """CGP-08: the tombstones of a member are written in Kafka's order, and the epoch grows."""
    world = Members()
    world.say("a")
    world.wait(2)
    world.say("b")
    before = len(world.written())
    left = world.say("a", -1)
    assert (left.error_code, left.member_epoch, left.heartbeat_interval_ms) == (OK, -1, 0)
    assert world.written()[before:] == ["-8", "-7", "-5", "3"]
    world.wait(1)
    assert indexes(world.say("b", 3)) == list(range(8))
    before = len(world.written())
    world.wait(45.1)
    assert world.written()[before:] == ["-8", "-7", "-5", "3"]
    assert (world.described().group_state, world.say("b", 4).error_code) == ("Empty", ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_static_member_that_leaves_for_now_keeps_what_it_has() -> None:
    """CGP-09: for whoever comes back in its place; nobody else may have its instance id meanwhile."""
    world = Members()
    world.say("a", instance_id="i")
    assert world.say("x", 0, instance_id="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert world.say("x", 2, instance_id="i").error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.say("a", 2, instance_id="j").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    left = world.say("a", -2, instance_id="i")
    assert (left.error_code, left.member_epoch) == (OK, -2)
    back = world.say("x", 0, instance_id="i")
    assert (back.member_epoch, indexes(back)) == (2, list(range(8)))
    assert [each.member_id for each in world.described().members] == ["x"]
    world.say("x", -2, instance_id="i")
    world.wait(45.1)
    assert world.described().group_state == "Empty", "its session is over"


def test_topics_that_grow_come_or_go_change_the_assignment() -> None:
    """CGP-10"""
    world = Members()
    world.say("a", subscribed_topic_names=(READ, "new"))
    world.replay(*topic_records(READ, 2, 10, first=8))
    world.wait(2)
    assert indexes(world.say("a", 2)) == list(range(10))
    world.replay(*topic_records("new", 3, 2))
    world.wait(2)
    answer = world.say("a", 3)
    assert sorted(len(each.partitions) for each in answer.assignment.topic_partitions) == [2, 10]
    world.replay(RemoveTopicRecord(topic_id=topic_id(3)))
    world.wait(2)
    assert world.say("a", 4).member_epoch == 4
    world.wait(2)
    assert world.owns("a", 4, *range(10)).member_epoch == 5
    world.replay(*topic_records("unread", 4, 2))
    world.wait(2)
    assert world.owns("a", 5, *range(10)).member_epoch == 5


def test_the_target_is_computed_once_in_the_interval() -> None:
    """CGP-15"""
    world = Members()
    world.say("a")
    assert world.say("b").member_epoch == 2, "there is no target for its epoch yet"
    assert (world.described().group_epoch, world.described().assignment_epoch) == (3, 2)
    assert world.described().group_state == "Assigning"
    world.wait(1)
    assert world.say("b", 2).member_epoch == 3


def test_the_assignor_that_most_want_is_taken() -> None:
    """CGP-11"""
    world = Members()
    world.say("a", server_assignor="range")
    assert world.described().assignor_name == "range"
    world.wait(2)
    world.say("b")
    assert world.described().assignor_name == "range"
    assert [sorted(each.target_assignment.topic_partitions[0].partitions) for each in world.described().members] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]


def test_a_regular_expression_is_resolved_off_the_request() -> None:
    """CGP-14: for all that have it, over what may be described; again when topics come, at most every ten seconds."""
    world = Members()
    world.logs.hidden.add("orders-hidden")
    world.holds_works = True
    answer = world.say("a", subscribed_topic_names=None, subscribed_topic_regex="orders.*")
    assert (answer.error_code, answer.member_epoch, indexes(answer)) == (OK, 1, []), "it means no topics yet"
    world.work()
    assert indexes(world.say("a", 1)) == list(range(8))
    assert world.written().count("16") == 1
    world.replay(*topic_records("orders-hidden", 3, 2), *topic_records("orders-too", 4, 2))
    world.say("a", 2)
    assert not world.partition("g").works, "it was resolved less than ten seconds ago"
    world.wait(10.1)
    world.say("a", 2)
    world.work()
    assert len(world.say("a", 2).assignment.topic_partitions) == 2
    shared = world.say("b", subscribed_topic_names=None, subscribed_topic_regex="orders.*")
    assert not world.partition("g").works, "it is known what it means"
    assert shared.error_code == OK
    world.say("b", -1)
    assert "-16" not in world.written()
    world.say("a", -1)
    assert world.written()[-2:] == ["-16", "3"]


def test_a_full_group_takes_nobody() -> None:
    """CGP-01: 81, but who is a member may go on."""
    from controller_runtime.coordinator.consumer.settings import ConsumerSettings

    world = Members(consumer=ConsumerSettings(max_size=1))
    assert world.say("a").error_code == OK
    assert world.say("b").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.say("a", 2).error_code == OK


def test_another_coordinator_goes_on_with_everybody_alive() -> None:
    """CGP-20, GRP-18: members, epochs and what is to be given up; every session begins anew."""
    world = Members()
    world.say("a", instance_id="i")
    world.wait(2)
    world.say("b")
    kept = indexes(world.say("a", 2, instance_id="i")) or []
    world.wait(40)
    other = Members(logs=world.logs)
    other.now, other.wall = world.now, world.wall
    other.load()
    assert other.described() == world.described()
    other.wait(40)
    assert other.owns("a", 2, *kept, instance_id="i").member_epoch == 3
    assert len(indexes(other.say("b", 3)) or ()) == 4
    assert other.described().group_state == "Stable"
    before = len(other.written())
    other.say("b", 3)
    assert len(other.written()) == before, "the same topics have the same hash"


def test_who_may_commit_and_fetch() -> None:
    """OFF-03: with its epoch, or an older one for what it had then."""
    world = Members()
    world.say("a")
    world.wait(2)
    world.say("b")
    kept = indexes(world.say("a", 2)) or []
    lost = min(set(range(8)) - set(kept))
    assert codes(world.ask(commit({lost: 5}, "a", 2), 9)) == {OK}, "it is to give it up, and has it still"
    world.owns("a", 2, *kept)
    assert codes(world.ask(commit({kept[0]: 5}, "a", 2), 9)) == {OK}, "it had it at that epoch, and has it"
    assert codes(world.ask(commit({lost: 6}, "a", 2), 9)) == {ErrorCode.STALE_MEMBER_EPOCH}
    assert codes(world.ask(commit({lost: 6}, "a", 9), 9)) == {ErrorCode.STALE_MEMBER_EPOCH}
    assert codes(world.ask(commit({lost: 6}, "x", 3), 9)) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert codes(world.ask(commit({lost: 6}), 9)) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert codes(world.ask(commit({lost: 6}, "a", 3), 8)) == {ErrorCode.UNSUPPORTED_VERSION}
    assert world.committed() == {lost: 5, kept[0]: 5}


def test_administrators_see_and_delete_it() -> None:
    """CGP-19, GRP-21, GRP-22"""
    world = Members()
    world.say("a")
    listed = world.ask(ListGroupsRequest(states_filter=("STABLE",), types_filter=("Consumer",))).groups
    assert [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in listed] == [
        ("g", "consumer", "Stable", "consumer")
    ]
    assert not world.ask(ListGroupsRequest(types_filter=("classic",))).groups
    member = world.described().members[0]
    assert (member.member_epoch, member.member_type, member.subscribed_topic_names) == (2, 1, (READ,))
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")
    assert world.ask(DeleteGroupsRequest(groups_names=("g",))).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    world.ask(commit({0: 5}, "a", 2), 9)
    world.say("a", -1)
    before = len(world.written())
    assert world.ask(DeleteGroupsRequest(groups_names=("g",))).results[0].error_code == OK
    assert world.written()[before:] == ["-1", "-6", "-4", "-3"]
    assert world.described().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert not Members(logs=world.logs).partition("g").consumers


def test_what_the_log_refuses_has_not_happened() -> None:
    """GRP-24"""
    world = Members()
    world.say("a")
    world.wait(2)
    before = world.described()
    world.logs.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    for answer in (world.say("b"), world.say("a", -1)):
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.wait(45)
    assert world.described() == before
    world.logs.refusal = None
    world.wait(1.1)
    assert world.described().group_state == "Empty", "who is late goes when the log takes it"


def test_nobody_is_told_what_is_not_committed() -> None:
    """GRP-24: neither is a heartbeat that writes nothing."""
    world = Members(holds=True)
    asked = [world.send(ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="a", rebalance_timeout_ms=1, subscribed_topic_names=(READ,), topic_partitions=(),
    ))]  # fmt: skip
    asked.append(world.send(ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", member_epoch=2)))
    assert [world.answer(each) for each in asked] == [None, None]
    world.commit()
    assert [world.answer(each).member_epoch for each in asked] == [2, 2]


def test_a_group_that_is_not_enabled_is_not_supported() -> None:
    """CGP-01: 35, by the feature or by the node's configuration."""
    from controller_runtime.coordinator.consumer.settings import ConsumerSettings

    off = Members(consumer=ConsumerSettings.of({"group.coordinator.rebalance.protocols": "classic"}))
    assert off.say("a").error_code == ErrorCode.UNSUPPORTED_VERSION
    assert off.described().error_code == ErrorCode.UNSUPPORTED_VERSION


def test_the_target_of_a_large_group_is_computed_off_the_request() -> None:
    """CGP-13, CGP-15: in pieces; what has changed meanwhile makes it void."""
    world = Members()
    world.replay(*topic_records("large", 5, 5_000))
    world.holds_works = True
    assert indexes(world.say("a", subscribed_topic_names=("large",))) == []
    assert (world.described().group_state, len(world.partition("g").works)) == ("Assigning", 1)
    next(world.partition("g").works[0])
    world.say("b", subscribed_topic_names=("large",))
    assert len(world.partition("g").works) == 1, "it is being computed"
    world.work()
    assert world.described().group_state == "Assigning", "somebody has come meanwhile"
    world.say("a", 1)
    world.work()
    shares = [indexes(world.say(each, world.members()[each])) or [] for each in ("a", "b")]
    assert sorted(map(len, shares)) == [2_500, 2_500]
    assert sorted(shares[0] + shares[1]) == list(range(5_000))


def test_who_has_given_up_and_must_give_up_more_stays_in_its_epoch() -> None:
    """CGP-05, KAFKA-19974: a third one has come meanwhile."""
    world = Members()
    world.say("a")
    world.wait(2)
    world.say("b")
    kept = indexes(world.say("a", 2)) or []
    world.wait(2)
    world.say("c")
    answer = world.owns("a", 2, *kept)
    assert (answer.member_epoch, len(indexes(answer) or ())) == (2, 3)
    assert world.owns("a", 2, *(indexes(answer) or ())).member_epoch == 4


def test_who_was_to_give_up_is_fenced_by_the_next_coordinator_too() -> None:
    """CGP-06, CGP-20: its rebalance timeout begins anew."""
    world = Members()
    world.say("a", rebalance_timeout_ms=10_000)
    world.wait(2)
    world.say("b")
    world.say("a", 2)
    other = Members(logs=world.logs)
    other.now, other.wall = world.now, world.wall
    other.load()
    other.wait(10.1)
    assert other.say("a", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_older_epoch_commits_nothing_that_was_assigned_later() -> None:
    """OFF-03"""
    world = Members()
    world.say("a")
    world.wait(2)
    world.say("b")
    kept = indexes(world.say("a", 2)) or []
    world.owns("a", 2, *kept)
    world.say("b", -1)
    world.wait(2)
    new = min(set(indexes(world.owns("a", 3, *kept)) or ()) - set(kept))
    assert codes(world.ask(commit({new: 1}, "a", 3), 9)) == {ErrorCode.STALE_MEMBER_EPOCH}
    assert codes(world.ask(commit({kept[0]: 1}, "a", 3), 9)) == {OK}
    assert codes(world.ask(commit({new: 1}, "a", 4), 9)) == {OK}
