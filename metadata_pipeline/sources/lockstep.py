"""Where every record of many batches lies: records found by stepping all batches together.

A record's length is a varint before it, so within a batch the second is found only after the first. But the first
records of a thousand batches can be found at once, then the second ones: as many steps as the longest batch has
records, each over arrays. Where few batches are left, a plain loop is quicker. Then all starts are known and the
numbers in front of each record are read as columns. Nothing is trusted. A batch in which anything is odd is marked and
left to the codec that reads one record at a time; positions never leave the batch, and the buffer has some bytes behind
its end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from controller_runtime.protocol.primitives import read_varint
from metadata_pipeline.sources.arrays import Bytes, Ints

Bools = npt.NDArray[np.bool_]

FEW: Final = 48
"""With fewer batches a step over arrays costs more than a loop over them."""
_OF_RECORDS: Final = (
    "batch", "offset_delta", "timestamp_delta", "key_start", "key_size", "value_start", "value_size", "head"
)  # fmt: skip
SMALLEST_RECORD: Final = 7
_LONGEST_VARINT: Final = 5
_LONGEST_VARLONG: Final = 10
_ONE: Final = 64
"""A signed varint below it takes one byte, and below `_TWO` no more than two."""
_TWO: Final = 8192
_HEAD_BITS: Final = 0xFFFFFF
_AT_ONCE: Final = 1 << 13


@dataclass(frozen=True, slots=True)
class Frames:
    """Columns over records, in order: their batch, offset and timestamp relative to it, and where key and value lie (-1
    long: null).
    """

    batch: Ints
    offset_delta: Ints
    timestamp_delta: Ints
    key_start: Ints
    key_size: Ints
    value_start: Ints
    value_size: Ints
    head: Ints
    """The first three bytes of the value, the first one lowest. What it holds of a shorter value means nothing."""
    odd: Bools
    """Over batches: those whose records are not here."""


def _table() -> tuple[Any, Any]:
    """Of every two bytes that may begin an unsigned varint: its value and its length, 0 when it is longer than two."""
    pairs = np.arange(1 << 16)
    low, high = pairs & 0xFF, pairs >> 8
    single = low < 128
    value = np.where(single, low, (low & 127) | (high & 127) << 7)
    length = np.where(single, 1, np.where(high < 128, 2, 0))
    return value.astype(np.int32), length.astype(np.int8)


_VALUE, _LENGTH = _table()
_BEYOND: Final = 1 << 30
_JUMP: Final = np.where((_LENGTH > 0) & (_VALUE & 1 == 0), (_VALUE >> 1) + _LENGTH, _BEYOND).astype(np.int64)
"""From the varint of a record's length to the next record; beyond every batch when two bytes do not tell."""


def pairs_of(data: Bytes) -> Any:
    """The two bytes at any place, as a number with the first byte lowest."""
    return np.ndarray((max(0, len(data) - 1),), "<u2", data, strides=(1,))


def uvarints(data: Bytes, at: Ints, longest: int = _LONGEST_VARINT) -> tuple[Ints, Ints, Bools | None]:
    """Unsigned varints at the positions, the positions behind them, and which are longer than allowed (None: none)."""
    first = data[at]
    if first.max(initial=0) < 128:
        return first.astype(np.int64), at + 1, None
    pairs = pairs_of(data)[at]
    values = _VALUE[pairs].astype(np.int64)
    lengths = _LENGTH[pairs]
    after = at + lengths
    if lengths.min(initial=1) > 0:
        return values, after, None
    return _long_uvarints(data, at, longest, values=values, after=after, more=np.flatnonzero(lengths == 0))


def _long_uvarints(
    data: Bytes, at: Ints, longest: int, values: Ints, after: Ints, more: Ints
) -> tuple[Ints, Ints, Bools | None]:
    """Varints of three bytes and more, of which the first two bytes are in `values`."""
    after[more] = at[more] + 2
    shift = 14
    while len(more) and shift < 7 * longest:
        byte = data[after[more]].astype(np.int64)
        values[more] |= (byte & 127) << shift
        after[more] += 1
        more = more[byte >= 128]
        shift += 7
    if not len(more):
        return values, after, None
    long = np.zeros(len(at), np.bool_)
    long[more] = True
    return values, after, long


def varints(data: Bytes, at: Ints, longest: int = _LONGEST_VARINT) -> tuple[Ints, Ints, Bools | None]:
    """The same for signed numbers, zigzag undone."""
    values, after, long = uvarints(data, at, longest)
    return ((values >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(values & 1), after, long


def find_records(raw: bytes, data: Bytes, starts: Ints, ends: Ints, counts: Ints) -> Frames:
    """All records of batches whose uncompressed records lie between `starts` and `ends` of the data."""
    odd = (counts < 0) | (counts * SMALLEST_RECORD > ends - starts)
    counts = np.where(odd, 0, counts)
    first = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=first[1:])
    place = np.empty(first[-1] + 1, np.int64)
    odd |= _step(raw, data, (starts, ends, counts), first[:-1], place) != ends
    stop = place[1:].copy()
    last = first[1:][counts > 0] - 1
    stop[last] = ends[counts > 0]
    place = place[:-1]
    batch = np.repeat(np.arange(len(counts)), counts)
    index = np.arange(len(batch)) - np.repeat(first[:-1], counts)
    if odd.any():
        good = ~odd[batch]
        batch, index, place, stop = batch[good], index[good], place[good], stop[good]
    frames = _fields(data, (batch, index), place, stop, odd)
    if frames.odd.any():
        good = ~frames.odd[frames.batch]
        if not good.all():
            frames = replace(frames, **{name: getattr(frames, name)[good] for name in _OF_RECORDS})
    return frames


def _step(raw: bytes, data: Bytes, batches: tuple[Ints, Ints, Ints], first: Ints, place: Ints) -> Ints:
    """Fill in where each record's length lies; returns how far each batch came, which is not its end when it lies."""
    starts, ends, counts = batches
    order = np.argsort(-counts, kind="stable")
    left = -counts[order]
    at, limit, slot = starts[order], ends[order], first[order]
    pairs = pairs_of(data)
    step = 0
    still = np.searchsorted(left, -np.arange(int(counts.max(initial=0)) + 1), side="left").tolist()
    active = still[0]
    while active > FEW:
        now, slots = at[:active], slot[:active]
        place[slots] = now
        slots += 1
        now += _JUMP.take(pairs[now])
        np.minimum(now, limit[:active], out=now)
        step += 1
        active = still[step]
    for index in range(active):
        begin, count = int(slot[index]), -int(left[index]) - step
        places, at[index] = _walk(raw, int(at[index]), int(limit[index]), count)
        place[begin : begin + count] = places
    reached = np.empty_like(at)
    reached[order] = at
    _again(raw, batches, first, place, reached)
    return reached


def _again(raw: bytes, batches: tuple[Ints, Ints, Ints], first: Ints, place: Ints, reached: Ints) -> None:
    """Batches that ended before their last record: they lie, or hold records with lengths of more than two bytes."""
    starts, ends, counts = batches
    last = place[np.maximum(first + counts - 1, 0)]
    for index in np.flatnonzero((counts > 1) & (last >= ends)).tolist():
        begin, count = int(first[index]), int(counts[index])
        places, reached[index] = _walk(raw, int(starts[index]), int(ends[index]), count)
        place[begin : begin + count] = places


def _walk(raw: bytes, at: int, limit: int, count: int) -> tuple[list[int], int]:
    """The records of one batch, one by one, and where they end; -1 when they are not what they claim."""
    places: list[int] = []
    add = places.append
    for _ in range(count):
        add(at)
        size = raw[at]
        if size < 128:
            if size & 1:
                return [limit] * count, -1
            at += 1 + (size >> 1)
        else:
            try:
                size, after = read_varint(raw, at)
            except (ValueError, IndexError):
                return [limit] * count, -1
            if size < 0:
                return [limit] * count, -1
            at = after + size
        if at > limit:
            return [limit] * count, -1
    return places, at


def _fields(data: Bytes, numbered: tuple[Ints, Ints], place: Ints, stop: Ints, odd: Bools) -> Frames:
    """The numbers in front of every record, so many records at a time as the processor's nearest cache holds."""
    batch, index = numbered
    bad = np.empty(len(place), np.bool_)
    columns = {name: np.empty(len(place), np.int64) for name in _OF_RECORDS[1:]}
    for begin in range(0, len(place), _AT_ONCE):
        some = slice(begin, begin + _AT_ONCE)
        found, bad[some] = _usual(data, index[some], place[some], stop[some])
        for column, values in zip(columns.values(), found, strict=True):
            column[some] = values
    if bad.any():
        odd = odd.copy()
        odd[batch[bad]] = True
    return Frames(batch, **columns, odd=odd)


def _usual(data: Bytes, index: Ints, place: Ints, stop: Ints) -> tuple[list[Any], Bools]:
    """What the runtime and Kafka write is known at one look, all else is read number by number. Also which records do
    not fit.

    Usual is a record without key and headers whose offset is its index in the batch and whose numbers are as short as
    they can be, below two bytes: its length and its index say where the value lies and what stands before it, but for
    the timestamp of one byte.
    """
    low, high = _sixteen(data, place)
    behind = stop - place - 1
    long = (behind > _ONE).astype(np.int64)
    usual = (behind < _TWO) & (index < _TWO) & (_bits(low, 0xFF | long * 0xFF00) == _varint(behind - long, long))
    body = (low >> _u(8) | high << _u(56)) >> (long << 3).view(np.uint64)
    far = (index >= _ONE).astype(np.int64)
    usual &= _bits(body >> _u(15), 0x1FFFF | far * 0x1FE0000) == (_varint(index, far) + (0x100 << 8 * far)) << 1
    key_start = place + (long + far + 5)
    rest = stop - key_start - 1
    large = (rest > _ONE).astype(np.int64)
    value_size = rest - large - 1
    usual &= _bits(body >> (8 * far + 32).view(np.uint64), 0xFF | large * 0xFF00) == _varint(value_size, large)
    head = _bits((low >> _u(48) | high << _u(16)) >> (8 * (long + far + large)).view(np.uint64), _HEAD_BITS)
    stamp = _unzigzag(_bits(body >> _u(8), 0xFF))
    bad = data.take(stop - 1) != 0  # the number of headers: Kafka's own logs have none
    rare = np.flatnonzero(~usual)
    if not len(rare):
        return [index, stamp, key_start, -1, key_start + (large + 1), value_size, head], bad
    found = [index.copy(), stamp, key_start, np.full(len(place), -1), key_start + (large + 1), value_size, head]
    values, bad[rare] = _unusual(data, place[rare], stop[rare])
    for column, value in zip(found, values, strict=True):
        column[rare] = value
    return found, bad


def _sixteen(data: Bytes, place: Ints) -> tuple[Any, Any]:
    """The sixteen bytes at each place, as two numbers of which the first bytes are the lowest."""
    blocks = np.ndarray((max(0, len(data) - 15),), "V16", data, strides=(1,))
    halves = blocks[place].view("<u8").reshape(-1, 2)
    return halves[:, 0].copy(), halves[:, 1].copy()


def _u(number: int) -> np.uint64:
    return np.uint64(number)


def _bits(words: Any, mask: Any) -> Ints:
    """The bits of a mask that leaves the highest one out."""
    found: Ints = words.view(np.int64) & mask
    return found


def _varint(number: Ints, two: Ints) -> Ints:
    """The bytes of a signed varint, the first one lowest; `two` is 1 where there are two of them. Negative where the
    number is.
    """
    zigzag = number << 1
    found: Ints = zigzag + (zigzag & -128) + (two << 7)
    return found


def _unusual(data: Bytes, place: Ints, stop: Ints) -> tuple[list[Ints], Bools]:
    """The same for records of any form; and which of them do not fit."""
    size, begin, long = varints(data, place)
    bad = _or(size != stop - begin, long)
    values, broken = _long_fields(data, np.minimum(begin, stop), stop)
    value_start, value_size = values[-2:]
    behind = value_start + np.maximum(value_size, 0)
    bad |= broken | (behind + 1 != stop)
    bad |= data[np.minimum(behind, stop)] != 0
    return [*values, heads(data, value_start)], bad


def heads(data: Bytes, value_start: Ints) -> Ints:
    """The first three bytes of values anywhere."""
    words = np.ndarray((max(0, len(data) - 3),), "<u4", data, strides=(1,))
    found: Ints = words[value_start].astype(np.int64) & _HEAD_BITS
    return found


def _long_fields(data: Bytes, begin: Ints, stop: Ints) -> tuple[list[Ints], Bools]:
    """The same for records with keys, large numbers or anything odd; and which of them do not fit."""
    bad = begin >= stop
    timestamp_delta, at, long = varints(data, np.minimum(begin + 1, stop), _LONGEST_VARLONG)
    bad = _or(bad, long)
    offset_delta, at, long = varints(data, np.minimum(at, stop))
    bad = _or(bad, long)
    key_size, key_start, long = varints(data, np.minimum(at, stop))
    bad = _or(bad, long) | (key_size < -1)
    value_at = key_start + np.maximum(key_size, 0)
    bad |= value_at > stop
    value_size, value_start, long = varints(data, np.minimum(value_at, stop))
    bad = _or(bad, long) | (value_size < -1)
    return [offset_delta, timestamp_delta, key_start, key_size, np.minimum(value_start, stop), value_size], bad


def _unzigzag(values: Ints) -> Ints:
    return (values >> 1) ^ -(values & 1)


def _or(bad: Bools, more: Bools | None) -> Bools:
    return bad if more is None else bad | more
