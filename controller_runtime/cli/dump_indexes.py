"""Index files as `kafka-dump-log` prints, verifies and checks them, beside the segment that they index.

Entries are read as they lie in the file, whole ones, until one that is all zeros (Java preallocates open indexes). A
mismatch is no error: it is reported at the end, as by Kafka. An index that fails the sanity check is one that a broker
rebuilds at its start.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from typing import Final

from controller_runtime.protocol.record_batch import HEADER_BYTES, BatchHeader
from controller_runtime.storage.filesystem import OsFileSystem, read_whole
from controller_runtime.storage.log.batches import parse_batch
from controller_runtime.values import dataclass, field

OFFSET_ENTRY: Final = struct.Struct(">ii")
TIME_ENTRY: Final = struct.Struct(">qi")


class CorruptIndex(Exception):
    """The sanity check failed."""

    def __init__(self, message: str) -> None:
        java = "org.apache.kafka.storage.internals.log.CorruptIndexException"
        super().__init__(f'Exception in thread "main" {java}: {message}')


@dataclass(slots=True)
class Faults:
    """What did not fit, by the absolute path of the index."""

    offsets: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    timestamps: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    order: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    missing: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        for path, pairs in self.offsets.items():
            yield f"Mismatches in :{path}"
            yield from (f"  Index offset: {indexed}, log offset: {found}" for indexed, found in pairs)
        for path, pairs in self.timestamps.items():
            yield f"Found timestamp mismatch in :{path}"
            yield from (f"  Index timestamp: {indexed}, log timestamp: {found}" for indexed, found in pairs)
        for path, pairs in self.order.items():
            yield f"Found out of order timestamp in :{path}"
            yield from (f"  Index timestamp: {at}, Previously indexed timestamp: {before}" for at, before in pairs)
        for path, pairs in self.missing.items():
            yield f"The following indexed offsets are not found in :{path}"
            yield from (f"Indexed offset: {indexed}, found log offset: {found}" for indexed, found in pairs)

    def tell(self) -> None:
        for line in self.lines():
            print(line, file=sys.stderr)


@dataclass(frozen=True, slots=True)
class How:
    """`sanity`: only check; `silent`: verify, but do not print the entries."""

    sanity: bool = False
    silent: bool = False


def dump_offset_index(path: str, how: How, faults: Faults) -> None:
    base, data = _base_offset(path), read_whole(OsFileSystem(), path)
    entries = _entries(data, OFFSET_ENTRY)
    if not entries:
        print(f"{path} is empty.")
        return
    if how.sanity:
        _check_offset_index(path, base, data, entries)
        print(f"{path} passed sanity check.")
        return
    log = _log(path)
    for relative, position in _until_zeros(entries, 0):
        batch = _batch_at(log, position)
        found = -1 if batch is None else batch.last_offset
        if found != base + relative:
            faults.offsets.setdefault(os.path.abspath(path), []).append((base + relative, found))
        if not how.silent:
            print(f"offset: {base + relative} position: {position}")


def dump_time_index(path: str, how: How, faults: Faults) -> None:
    base, data = _base_offset(path), read_whole(OsFileSystem(), path)
    entries = _entries(data, TIME_ENTRY)
    if not entries:
        print(f"{path} is empty.")
        return
    if how.sanity:
        _check_time_index(path, base, data, entries)
        print(f"{path} passed sanity check.")
        return
    batches, name, before = list(_batches(_log(path))), os.path.abspath(path), -1
    for timestamp, relative in _until_zeros(entries, 1):
        offset = base + relative
        batch = next((one for one in batches if one.last_offset >= offset), None)
        if batch is None or batch.last_offset != offset:
            faults.missing.setdefault(name, []).append((offset, -1 if batch is None else batch.last_offset))
        else:
            if batch.max_timestamp != timestamp:
                faults.timestamps.setdefault(name, []).append((timestamp, batch.max_timestamp))
            if before >= timestamp:
                faults.order.setdefault(name, []).append((timestamp, before))
        if not how.silent:
            print(f"timestamp: {timestamp} offset: {offset}")
        before = timestamp


def _check_offset_index(path: str, base: int, data: bytes, entries: list[tuple[int, int]]) -> None:
    name, last = os.path.abspath(path), base + entries[-1][0]
    if last < base:
        why = f"the last offset is {last} which is less than the base offset {base}"
        raise CorruptIndex(f"Corrupt index found, index file {name} has non-zero size but {why}")
    if len(data) % OFFSET_ENTRY.size:
        what = f"found {len(data)} bytes which is neither positive nor a multiple of {OFFSET_ENTRY.size}"
        raise CorruptIndex(f"Index file {name} is corrupt, {what}")


def _check_time_index(path: str, base: int, data: bytes, entries: list[tuple[int, int]]) -> None:
    name, (timestamp, relative), first = os.path.abspath(path), entries[-1], entries[0][0]
    fault = None
    if timestamp < first:
        fault = f"the last timestamp is {timestamp} which is less than the first timestamp {first}"
    elif relative < 0:
        fault = f"the last offset is {base + relative} which is less than the first offset {base}"
    if fault is not None:
        raise CorruptIndex(f"Corrupt time index found, time index file ({name}) has non-zero size but {fault}")
    if len(data) % TIME_ENTRY.size:
        what = f"found {len(data)} bytes which is neither positive nor a multiple of {TIME_ENTRY.size}"
        raise CorruptIndex(f"Time index file {name} is corrupt, {what}")


def _entries(data: bytes, layout: struct.Struct) -> list[tuple[int, int]]:
    return list(layout.iter_unpack(data[: len(data) // layout.size * layout.size]))


def _until_zeros(entries: list[tuple[int, int]], column: int) -> Iterator[tuple[int, int]]:
    """Up to the first entry but one whose offset, in this column, is the base offset."""
    for number, entry in enumerate(entries):
        if number and entry[column] == 0:
            return
        yield entry


def _base_offset(path: str) -> int:
    return int(os.path.basename(path).partition(".")[0])


def _log(path: str) -> bytes:
    folder, name = os.path.split(os.path.abspath(path))
    return read_whole(OsFileSystem(), os.path.join(folder, name.partition(".")[0] + ".log"))


def _batch_at(log: bytes, position: int) -> BatchHeader | None:
    place = parse_batch(log, position, position) if 0 <= position <= len(log) - HEADER_BYTES else ""
    return None if isinstance(place, str) else place


def _batches(log: bytes) -> Iterator[BatchHeader]:
    at = 0
    while (place := _batch_at(log, at)) is not None and place.end_position <= len(log):
        yield place
        at = place.end_position
