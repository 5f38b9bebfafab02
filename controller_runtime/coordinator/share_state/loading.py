"""States from the bytes of a partition's log, in pieces."""

from __future__ import annotations

from controller_runtime.coordinator.loading import Unreadable, replay_records
from controller_runtime.coordinator.share_state.partition import Effect, SharePartition
from controller_runtime.coordinator.share_state.records import BadShareRecord, read
from controller_runtime.parts.pieces import InPieces


def replay(partition: SharePartition, data: bytes, next_offset: int) -> InPieces[Effect, int]:
    """Whole batches, from `next_offset` on; where they end. Raises Unreadable, and ProtocolError."""

    def take(offset: int, key: bytes | None, value: bytes | None) -> None:
        try:
            found = read(key, value)
        except BadShareRecord as error:
            raise Unreadable(f"the record at offset {offset} cannot be read: {error}") from error
        if found is not None:
            partition.replay(found, offset)

    return replay_records(data, next_offset, take)
