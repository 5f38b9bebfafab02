"""Walk the record batches of a log file without reading their records.

A scan yields where each batch lies and what its header says, in bounded memory: the file is read in chunks, and a batch
larger than a chunk is read whole only when its checksum is wanted. The scan stops at the first bytes that are not a
whole, valid batch and says why; whether that is a torn tail or corruption is the caller's to judge (`recovery`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from controller_runtime.protocol.checksum import crc32c
from controller_runtime.storage.filesystem import File
from controller_runtime.values import dataclass

HEADER_SIZE: Final = 61
"""Bytes before the first record of a batch of magic 2."""
LENGTH_PREFIX: Final = 12
"""Base offset and length: the bytes that `length` does not count."""
_CRC_START: Final = 21
_CHUNK: Final = 1 << 20
_MAX_BATCH: Final = 1 << 30
LAST_OFFSET: Final = (1 << 63) - 1
"""No record has it: the offset behind the last record must fit, too."""
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """One batch of a file: its place and what its header says."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    epoch: int
    base_timestamp: int
    max_timestamp: int
    attributes: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & 0x20)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & 0x10)

    @property
    def end(self) -> int:
        return self.position + self.size


@dataclass(frozen=True, slots=True)
class ScanEnd:
    """Why and where a scan stopped before the end of the file."""

    position: int
    reason: str
    torn: bool
    """The file ends inside this batch: what a crash during an append leaves."""


def parse_batch(data: bytes | memoryview, at: int, position: int) -> BatchPlace | str:
    """The header at `at` of `data`, as the batch at `position` of the file; or what is wrong with it. Needs
    61 bytes.
    """
    fields = _HEADER.unpack_from(data, at)
    base_offset, length, epoch, magic, _, attributes, delta, base_ts, max_ts, producer, p_epoch, sequence, count = (
        fields
    )
    if magic != 2:
        return f"magic {magic}, not 2"
    if not HEADER_SIZE - LENGTH_PREFIX <= length <= _MAX_BATCH:
        return f"batch length {length}"
    if base_offset < 0 or delta < 0 or base_offset + delta >= LAST_OFFSET:
        return f"base offset {base_offset}, last offset delta {delta}"
    return BatchPlace(
        position, LENGTH_PREFIX + length, base_offset, base_offset + delta, epoch, base_ts, max_ts, attributes, producer, p_epoch,
        sequence, count,
    )  # fmt: skip


def checksum_holds(batch: bytes | memoryview) -> bool:
    """Whether the CRC-32C in the header of this whole batch is that of its bytes."""
    stored = int.from_bytes(batch[17:_CRC_START], "big")
    return bool(crc32c(batch[_CRC_START:]) == stored)


def split_batches(data: bytes) -> Iterator[BatchPlace]:
    """The batches of bytes that a caller vouches for (checksums are not verified). Raises ValueError when they are not
    whole.
    """
    position = 0
    while position < len(data):
        if len(data) - position < HEADER_SIZE:
            raise ValueError(f"{len(data) - position} bytes after the last batch")
        place = parse_batch(data, position, position)
        if isinstance(place, str):
            raise ValueError(f"not a batch at byte {position}: {place}")  # noqa: TRY004
        if place.end > len(data):
            raise ValueError(f"the batch at byte {position} needs {place.size} bytes, {len(data) - position} are there")
        yield place
        position = place.end


def scan(file: File, start: int = 0, *, verify: bool = True, end: int | None = None) -> Iterator[BatchPlace | ScanEnd]:
    """Every batch from byte `start` on. The last item is a `ScanEnd` if the bytes up to the end are not
    whole batches.
    """
    size = file.size() if end is None else end
    position = start
    chunk, chunk_start = b"", start
    while position < size:
        at = position - chunk_start
        if len(chunk) - at < HEADER_SIZE:
            chunk, chunk_start, at = file.read_at(position, min(_CHUNK, size - position)), position, 0
        if len(chunk) < HEADER_SIZE:
            yield ScanEnd(position, f"{len(chunk)} bytes, less than a batch header", torn=True)
            return
        place = parse_batch(chunk, at, position)
        if isinstance(place, str):
            yield ScanEnd(position, place, torn=False)
            return
        if place.end > size:
            yield ScanEnd(position, f"a batch of {place.size} bytes, {size - position} are there", torn=True)
            return
        if verify:
            if at + place.size > len(chunk):
                chunk, chunk_start, at = file.read_at(position, max(_CHUNK, place.size)), position, 0
            if not checksum_holds(memoryview(chunk)[at : at + place.size]):
                yield ScanEnd(
                    position, f"checksum of the batch at offset {place.base_offset} does not hold", torn=False
                )
                return
        yield place
        position = place.end
