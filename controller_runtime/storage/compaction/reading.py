"""Whole batches of a segment, with their checksums verified, in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.protocol.record_batch import HEADER_BYTES, BatchHeader
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.log.batches import checksum_holds, parse_batch
from controller_runtime.storage.log.segment import Segment

Batches = list[tuple[BatchHeader, bytes]]


def batches_of(segment: Segment, position: int, piece_bytes: int) -> Iterator[Batches]:
    """From `position` to the end, about `piece_bytes` at once: at least one batch. Raises CorruptFile with the place of
    a batch that is not as it was written.
    """
    size, end = segment.size, segment.base_offset
    while position < size:
        data = segment.file.read_at(position, min(piece_bytes, size - position))
        found: Batches = []
        at = 0
        while len(data) - at >= HEADER_BYTES:
            header = parse_batch(data, at, position + at)
            if isinstance(header, str):
                raise CorruptFile(segment.path, header, position + at)
            if header.base_offset < end:  # which no checksum covers
                raise CorruptFile(segment.path, f"offset {header.base_offset} after {end - 1}", position + at)
            if at + header.size_in_bytes > len(data):
                if found or position + at + header.size_in_bytes > size:
                    break
                data = segment.file.read_at(position, header.size_in_bytes)
            batch = data[at : at + header.size_in_bytes]
            if len(batch) < header.size_in_bytes or not checksum_holds(batch):
                reason = f"checksum of the batch at offset {header.base_offset} does not hold"
                raise CorruptFile(segment.path, reason, position + at)
            found.append((header, batch))
            end = header.next_offset
            at += header.size_in_bytes
        if not found:
            raise CorruptFile(segment.path, "the file ends inside a batch", position)
        yield found
        position += at
