"""Offsets: who may commit them, who sees them, and how long they are kept."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.coordinator import retention
from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.java_texts import java_hash
from controller_runtime.coordinator.offsets_records import read
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from controller_runtime.protocol.record_batch import decode_batches
from support.groups.coordinated import READ, Coordinated, codes, commit, protocols, topic_id

pytestmark = pytest.mark.unit

DAY_S = 86_400.0


def member_of(world: Coordinated, *topics: str) -> str:
    """The only one of a stable group that reads these."""
    words = protocols("range", metadata=b"\0\0" + encode(ConsumerProtocolSubscription(topics=topics), 0))
    asked = world.join(version=3, protocols=words, session_timeout_ms=1_800_000)
    world.wait(0.001)
    member: str = world.answer(asked).member_id
    world.sync(member, world.answer(asked).generation_id, {member: b"all"})
    assert world.state() == "Stable"
    return member


def expire(world: Coordinated) -> None:
    for partition in world.coordinator.partitions.values():
        whole(retention.expire(partition, world.now, world.wall))
    world.commit()


def tombstones(world: Coordinated) -> list[Any]:
    lines = (each for batch in decode_batches(world.logs.logs[0]) for each in batch.records)
    return [read(each.key, None) for each in lines if each.value is None]


def test_offsets_are_shown_when_they_are_committed() -> None:
    """GRP-24: until then readers see what was there before."""
    world = Coordinated(holds=True)
    first = world.send(commit({0: 5}), 9)
    assert (world.answer(first), world.committed()) == (None, {})
    world.commit()
    assert (codes(world.answer(first)), world.committed()) == ({ErrorCode.NONE}, {0: 5})
    second, third = world.send(commit({0: 6}), 9), world.send(commit({0: 7}), 9)
    assert world.committed() == {0: 5}
    partition = world.partition("g")
    world.take(partition.committed_to(2, world.now, world.wall))
    assert (world.answer(second) is None, world.answer(third)) == (False, None)
    assert world.committed() == {0: 6}
    world.commit()
    assert world.committed() == {0: 7}
    assert [codes(world.answer(each)) for each in (second, third)] == [{ErrorCode.NONE}] * 2
    assert world.moved().committed() == {0: 7}


def test_a_commit_that_the_log_refuses_changes_nothing() -> None:
    """GRP-24, with Kafka's code for each error of the log."""
    world = Coordinated()
    world.ask(commit({0: 5}), 9)
    for error, told in (
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ):
        world.logs.refusal = error
        assert codes(world.ask(commit({0: 9}), 9)) == {told}
        world.logs.refusal = None
        assert world.committed() == {0: 5}


def test_of_a_large_commit_each_batch_is_for_itself() -> None:
    """GRP-25: what was refused is named, partition by partition; the rest is committed."""
    world = Coordinated()
    body = commit({index % 8: index for index in range(8)})
    many = body.topics * 40  # 320 offsets: four batches
    appends = world.logs.append
    count = 0

    def some(index: int, batch: bytes, wall: Any, verification: object = None) -> int | ErrorCode:
        nonlocal count
        count += 1
        return ErrorCode.NOT_ENOUGH_REPLICAS if count == 3 else appends(index, batch, wall, verification)

    world.logs.append = some  # type: ignore[method-assign]
    answer = world.ask(type(body)(group_id="g", generation_id_or_member_epoch=-1, topics=many), 9)
    told = [each.error_code for topic in answer.topics for each in topic.partitions]
    assert told == [0] * 200 + [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 120
    assert len(world.committed()) == 8


def test_who_commits_keeps_its_session() -> None:
    """KIP-62: as a heartbeat does."""
    world = Coordinated()
    member = member_of(world, READ)
    assert codes(world.ask(commit({0: 1}, member, 1), 9)) == {ErrorCode.NONE}
    assert codes(world.ask(commit({0: 1}, member, 2), 9)) == {ErrorCode.ILLEGAL_GENERATION}
    assert codes(world.ask(commit({0: 1}, "nobody", 1), 9)) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert codes(world.ask(commit({0: 1}), 9)) == {ErrorCode.UNKNOWN_MEMBER_ID}, "OFF-01"


def test_offsets_of_an_empty_group_expire_a_week_after_it_became_empty() -> None:
    """OFF-09: and with the last of them the group."""
    world = Coordinated()
    member = member_of(world, READ)
    world.ask(commit({0: 5}, member, 1), 9)
    world.wait(8 * DAY_S)  # its session ends on the way
    assert world.state() == "Empty"
    expire(world)
    assert world.committed() == {}, "a week after it became empty"
    assert world.state() == "Dead"
    assert len(tombstones(world)) == 2
    assert world.moved().state() == "Dead"


def test_offsets_of_a_group_that_lives_are_kept_but_for_topics_that_it_does_not_read() -> None:
    """OFF-09, KAFKA-13636: nothing expires while it rebalances."""
    reads, elsewhere = (Coordinated(retention_ms=1_000) for _ in range(2))
    for world, topic in ((reads, READ), (elsewhere, "other")):
        member = member_of(world, topic)
        world.ask(commit({0: 5}, member, 1), 9)
        world.wait(2.0)
    expire(reads)
    assert reads.committed() == {0: 5}
    newcomer = elsewhere.join(version=3)
    expire(elsewhere)
    assert (elsewhere.state(), elsewhere.committed()) == ("PreparingRebalance", {0: 5})
    assert elsewhere.answer(newcomer) is None
    elsewhere.wait(1_800.0)
    expire(elsewhere)
    assert elsewhere.committed() == {}


def test_offsets_of_a_group_that_only_commits_expire_one_by_one() -> None:
    """OFF-09, KAFKA-8069: by the time of their commit, also after a load, or by a time of their own."""
    world = Coordinated(retention_ms=10_000)
    world.ask(commit({0: 5}), 9)
    world.ask(commit({1: 5}, retention_time_ms=1_000_000), 4)
    world.wait(6.0)
    world.ask(commit({2: 5}), 9)
    world.wait(6.0)
    moved = Coordinated(retention_ms=10_000, logs=world.logs)
    moved.now, moved.wall = world.now, world.wall
    expire(moved)
    assert moved.committed() == {1: 5, 2: 5}
    assert moved.state() == "Empty"


def test_what_was_committed_for_a_deleted_topic_is_forgotten() -> None:
    """OFF-10: of that topic, and of no later one of its name."""
    world = Coordinated()
    world.ask(commit({0: 5}), 9)
    partition = world.partition("g")
    whole(retention.forget_topics(partition, {READ: topic_id(9)}, world.now, world.wall))
    assert world.committed() == {0: 5}, "it was another one"
    whole(retention.forget_topics(partition, {READ: topic_id(2)}, world.now, world.wall))
    world.commit()
    assert world.committed() == {}


def test_offsets_are_deleted_unless_somebody_reads_the_topic() -> None:
    """OFF-11"""
    world = Coordinated()
    world.ask(commit({0: 5, 1: 6}), 9)
    assert world.ask(deletion(0)).error_code == 0
    assert world.committed() == {1: 6}
    member_of(world, READ)
    assert codes(world.ask(deletion(1))) == {ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    assert world.committed() == {1: 6}


def deletion(index: int) -> OffsetDeleteRequest:
    part = (OffsetDeleteRequestPartition(partition_index=index),)
    return OffsetDeleteRequest(group_id="g", topics=(OffsetDeleteRequestTopic(name=READ, partitions=part),))


def test_groups_of_several_partitions_are_deleted_in_one_request() -> None:
    """GRP-22: it is answered when all of them are, each with its own code."""
    world = Coordinated(partitions=4, holds=True)
    for name in ("a", "b", "c"):
        world.send(commit({0: 1}, group_id=name), 9)
    world.commit()
    asked = world.send(DeleteGroupsRequest(groups_names=("a", "b", "nobody", "c")))
    assert world.answer(asked) is None
    world.commit()
    told = {each.group_id: each.error_code for each in world.answer(asked).results}
    assert told == {"a": 0, "b": 0, "c": 0, "nobody": ErrorCode.GROUP_ID_NOT_FOUND}
    assert world.moved().committed("a") == {}


def test_a_group_has_its_place_by_javas_hash() -> None:
    """GRP-19: the same on every node, whatever it runs."""
    known = {"": 0, "a": 97, "polygenelubricants": -2147483648, "\U0001f600": 1772899}
    assert {text: java_hash(text) for text in known} == known
    assert partition_for("polygenelubricants", 50) == 0, "the number that has no absolute value"
    of_java = {"orders": 31, "payments": 13, "share.group": 6, "billing": 9, "ünïcode": 16}
    assert {text: partition_for(text, 50) for text in of_java} == of_java, "Utils.abs(hashCode()) % 50 of Apache Kafka"
