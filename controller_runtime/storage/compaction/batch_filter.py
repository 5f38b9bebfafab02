"""Which records of a batch survive a cleaning, and the bytes of what is left of it.

The last record of a key stays. A tombstone stays until its horizon, which the first cleaning that sees it writes into
the batch (KIP-534); so does a marker of which no data is left. Of aborted transactions no record stays. A batch keeps
its first and last offset and its sequence, and an empty one is kept where it is the last of an active producer or the
last of what is cleaned: else its state, or the end, would be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.protocol.compacted_batches import delete_horizon, emptied, rewritten
from controller_runtime.protocol.producer_states import NO_PRODUCER, ProducerEntry
from controller_runtime.protocol.record_batch import BatchHeader, Record, RecordBatch
from controller_runtime.storage.compaction.offset_map import OffsetMap
from controller_runtime.storage.compaction.transactions import CleanedTransactions, marker_of
from controller_runtime.values import dataclass


def note_keys(
    header: BatchHeader, data: bytes, found: OffsetMap, transactions: CleanedTransactions, first_dirty: int
) -> bool:
    """Take the keys of a batch down. False: there was no room for one, and `found.latest` is as before."""
    if header.is_control:
        transactions.ends_nothing(header, marker_of(header, data))
    elif not transactions.is_aborted(header):
        for record in RecordBatch(header, data).records:
            if record.key is not None and record.offset >= first_dirty and not found.put(record.key, record.offset):
                return False
    if header.last_offset >= first_dirty:
        found.latest = header.last_offset
    return True


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What a cleaning goes by; one for all segments of a log."""

    found: OffsetMap
    transactions: CleanedTransactions
    producers: Mapping[int, ProducerEntry]
    """Active ones."""
    limit: int
    """Where that begins which is not cleaned."""
    now_ms: int
    delete_retention_ms: int

    def left_of(self, header: BatchHeader, data: bytes) -> bytes:
        """The batch as it is kept; b"": nothing of it is."""
        horizon: Final = delete_horizon(header)
        if header.is_control:
            ends_nothing = self.transactions.ends_nothing(header, marker_of(header, data))
            goes = ends_nothing and horizon is not None and horizon <= self.now_ms
        else:
            ends_nothing = False
            goes = self.transactions.is_aborted(header)
        stays_empty = self._is_last_of_producer(header) or header.next_offset == self.limit
        if goes:
            return emptied(header) if stays_empty else b""
        records = RecordBatch(header, data).records
        kept = records if header.is_control else tuple(one for one in records if self._stays(one, horizon))
        if not kept:
            return emptied(header) if stays_empty else b""
        is_first_seen = horizon is None and (ends_nothing or any(one.value is None for one in kept))
        if len(kept) == len(records) and not is_first_seen:
            return data
        return rewritten(header, kept, self.now_ms + self.delete_retention_ms if is_first_seen else horizon)

    def _stays(self, record: Record, horizon: int | None) -> bool:
        if record.offset > self.found.latest:
            return True
        if record.key is None or record.offset < self.found.get(record.key):
            return False
        return record.value is not None or horizon is None or self.now_ms < horizon

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        """Without data of it the last marker says its epoch."""
        entry = self.producers.get(header.producer_id) if header.producer_id != NO_PRODUCER else None
        if entry is None:
            return False
        if entry.batches:
            return header.last_offset == entry.batches[-1].last_offset
        return header.is_control and header.producer_epoch == entry.epoch
