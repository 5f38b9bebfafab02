"""Where every record of many batches lies: records found by stepping all batches together.

A record's length is a varint before it, so within a batch the second is found only after the first. But the first records of a thousand
batches can be found at once, then the second ones: as many steps as the longest batch has records, each over arrays. Where few batches are
left, a plain loop is quicker. Then all starts are known and the numbers in front of each record are read as columns.
Nothing is trusted. A batch in which anything is odd is marked and left to the codec that reads one record at a time; positions never leave
the batch, and the buffer has some bytes behind its end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from controller_runtime.protocol.primitives import read_varint
from metadata_pipeline.sources.headers import Bytes, Ints

Bools = npt.NDArray[np.bool_]

FEW: Final = 48
"""With fewer batches a step over arrays costs more than a loop over them."""
_OF_RECORDS: Final = ("batch", "offset_delta", "timestamp_delta", "key_start", "key_size", "value_start", "value_size")
SMALLEST_RECORD: Final = 7
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


def uvarints(data: Bytes, at: Ints, longest: int = _LONGEST_VARINT) -> tuple[Ints, Ints, Bools | None]:
    """Unsigned varints at the positions, the positions behind them, and which are longer than allowed (None: none)."""
    first = data[at]
    values = first.astype(np.int64)
    after = at + 1
    if first.max(initial=0) < 128:
        return values, after, None
    more = np.flatnonzero(first >= 128)
    values[more] &= 127
    shift = 7
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
    begin = np.empty(first[-1], np.int64)
    stop = np.empty(first[-1], np.int64)
    reached = _step(raw, data, (starts, ends, counts), first[:-1], begin, stop, odd)
    odd |= reached != ends
    batch = np.repeat(np.arange(len(counts)), counts)
    if odd.any():
        good = ~odd[batch]
        batch, begin, stop = batch[good], begin[good], stop[good]
    frames = _fields(data, batch, begin, stop, odd)
    if frames.odd.any():
        good = ~frames.odd[frames.batch]
        if not good.all():
            frames = replace(frames, **{name: getattr(frames, name)[good] for name in _OF_RECORDS})
    return frames


def _step(
    raw: bytes, data: Bytes, batches: tuple[Ints, Ints, Ints], first: Ints, begin: Ints, stop: Ints, odd: Bools
) -> Ints:
    """Fill `begin` and `stop` of every record; returns how far each batch came. Batches that lie are marked odd."""
    starts, ends, counts = batches
    order = np.argsort(-counts, kind="stable")
    left = counts[order]
    at, limit, slot = starts[order], ends[order], first[order]
    step = 0
    active = int(np.searchsorted(-left, -step, side="left"))
    while active > FEW:
        now = at[:active]
        sizes, now, long = varints(data, now)
        after = now + sizes
        lies = (sizes < 0) | (after > limit[:active])
        if long is not None:
            lies |= long
        if lies.any():
            odd[order[:active][lies]] = True
            after = np.where(lies, limit[:active], after)
        begin[slot[:active] + step] = now
        stop[slot[:active] + step] = after
        at[:active] = np.minimum(after, limit[:active])
        step += 1
        active = int(np.searchsorted(-left[:active], -step, side="left"))
    for index in range(active):
        if not odd[order[index]]:
            at[index] = _walk(
                raw, int(at[index]), int(limit[index]), int(left[index]) - step, int(slot[index]) + step, begin, stop
            )
    reached = np.empty_like(at)
    reached[order] = at
    return reached


def _walk(raw: bytes, at: int, limit: int, count: int, slot: int, begin: Ints, stop: Ints) -> int:
    """The records of one batch, one by one; -1 when they are not what they claim."""
    begins: list[int] = []
    stops: list[int] = []
    for _ in range(count):
        size = raw[at]
        if size < 128:
            at += 1
            size = (size >> 1) ^ -(size & 1)
        else:
            try:
                size, at = read_varint(raw, at)
            except (ValueError, IndexError):
                return -1
        after = at + size
        if size < 0 or after > limit:
            return -1
        begins.append(at)
        stops.append(after)
        at = after
    begin[slot : slot + count] = begins
    stop[slot : slot + count] = stops
    return at


def _fields(data: Bytes, batch: Ints, begin: Ints, stop: Ints, odd: Bools) -> Frames:
    bad = begin >= stop
    at = np.minimum(begin + 1, stop)
    timestamp_delta, at, long = varints(data, at, _LONGEST_VARLONG)
    bad = _or(bad, long)
    offset_delta, at, long = varints(data, np.minimum(at, stop))
    bad = _or(bad, long)
    key_size, key_start, long = varints(data, np.minimum(at, stop))
    bad = _or(bad, long) | (key_size < -1)
    value_at = key_start + np.maximum(key_size, 0)
    bad |= value_at > stop
    value_size, value_start, long = varints(data, np.minimum(value_at, stop))
    bad = _or(bad, long) | (value_size < -1)
    behind = value_start + np.maximum(value_size, 0)
    bad |= behind + 1 != stop
    bad |= data[np.minimum(behind, stop)] != 0  # the number of headers: Kafka's own logs have none
    if bad.any():
        odd = odd.copy()
        odd[batch[bad]] = True
    return Frames(batch, offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, odd)


def _or(bad: Bools, more: Bools | None) -> Bools:
    return bad if more is None else bad | more
