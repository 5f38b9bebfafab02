"""The record batches of a log file, walked without reading their records.

A scan yields where each batch lies and what its header says, in bounded memory: the file is read in chunks, and a batch
larger than a chunk is read whole only when its checksum is wanted. The scan stops at the first bytes that are not a
whole, valid batch and says why; whether that is a torn tail or corruption is the caller's to judge (`recovery`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller_runtime.protocol.checksum import crc32c
from controller_runtime.protocol.record_batch import (
    CRC_START,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    BatchHeader,
    claimed_header,
)
from controller_runtime.storage.filesystem import File
from controller_runtime.values import dataclass

_CHUNK: Final = 1 << 20
_MAX_BATCH: Final = 1 << 30
LAST_OFFSET: Final = (1 << 63) - 1
"""No record has it: the offset behind the last record must fit, too."""


@dataclass(frozen=True, slots=True)
class ScanEnd:
    """Why and where a scan stopped before the end of the file."""

    position: int
    reason: str
    torn: bool
    """The file ends inside this batch: what a crash during an append leaves."""


def parse_batch(data: bytes | memoryview, at: int, position: int) -> BatchHeader | str:
    """The header at `at` of `data`, as the batch at `position` of the file; or why none can be there. Needs
    61 bytes.

    Less is asked than of a client's batch: what an older leader let in must stay readable.
    """
    header = claimed_header(data, at, position)
    base_offset, length, delta = header.base_offset, header.batch_length, header.last_offset_delta
    if header.magic != MAGIC:
        return f"magic {header.magic}, not {MAGIC}"
    if not HEADER_BYTES - LENGTH_END <= length <= _MAX_BATCH:
        return f"batch length {length}"
    if base_offset < 0 or delta < 0 or base_offset + delta >= LAST_OFFSET:
        return f"base offset {base_offset}, last offset delta {delta}"
    return header


def checksum_holds(batch: bytes | memoryview) -> bool:
    """Whether the CRC-32C in the header of this whole batch is that of its bytes."""
    stored = int.from_bytes(batch[17:CRC_START], "big")
    return bool(crc32c(batch[CRC_START:]) == stored)


def split_batches(data: bytes) -> Iterator[BatchHeader]:
    """The batches of bytes that a caller vouches for (checksums are not verified). Raises ValueError when they are not
    whole.
    """
    position = 0
    while position < len(data):
        if len(data) - position < HEADER_BYTES:
            raise ValueError(f"{len(data) - position} bytes after the last batch")
        place = parse_batch(data, position, position)
        if isinstance(place, str):
            raise ValueError(f"not a batch at byte {position}: {place}")  # noqa: TRY004
        end = place.end_position
        if end > len(data):
            raise ValueError(
                f"the batch at byte {position} needs {end - position} bytes, {len(data) - position} are there"
            )
        yield place
        position = end


def scan(file: File, start: int = 0, *, verify: bool = True, end: int | None = None) -> Iterator[BatchHeader | ScanEnd]:
    """Every batch from byte `start` on. The last item is a `ScanEnd` if the bytes up to the end are not
    whole batches.
    """
    size = file.size() if end is None else end
    position = start
    chunk, chunk_start = b"", start
    while position < size:
        at = position - chunk_start
        if len(chunk) - at < HEADER_BYTES:
            chunk, chunk_start, at = file.read_at(position, min(_CHUNK, size - position)), position, 0
        if len(chunk) < HEADER_BYTES:
            yield ScanEnd(position, f"{len(chunk)} bytes, less than a batch header", torn=True)
            return
        place = parse_batch(chunk, at, position)
        if isinstance(place, str):
            yield ScanEnd(position, place, torn=False)
            return
        if place.end_position > size:
            yield ScanEnd(position, f"a batch of {place.size_in_bytes} bytes, {size - position} are there", torn=True)
            return
        if verify:
            if at + place.size_in_bytes > len(chunk):
                chunk, chunk_start, at = file.read_at(position, max(_CHUNK, place.size_in_bytes)), position, 0
            if not checksum_holds(memoryview(chunk)[at : at + place.size_in_bytes]):
                yield ScanEnd(
                    position, f"checksum of the batch at offset {place.base_offset} does not hold", torn=False
                )
                return
        yield place
        position = place.end_position
