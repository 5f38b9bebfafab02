"""Snapshots of producers and indexes of aborted transactions, as `kafka-dump-log` prints them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from controller_runtime.storage.filesystem import OsFileSystem, read_whole
from controller_runtime.storage.log.producer_snapshots import decode_producers

_ABORTED: Final = struct.Struct(">hqqqq")


def producer_snapshot_lines(path: str) -> Iterator[str]:
    """Raises ValueError."""
    for one in decode_producers(read_whole(OsFileSystem(), path)).values():
        first = one.transaction_first_offset
        transaction = "OptionalLong.empty" if first < 0 else f"OptionalLong[{first}]"
        line = (
            f"producerId: {one.producer_id} producerEpoch: {one.epoch} coordinatorEpoch: {one.coordinator_epoch} "
            f"currentTxnFirstOffset: {transaction} lastTimestamp: {one.timestamp} "
        )
        for batch in one.batches[:1]:
            line += (
                f"firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence} "
                f"lastOffset: {batch.last_offset} offsetDelta: {batch.last_offset - batch.first_offset} "
                f"timestamp: {batch.timestamp}"
            )
        yield line


def transaction_index_lines(path: str) -> Iterator[str]:
    """Whole entries only. Raises ValueError for a version that 4.3.1 does not know."""
    data = read_whole(OsFileSystem(), path)
    for entry in _ABORTED.iter_unpack(data[: len(data) // _ABORTED.size * _ABORTED.size]):
        version, producer_id, first, last, stable = entry
        if version != 0:
            raise ValueError(f"Unexpected aborted transaction version {version} in transaction index, expected 0")
        yield (
            f"version: {version} producerId: {producer_id} firstOffset: {first} lastOffset: {last} "
            f"lastStableOffset: {stable}"
        )
