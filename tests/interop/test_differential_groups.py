"""Requests about groups of the classic protocol, right, wrong and borderline, at every version: beside Apache Kafka.

Both nodes have the same groups from the start: one that is stable, with a dynamic and a static member, one that is
empty, with offsets, and one that only commits. What changes groups is in a story of its own at the end.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.describe_groups_request import DescribeGroupsRequest
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.heartbeat_request import HeartbeatRequest
from controller_runtime.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from controller_runtime.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from controller_runtime.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from controller_runtime.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from support.apache_kafka.differential import Case, Pair, Side, Table, judge
from support.clients.lying_batches import batch
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
STABLE, EMPTY, SIMPLE, NOBODYS = "group.stable", "group.empty", "group.simple", "group.nobodys"
NO_TOPIC = Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0BAD)
LONG_MS = 1_800_000
"""The longest session that may be: no slow machine outlasts it."""
RANGE = (JoinGroupRequestProtocol(name="range", metadata=bytes.fromhex("000000000001000670617973616c00000000")),)
"""A subscription to nothing that can be read."""


def join(group_id: str, member_id: str = "", **more: Any) -> JoinGroupRequest:
    told: dict[str, Any] = {
        "session_timeout_ms": LONG_MS,
        "rebalance_timeout_ms": LONG_MS,
        "protocol_type": "consumer",
    } | more
    return JoinGroupRequest(group_id=group_id, member_id=member_id, **{"protocols": RANGE} | told)


def call(side: Side, request: Any, version: int) -> Any:
    return side.call(ListenerType.BROKER, request, version)


def _is_found(side: Side, group_id: str) -> bool:
    found = call(side, FindCoordinatorRequest(coordinator_keys=(group_id,)), 6)
    return bool(found.coordinators[0].error_code == 0 and call(side, ListGroupsRequest(), 5).error_code == 0)


def _make_groups(side: Side) -> None:
    for group_id in (STABLE, EMPTY):
        eventually("its coordinator", lambda group_id=group_id: _is_found(side, group_id))  # type: ignore[misc]

    def joined() -> Any:
        found = call(side, join(STABLE, group_instance_id="static-1"), 9)
        return found if found.error_code == 0 else None

    first = eventually("the group is there", joined)
    member = first.member_id
    assignments = (SyncGroupRequestAssignment(member_id=member, assignment=b"\0\0\0\0\0\0"),)
    synced = call(side, _sync(STABLE, member, first.generation_id, assignments=assignments), 4)
    assert synced.error_code == 0
    side.kept["member"], side.kept["generation"] = member, first.generation_id
    side.named[member] = "<the static member>"
    committed = (EMPTY, SIMPLE)
    for group_id in committed:
        assert _codes(call(side, _commit(group_id, index=0), 9)) == [0]
        assert _codes(call(side, _commit(group_id, index=1, metadata="some words"), 9)) == [0]


def _codes(answer: Any) -> list[int]:
    return [each.error_code for topic in answer.topics for each in topic.partitions]


@pytest.fixture(scope="module", autouse=True)
def _groups(pair: Pair) -> None:
    for side in pair.sides:
        _make_groups(side)
        side.learn_topics()


def _sync(group_id: str, member: str, generation: int, **more: Any) -> SyncGroupRequest:
    return SyncGroupRequest(group_id=group_id, member_id=member, generation_id=generation, **more)


def _commit(
    group_id: str,
    *,
    topic: str = "orders",
    topic_id: Uuid | None = None,
    index: int = 0,
    metadata: str = "",
    **more: Any,
) -> OffsetCommitRequest:
    one = OffsetCommitRequestPartition(partition_index=index, committed_offset=5 + index, committed_metadata=metadata)
    named: dict[str, Any] = {"topic_id": topic_id} if topic_id is not None else {"name": topic}
    return OffsetCommitRequest(
        group_id=group_id, topics=(OffsetCommitRequestTopic(partitions=(one,), **named),), **more
    )


def _stable(side: Side) -> dict[str, Any]:
    return {"member_id": side.kept["member"], "group_instance_id": "static-1"}


def _find_coordinator() -> Table:
    several = FindCoordinatorRequest(coordinator_keys=(STABLE, EMPTY, "", "\u00e4\U0001f600" * 5))
    return Table(
        ApiKey.FIND_COORDINATOR,
        BROKER,
        (
            Case("nothing", FindCoordinatorRequest()),
            Case("a group", FindCoordinatorRequest(key=STABLE), versions=range(4)),
            Case("several groups", several, versions=range(4, 7)),
            Case("an unknown kind", FindCoordinatorRequest(key_type=7, coordinator_keys=("x",)), range(4, 7)),
            Case("an unknown kind of old", FindCoordinatorRequest(key_type=7, key="x"), range(1, 4)),
            Case("a share group before it is known", FindCoordinatorRequest(key_type=2, key="x"), range(1, 4)),
        ),
    )


def _heartbeat() -> Table:
    def stable(side: Side, **more: Any) -> HeartbeatRequest:
        told = _stable(side) | {"generation_id": side.kept["generation"]} | more
        return HeartbeatRequest(group_id=STABLE, **told)

    known = range(3, 5)
    return Table(
        ApiKey.HEARTBEAT,
        BROKER,
        (
            Case("of no group", HeartbeatRequest(group_id="", member_id="x", generation_id=1)),
            Case("of an unknown group", HeartbeatRequest(group_id=NOBODYS, member_id="x", generation_id=1)),
            Case("of an empty group", HeartbeatRequest(group_id=EMPTY, member_id="x", generation_id=1)),
            Case("of an unknown member", HeartbeatRequest(group_id=STABLE, member_id="x", generation_id=1)),
            Case("of a member", stable, known),
            Case("of another generation", lambda side: stable(side, generation_id=99), known),
            Case("of a fenced instance", lambda side: stable(side, member_id="other"), known),
            Case("of an unknown instance", lambda side: stable(side, group_instance_id="other"), known),
        ),
    )


def _sync_group() -> Table:
    def stable(side: Side, **more: Any) -> SyncGroupRequest:
        named = {"protocol_type": "consumer", "protocol_name": "range"}
        told = {"group_id": STABLE, "generation_id": side.kept["generation"]} | _stable(side) | named | more
        return SyncGroupRequest(**told)

    return Table(
        ApiKey.SYNC_GROUP,
        BROKER,
        (
            Case("of no group", _sync("", "x", 1)),
            Case("of an unknown group", _sync(NOBODYS, "x", 1)),
            Case("of an empty group", _sync(EMPTY, "x", 1)),
            Case("of an unknown member", _sync(STABLE, "x", 1)),
            Case("of a member", stable, range(5, 6)),
            Case("of another generation", lambda side: stable(side, generation_id=99), range(5, 6)),
            Case("of a fenced instance", lambda side: stable(side, member_id="other"), range(5, 6)),
            Case("of another type", lambda side: stable(side, protocol_type="connect"), range(5, 6)),
            Case("of another protocol", lambda side: stable(side, protocol_name="sticky"), range(5, 6)),
        ),
    )


def _join_group() -> Table:
    return Table(
        ApiKey.JOIN_GROUP,
        BROKER,
        (
            Case("no group", join("")),
            Case("too short a session", join(NOBODYS, session_timeout_ms=5_999)),
            Case("too long a session", join(NOBODYS, session_timeout_ms=1_800_001)),
            Case("an unknown group by a member", join(NOBODYS, "somebody")),
            Case("without protocols", join(STABLE, protocols=())),
            Case("without a type", join(STABLE, protocol_type="")),
            Case("of another type", join(STABLE, protocol_type="connect")),
            Case("of another protocol", join(STABLE, protocols=(JoinGroupRequestProtocol(name="sticky"),))),
            Case("an unknown member", join(STABLE, "somebody")),
            Case("an unknown member of an empty group", join(EMPTY, "somebody")),
            Case("a fenced instance", join(STABLE, "somebody", group_instance_id="static-1")),
            Case("an unknown instance", join(STABLE, "somebody", group_instance_id="other")),
        ),
    )


def _leave_group() -> Table:
    mixed = (
        MemberIdentity(member_id="somebody"),
        MemberIdentity(member_id="", group_instance_id="other"),
        MemberIdentity(member_id="somebody", group_instance_id="static-1"),
        MemberIdentity(member_id=""),
    )
    return Table(
        ApiKey.LEAVE_GROUP,
        BROKER,
        (
            Case("an unknown group by nobody", LeaveGroupRequest(group_id=NOBODYS)),
            Case("no group", LeaveGroupRequest(group_id="", member_id="x"), range(3)),
            Case("an unknown group", LeaveGroupRequest(group_id=NOBODYS, member_id="x"), range(3)),
            Case("of an unknown member", LeaveGroupRequest(group_id=STABLE, member_id="x"), range(3)),
            Case("several that are none", LeaveGroupRequest(group_id=STABLE, members=mixed)),
            Case("several of an unknown group", LeaveGroupRequest(group_id=NOBODYS, members=mixed)),
            Case("several of no group", LeaveGroupRequest(group_id="", members=mixed)),
            Case("nobody", LeaveGroupRequest(group_id=STABLE), range(3, 6)),
        ),
    )


def _offset_commit() -> Table:
    names = range(2, 10)
    members: dict[str, Any] = {"generation_id_or_member_epoch": 1, "member_id": "x"}

    def orders(side: Side, group_id: str, **more: Any) -> OffsetCommitRequest:
        return _commit(group_id, topic_id=side.topic_ids["orders"], **more)

    def stable(side: Side, **more: Any) -> OffsetCommitRequest:
        told = _stable(side) | {"generation_id_or_member_epoch": side.kept["generation"]} | more
        return _commit(STABLE, **told)

    return Table(
        ApiKey.OFFSET_COMMIT,
        BROKER,
        (
            Case("of a simple group", _commit(SIMPLE), names),
            Case("of a simple group by id", lambda side: orders(side, SIMPLE), range(10, 11)),
            Case("an unknown topic", _commit(SIMPLE, topic="nobodys"), names),
            Case("an unknown id", _commit(SIMPLE, topic_id=NO_TOPIC), range(10, 11)),
            Case("an unknown partition", _commit(SIMPLE, index=99), names),
            Case("a negative partition", _commit(SIMPLE, index=-1), names),
            Case("metadata that is too long", _commit(SIMPLE, metadata="x" * 4097), names),
            Case("metadata that is just short enough", _commit(SIMPLE, metadata="\u00e4" * 4096), names),
            Case("an unknown group with a generation", _commit(NOBODYS, **members), names),
            Case("by an unknown member", _commit(STABLE, **members), names),
            Case("by nobody, of a stable group", _commit(STABLE), names),
            Case("by an unknown member, of an empty group", _commit(EMPTY, **members), names),
            Case("by a member", stable, range(7, 10)),
            Case("of another generation", lambda side: stable(side, generation_id_or_member_epoch=7), range(7, 10)),
            Case("by a fenced instance", lambda side: stable(side, member_id="x"), range(7, 10)),
            Case("nothing", OffsetCommitRequest(group_id=SIMPLE)),
        ),
    )


def _wanted(group_id: str, *indexes: int, topic: str = "orders", **more: Any) -> OffsetFetchRequest:
    topics = (OffsetFetchRequestTopics(name=topic, partition_indexes=indexes),)
    return OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group_id, topics=topics, **more),))


def _offset_fetch() -> Table:
    old = (OffsetFetchRequestTopic(name="orders", partition_indexes=(0, 1, 2, 99)),)
    all_of = OffsetFetchRequestGroup(group_id=EMPTY, topics=None)
    unknown = OffsetFetchRequestGroup(
        group_id=EMPTY, topics=(OffsetFetchRequestTopics(topic_id=NO_TOPIC, partition_indexes=(0,)),)
    )
    return Table(
        ApiKey.OFFSET_FETCH,
        BROKER,
        (
            Case("nothing", OffsetFetchRequest()),
            Case("of one group", OffsetFetchRequest(group_id=EMPTY, topics=old), range(1, 8)),
            Case("of an unknown group", OffsetFetchRequest(group_id=NOBODYS, topics=old), range(1, 8)),
            Case("all of one group", OffsetFetchRequest(group_id=EMPTY, topics=None), range(2, 8)),
            Case("of a group of several", _wanted(EMPTY, 0, 1, 2, 99), range(8, 10)),
            Case("of an unknown topic", _wanted(EMPTY, 0, topic="nobodys"), range(8, 10)),
            Case("by a member that nobody knows", _wanted(EMPTY, 0, member_id="x", member_epoch=3), range(9, 10)),
            Case("of a group that nobody knows", _wanted(NOBODYS, 0, member_id="x", member_epoch=3), range(9, 10)),
            Case("all of a group", OffsetFetchRequest(groups=(all_of,)), range(8, 11)),
            Case("of an unknown id", OffsetFetchRequest(groups=(unknown,)), range(10, 11)),
            Case("of no group", OffsetFetchRequest(groups=()), range(8, 11)),
            Case("stable ones", OffsetFetchRequest(groups=(all_of,), require_stable=True), range(8, 11)),
        ),
    )


def _describe_groups() -> Table:
    return Table(
        ApiKey.DESCRIBE_GROUPS,
        BROKER,
        (
            Case("each kind", DescribeGroupsRequest(groups=(STABLE, EMPTY, SIMPLE, NOBODYS, ""))),
            Case("with rights", DescribeGroupsRequest(groups=(EMPTY,), include_authorized_operations=True)),
            Case("none", DescribeGroupsRequest()),
        ),
    )


def _offset_delete() -> Table:
    def of(group_id: str, topic: str = "orders", *indexes: int) -> OffsetDeleteRequest:
        parts = tuple(OffsetDeleteRequestPartition(partition_index=each) for each in indexes)
        return OffsetDeleteRequest(group_id=group_id, topics=(OffsetDeleteRequestTopic(name=topic, partitions=parts),))

    return Table(
        ApiKey.OFFSET_DELETE,
        BROKER,
        (
            Case("of an unknown group", of(NOBODYS, "orders", 0)),
            Case("of an unknown partition", of(EMPTY, "orders", 99)),
            Case("of an unknown topic", of(EMPTY, "nobodys", 0)),
            Case("that is not there", of(EMPTY, "payments", 0)),
            Case("twice", of(EMPTY, "payments", 0, 0)),
            Case("without partitions", of(EMPTY, "payments")),
            Case("of an empty name", of(EMPTY, "", 0)),
            Case("of no group", of("", "orders", 0)),
            Case("of a group that only commits", of(SIMPLE, "orders", 2)),
            Case("a negative partition", of(EMPTY, "orders", -1)),
            Case("that is there", of(EMPTY, "orders", 1)),
            Case("of a stable group of consumers", of(STABLE, "orders", 0)),
            Case("nothing", OffsetDeleteRequest(group_id=EMPTY)),
        ),
    )


def _delete_groups() -> Table:

    return Table(
        ApiKey.DELETE_GROUPS,
        BROKER,
        (
            Case("none", DeleteGroupsRequest()),
            Case("of each kind", DeleteGroupsRequest(groups_names=(STABLE, NOBODYS, "")), versions=range(3)),
            Case("that is empty", DeleteGroupsRequest(groups_names=(SIMPLE,)), versions=range(2, 3)),
            Case("that was deleted", DeleteGroupsRequest(groups_names=(SIMPLE, SIMPLE)), versions=range(2, 3)),
        ),
    )


def _codes_of(side: Side) -> list[tuple[str, int]]:
    """One member comes, another one beside it, both are told, both leave."""
    said: list[tuple[str, int]] = []

    def note(what: str, answer: Any) -> Any:
        said.append((what, answer.error_code))
        return answer

    group_id = "group.story"
    eventually("its coordinator", lambda: _is_found(side, group_id))
    first = note("join without an id", call(side, join(group_id), 9))
    first = note("join", call(side, join(group_id, first.member_id), 9))
    me, generation = first.member_id, first.generation_id
    note("commit before the assignment", _first(call(side, _commit(group_id, **_as(me, generation)), 9)))
    assigned = (SyncGroupRequestAssignment(member_id=me, assignment=b"mine"),)
    note("sync", call(side, _sync(group_id, me, generation, assignments=assigned), 4))
    note("beat", call(side, HeartbeatRequest(group_id=group_id, member_id=me, generation_id=generation), 4))
    note("commit", _first(call(side, _commit(group_id, **_as(me, generation)), 9)))
    again = note("leader joins again", call(side, join(group_id, me), 9))
    said.append(("generation", again.generation_id - generation))
    note("beat of old", call(side, HeartbeatRequest(group_id=group_id, member_id=me, generation_id=generation), 4))
    note("delete", call(side, DeleteGroupsRequest(groups_names=(group_id,)), 2).results[0])
    leaving = LeaveGroupRequest(group_id=group_id, members=(MemberIdentity(member_id=me),))
    note("leave", call(side, leaving, 5).members[0])
    note("leave again", call(side, leaving, 5).members[0])
    said += [(each.group_state, each.error_code) for each in _described(side, group_id)]
    note("delete when empty", call(side, DeleteGroupsRequest(groups_names=(group_id,)), 2).results[0])
    return said


def _first(answer: Any) -> Any:
    return answer.topics[0].partitions[0]


def _as(member: str, generation: int) -> dict[str, Any]:
    return {"member_id": member, "generation_id_or_member_epoch": generation}


def _described(side: Side, group_id: str) -> Any:
    return call(side, DescribeGroupsRequest(groups=(group_id,)), 6).groups


def test_a_group_from_its_first_member_to_its_deletion(pair: Pair) -> None:
    """GRP-01, GRP-11, GRP-15, OFF-01"""
    java, ours = (_codes_of(side) for side in pair.sides)
    assert ours == java
    assert ("join without an id", ErrorCode.MEMBER_ID_REQUIRED) in ours


def _list_groups() -> Table:
    return Table(
        ApiKey.LIST_GROUPS,
        BROKER,
        (
            Case("all", ListGroupsRequest()),
            Case("in a state", ListGroupsRequest(states_filter=("sTable",))),
            Case("in no state", ListGroupsRequest(states_filter=("nobodys",))),
            Case("of a type", ListGroupsRequest(types_filter=("Classic",))),
            Case("of another type", ListGroupsRequest(types_filter=("share",))),
        ),
    )


def _produce() -> Table:
    """PRD-12: coordinators alone write to the topics that they keep."""
    record = PartitionProduceData(index=0, records=batch())
    topics = (TopicProduceData(name="__consumer_offsets", partition_data=(record,)),)
    return Table(
        ApiKey.PRODUCE,
        BROKER,
        tuple(
            Case(f"to the offsets, acks={acks}", ProduceRequest(acks=acks, topic_data=topics), versions=range(3, 13))
            for acks in (-1, 1, 2)
        ),
        malformed=False,
    )


TABLES = (
    _produce(),
    _find_coordinator(),
    _heartbeat(),
    _sync_group(),
    _join_group(),
    _leave_group(),
    _offset_commit(),
    _offset_fetch(),
    _describe_groups(),
    _list_groups(),
    _offset_delete(),
    _delete_groups(),
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name.lower())
def test_groups_are_answered_for_as_by_kafka(pair: Pair, table: Table) -> None:
    """GRP-02, GRP-09, GRP-15, GRP-21, GRP-22, OFF-01, OFF-02, OFF-04, OFF-11"""
    judge(pair, table)
