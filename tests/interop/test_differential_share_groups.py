"""Requests about share groups, right, wrong and hostile: beside Apache Kafka. Stories lead a group of each node through
the same changes: who is told what, with which epochs, and what is then in `__consumer_offsets`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.offsets_records import read
from controller_runtime.coordinator.share.records import ShareGroupRecord
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages import alter_share_group_offsets_request as alters
from controller_runtime.protocol.messages import delete_share_group_offsets_request as deletes
from controller_runtime.protocol.messages import describe_share_group_offsets_request as describes
from controller_runtime.protocol.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.describe_share_group_offsets_request import DescribeShareGroupOffsetsRequest
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from controller_runtime.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from controller_runtime.protocol.messages.share_group_describe_request import ShareGroupDescribeRequest
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from controller_runtime.protocol.record_batch import decode_batches
from support.apache_kafka.differential import Case, Pair, Side, Table, judge
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
GROUP, CONSUMERS, NOBODYS = "sharers.known", "sharers.consumers", "sharers.nobodys"
TOPIC, OFFSETS, STATES, PARTITIONS = "orders", "__consumer_offsets", "__share_group_state", 50
PATIENCE_S = 60.0
NAMES = (" ", ".", "a" * 249, "\u00e4\U0001f600")


def call(side: Side, request: Any, version: int | None = None) -> Any:
    return side.call(ListenerType.BROKER, request, request.VERSIONS.highest if version is None else version)


def beat(group_id: str = GROUP, member_id: str = "m-1", epoch: int = 0, **more: Any) -> ShareGroupHeartbeatRequest:
    told: dict[str, Any] = {"group_id": group_id, "member_id": member_id, "member_epoch": epoch}
    if epoch == 0:
        told["subscribed_topic_names"] = (TOPIC,)
    return ShareGroupHeartbeatRequest(**told | more)


def _is_coordinated(side: Side) -> bool:
    found = call(side, FindCoordinatorRequest(coordinator_keys=(GROUP,)))
    return bool(found.coordinators[0].error_code == 0 and call(side, ListGroupsRequest()).error_code == 0)


def _has_all(side: Side, group_id: str, member_id: str) -> bool:
    """The member joins until it has partitions: states are initialized beside its heartbeats."""
    answer = call(side, beat(group_id, member_id))
    return answer.error_code == 0 and bool(answer.assignment.topic_partitions)


@pytest.fixture(scope="module", autouse=True)
def _groups(pair: Pair) -> Iterator[None]:
    """`__share_group_state` as both make it where they can: here one broker cannot keep three replicas."""
    states = CreatableTopic(name=STATES, num_partitions=PARTITIONS, replication_factor=1)
    for side in pair.sides:
        made = side.call(ListenerType.BROKER, CreateTopicsRequest(topics=(states,), timeout_ms=30_000), 7)
        assert [each.error_code for each in made.topics] == [0], side.name
        eventually("the topic", lambda side=side: STATES in side.learn_topics())  # type: ignore[misc]
        eventually("its coordinator", lambda side=side: _is_coordinated(side), PATIENCE_S)  # type: ignore[misc]
        side.learn_topics()
        eventually("its first member", lambda side=side: _has_all(side, GROUP, "m-1"), PATIENCE_S)  # type: ignore[misc]
        joined = ConsumerGroupHeartbeatRequest(
            group_id=CONSUMERS, member_id="c", rebalance_timeout_ms=60_000, subscribed_topic_names=(TOPIC,),
            topic_partitions=(),
        )  # fmt: skip
        assert call(side, joined).error_code == 0
    yield
    for side in pair.sides:
        asked = DeleteTopicsRequest(topics=(DeleteTopicState(name=STATES),), timeout_ms=30_000)
        assert side.call(ListenerType.BROKER, asked, 6).responses[0].error_code == 0
        eventually("no topic", lambda side=side: STATES not in side.learn_topics())  # type: ignore[misc]


def _heartbeat() -> Table:
    def joining(name: str, **more: Any) -> Case:
        return Case(name, beat(**({"group_id": NOBODYS, "member_id": "m-9"} | more)))

    return Table(
        ApiKey.SHARE_GROUP_HEARTBEAT,
        BROKER,
        (
            Case("nothing", ShareGroupHeartbeatRequest()),
            joining("without a group", group_id=""),
            joining("of a blank group", group_id="  "),
            joining("of an empty rack", rack_id=""),
            joining("reading nothing", subscribed_topic_names=None),
            joining("reading an empty list", subscribed_topic_names=()),
            Case("without an id", beat(NOBODYS, "", 0)),
            Case("of a member without an id", beat(NOBODYS, " ", 5)),
            Case("of an unknown group", beat(NOBODYS, "m-9", 5)),
            Case("leaving an unknown group", beat(NOBODYS, "m-9", -1)),
            Case("of an impossible epoch", beat(NOBODYS, "m-9", -2)),
            Case("of the least epoch", beat(NOBODYS, "m-9", -(2**31))),
            Case("joining a group of consumers", beat(CONSUMERS, "m-9", 0)),
            Case("of a group of consumers", beat(CONSUMERS, "m-9", 5)),
            Case("leaving a group of consumers", beat(CONSUMERS, "m-9", -1)),
            Case("of an unknown member", beat(GROUP, "m-9", 2)),
            Case("leaving, of an unknown member", beat(GROUP, "m-9", -1)),
            Case("of a newer epoch", beat(GROUP, "m-1", 2**31 - 1)),
            Case("of an older epoch", beat(GROUP, "m-1", 1, rack_id="r")),
        ),
    )


def _describe() -> Table:
    return Table(
        ApiKey.SHARE_GROUP_DESCRIBE,
        BROKER,
        (
            Case("one", ShareGroupDescribeRequest(group_ids=(GROUP,))),
            Case("with rights", ShareGroupDescribeRequest(group_ids=(GROUP,), include_authorized_operations=True)),
            Case("unknown ones", ShareGroupDescribeRequest(group_ids=(NOBODYS, "", "\u00e4\U0001f600"))),
            Case("of consumers", ShareGroupDescribeRequest(group_ids=(CONSUMERS,))),
            Case("twice", ShareGroupDescribeRequest(group_ids=(GROUP, GROUP))),
            Case("none", ShareGroupDescribeRequest()),
            *(Case(f"of the name {name!r}", ShareGroupDescribeRequest(group_ids=(name,))) for name in NAMES),
        ),
    )


TABLES = (_heartbeat(), _describe())


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name.lower())
def test_share_groups_are_answered_for_as_by_kafka(pair: Pair, table: Table) -> None:
    judge(pair, table)


class Story:
    """What a side answers, line by line."""

    def __init__(self, side: Side, group_id: str) -> None:
        self.side, self.group_id = side, group_id
        self.lines: list[tuple[Any, ...]] = []
        self.epochs: dict[str, int] = {}

    def beat(self, member: str, epoch: int | None = None, **more: Any) -> Any:
        at = self.epochs.get(member, 0) if epoch is None else epoch
        answer = call(self.side, beat(self.group_id, member, at, **more))
        names = {topic_id: name for name, topic_id in self.side.topic_ids.items()}
        shown = None
        if answer.assignment is not None:
            topics = answer.assignment.topic_partitions
            shown = sorted((names.get(each.topic_id, "?"), len(each.partitions)) for each in topics)
        if answer.error_code == 0:
            self.epochs[member] = answer.member_epoch
        self.lines.append((member, answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms, shown))
        return answer

    def until_assigned(self, member: str) -> None:
        """Its states are initialized beside its heartbeats: how many it takes is a matter of time."""

        def has_some() -> bool:
            answer = self.beat(member)
            seen = self.lines.pop()
            if answer.assignment is None or not answer.assignment.topic_partitions:
                return False
            self.lines.append(seen)
            return True

        eventually("its assignment", has_some, PATIENCE_S)

    def pause(self) -> None:
        """Until the next target is due, and what was asked of share coordinators is there."""
        time.sleep(1.3)

    def written(self) -> list[tuple[Any, ...]]:
        """The group's records, by the newest of each key, without times and what chance has made of them."""
        return sorted(_told(each, self.side) for each in _records(self.side, self.group_id))


def _records(side: Side, group_id: str) -> Iterator[ShareGroupRecord]:
    index = partition_for(group_id, PARTITIONS)
    topic = side.topic_ids[OFFSETS]
    asked = FetchRequest(
        max_wait_ms=0,
        topics=(
            FetchTopic(topic_id=topic, partitions=(FetchPartition(partition=index, partition_max_bytes=1 << 20),)),
        ),
    )
    (found,) = call(side, asked).responses[0].partitions
    newest: dict[bytes, ShareGroupRecord] = {}
    for batch in decode_batches(bytes(found.records)):
        for line in () if batch.header.is_control else batch.records:
            record = None if line.key is None else read(line.key, line.value)
            if isinstance(record, ShareGroupRecord) and record.group_id == group_id:
                assert line.key is not None
                newest[line.key] = record
    yield from newest.values()


def _told(record: ShareGroupRecord, side: Side) -> tuple[Any, ...]:
    names = {topic_id: name for name, topic_id in side.topic_ids.items()}

    def plain(value: Any) -> Any:
        if isinstance(value, Uuid):
            return names.get(value, "?")
        if isinstance(value, tuple):
            return tuple(sorted((plain(each) for each in value), key=repr))
        fields = getattr(type(value), "FIELDS", None)
        if fields is None:
            return value
        if fields[0].name == "topic_id" and len(fields) == 2 and fields[1].name == "partitions":
            return names.get(value.topic_id, "?"), len(value.partitions)
        left_out = {"assignment_timestamp", "metadata_hash", "client_id", "client_host"}
        return tuple((one.name, plain(getattr(value, one.name))) for one in fields if one.name not in left_out)

    return type(record.key).__name__, repr(plain(record.key)), repr(plain(record.value))


def _members_come_and_go(side: Side, group_id: str) -> list[tuple[Any, ...]]:
    told = Story(side, group_id)
    told.beat("a")
    told.pause()
    told.until_assigned("a")
    told.beat("a")
    told.beat("a", 0, rack_id="r-1")
    told.beat("a", subscribed_topic_names=(TOPIC,))
    told.pause()
    told.beat("b")
    told.beat("a")
    told.pause()
    told.beat("c", subscribed_topic_names=(TOPIC, "no.such.topic"))
    told.lines.append(tuple(told.written()))
    told.beat("b", -1)
    told.beat("b", -1)
    told.beat("c", -1)
    told.pause()
    told.beat("a")
    told.lines.append(tuple(told.written()))
    told.beat("a", -1)
    told.lines.append(tuple(told.written()))
    listed = call(side, ListGroupsRequest(types_filter=("Share",))).groups
    told.lines += [
        (each.protocol_type, each.group_state, each.group_type) for each in listed if each.group_id == group_id
    ]
    described = call(side, ShareGroupDescribeRequest(group_ids=(group_id,))).groups[0]
    told.lines.append((described.error_code, described.group_state, described.group_epoch, described.assignment_epoch))
    deletes = DeleteGroupsRequest(groups_names=(group_id, group_id, "sharers.never"))
    told.lines.append(tuple(each.error_code for each in call(side, deletes).results))
    told.lines.append(tuple(told.written()))
    told.lines.append((call(side, ShareGroupDescribeRequest(group_ids=(group_id,))).groups[0].error_code,))
    return told.lines


def test_members_come_and_go_as_in_kafka(pair: Pair) -> None:
    java, ours = (_members_come_and_go(side, "sharers.story") for side in pair.sides)
    assert ours == java


def _others_ask(side: Side) -> list[tuple[Any, ...]]:
    """Requests of other protocols about a share group."""
    lines: list[tuple[Any, ...]] = []
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"\0\1")
    joins = JoinGroupRequest(
        group_id=GROUP, session_timeout_ms=30_000, rebalance_timeout_ms=60_000, protocol_type="consumer",
        protocols=(protocol,),
    )  # fmt: skip
    answer = call(side, joins)
    lines.append(("joins", answer.error_code, answer.member_id))
    for epoch in (0, 3, -1):
        beats = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id="c", member_epoch=epoch, rebalance_timeout_ms=60_000,
            subscribed_topic_names=(TOPIC,), topic_partitions=(),
        )  # fmt: skip
        answer = call(side, beats)
        lines.append(("beats", epoch, answer.error_code, answer.error_message))
    for generation in (-1, 3):
        commits = OffsetCommitRequest(
            group_id=GROUP, member_id="" if generation < 0 else "m-1", generation_id_or_member_epoch=generation,
            topics=(
                OffsetCommitRequestTopic(name=TOPIC, partitions=(OffsetCommitRequestPartition(committed_offset=1),)),
            ),
        )  # fmt: skip
        for version in (8, 9):
            answer = call(side, commits, version)
            lines.append(("commits", generation, version, answer.topics[0].partitions[0].error_code))
    for member_id, epoch in ((None, -1), ("m-1", 3)):
        asked = OffsetFetchRequestGroup(group_id=GROUP, member_id=member_id, member_epoch=epoch, topics=None)
        (group,) = call(side, OffsetFetchRequest(groups=(asked,)), 9).groups
        lines.append(("fetches", member_id, group.error_code, group.topics))
    (deleted,) = call(side, DeleteGroupsRequest(groups_names=(GROUP,))).results
    lines.append(("deletes", deleted.error_code))
    return lines


def test_others_are_answered_about_share_groups_as_by_kafka(pair: Pair) -> None:
    java, ours = (_others_ask(side) for side in pair.sides)
    assert ours == java


def alter(group_id: str, *topics: tuple[str, dict[int, int]]) -> AlterShareGroupOffsetsRequest:
    return AlterShareGroupOffsetsRequest(
        group_id=group_id,
        topics=tuple(
            alters.AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=tuple(
                    alters.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
                    for index, offset in offsets.items()
                ),
            )
            for name, offsets in topics
        ),
    )


def delete(group_id: str, *topics: str) -> DeleteShareGroupOffsetsRequest:
    named = (deletes.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics)
    return DeleteShareGroupOffsetsRequest(group_id=group_id, topics=tuple(named))


def look(*groups: tuple[str, dict[str, tuple[int, ...]] | None]) -> DescribeShareGroupOffsetsRequest:
    def topics(wanted: dict[str, tuple[int, ...]] | None) -> Any:
        if wanted is None:
            return None
        return tuple(
            describes.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=indexes)
            for name, indexes in wanted.items()
        )

    return DescribeShareGroupOffsetsRequest(
        groups=tuple(
            describes.DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=topics(wanted))
            for group_id, wanted in groups
        )
    )


OFFSETS_TABLES = (
    Table(
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        BROKER,
        (
            Case("of no group", alter("", (TOPIC, {0: 1}))),
            Case("of a group with members", alter(GROUP, (TOPIC, {0: 1}))),
            Case("of consumers", alter(CONSUMERS, (TOPIC, {0: 1}))),
            Case("of unknown topics", alter("sharers.altered", ("no.such.topic", {0: 1, 1: 2}))),
            Case("of unknown partitions", alter("sharers.altered", (TOPIC, {77: 1}))),
            Case("of several", alter("sharers.altered", (TOPIC, {0: 7, 77: 1}), ("no.such.topic", {0: 1}))),
            Case("of negative offsets", alter("sharers.altered", (TOPIC, {0: -7}))),
            Case("again", alter("sharers.altered", (TOPIC, {0: 3, 1: 4}))),
            *(Case(f"of the topic {name!r}", alter("sharers.altered", (name, {0: 1}))) for name in NAMES),
        ),
    ),
    Table(
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        BROKER,
        (
            Case("of no group", look(("", {TOPIC: (0,)}))),
            Case("all of no group", look(("", None))),
            Case("all of an unknown group", look((NOBODYS, None))),
            Case("of an unknown group", look((NOBODYS, {TOPIC: (0, 1), "no.such.topic": (0, 1)}))),
            Case("all of consumers", look((CONSUMERS, None))),
            Case("of nothing", look((GROUP, {}))),
            Case("without partitions", look((GROUP, {TOPIC: ()}))),
            Case("all", look(("sharers.altered", None))),
            Case("of several groups", look(("sharers.altered", {TOPIC: (0, 1, 2)}), (GROUP, {TOPIC: (0, -1)}))),
            Case("of none", look()),
            *(Case(f"of the topic {name!r}", look((GROUP, {name: (0,)}))) for name in NAMES),
        ),
    ),
    Table(
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        BROKER,
        (
            Case("of no group", delete("", TOPIC)),
            Case("of a group with members", delete(GROUP, TOPIC)),
            Case("of consumers", delete(CONSUMERS, TOPIC)),
            Case("of an unknown group", delete(NOBODYS, TOPIC)),
            Case("of nothing", delete("sharers.altered")),
            Case("of unknown topics", delete("sharers.altered", "no.such.topic", "payments")),
            Case("of several", delete("sharers.altered", TOPIC, "no.such.topic")),
            Case("again", delete("sharers.altered", TOPIC)),
            *(Case(f"of the topic {name!r}", delete("sharers.altered", name)) for name in NAMES),
        ),
    ),
)


@pytest.mark.parametrize("table", OFFSETS_TABLES, ids=lambda table: table.key.name.lower())
def test_offsets_are_altered_and_deleted_as_by_kafka(pair: Pair, table: Table) -> None:
    """In this order: what the first table sets the second one takes away."""
    judge(pair, table)


def test_offsets_of_a_partition_that_is_not_there_are_none(pair: Pair) -> None:
    """Kafka does not answer at all (docs/deviations.md)."""
    answer = pair.ours.call(ListenerType.BROKER, look((NOBODYS, {TOPIC: (77,)})), 1)
    told = [each for topic in answer.groups[0].topics for each in topic.partitions]
    assert [(each.partition_index, each.start_offset, each.error_code) for each in told] == [(77, -1, 0)]
