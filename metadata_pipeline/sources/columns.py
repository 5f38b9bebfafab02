"""Arrow arrays out of numpy arrays: numbers, texts, ids and lists that lie scattered in a buffer. No Python object per row.

`source` is the buffer that positions point into; it must have a few bytes behind the last position. `valid` is None when every row has a
value. Positions and counts of rows that are not valid are ignored, so they may be anything.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metadata_pipeline.schemas import ARROW_TYPES
from metadata_pipeline.sources.headers import Bytes, Ints

Bools = npt.NDArray[np.bool_]

_YEAR_1_MS: Final = -62_135_596_800_000
_YEAR_10000_MS: Final = 253_402_300_800_000
_LETTERS: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)
_PAIRS: Final = np.stack((np.repeat(_LETTERS, 64), np.tile(_LETTERS, 64)), axis=1).copy().view(np.uint16).reshape(4096)
"""The two characters of 12 bits of base64."""
UUID_BYTES: Final = 16
UUID_LETTERS: Final = 22


def bitmap(valid: Bools | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def numbers(values: npt.NDArray[Any], kind: pa.DataType, valid: Bools | None = None) -> pa.Array:
    """Numbers of exactly the size of `kind`, in any byte order."""
    if pa.types.is_boolean(kind):
        data = pa.py_buffer(np.packbits(values.astype(np.bool_), bitorder="little"))
    else:
        width = np.dtype(f"i{kind.bit_width // 8}")
        data = pa.py_buffer(np.ascontiguousarray(values, dtype=width))
    return pa.Array.from_buffers(kind, len(values), [bitmap(valid), data])


def timestamps(milliseconds: Ints, valid: Bools | None = None) -> pa.Array:
    """Times; null for what is outside of the years 1 to 9999."""
    inside = (milliseconds >= _YEAR_1_MS) & (milliseconds < _YEAR_10000_MS)
    if inside.all():
        return numbers(milliseconds * 1000, ARROW_TYPES["timestamp"], valid)
    inside &= True if valid is None else valid
    return numbers(np.where(inside, milliseconds, 0) * 1000, ARROW_TYPES["timestamp"], inside)


def constant(value: Any, count: int, kind: pa.DataType) -> pa.Array:
    if value is None:
        return pa.nulls(count, kind)
    return pa.repeat(pa.scalar(value, kind), count)


def words(codes: npt.NDArray[Any], names: list[str | None]) -> pa.Array:
    """One of a few texts for each row; `codes` index `names`."""
    if len(names) == 1:
        return constant(names[0], len(codes), pa.string())
    return pa.array(names, pa.string()).take(pa.array(codes))


def _offsets(lengths: Ints, valid: Bools | None) -> tuple[Ints, Ints]:
    if valid is not None:
        lengths = np.where(valid, lengths, 0)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return lengths, offsets


def spread(starts: Ints, lengths: Ints, offsets: Ints, step: int = 1) -> Ints:
    """The positions of all elements of all rows, one after another."""
    if len(starts) == 0 or offsets[-1] == 0:
        return np.zeros(0, np.int64)
    places: Ints = np.repeat(starts - offsets[:-1] * step, lengths)
    places += np.arange(offsets[-1], dtype=np.int64) * step
    return places


def texts(source: Bytes, starts: Ints, lengths: Ints, valid: Bools | None = None) -> pa.Array:
    """UTF-8 that somebody has checked."""
    lengths, offsets = _offsets(lengths, valid)
    data = source[spread(starts, lengths, offsets)]
    return pa.Array.from_buffers(
        pa.string(), len(starts), [bitmap(valid), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    )


def uuid_letters(source: Bytes, starts: Ints) -> Bytes:
    """The 22 letters of each uuid, one after another: 128 bits and four zeros are eleven 12-bit numbers, each two letters."""
    unaligned = np.ndarray((max(0, len(source) - UUID_BYTES + 1),), f"V{UUID_BYTES}", source, strides=(1,))
    halves = unaligned[starts].view(">i8").astype(np.int64).reshape(-1, 2)
    high, low = halves[:, 0].copy(), halves[:, 1].copy()
    letters = np.empty((len(starts), UUID_LETTERS // 2), np.uint16)
    for index, shift in enumerate((52, 40, 28, 16, 4)):
        letters[:, index] = _PAIRS[(high >> shift) & 4095]
    letters[:, 5] = _PAIRS[((high << 8) | ((low >> 56) & 255)) & 4095]
    for index, shift in enumerate((44, 32, 20, 8), start=6):
        letters[:, index] = _PAIRS[(low >> shift) & 4095]
    letters[:, 10] = _PAIRS[(low << 4) & 4095]
    return letters.view(np.uint8).reshape(-1)


def uuids(source: Bytes, starts: Ints, valid: Bools | None = None) -> pa.Array:
    """Ids as Kafka prints them."""
    places = starts if valid is None else starts[valid]
    lengths = np.full(len(starts), UUID_LETTERS, np.int64)
    _, offsets = _offsets(lengths, valid)
    data = uuid_letters(source, places)
    return pa.Array.from_buffers(
        pa.string(), len(starts), [bitmap(valid), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    )


def int_lists(source: Bytes, starts: Ints, counts: Ints, valid: Bools | None = None) -> pa.Array:
    """Lists of big-endian 32-bit numbers."""
    counts, offsets = _offsets(counts, valid)
    places = spread(starts, counts, offsets, 4)
    unaligned = np.ndarray((max(0, len(source) - 3),), ">i4", source, strides=(1,))
    elements = numbers(unaligned[places], pa.int32())
    kind = ARROW_TYPES["ints"]
    return pa.Array.from_buffers(
        kind, len(starts), [bitmap(valid), pa.py_buffer(offsets.astype(np.int32))], children=[elements]
    )


def uuid_lists(source: Bytes, starts: Ints, counts: Ints, valid: Bools | None = None) -> pa.Array:
    counts, offsets = _offsets(counts, valid)
    elements = uuids(source, spread(starts, counts, offsets, UUID_BYTES))
    kind = ARROW_TYPES["strings"]
    return pa.Array.from_buffers(
        kind, len(starts), [bitmap(valid), pa.py_buffer(offsets.astype(np.int32))], children=[elements]
    )
