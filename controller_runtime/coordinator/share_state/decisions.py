"""The five requests for one key: Kafka's checks in its order, the record to be written, the answer when it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller_runtime.coordinator.share_state.combining import StateBatch
from controller_runtime.coordinator.share_state.partition import WORDS, Entry, Shape, SharePartition
from controller_runtime.coordinator.share_state.records import ShareRecord
from controller_runtime.coordinator.share_state.values import (
    NO_COUNT,
    NO_EPOCH,
    UNKNOWN_OFFSET,
    ShareKey,
    ShareState,
    ShareUpdate,
    merged,
)
from controller_runtime.identifiers import WallClock
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import (
    delete_share_group_state_response,
    initialize_share_group_state_response,
    read_share_group_state_response,
    read_share_group_state_summary_response,
    write_share_group_state_response,
)
from controller_runtime.values import dataclass

MOST_BATCHES: Final = 20_000
"""Of one state: twice the locks that a partition of a group can be allowed to have."""
_NEGATIVE: Final = "The partition id cannot be a negative number."
_UNINITIALIZED: Final = "operation on uninitialized share partition not allowed."


@dataclass(frozen=True, slots=True)
class Decided:
    record: ShareRecord | None
    answer: Any


Decide = Callable[[SharePartition, ShareKey, Any, WallClock], Decided]

INITIALIZE: Final = Shape(
    "initialize share group state",
    initialize_share_group_state_response.PartitionResult,
    initialize_share_group_state_response.InitializeStateResult,
    initialize_share_group_state_response.InitializeShareGroupStateResponse,
)
READ: Final = Shape(
    "read share group state",
    read_share_group_state_response.PartitionResult,
    read_share_group_state_response.ReadStateResult,
    read_share_group_state_response.ReadShareGroupStateResponse,
)
WRITE: Final = Shape(
    "write share group state",
    write_share_group_state_response.PartitionResult,
    write_share_group_state_response.WriteStateResult,
    write_share_group_state_response.WriteShareGroupStateResponse,
)
DELETE: Final = Shape(
    "delete share group state",
    delete_share_group_state_response.PartitionResult,
    delete_share_group_state_response.DeleteStateResult,
    delete_share_group_state_response.DeleteShareGroupStateResponse,
)
SUMMARY: Final = Shape(
    "read share group state summary",
    read_share_group_state_summary_response.PartitionResult,
    read_share_group_state_summary_response.ReadStateSummaryResult,
    read_share_group_state_summary_response.ReadShareGroupStateSummaryResponse,
)


def _refused(shape: Shape, key: ShareKey, error: ErrorCode, words: str | None = None) -> Decided:
    return Decided(None, shape.refused(key.partition, error, WORDS[error] if words is None else words))


def _place(shape: Shape, partition: SharePartition, key: ShareKey) -> Decided | None:
    """None: there is such a partition."""
    topic = partition.topic.image.topics.get(key.topic_id)
    if topic is None or key.partition >= topic.partition_count:
        return _refused(shape, key, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return None


def initialize(partition: SharePartition, key: ShareKey, data: Any, wall: WallClock) -> Decided:
    if key.partition < 0:
        return _refused(INITIALIZE, key, ErrorCode.INVALID_REQUEST, _NEGATIVE)
    entry = partition.entries.get(key)
    if entry is not None and data.state_epoch != NO_EPOCH and entry.state_epoch > data.state_epoch:
        return _refused(INITIALIZE, key, ErrorCode.FENCED_STATE_EPOCH)
    if (refused := _place(INITIALIZE, partition, key)) is not None:
        return refused
    state = ShareState(
        snapshot_epoch=0 if entry is None else entry.state.snapshot_epoch + 1,
        state_epoch=data.state_epoch,
        leader_epoch=0,
        start_offset=data.start_offset,
        complete_count=NO_COUNT if data.start_offset == UNKNOWN_OFFSET else 0,
        created_ms=wall,
        written_ms=wall,
    )
    return Decided(ShareRecord(key, state), INITIALIZE.partition(partition=key.partition))


def write(partition: SharePartition, key: ShareKey, data: Any, wall: WallClock) -> Decided:
    if key.partition < 0:
        return _refused(WRITE, key, ErrorCode.INVALID_REQUEST, _NEGATIVE)
    entry = partition.entries.get(key)
    if entry is None:
        return _refused(WRITE, key, ErrorCode.INVALID_REQUEST, f"Write {_UNINITIALIZED}")
    if data.leader_epoch != NO_EPOCH and entry.leader_epoch > data.leader_epoch:
        return _refused(WRITE, key, ErrorCode.FENCED_LEADER_EPOCH)
    if data.state_epoch != NO_EPOCH and entry.state_epoch > data.state_epoch:
        return _refused(WRITE, key, ErrorCode.FENCED_STATE_EPOCH)
    if (refused := _place(WRITE, partition, key)) is not None:
        return refused
    if len(entry.state.batches) + len(data.state_batches) > MOST_BATCHES:
        words = f"Write fewer state batches: a share partition keeps at most {MOST_BATCHES}."
        return _refused(WRITE, key, ErrorCode.INVALID_REQUEST, words)
    batches = tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in data.state_batches
    )
    change = ShareUpdate(
        entry.state.snapshot_epoch, data.leader_epoch, data.start_offset, data.delivery_complete_count, batches
    )
    record = _change(partition, key, entry, change, wall, raises_epoch=False)
    return Decided(record, WRITE.partition(partition=key.partition))


def _change(
    partition: SharePartition, key: ShareKey, entry: Entry, change: ShareUpdate, wall: WallClock, *, raises_epoch: bool
) -> ShareRecord:
    """An update, or a snapshot when there were enough of them. Only a read raises the leader's epoch."""
    state = entry.state
    raised = raises_epoch and change.leader_epoch != NO_EPOCH
    leader_epoch = change.leader_epoch if raised else state.leader_epoch
    if entry.updates < partition.settings.updates_per_snapshot:
        batches = merged((), change.batches, change.start_offset)
        update = ShareUpdate(state.snapshot_epoch, leader_epoch, change.start_offset, change.complete_count, batches)
        return ShareRecord(key, update)
    start = state.start_offset if change.start_offset == UNKNOWN_OFFSET else change.start_offset
    snapshot = ShareState(
        snapshot_epoch=state.snapshot_epoch + 1,
        state_epoch=state.state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start,
        complete_count=change.complete_count,
        created_ms=wall,
        written_ms=wall,
        batches=merged(state.batches, change.batches, start),
    )
    return ShareRecord(key, snapshot)


def read(partition: SharePartition, key: ShareKey, data: Any, wall: WallClock) -> Decided:
    if key.partition < 0:
        return _refused(READ, key, ErrorCode.INVALID_REQUEST, _NEGATIVE)
    entry = partition.entries.get(key)
    if entry is None:
        return _refused(READ, key, ErrorCode.INVALID_REQUEST, f"Read {_UNINITIALIZED}")
    if data.leader_epoch != NO_EPOCH and entry.leader_epoch > data.leader_epoch:
        return _refused(READ, key, ErrorCode.FENCED_LEADER_EPOCH)
    if (refused := _place(READ, partition, key)) is not None:
        return refused
    state = entry.state
    answer = READ.partition(
        partition=key.partition,
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=tuple(
            read_share_group_state_response.StateBatch(
                first_offset=each.first, last_offset=each.last, delivery_state=each.state, delivery_count=each.count
            )
            for each in state.batches
        ),
    )
    if data.leader_epoch in (NO_EPOCH, entry.leader_epoch):
        return Decided(None, answer)
    change = ShareUpdate(state.snapshot_epoch, data.leader_epoch, state.start_offset, state.complete_count)
    return Decided(_change(partition, key, entry, change, wall, raises_epoch=True), answer)


def summarize(partition: SharePartition, key: ShareKey, _: Any, __: WallClock) -> Decided:
    if key.partition < 0:
        return _refused(SUMMARY, key, ErrorCode.INVALID_REQUEST, _NEGATIVE)
    if (refused := _place(SUMMARY, partition, key)) is not None:
        return refused
    entry = partition.entries.get(key)
    if entry is None:
        return Decided(None, SUMMARY.partition(partition=key.partition, start_offset=UNKNOWN_OFFSET))
    state = entry.state
    answer = SUMMARY.partition(
        partition=key.partition,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.complete_count,
    )
    return Decided(None, answer)


def delete(partition: SharePartition, key: ShareKey, _: Any, __: WallClock) -> Decided:
    if key.partition < 0:
        return _refused(DELETE, key, ErrorCode.INVALID_REQUEST, _NEGATIVE)
    if (refused := _place(DELETE, partition, key)) is not None:
        return refused
    record = ShareRecord(key, None) if key in partition.entries else None
    return Decided(record, DELETE.partition(partition=key.partition))
