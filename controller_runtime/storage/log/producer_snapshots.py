"""What was known of idempotent producers at an offset of a log: Kafka's `.snapshot` files, named by that offset.

With one a start needs not read the batches before it. A snapshot is a cache with a checksum: a bad one is removed, and
an older one, or the batches, take its place. So it is never synced.

Kafka writes one entry for a producer, of its last batch. We write an entry for each of the batches that a leader
remembers, the last one last: Kafka takes that one, and we find a retry of the others after a restart, too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.protocol.checksum import crc32c
from controller_runtime.protocol.producer_states import ProducerBatch, ProducerEntry, previous_sequence
from controller_runtime.storage import file_names
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.values import dataclass, field

_VERSION: Final = 1
_HEAD: Final = struct.Struct(">hIi")
_CRC_END: Final = 6
_ENTRY: Final = struct.Struct(">qhiqiqiq")
_NONE: Final = -1


@dataclass(frozen=True, slots=True)
class FoundSnapshot:
    """Offset 0 and nobody, when there is none."""

    offset: int = 0
    producers: Mapping[int, ProducerEntry] = field(default_factory=dict)


def encode_producers(producers: Mapping[int, ProducerEntry]) -> bytes:
    entries = [packed for entry in producers.values() for packed in _packed(entry)]
    body = b"".join(entries)
    counted = len(entries).to_bytes(4, "big") + body
    return _VERSION.to_bytes(2, "big") + int(crc32c(counted)).to_bytes(4, "big") + counted


def _packed(entry: ProducerEntry) -> Iterator[bytes]:
    for batch in entry.batches[:-1]:
        yield _pack(entry, batch, batch.timestamp, _NONE)
    last = entry.batches[-1] if entry.batches else ProducerBatch(_NONE, _NONE, _NONE, _NONE, entry.timestamp)
    yield _pack(entry, last, entry.timestamp, entry.transaction_first_offset)


def _pack(entry: ProducerEntry, batch: ProducerBatch, timestamp: int, transaction: int) -> bytes:
    delta = batch.last_offset - batch.first_offset
    return _ENTRY.pack(
        entry.producer_id, entry.epoch, batch.last_sequence, batch.last_offset, delta, timestamp,
        entry.coordinator_epoch, transaction,
    )  # fmt: skip


def decode_producers(data: bytes) -> dict[int, ProducerEntry]:
    """Raises ValueError when the bytes are not a whole snapshot of version 1."""
    if len(data) < _HEAD.size:
        raise ValueError(f"{len(data)} bytes")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"version {version}, not {_VERSION}")
    if crc != crc32c(data[_CRC_END:]) or len(data) != _HEAD.size + count * _ENTRY.size:
        raise ValueError("the checksum does not hold")
    producers: dict[int, ProducerEntry] = {}
    for producer_id, epoch, sequence, offset, delta, timestamp, coordinator, transaction in _ENTRY.iter_unpack(
        data[_HEAD.size :]
    ):
        entry = producers.get(producer_id)
        if entry is None or entry.epoch != epoch:
            entry = producers[producer_id] = ProducerEntry(producer_id, epoch)
        if offset >= 0:
            first = previous_sequence(sequence, delta)
            entry.note(epoch, ProducerBatch(first, sequence, offset - delta, offset, timestamp))
        entry.timestamp, entry.coordinator_epoch = timestamp, coordinator
        entry.transaction_first_offset = transaction
    return producers


def snapshot_path(directory: str, offset: int) -> str:
    return join(directory, file_names.segment_file(offset, file_names.PRODUCER_SNAPSHOT))


def snapshot_offsets(filesystem: FileSystem, directory: str) -> list[int]:
    """Of the snapshots in this directory, ascending."""
    parsed = (file_names.parse_segment_file(name) for name in filesystem.list_directory(directory))
    return sorted(place[0] for place in parsed if place is not None and place[1] == file_names.PRODUCER_SNAPSHOT)


def newest_snapshot(filesystem: FileSystem, directory: str, end: int) -> FoundSnapshot:
    """The newest one at or below `end`; bad ones are removed."""
    for offset in reversed(snapshot_offsets(filesystem, directory)):
        if offset > end:
            continue
        path = snapshot_path(directory, offset)
        try:
            return FoundSnapshot(offset, decode_producers(read_whole(filesystem, path)))
        except ValueError:
            filesystem.remove(path)
    return FoundSnapshot()


def remove_snapshots_beyond(filesystem: FileSystem, directory: str, end: int) -> None:
    """What they say of is not in the log any more, and something else may come in its place."""
    gone = [offset for offset in snapshot_offsets(filesystem, directory) if offset > end]
    for offset in gone:
        filesystem.remove(snapshot_path(directory, offset))
    if gone:
        filesystem.sync_directory(directory)
