"""A partition's transactional ids from the bytes of its log, in pieces. Gaps that compaction has left are no fault."""

from __future__ import annotations

from controller_runtime.coordinator.loading import Unreadable, replay_records
from controller_runtime.coordinator.transactions.partition import Effect, TransactionPartition
from controller_runtime.coordinator.transactions.records import BadTransactionRecord, read
from controller_runtime.parts.pieces import InPieces


def replay(partition: TransactionPartition, data: bytes, next_offset: int) -> InPieces[Effect, int]:
    """Whole batches, from `next_offset` on; where they end. Raises Unreadable, and ProtocolError."""

    def take(offset: int, key: bytes | None, value: bytes | None) -> None:
        try:
            found = read(key, value)
        except BadTransactionRecord as error:
            raise Unreadable(f"the record at offset {offset} cannot be read: {error}") from error
        if found is not None:
            partition.replay(found)

    return replay_records(data, next_offset, take)
