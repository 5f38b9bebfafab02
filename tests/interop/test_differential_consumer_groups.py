"""Requests about groups of the consumer protocol, right, wrong and borderline, at every version: beside Apache Kafka.

Both nodes have the same group from the start, with a dynamic and a static member. Stories at the end lead a group of
each node through the same changes: who is told what, and with which epochs.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from controller_runtime.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from controller_runtime.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.describe_groups_request import DescribeGroupsRequest
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.heartbeat_request import HeartbeatRequest
from controller_runtime.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from controller_runtime.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest
from support.apache_kafka.differential import Case, Pair, Side, Table, judge
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
GROUP, CLASSIC, NOBODYS = "consumers.known", "consumers.classic", "consumers.nobodys"
TOPIC = "orders"
NO_TOPIC = Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0BAD)
PATIENCE_S = 60.0
TARGETS_APART_S = 1.0
"""`group.consumer.assignment.interval.ms`: how soon after one target assignment there may be another."""
LONG_MS = 1_800_000
"""A session of the classic protocol that no slow machine outlasts."""


def call(side: Side, request: Any, version: int | None = None) -> Any:
    return side.call(ListenerType.BROKER, request, request.VERSIONS.highest if version is None else version)


def beat(group_id: str = GROUP, member_id: str = "m-1", epoch: int = 0, **more: Any) -> ConsumerGroupHeartbeatRequest:
    told: dict[str, Any] = {"group_id": group_id, "member_id": member_id, "member_epoch": epoch}
    if epoch == 0:
        told |= {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": (TOPIC,), "topic_partitions": ()}
    return ConsumerGroupHeartbeatRequest(**told | more)


def owned(side: Side, *indexes: int, topic: str = TOPIC) -> tuple[TopicPartitions, ...]:
    return (TopicPartitions(topic_id=side.topic_ids[topic], partitions=indexes),)


def _is_coordinated(side: Side) -> bool:
    found = call(side, FindCoordinatorRequest(coordinator_keys=(GROUP,)))
    return bool(found.coordinators[0].error_code == 0 and call(side, ListGroupsRequest()).error_code == 0)


@pytest.fixture(scope="module", autouse=True)
def _groups(pair: Pair) -> None:
    for side in pair.sides:
        eventually("its coordinator", lambda side=side: _is_coordinated(side), PATIENCE_S)  # type: ignore[misc]
        side.learn_topics()
        first = eventually("its first member", lambda side=side: _joined(side), PATIENCE_S)  # type: ignore[misc]
        assert (first.error_code, first.member_epoch) == (0, 2), first
        eventually("its classic group", lambda side=side: _joined_classic(side), PATIENCE_S)  # type: ignore[misc]


def _joined(side: Side) -> Any:
    """A coordinator may still be read from its log, or not be known yet."""
    answer = call(side, beat(instance_id="static-1"))
    return None if answer.error_code in (14, 15, 16) else answer


def _joined_classic(side: Side) -> Any:
    answer = call(side, _join(CLASSIC, group_instance_id="static-1"))
    return answer.error_code == 0


def _heartbeat() -> Table:
    def joining(name: str, **more: Any) -> Case:
        return Case(name, beat(**({"group_id": NOBODYS, "member_id": "m-9"} | more)))

    return Table(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        BROKER,
        (
            Case("nothing", ConsumerGroupHeartbeatRequest()),
            joining("without a group", group_id=""),
            joining("of a blank group", group_id="  "),
            joining("of an empty instance", instance_id=""),
            joining("of an empty rack", rack_id=""),
            joining("without a timeout", rebalance_timeout_ms=-1),
            joining("owning nobody knows what", topic_partitions=None),
            Case("owning something", lambda side: beat(NOBODYS, "m-9", topic_partitions=owned(side, 0))),
            joining("reading nothing", subscribed_topic_names=None),
            joining("by an assignor that nobody has", server_assignor="sticky"),
            Case("a wrong expression", beat(NOBODYS, "m-9", subscribed_topic_names=None, subscribed_topic_regex="(["),
                 range(1, 2)),
            Case("without an id", beat(NOBODYS, "", 0), range(1, 2)),
            Case("of a member without an id", beat(NOBODYS, "", 5)),
            Case("of an unknown group", beat(NOBODYS, "m-9", 5)),
            Case("leaving an unknown group", beat(NOBODYS, "m-9", -1)),
            Case("leaving for now, of nobody", beat(NOBODYS, "m-9", -2)),
            Case("leaving for now an unknown group", beat(NOBODYS, "m-9", -2, instance_id="static-1")),
            Case("of an impossible epoch", beat(NOBODYS, "m-9", -3)),
            Case("of the least epoch", beat(NOBODYS, "m-9", -(2**31))),
            Case("of a group of the other protocol", beat(CLASSIC, "m-9", 5)),
            Case("of an unknown member", beat(GROUP, "m-9", 2)),
            Case("leaving, of an unknown member", beat(GROUP, "m-9", -1)),
            Case("of an unknown instance", beat(GROUP, "m-1", 2, instance_id="static-9")),
            Case("of another's instance", beat(GROUP, "m-9", 2, instance_id="static-1")),
            Case("taking another's instance", beat(GROUP, "m-9", 0, instance_id="static-1")),
            Case("leaving, of another's instance", beat(GROUP, "m-9", -1, instance_id="static-1")),
            Case("of a newer epoch", beat(GROUP, "m-1", 3, instance_id="static-1")),
            Case("of an older epoch", beat(GROUP, "m-1", 1, instance_id="static-1")),
            Case("as it should be", beat(GROUP, "m-1", 2, instance_id="static-1")),
            Case("joining again", beat(GROUP, "m-1", 0, instance_id="static-1")),
            Case("in full", lambda side: beat(
                GROUP, "m-1", 2, instance_id="static-1", rebalance_timeout_ms=60_000, subscribed_topic_names=(TOPIC,),
                topic_partitions=owned(side, 0),
            )),
            Case("owning a topic that is not there", beat(
                GROUP, "m-1", 2, instance_id="static-1",
                topic_partitions=(TopicPartitions(topic_id=NO_TOPIC, partitions=(0, 0, -1)),),
            )),
        ),
    )  # fmt: skip


def _describe() -> Table:
    return Table(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        BROKER,
        (
            Case("one", ConsumerGroupDescribeRequest(group_ids=(GROUP,))),
            Case("with rights", ConsumerGroupDescribeRequest(group_ids=(GROUP,), include_authorized_operations=True)),
            Case("unknown ones", ConsumerGroupDescribeRequest(group_ids=(NOBODYS, "", "\u00e4\U0001f600"))),
            Case("of the other protocol", ConsumerGroupDescribeRequest(group_ids=(CLASSIC,))),
            Case("twice", ConsumerGroupDescribeRequest(group_ids=(GROUP, GROUP))),
            Case("none", ConsumerGroupDescribeRequest()),
        ),
    )


TABLES = (_heartbeat(), _describe())


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name.lower())
def test_consumer_groups_are_answered_for_as_by_kafka(pair: Pair, table: Table) -> None:
    """CGP-01, CGP-03, CGP-09, CGP-11, CGP-14, CGP-19"""
    judge(pair, table)


class TooSlowError(Exception):
    """The next target was due before the story had come to its pause: what it was told depends on the machine."""


class Story:
    """What a side answers, line by line."""

    def __init__(self, side: Side, group_id: str, *, counts: bool = True) -> None:
        """`counts`: how much each member gets is no matter of member ids that chance makes."""
        self.side, self.group_id, self.counts = side, group_id, counts
        self.lines: list[tuple[Any, ...]] = []
        self.since = time.monotonic()
        """When the last pause was over: no target is older."""
        self.has: dict[str, list[int]] = {}
        """What each member was told to have last."""
        self.epochs: dict[str, int] = {}

    def beat(self, member: str, epoch: int | None = None, **more: Any) -> None:
        """As it should be, if nothing else is said: with its epoch, and owning what it was told to."""
        at = self.epochs.get(member, 0) if epoch is None else epoch
        answer = call(self.side, beat(self.group_id, member, at, **more))
        size = None
        if answer.assignment is not None:
            found = [index for topic in answer.assignment.topic_partitions for index in topic.partitions]
            self.has[member], size = sorted(found), len(found) if self.counts else min(1, len(found))
        if answer.error_code == 0:
            self.epochs[member] = answer.member_epoch
        self.lines.append((member, at, answer.error_code, answer.member_epoch, size))

    def owns(self, member: str, **more: Any) -> None:
        self.beat(member, topic_partitions=owned(self.side, *self.has.get(member, ())), **more)

    def pause(self) -> None:
        """Until the next target is due. Raises TooSlowError."""
        self.is_in_time()
        time.sleep(1.1 * TARGETS_APART_S)
        self.since = time.monotonic()

    def is_in_time(self) -> None:
        if time.monotonic() > self.since + 0.95 * TARGETS_APART_S:
            raise TooSlowError(self.lines)

    def commit(self, member: str, epoch: int, *indexes: int, version: int = 9) -> None:
        parts = tuple(OffsetCommitRequestPartition(partition_index=index, committed_offset=1) for index in indexes)
        request = OffsetCommitRequest(
            group_id=self.group_id, member_id=member, generation_id_or_member_epoch=epoch,
            topics=(OffsetCommitRequestTopic(name=TOPIC, partitions=parts),),
        )  # fmt: skip
        answer = call(self.side, request, version)
        self.lines.append((member, epoch, [each.error_code for each in answer.topics[0].partitions]))

    def show(self) -> None:
        (group,) = call(self.side, ConsumerGroupDescribeRequest(group_ids=(self.group_id,))).groups
        members = sorted((each.member_id, each.member_epoch, each.member_type) for each in group.members)
        shown = (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name)
        self.lines.append((*shown, members if group.error_code == 0 else None))


def _members_come_and_go(side: Side, group_id: str) -> list[tuple[Any, ...]]:
    told = Story(side, group_id)
    told.beat("a")
    told.beat("b")
    told.show()
    told.pause()
    told.beat("b")
    told.beat("a")
    told.show()
    told.beat("b")
    told.commit("a", 2, 0, 1)
    told.owns("a")
    told.beat("b")
    told.show()
    told.commit("a", 2, *told.has["a"][:1])
    told.commit("a", 2, *told.has["b"][:1])
    told.commit("a", 9, 0)
    told.commit("x", 3, 0)
    told.commit("a", 3, 0, version=8)
    told.beat("a", 2)
    told.owns("a", epoch=2)
    told.beat("b", server_assignor="range")
    told.beat("b", subscribed_topic_names=("payments",))
    told.show()
    told.pause()
    told.owns("b")
    told.owns("a")
    told.show()
    told.beat("b", -1)
    told.show()
    told.pause()
    told.owns("a")
    told.beat("s", 0, instance_id="one")
    told.pause()
    told.beat("s", instance_id="one")
    told.beat("s", -2, instance_id="one")
    told.beat("t", 0, instance_id="one")
    told.beat("a", -1)
    told.beat("t", -1, instance_id="one")
    told.is_in_time()
    told.show()
    code = call(side, DeleteGroupsRequest(groups_names=(group_id,))).results[0].error_code
    return [*told.lines, ("deleted", code)]


def test_members_come_and_go_as_in_kafka(pair: Pair) -> None:
    """CGP-02, CGP-03, CGP-04, CGP-05, CGP-07, CGP-08, CGP-09, CGP-15, OFF-03"""
    java, ours = (_in_time(side) for side in pair.sides)
    assert ours == java


def _in_time(side: Side) -> list[tuple[Any, ...]]:
    """The story of a group that came to each of its pauses in time: on a busy machine another group tries again."""
    number = 0
    while True:
        try:
            return _members_come_and_go(side, f"consumers.story.{number}")
        except TooSlowError:
            number += 1
            if number == 20:
                raise


def _join(group_id: str, member_id: str = "", **more: Any) -> JoinGroupRequest:
    metadata = b"\0\1" + encode(ConsumerProtocolSubscription(topics=(TOPIC,)), 1)
    return JoinGroupRequest(
        group_id=group_id, member_id=member_id, session_timeout_ms=LONG_MS, rebalance_timeout_ms=LONG_MS,
        protocol_type="consumer", protocols=(JoinGroupRequestProtocol(name="range", metadata=metadata),), **more,
    )  # fmt: skip


def _groups_change_their_protocol(side: Side) -> list[tuple[Any, ...]]:
    group_id = "consumers.migrated"
    told = Story(side, group_id, counts=False)
    lines = told.lines

    def classic(what: str, request: Any, version: int | None = None) -> Any:
        answer = call(side, request, version)
        lines.append((what, answer.error_code, getattr(answer, "generation_id", None)))
        return answer

    first = call(side, _join(group_id)).member_id
    joined = classic("joined", _join(group_id, first))
    generation = joined.generation_id
    classic("synced", SyncGroupRequest(group_id=group_id, member_id=first, generation_id=generation), 4)
    told.beat("new")
    classic("beats", HeartbeatRequest(group_id=group_id, member_id=first, generation_id=1))
    again = classic("joins again", _join(group_id, first))
    synced = classic(
        "syncs", SyncGroupRequest(group_id=group_id, member_id=first, generation_id=again.generation_id), 4
    )
    mine = {index for topic in _assigned(synced.assignment) for index in topic.partitions}
    theirs = set(told.has["new"])
    lines.append(("between both", sorted(mine | theirs), bool(mine), bool(theirs), mine & theirs))
    classic("of an older generation", HeartbeatRequest(group_id=group_id, member_id=first, generation_id=0))
    classic("of the other kind", HeartbeatRequest(group_id=group_id, member_id="new", generation_id=2))
    named = classic("joins without an id", _join(group_id))
    lines.append(("length of an id", len(named.member_id)))
    told.beat("new")
    told.beat("new", -1)
    (group,) = call(side, DescribeGroupsRequest(groups=(group_id,))).groups
    lines.append((group.group_state, group.protocol_type, len(group.members)))
    told.show()
    fetched = call(side, OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group_id, topics=None),)), 9)
    lines.append(("fetched", fetched.groups[0].error_code))
    return lines


def _assigned(assignment: bytes) -> tuple[Any, ...]:
    """Who of two has the third partition is a matter of member ids, which chance makes."""
    return decode(ConsumerProtocolAssignment, assignment[2:], int.from_bytes(assignment[:2])).assigned_partitions


def test_groups_change_their_protocol_as_in_kafka(pair: Pair) -> None:
    """CGP-16, CGP-17, CGP-18"""
    java, ours = (_groups_change_their_protocol(side) for side in pair.sides)
    assert ours == java
