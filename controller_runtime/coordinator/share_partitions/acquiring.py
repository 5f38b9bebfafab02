"""Records that were read go to a member: those that are free, whole batches where that is possible.

A member gets about as many records as it wants: a batch is not cut for that, unless it asks for that (`exactly`,
Kafka's record limit mode). What was delivered often comes alone, or with few others, so that one bad record does not
take its neighbours with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller_runtime.coordinator.share_partitions.aborted import of_aborted, without
from controller_runtime.coordinator.share_partitions.partition import SharePartition
from controller_runtime.coordinator.share_partitions.reads import Acquired, ReadBatch
from controller_runtime.coordinator.share_partitions.records import Held, RecordState
from controller_runtime.coordinator.share_partitions.window import InFlight
from controller_runtime.identifiers import Instant
from controller_runtime.values import dataclass

_ALONE_FROM: Final = 2
"""With a larger limit of deliveries, a record comes alone when it comes for the last time."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Of a request."""

    member: str
    most: int
    batch_size: int
    exactly: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """What was read from `offset` on; at least one batch."""

    offset: int
    batches: Sequence[ReadBatch]
    aborted: tuple[tuple[int, int], ...] = ()
    """Of transactions: the producer and the first offset. Only for who reads committed records."""


@dataclass(slots=True)
class _Taking:
    """Of one call."""

    partition: SharePartition
    wish: Wish
    read: Read
    deadline: Instant
    """Of the locks."""
    most: int
    """Records."""
    first: int
    last: int
    """Offsets."""

    @property
    def limit(self) -> int:
        return self.partition.limits.delivery_count_limit


def acquire(partition: SharePartition, wish: Wish, read: Read, now: Instant) -> tuple[list[Acquired], int]:
    """What the member has now, and how many records that are."""
    if wish.most <= 0 or not read.batches or read.batches[-1].last < partition.start:
        return [], 0
    most, last = _room(partition, wish, read)
    if most <= 0:
        return [], 0
    deadline = Instant(now + partition.limits.record_lock_ms / 1000)
    taking = _Taking(partition, wish, read, deadline, most=most, first=read.batches[0].base, last=last)
    found, count = _acquire(taking)
    if found and read.aborted:
        gone = of_aborted(read.batches, read.aborted)
        for batch in gone:
            floor = partition.window.floor(batch.base)
            begin = batch.base if floor is None else floor.first
            held = partition.window.between(begin, batch.last)
            partition.archive(held, batch.base, batch.last + 1, RecordState.ACQUIRED, counts=True)
        found = without(found, gone)
        count = sum(each.last - each.first + 1 for each in found)
    return found, count


def _room(partition: SharePartition, wish: Wish, read: Read) -> tuple[int, int]:
    """How many records, and up to which offset."""
    last = read.batches[-1].last
    most = min(wish.most, partition.limits.max_record_locks - partition.in_flight)
    if most <= 0 and read.offset <= partition.end:
        # What was released among what is in flight: nothing behind the end.
        return min(wish.most, partition.end - read.offset + 1), min(last, partition.end)
    return most, last


def _acquire(taking: _Taking) -> tuple[list[Acquired], int]:
    partition, base = taking.partition, taking.first
    _archive_stale(taking)
    floor = partition.window.floor(base)
    if floor is None:
        base = max(base, partition.start)
    elif floor.last >= base:
        base = floor.first
    known = partition.window.between(min(taking.first, base), taking.last)
    if not known:
        return _take_new(taking, base, taking.last, taking.most)
    found: list[Acquired] = []
    count = _take_known(taking, known, base, found)
    if count < taking.most and known[-1].last < taking.last:
        more, added = _take_new(taking, known[-1].last + 1, taking.last, taking.most - count)
        found += more
        count += added
    if found:
        partition.close_gap_to(found[-1].last + 1)
    return found, count


def _archive_stale(taking: _Taking) -> None:
    """Compaction has removed what was asked for: what was available there will not come again."""
    partition, offset, base = taking.partition, taking.read.offset, taking.first
    if not len(partition.window) or offset >= base:
        return
    floor = partition.window.floor(offset)
    begin = floor.first if floor is not None and floor.last >= offset else offset
    stale = partition.window.between(begin, base - 1)
    if partition.archive(stale, offset, base, RecordState.AVAILABLE, counts=True):
        partition.looks_back = True


def _take_known(taking: _Taking, known: list[InFlight], base: int, found: list[Acquired]) -> int:
    """Of what is in flight. Sets `most` to none when nothing else may come with it."""
    partition, count, gap_start = taking.partition, 0, base
    for batch in known:
        if count >= taking.most:
            break
        if partition.has_gap:
            if gap_start < batch.first:
                more, added = _take_new(taking, gap_start, batch.first - 1, taking.most - count)
                found += more
                count += added
            gap_start = batch.last + 1
            if count >= taking.most:
                break
        is_throttled = _is_throttled(taking, batch)
        if is_throttled and count > 0:
            taking.most = 0
            break
        left = taking.most - count
        is_inside = batch.first >= taking.first and batch.last <= taking.last
        is_too_many = taking.wish.exactly and batch.last - batch.first + 1 > left
        if batch.each is None and not batch.whole.is_free:
            continue
        if not is_inside or batch.each is not None or is_too_many or is_throttled:
            added = _take_some(taking, batch, left, found)
            count += added
            if is_throttled and added:
                taking.most = 0
                break
            continue
        if batch.whole.change(RecordState.ACQUIRED, taking.wish.member, taking.limit, delivers=True):
            batch.whole.lock = partition.locks.begin(taking.deadline, batch.first, batch.last)
            found.append(Acquired(batch.first, batch.last, batch.whole.count))
            count += batch.last - batch.first + 1
    return count


def _is_throttled(taking: _Taking, batch: InFlight) -> bool:
    """Something free in it was delivered so often that little comes with it."""
    limit = taking.partition.limits.throttled_from
    if batch.each is None:
        return batch.whole.is_free and batch.whole.count >= limit
    wanted = (held for offset, held in batch.each.items() if taking.first <= offset <= taking.last)
    return any(held.is_free and held.count >= limit for held in wanted)


def _take_some(taking: _Taking, batch: InFlight, left: int, found: list[Acquired]) -> int:
    """Record by record."""
    partition, limit = taking.partition, taking.limit
    states = batch.split(partition.locks)
    throttled_from, count, most = partition.limits.throttled_from, 0, -1
    alone = limit > _ALONE_FROM
    taken: list[Acquired] = []
    for offset, held in states.items():
        if offset < taking.first:
            continue
        if offset > taking.last:
            break
        if not held.is_free:
            continue
        if alone and held.count == limit - 1 and count > 0:
            break
        if held.count >= throttled_from and most < 0:
            most = max(1, len(states) >> (held.count - throttled_from + 1))
        if not _take_one(taking, held, offset):
            continue
        taken.append(Acquired(offset, offset, held.count))
        count += 1
        if alone and held.count == limit:
            break
        if taking.wish.exactly and count == left:
            break
        if count == most:
            break
    found += _joined(taken)
    return count


def _take_one(taking: _Taking, held: Held, offset: int) -> bool:
    if not held.change(RecordState.ACQUIRED, taking.wish.member, taking.limit, delivers=True):
        return False
    held.lock = taking.partition.locks.begin(taking.deadline, offset, offset)
    return True


def _joined(taken: list[Acquired]) -> list[Acquired]:
    out: list[Acquired] = []
    for each in taken:
        if out and out[-1].last + 1 == each.first and out[-1].deliveries == each.deliveries:
            out[-1] = Acquired(out[-1].first, each.last, each.deliveries)
        else:
            out.append(each)
    return out


def _take_new(taking: _Taking, first: int, last: int, most: int) -> tuple[list[Acquired], int]:
    """What is not in flight yet."""
    partition = taking.partition
    if not len(partition.window) and partition.end > first:
        first = partition.end
    if most < last - first + 1:
        end = _end_of_batch(taking.read.batches, first + most - 1)
        last = min(end, last) if partition.has_gap else end
    found = _add(taking, first, last, most)
    if partition.window.first.first == first:
        partition.start = first
    partition.end = max(partition.end, last)
    if taking.wish.exactly:
        last = found[0].last
    partition.close_gap_to(last + 1)
    return found, last - first + 1


def _end_of_batch(batches: Sequence[ReadBatch], offset: int) -> int:
    """Where the batch with this record ends; the offset itself if it is in none."""
    before = None
    for batch in batches:
        if batch.base > offset:
            break
        before = batch
    return before.last if before is not None and offset <= before.last else offset


def _add(taking: _Taking, first: int, last: int, most: int) -> list[Acquired]:
    partition, wish = taking.partition, taking.wish
    if wish.exactly and last - first + 1 > most:
        batch = InFlight(first, last, Held(RecordState.ACQUIRED, 1, wish.member))
        batch.split_at(first + most - 1, partition.locks, taking.deadline)
        partition.looks_back = True
        partition.window.add(batch)
        return [Acquired(first, first + most - 1, 1)]
    parts: list[Acquired] = []
    begin = first
    if not wish.exactly and last - first + 1 > wish.batch_size:
        for read in taking.read.batches:
            if read.base > last:
                break
            if read.base - begin >= wish.batch_size:
                parts.append(Acquired(begin, read.base - 1, 1))
                begin = read.base
    parts.append(Acquired(begin, last, 1))
    for each in parts:
        lock = partition.locks.begin(taking.deadline, each.first, each.last)
        partition.window.add(InFlight(each.first, each.last, Held(RecordState.ACQUIRED, 1, wish.member, lock)))
    return parts
