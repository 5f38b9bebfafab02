"""Offsets that nobody needs any more, and groups without offsets or members: tombstones for them.

As in Kafka an offset is kept for `offsets.retention.minutes` from when the group became empty, or, of a group that only
commits and of topics that a stable group of consumers does not read, from when it was committed. A group that
rebalances keeps everything; so does what a transaction may still change. What was committed for a topic that is deleted
goes at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.classic_members import CONSUMER
from controller_runtime.coordinator.classic_values import State
from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.offset_requests import is_subscribed
from controller_runtime.coordinator.offsets_records import (
    Committed,
    GroupLogRecord,
    GroupRecord,
    OffsetPlace,
    OffsetRecord,
)
from controller_runtime.coordinator.share import states
from controller_runtime.coordinator.streams import records as of_streams
from controller_runtime.coordinator.streams.group import StreamsGroup
from controller_runtime.identifiers import ZERO_UUID, Instant, Uuid, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.pieces import InPieces

_Group = ClassicGroup | ConsumerGroup | StreamsGroup
_MOST_RECORDS = 500
"""Of one batch."""


def expire(partition: GroupPartition, now: Instant, wall: WallClock) -> InPieces[Respond, None]:
    for group in list(partition.groups.values()):
        yield None
        if partition.groups.get(group.group_id) is not group:
            continue  # It was deleted meanwhile.
        yield from _written(partition, list(_expired(partition, group, wall)), now, wall)
        is_here = partition.groups.get(group.group_id) is group
        if is_here and _is_needless(partition, group):
            partition.write([GroupRecord(group.group_id, None)], None, now, wall)
            partition.forget(group.group_id)

    for consumers in list(partition.consumers.values()):
        yield None
        if partition.consumers.get(consumers.group_id) is not consumers:
            continue
        old = list(_expired(partition, consumers, wall))
        yield from _written(partition, old, now, wall)
        is_here = partition.consumers.get(consumers.group_id) is consumers
        group_id = consumers.group_id
        is_kept = partition.offsets.of(group_id) or partition.offsets.has_pending(group_id)
        if is_here and not consumers.members and not is_kept:
            partition.write(records.group_gone(group_id, [], list(consumers.resolved)), None, now, wall)
    for streams in list(partition.streams.by_id.values()):
        yield None
        group_id = streams.group_id
        if partition.streams.by_id.get(group_id) is not streams:
            continue
        yield from _written(partition, list(_expired(partition, streams, wall)), now, wall)
        is_kept = partition.offsets.of(group_id) or partition.offsets.has_pending(group_id)
        if partition.streams.by_id.get(group_id) is streams and not is_kept and not streams.members:
            partition.write(of_streams.group_gone(group_id), None, now, wall)
            partition.forget(group_id)


def _is_needless(partition: GroupPartition, group: ClassicGroup) -> bool:
    if group.state is not State.EMPTY or group.members.pending:
        return False
    return not partition.offsets.of(group.group_id) and not partition.offsets.has_pending(group.group_id)


def _expired(partition: GroupPartition, group: _Group, wall: WallClock) -> Iterator[OffsetPlace]:
    retention_ms = partition.settings.retention_ms
    for (topic, index), committed in partition.offsets.of(group.group_id).items():
        since = _since(group, topic, committed)
        place = OffsetPlace(group.group_id, topic, index)
        if since is None or partition.offsets.is_pending(place):
            continue
        if committed.expire_timestamp >= 0:
            is_over = wall >= committed.expire_timestamp
        else:
            is_over = wall - since >= retention_ms
        if is_over:
            yield place


def _since(group: _Group, topic: str, committed: Committed) -> int | None:
    """From when on its time counts; None: it does not expire now."""
    if not isinstance(group, ClassicGroup):
        return None if group.reads(topic) else committed.commit_timestamp
    if group.protocol_type is None:
        return committed.commit_timestamp
    if group.state is State.EMPTY:
        return committed.commit_timestamp if group.state_since is None else group.state_since
    reads = group.protocol_type == CONSUMER and group.state is State.STABLE and group.subscribed is not None
    return committed.commit_timestamp if reads and not is_subscribed(group, topic) else None


def forget_topics(
    partition: GroupPartition, deleted: dict[str, Uuid], now: Instant, wall: WallClock
) -> InPieces[Respond, None]:
    """`deleted`: topics by name, with the ids that they had. What was committed without an id counts for all."""
    for group_id in partition.offsets.groups():
        yield None
        gone = [
            OffsetPlace(group_id, topic, index)
            for (topic, index), committed in partition.offsets.of(group_id).items()
            if topic in deleted and committed.topic_id in (ZERO_UUID, deleted[topic])
        ]
        yield from _written(partition, gone, now, wall)
    for shared in list(partition.shares.by_id.values()):
        yield None
        partition.act(states.forgotten(shared, set(deleted.values()), partition.share_world(wall)), now, wall)


def _written(
    partition: GroupPartition, places: list[OffsetPlace], now: Instant, wall: WallClock
) -> InPieces[Respond, None]:
    for first in range(0, len(places), _MOST_RECORDS):
        some: list[GroupLogRecord] = [OffsetRecord(place, None) for place in places[first : first + _MOST_RECORDS]]
        partition.write(some, None, now, wall)
        yield None
