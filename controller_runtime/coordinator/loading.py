"""A partition's groups and offsets from the bytes of its log, in pieces.

Batches of transactions count when their marker says so. Gaps that compaction has left are no fault; bytes that are not
what they should be are: the partition is not served then, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.offsets_records import BadGroupRecord, OffsetRecord, read
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.control_records import ControlType, decode_control
from controller_runtime.protocol.record_batch import RecordBatch, decode_batches

Take = Callable[[int, "bytes | None", "bytes | None"], None]
"""Gets the offset, key and value of a record."""


class Unreadable(Exception):
    """Something in the log is no record of a coordinator."""


def replay_records(data: bytes, next_offset: int, take: Take) -> InPieces[Any, int]:
    """Each record from `next_offset` on, but those of control batches; where they end. Raises what `take` raises, and
    ProtocolError.
    """
    for batch in decode_batches(data):
        yield None
        header = batch.header
        if header.next_offset <= next_offset:
            continue
        for record in () if header.is_control else batch.records:
            if record.offset >= next_offset:
                take(record.offset, record.key, record.value)
                yield None
        next_offset = header.next_offset
    return next_offset


def replay(partition: GroupPartition, data: bytes, next_offset: int) -> InPieces[Respond, int]:
    """Whole batches, from `next_offset` on; where they end. Raises Unreadable, and ProtocolError."""
    for batch in decode_batches(data):
        yield None
        header = batch.header
        if header.next_offset <= next_offset:
            continue
        if header.is_control:
            _end_transaction(partition, batch)
        else:
            for record in batch.records:
                if record.offset >= next_offset:
                    _replay(partition, batch, record.offset, record.key, record.value)
                    yield None
        next_offset = header.next_offset
    return next_offset


def _replay(partition: GroupPartition, batch: RecordBatch, at: int, key: bytes | None, value: bytes | None) -> None:
    try:
        record = read(key, value)
    except BadGroupRecord as error:
        raise Unreadable(f"the record at offset {at} cannot be read: {error}") from error
    if record is None:
        return
    if batch.header.is_transactional and isinstance(record, OffsetRecord):
        partition.offsets.replay_pending(batch.header.producer_id, record, at)
    else:
        partition.replay(record, at)


def _end_transaction(partition: GroupPartition, batch: RecordBatch) -> None:
    for record in batch.records:
        kind = decode_control(record).type
        if kind in (ControlType.COMMIT, ControlType.ABORT):
            partition.offsets.end_transaction(batch.header.producer_id, commit=kind is ControlType.COMMIT)
