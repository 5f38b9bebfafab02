"""States from the bytes of a partition's log, in pieces."""

from __future__ import annotations

from controller_runtime.coordinator.loading import Unreadable
from controller_runtime.coordinator.share_state.partition import Effect, SharePartition
from controller_runtime.coordinator.share_state.records import BadShareRecord, read
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.record_batch import decode_batches


def replay(partition: SharePartition, data: bytes, next_offset: int) -> InPieces[Effect, int]:
    """Whole batches, from `next_offset` on; where they end. Raises Unreadable, and ProtocolError."""
    for batch in decode_batches(data):
        yield None
        header = batch.header
        if header.next_offset <= next_offset:
            continue
        for record in () if header.is_control else batch.records:
            if record.offset < next_offset:
                continue
            try:
                found = read(record.key, record.value)
            except BadShareRecord as error:
                raise Unreadable(f"the record at offset {record.offset} cannot be read: {error}") from error
            if found is not None:
                partition.replay(found, record.offset)
            yield None
        next_offset = header.next_offset
    return next_offset
