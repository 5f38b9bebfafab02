"""Where every record of many batches lies: records found by stepping all batches together.

A record's length is a varint before it, so within a batch the second is found only after the first. But the first records of a thousand
batches can be found at once, then the second ones: as many steps as the longest batch has records, each over arrays. Where few batches are
left, a plain loop is quicker. Then all starts are known and the numbers in front of each record are read as columns.
Nothing is trusted. A batch in which anything is odd is marked and left to the codec that reads one record at a time; positions never leave
the batch, and the buffer has some bytes behind its end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from controller_runtime.protocol.primitives import read_varint
from metadata_pipeline.sources.headers import Bytes, Ints

Bools = npt.NDArray[np.bool_]

FEW: Final = 48
"""With fewer batches a step over arrays costs more than a loop over them."""
_OF_RECORDS: Final = ("batch", "offset_delta", "timestamp_delta", "key_start", "key_size", "value_start", "value_size")
SMALLEST_RECORD: Final = 7
_BEYOND: Final = 1 << 40
_LONGEST_VARINT: Final = 5
_LONGEST_VARLONG: Final = 10


@dataclass(frozen=True, slots=True)
class Frames:
    """Columns over records, in order: their batch, offset and timestamp relative to it, and where key and value lie (-1 long: null)."""

    batch: Ints
    offset_delta: Ints
    timestamp_delta: Ints
    key_start: Ints
    key_size: Ints
    value_start: Ints
    value_size: Ints
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
_JUMP: Final = np.where((_LENGTH > 0) & (_VALUE & 1 == 0), (_VALUE >> 1) + _LENGTH, np.iinfo(np.int32).min).astype(
    np.int32
)
"""From the varint of a record's length to the next record; far below zero when it takes a closer look."""


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
    return _long_uvarints(data, at, longest, values, after, np.flatnonzero(lengths == 0))


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
    if odd.any():
        good = ~odd[batch]
        batch, place, stop = batch[good], place[good], stop[good]
    frames = _fields(data, batch, place, stop, odd)
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
        now = at[:active]
        place[slot[:active] + step] = now
        jumps = _JUMP[pairs[now]]
        if jumps.min() < 0:
            jumps = _careful(data, now, jumps)
        np.minimum(now + jumps, limit[:active], out=now)
        step += 1
        active = still[step]
    for index in range(active):
        begin, count = int(slot[index]) + step, -int(left[index]) - step
        places, at[index] = _walk(raw, int(at[index]), int(limit[index]), count)
        place[begin : begin + count] = places
    reached = np.empty_like(at)
    reached[order] = at
    return reached


def _careful(data: Bytes, now: Ints, jumps: Any) -> Ints:
    """Jumps over records with lengths of three bytes and more. A length that lies leads to the end, where a record is missed."""
    odd = np.flatnonzero(jumps < 0)
    sizes, after, long = varints(data, now[odd])
    found = np.where(sizes < 0, _BEYOND, after - now[odd] + sizes)
    if long is not None:
        found[long] = _BEYOND
    exact: Ints = jumps.astype(np.int64)
    exact[odd] = found
    return exact


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


def _fields(data: Bytes, batch: Ints, place: Ints, stop: Ints, odd: Bools) -> Frames:
    """The numbers in front of every record. What the runtime and Kafka write is read at one look, all else number by number."""
    size, begin, long = varints(data, place)
    bad = _or(size != stop - begin, long)
    words = np.ndarray((max(0, len(data) - 7),), "<u8", data, strides=(1,))[np.minimum(begin, stop)]
    pair = ((words >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.int64)
    length = _LENGTH[pair]
    rest = words >> (length.astype(np.uint64) * np.uint64(8) + np.uint64(16))
    sizes = ((rest >> np.uint64(8)) & np.uint64(0xFFFF)).astype(np.int64)
    value_length = _LENGTH[sizes]
    usual = (length > 0) & (value_length > 0) & ((rest & np.uint64(0xFF)) == 1) & ((words & np.uint64(0x8000)) == 0)
    stamp = ((words >> np.uint64(8)) & np.uint64(0xFF)).astype(np.int64)
    key_start = begin + 3 + length
    found = [
        _unzigzag(_VALUE[pair].astype(np.int64)), _unzigzag(stamp), key_start, np.full(len(begin), -1, np.int64),
        key_start + value_length, _unzigzag(_VALUE[sizes].astype(np.int64)),
    ]  # fmt: skip
    rare = np.flatnonzero(~usual)
    if len(rare):
        values, broken = _long_fields(data, begin[rare], stop[rare])
        for column, value in zip(found, values, strict=True):
            column[rare] = value
        bad[rare] |= broken
    offset_delta, timestamp_delta, key_start, key_size, value_start, value_size = found
    behind = value_start + np.maximum(value_size, 0)
    bad |= (behind + 1 != stop) | (value_size < -1)
    bad |= data[np.minimum(behind, stop)] != 0  # the number of headers: Kafka's own logs have none
    if bad.any():
        odd = odd.copy()
        odd[batch[bad]] = True
    return Frames(batch, offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, odd)


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
    return [offset_delta, timestamp_delta, key_start, key_size, value_start, value_size], bad


def _unzigzag(values: Ints) -> Ints:
    return (values >> 1) ^ -(values & 1)


def _or(bad: Bools, more: Bools | None) -> Bools:
    return bad if more is None else bad | more
