"""Arrow arrays out of numpy arrays: numbers, texts, ids and lists that lie scattered in a buffer. No Python object per
row.

`source` is the buffer that positions point into; it must have a few bytes behind the last position. `valid` is None
when every row has a value. Positions and counts of rows that are not valid are ignored, so they may be anything. All is
made of buffers: `pa.array`, `pa.scalar` and `to_numpy` import pandas where it is installed, which takes longer than
decoding a million records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metadata_pipeline.schemas import ARROW_TYPES
from metadata_pipeline.sources.arrays import Bytes, Ints

Bools = npt.NDArray[np.bool_]
Blocks = Sequence[tuple[Any, Any]]
"""Rows and their bytes, all of a block equally many: void numbers of that size."""

_YEAR_1_MS: Final = -62_135_596_800_000
_YEAR_10000_MS: Final = 253_402_300_800_000
_LETTERS: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)
_PAIRS: Final = np.stack((np.repeat(_LETTERS, 64), np.tile(_LETTERS, 64)), axis=1).copy().view(np.uint16).reshape(4096)
"""The two characters of 12 bits of base64."""
_CONSTANTS: Final[dict[tuple[Any, pa.DataType], pa.Array]] = {}
_MOST_CONSTANTS: Final = 64
_LARGE: Final = 9
_SPARSE: Final = 4
_WORTH_SHARING: Final = 256
_SLOTS: Final = 4096
_MULTIPLIER: Final = np.int64(-7046029254386353131)
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


def listed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A few Python values; None is null."""
    valid = np.array([value is not None for value in values], np.bool_)
    known = None if valid.all() else valid
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return numbers(np.array([value or 0 for value in values], np.int64), kind, known)
    encoded = [b"" if value is None else value.encode() if isinstance(value, str) else value for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [bitmap(known), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(encoded), buffers)


def held(array: pa.Array) -> npt.NDArray[Any]:
    """The numbers or booleans of an array. Where it is null, anything."""
    start, count = array.offset, len(array)
    data = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    if pa.types.is_boolean(array.type):
        return np.unpackbits(data, bitorder="little")[start : start + count].astype(np.bool_)
    found: npt.NDArray[Any] = data.view(f"i{array.type.bit_width // 8}")[start : start + count]
    return found


def timestamps(milliseconds: Ints, valid: Bools | None = None) -> pa.Array:
    """Times; null for what is outside of the years 1 to 9999."""
    if milliseconds.min(initial=0) >= _YEAR_1_MS and milliseconds.max(initial=0) < _YEAR_10000_MS:
        return numbers(milliseconds * 1000, ARROW_TYPES["timestamp"], valid)
    inside = (milliseconds >= _YEAR_1_MS) & (milliseconds < _YEAR_10000_MS)
    inside &= True if valid is None else valid
    return numbers(np.where(inside, milliseconds, 0) * 1000, ARROW_TYPES["timestamp"], inside)


def constant(value: Any, count: int, kind: pa.DataType) -> pa.Array:
    """The same value in every row. What was made for one block is cut for the next."""
    made = _CONSTANTS.get((value, kind))
    if made is None or len(made) < count:
        if len(_CONSTANTS) > _MOST_CONSTANTS:
            _CONSTANTS.clear()
        made = pa.nulls(count, kind) if value is None else pa.repeat(listed([value], kind)[0], count)
        _CONSTANTS[value, kind] = made
    return made if len(made) == count else made[:count]


def words(codes: npt.NDArray[Any], names: list[str | None]) -> pa.Array:
    """One of a few texts for each row; `codes` index `names`."""
    if len(names) == 1:
        return constant(names[0], len(codes), pa.string())
    return listed(names, pa.string()).take(numbers(codes, pa.int32()))


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the elements of some rows lie, and where they go: `before` each row are so many elements of other rows.

    `offsets` are those of every row, `rows` says which rows are meant (None: every one).
    """

    offsets: Ints
    rows: Ints | None
    starts: Ints
    sizes: Ints
    before: Ints
    total: int

    @property
    def buffer(self) -> pa.Buffer:
        return pa.py_buffer(self.offsets.astype(np.int32))

    def each(self, step: int = 1) -> Ints:
        """The position of every element, one row after another."""
        if not self.total:
            return np.zeros(0, np.int64)
        places: Ints = np.repeat(self.starts - self.before * step, self.sizes)
        places += np.arange(0, self.total * step, step)
        return places

    def gathered(self, source: Bytes, step: int, blocks: Blocks = ()) -> Bytes:
        """The bytes of all elements, row after row; those of some rows are in blocks. Rows of the same small size are
        moved as wholes.
        """
        data = np.empty(self.total * step, np.uint8)
        for rows, block in blocks:
            target = _overlaid(data, block.dtype, step)
            target[self.offsets[:-1][rows]] = block
        if sum(block.nbytes for _, block in blocks) == len(data):
            return data
        sizes = self._without(blocks)
        seen = np.bincount(np.minimum(sizes, _LARGE), minlength=_LARGE + 1)
        for size in (np.flatnonzero(seen[1:_LARGE]) + 1).tolist():
            chosen: Any = slice(None) if seen[size] == len(sizes) else np.flatnonzero(sizes == size)
            kind = np.dtype(f"V{size * step}")
            _overlaid(data, kind, step)[self.before[chosen]] = _overlaid(source, kind, 1)[self.starts[chosen]]
        for row in np.flatnonzero(sizes >= _LARGE).tolist() if seen[_LARGE] else ():
            start, first, size = int(self.starts[row]), int(self.before[row]) * step, int(sizes[row]) * step
            data[first : first + size] = source[start : start + size]
        return data

    def _without(self, blocks: Blocks) -> Ints:
        """The sizes of the rows, 0 for those that are in blocks."""
        if not blocks:
            return self.sizes
        left = np.diff(self.offsets)
        for rows, _ in blocks:
            left[rows] = 0
        return left if self.rows is None else left[self.rows]


def _overlaid(data: Bytes, kind: np.dtype[Any], step: int) -> Any:
    """Values of a kind that begin at every `step` bytes."""
    count = (len(data) - kind.itemsize) // step + 1
    return np.ndarray((max(0, count),), kind, data, strides=(step,))


def _places(starts: Ints, sizes: Ints, valid: Bools | None) -> _Places:
    """Where few rows have a value, only those are looked at: most columns are mostly null."""
    count = len(starts)
    before = np.zeros(count + 1, np.int64)
    if valid is not None and np.count_nonzero(valid) * _SPARSE < count:
        rows = np.flatnonzero(valid)
        starts, sizes = starts[rows], sizes[rows]
        before[rows + 1] = sizes
        np.cumsum(before, out=before)
        return _Places(before, rows, starts, sizes=sizes, before=before[rows], total=int(before[-1]))
    if valid is not None:
        sizes = sizes * valid
    np.cumsum(sizes, out=before[1:])
    return _Places(before, None, starts, sizes=sizes, before=before[:-1], total=int(before[-1]))


def spread(array: pa.Array, rows: Ints, count: int) -> pa.Array:
    """An array without nulls as the values of these ascending rows of `count`; all other rows are null."""
    if len(array) == count:
        return array
    valid = np.zeros(count, np.bool_)
    valid[rows] = True
    kind = array.type
    if not (pa.types.is_list(kind) or pa.types.is_string(kind)):
        values = held(array)
        data = np.zeros(count, values.dtype)
        data[rows] = values
        return numbers(data, kind, valid)
    gaps = np.diff(rows, prepend=-1, append=count)
    offsets = np.repeat(np.frombuffer(array.buffers()[1], np.int32)[: len(rows) + 1], gaps)
    buffers = [bitmap(valid), pa.py_buffer(offsets)]
    if pa.types.is_list(kind):
        return pa.Array.from_buffers(kind, count, buffers, children=[array.values])
    return pa.Array.from_buffers(kind, count, [*buffers, array.buffers()[2]])


def blobs(source: Bytes, starts: Ints, sizes: Ints) -> pa.Array:
    """Bytes as they are."""
    places = _places(starts, sizes, None)
    data = source[places.each()]
    return pa.Array.from_buffers(pa.binary(), len(starts), [None, places.buffer, pa.py_buffer(data)])


def texts(source: Bytes, starts: Ints, sizes: Ints, valid: Bools | None = None) -> pa.Array:
    """UTF-8 that somebody has checked."""
    places = _places(starts, sizes, valid)
    data = source[places.each()]
    return pa.Array.from_buffers(pa.string(), len(starts), [bitmap(valid), places.buffer, pa.py_buffer(data)])


def uuid_letters(ids: Any) -> Bytes:
    """The 22 letters of each uuid, one after another. Equal neighbours, and few different ones, are turned into letters
    once.
    """
    halves = ids.view("<i8").reshape(-1, 2)
    high, low = halves[:, 0].copy(), halves[:, 1].copy()
    if len(ids) < _WORTH_SHARING:
        return _letters(high, low)
    new = np.empty(len(ids), np.bool_)
    new[0] = True
    np.not_equal(high[1:], high[:-1], out=new[1:])
    new[1:] |= low[1:] != low[:-1]
    runs = np.flatnonzero(new)
    if len(runs) * 2 < len(ids):
        letters = _letters(high[runs], low[runs]).view(f"V{UUID_LETTERS}")
        return _bytes(np.repeat(letters, np.diff(runs, append=len(ids))))
    slot = ((high ^ low) * _MULTIPLIER >> 52) & (_SLOTS - 1)
    holder = np.zeros(_SLOTS, np.int64)
    holder[slot] = np.arange(len(slot))
    held = holder[slot]
    if not ((high[held] == high).all() and (low[held] == low).all()):
        return _letters(high, low)
    return _bytes(_letters(high[holder], low[holder]).view(f"V{UUID_LETTERS}")[slot])


def _bytes(values: Any) -> Bytes:
    found: Bytes = values.view(np.uint8)
    return found


def _letters(high: Ints, low: Ints) -> Bytes:
    """128 bits and four zeros are eleven 12-bit numbers, each two letters. The halves are as they lie in memory."""
    high, low = high.byteswap(), low.byteswap()
    letters = np.empty((len(high), UUID_LETTERS // 2), np.uint16)
    for index, shift in enumerate((52, 40, 28, 16, 4)):
        letters[:, index] = _PAIRS[(high >> shift) & 4095]
    letters[:, 5] = _PAIRS[((high << 8) | ((low >> 56) & 255)) & 4095]
    for index, shift in enumerate((44, 32, 20, 8), start=6):
        letters[:, index] = _PAIRS[(low >> shift) & 4095]
    letters[:, 10] = _PAIRS[(low << 4) & 4095]
    return letters.view(np.uint8).reshape(-1)


def ids_at(source: Bytes, starts: Ints) -> Any:
    """The sixteen bytes at each place."""
    return _overlaid(source, np.dtype(f"V{UUID_BYTES}"), 1)[starts]


def uuids(ids: Any, valid: Bools | None = None) -> pa.Array:
    """Ids of sixteen bytes as Kafka prints them."""
    offsets = np.zeros(len(ids) + 1, np.int32)
    if valid is None:
        offsets[:] = np.arange(0, len(offsets) * UUID_LETTERS, UUID_LETTERS, dtype=np.int32)
    else:
        np.cumsum(valid, out=offsets[1:])
        offsets *= UUID_LETTERS
        ids = ids[np.flatnonzero(valid)]
    data = uuid_letters(ids)
    return pa.Array.from_buffers(
        pa.string(), len(offsets) - 1, [bitmap(valid), pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def int_lists(source: Bytes, starts: Ints, sizes: Ints, valid: Bools | None = None, blocks: Blocks = ()) -> pa.Array:
    """Lists of big-endian 32-bit numbers."""
    places = _places(starts, sizes, valid)
    elements = numbers(places.gathered(source, 4, blocks).view(">i4"), pa.int32())
    return pa.Array.from_buffers(ARROW_TYPES["ints"], len(starts), [bitmap(valid), places.buffer], children=[elements])


def uuid_lists(source: Bytes, starts: Ints, sizes: Ints, valid: Bools | None = None, blocks: Blocks = ()) -> pa.Array:
    places = _places(starts, sizes, valid)
    elements = uuids(places.gathered(source, UUID_BYTES, blocks).view(f"V{UUID_BYTES}"))
    return pa.Array.from_buffers(
        ARROW_TYPES["strings"], len(starts), [bitmap(valid), places.buffer], children=[elements]
    )
