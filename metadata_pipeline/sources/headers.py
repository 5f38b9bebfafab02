"""Batch headers of a chunk, found by hopping and read as columns.

Hopping needs one number per batch, its length (many small ones: `lanes`); the rest of the header is read for all
batches at once through a packed numpy type. Nothing is trusted: a length that is impossible ends the walk with a `Stop`
that says why, a batch that is cut off by the end of the chunk is left for the next chunk. The checksum is CRC-32C over
everything behind it; base offset and epoch lie before it and are covered by nothing.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from controller_runtime.protocol.checksum import crc32c
from controller_runtime.protocol.record_batch import COMPRESSION_MASK, CRC_START, HEADER_BYTES, LENGTH_END, MAGIC
from metadata_pipeline.sources.arrays import Bytes, Ints
from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.lanes import walked
from metadata_pipeline.sources.short_checksums import LONGEST, SHORTEST, short_checksums

HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"), ("length", ">i4"), ("epoch", ">i4"), ("magic", "i1"), ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"), ("base_timestamp", ">i8"), ("max_timestamp", ">i8"), ("producer_id", ">i8"),
        ("producer_epoch", ">i2"), ("base_sequence", ">i4"), ("record_count", ">i4"),
    ]
)  # fmt: skip
assert HEADER.itemsize == HEADER_BYTES, "the packed type has the header's size"
SMALLEST_LENGTH: Final = 5
"""Length of the least thing that any format writes behind its length: epoch or checksum, and the magic byte."""
_read_length: Final = struct.Struct(">i").unpack_from
_HIGHEST_CODEC: Final = 4
_PROBED: Final = 1 << 13
"""Bytes that tell how large batches are here."""
_MANY: Final = 64
"""Short checksums, from which on they are computed together."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the walk ended before the end of the bytes, and where."""

    position: int
    fault: Fault | None
    detail: str
    needed: int = 0
    """Bytes that the batch at `position` claims, when it goes on behind the chunk."""


def hop(data: bytes, start: int = 0) -> tuple[list[int], Stop]:
    """Positions of the batches that lie wholly within `data`, and what stopped the walk. Batches of other magics count
    too.
    """
    probed, _ = _hop(data[start : start + _PROBED], 0)
    ahead = walked(data, start, probed[-1] / (len(probed) - 1)).tolist() if len(probed) > 1 else []
    if not ahead:
        return _hop(data, start)
    positions, stop = _hop(data, ahead[-1] + LENGTH_END + _read_length(data, ahead[-1] + 8)[0])
    return [*ahead, *positions], stop


def _hop(data: bytes, start: int) -> tuple[list[int], Stop]:
    """One batch after the other."""
    positions: list[int] = []
    add = positions.append
    position, end = start, len(data)
    last = end - HEADER_BYTES
    while position <= last:
        length = _read_length(data, position + 8)[0]
        if length < SMALLEST_LENGTH:
            return positions, Stop(position, Fault.LENGTH, f"a length of {length} is impossible")
        after = position + LENGTH_END + length
        if after > end:
            return positions, Stop(position, None, "", LENGTH_END + length)
        add(position)
        position = after
    needed = HEADER_BYTES
    if end - position >= LENGTH_END:
        length = _read_length(data, position + 8)[0]
        if length < SMALLEST_LENGTH:
            return positions, Stop(position, Fault.LENGTH, f"a length of {length} is impossible")
        needed = LENGTH_END + length
        if needed <= end - position:  # shorter than a header: nothing of ours, but whole
            add(position)
            return positions, Stop(position + needed, None, "", HEADER_BYTES)
    return positions, Stop(position, None, "", 0 if position == end else needed)


def read_headers(data: Bytes, positions: Ints) -> Any:
    """The headers as one array of the packed type. `data` must reach a header's size beyond the last position."""
    blocks = np.ndarray((max(0, len(data) - HEADER_BYTES + 1),), f"V{HEADER_BYTES}", data, strides=(1,))
    return blocks[positions].view(HEADER)


def checksums(data: bytes, positions: Ints, sizes: Ints) -> npt.NDArray[np.uint32]:
    """The CRC-32C that each batch should carry."""
    starts, ends = positions + CRC_START, positions + sizes
    short = (sizes >= CRC_START + SHORTEST) & (sizes <= CRC_START + LONGEST)
    if np.count_nonzero(short) < _MANY:
        return _each_checksum(data, starts, ends)
    found = np.empty(len(positions), np.uint32)
    found[short] = short_checksums(np.frombuffer(data, np.uint8), starts[short], ends[short])
    found[~short] = _each_checksum(data, starts[~short], ends[~short])
    return found


def _each_checksum(data: bytes, starts: Ints, ends: Ints) -> npt.NDArray[np.uint32]:
    view = memoryview(data)
    bodies = map(view.__getitem__, map(slice, starts.tolist(), ends.tolist()))  # no step of Python's own for each batch
    return np.fromiter(map(crc32c, bodies), np.uint32, count=len(starts))


def faults_of(headers: Any, crcs: npt.NDArray[np.uint32]) -> list[tuple[Fault, str] | None]:
    """What is wrong with each batch by its header and checksum alone; None for most."""
    found: list[tuple[Fault, str] | None] = [None] * len(headers)
    magic = headers["magic"] != MAGIC
    short = ~magic & (headers["length"] < HEADER_BYTES - LENGTH_END)
    wrong = ~magic & ~short & (headers["crc"] != crcs)
    odd = (
        ~magic & ~short & ~wrong
        & (
            (headers["last_offset_delta"] < 0)
            | (headers["record_count"] < 0)
            | ((headers["attributes"] & COMPRESSION_MASK) > _HIGHEST_CODEC)
        )
    )  # fmt: skip
    for index in np.flatnonzero(magic | short | wrong | odd).tolist():
        header = headers[index]
        if magic[index]:
            found[index] = (Fault.MAGIC, f"magic {int(header['magic'])} is not {MAGIC}")
        elif short[index]:
            found[index] = (Fault.LENGTH, f"a length of {int(header['length'])} is too small for a header")
        elif wrong[index]:
            found[index] = (Fault.CRC, f"CRC is {int(crcs[index]):08x}, the header says {int(header['crc']):08x}")
        else:
            found[index] = (Fault.HEADER, "offset delta, record count or compression is impossible")
    return found
