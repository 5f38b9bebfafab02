"""What a member says of records that it was given, what it leaves behind, and what it does not say in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from controller_runtime.coordinator.share_partitions.partition import Change, SharePartition
from controller_runtime.coordinator.share_partitions.records import NOBODY, Held, RecordState
from controller_runtime.coordinator.share_partitions.window import InFlight
from controller_runtime.coordinator.share_state.combining import StateBatch
from controller_runtime.identifiers import Instant
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass

RENEW: Final = 4
_STATES: Final = {
    0: RecordState.ARCHIVED,
    1: RecordState.ACKNOWLEDGED,
    2: RecordState.AVAILABLE,
    3: RecordState.ARCHIVED,
}
"""By what is said: a gap, accept, release, reject."""


class Said(NamedTuple):
    """Of a batch: one word for all its records, or one for each."""

    first: int
    last: int
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    error: ErrorCode
    words: str


class _Refused(Exception):
    def __init__(self, words: str, error: ErrorCode = ErrorCode.INVALID_RECORD_STATE) -> None:
        super().__init__(words)
        self.refusal = Refusal(error, words)


_NOT_ACQUIRED: Final = "The batch cannot be acknowledged. The batch is not in the acquired state."
_CHANGING: Final = "The record state is invalid. The acknowledgement of delivery could not be completed."
_NO_RENEWAL: Final = "Renewing acquisition locks is not enabled for the group."


def acknowledge(
    partition: SharePartition, member: str, batches: Sequence[Said], now: Instant
) -> list[Change] | Refusal:
    """What is to be kept; a refusal has changed nothing, but that locks may be renewed."""
    changes: list[Change] = []
    try:
        for said in batches:
            if said.last < partition.start:
                continue
            for batch in _in_flight(partition, said):
                if batch.last >= partition.start:
                    _acknowledge_batch(partition, member, said, batch, changes=changes, now=now)
    except _Refused as refused:
        partition.settle(changes, is_kept=False)
        return refused.refusal
    return changes


def _in_flight(partition: SharePartition, said: Said) -> list[InFlight]:
    floor = partition.window.floor(said.first)
    if floor is None and said.first < partition.start <= said.last:
        floor = partition.window.floor(partition.start)
    if floor is None:
        raise _Refused("Batch record not found. The request batch offsets are not found in the cache.")
    found = partition.window.between(floor.first, said.last)
    if found[-1].last < said.first:
        words = "Batch record not found. The first offset in request is past acquired records."
        raise _Refused(words, ErrorCode.INVALID_REQUEST)
    if found[-1].last < said.last:
        words = "Batch record not found. The last offset in request is past acquired records."
        raise _Refused(words, ErrorCode.INVALID_REQUEST)
    return found


def _acknowledge_batch(
    partition: SharePartition, member: str, said: Said, batch: InFlight, *, changes: list[Change], now: Instant
) -> None:
    if batch.each is None:
        if batch.whole.member == NOBODY:
            raise _Refused(_NOT_ACQUIRED)
        if batch.whole.member != member:
            raise _Refused("Member is not the owner of batch record")
        if batch.whole.is_changing:
            raise _Refused(_CHANGING)
    is_inside = said.first <= batch.first and batch.last <= said.last
    is_cut = batch.first < partition.start <= batch.last
    if batch.each is None and is_inside and len(said.types) == 1 and not is_cut:
        if batch.whole.state is not RecordState.ACQUIRED:
            raise _Refused(_NOT_ACQUIRED)
        _acknowledge_held(partition, batch.whole, (batch.first, batch.last), said.types[0], changes=changes, now=now)
        return
    if batch.each is None and batch.whole.state is not RecordState.ACQUIRED:
        raise _Refused("The batch cannot be acknowledged. The subset batch is not in the acquired state.")
    for offset, held in batch.split(partition.locks).items():
        if offset < said.first or offset < partition.start:
            continue
        if offset > said.last:
            break
        if held.state is not RecordState.ACQUIRED:
            raise _Refused("The offset cannot be acknowledged. The offset is not acquired.")
        if held.is_changing:
            raise _Refused(_CHANGING)
        if held.member != member:
            raise _Refused("Member is not the owner of offset")
        kind = said.types[offset - said.first] if len(said.types) > 1 else said.types[0]
        _acknowledge_held(partition, held, (offset, offset), kind, changes=changes, now=now)


def _acknowledge_held(
    partition: SharePartition, held: Held, place: tuple[int, int], kind: int, *, changes: list[Change], now: Instant
) -> None:
    if kind == RENEW:
        if not partition.limits.renews:
            raise _Refused(_NO_RENEWAL)
        held.unlock(partition.locks)
        held.lock = partition.locks.begin(Instant(now + partition.limits.record_lock_ms / 1000), *place)
        return
    if not _begin(partition, held, place, _STATES[kind], changes):
        raise _Refused("Unable to acknowledge records for the batch")


def _begin(
    partition: SharePartition, held: Held, place: tuple[int, int], state: RecordState, changes: list[Change]
) -> bool:
    if not held.begin_change(state, partition.limits.delivery_count_limit):
        return False
    changes.append(Change(held, StateBatch(*place, held.state, held.count)))
    if held.state.is_terminal:
        partition.complete_count += partition.counted(*place)
    return True


def release(partition: SharePartition, member: str) -> list[Change]:
    """The member is gone: what it had is available to others."""
    changes: list[Change] = []
    for place, held in _acquired(partition, member):
        state = RecordState.ARCHIVED if place[1] < partition.start else RecordState.AVAILABLE
        _begin(partition, held, place, state, changes)
    return changes


def _acquired(partition: SharePartition, member: str) -> list[tuple[tuple[int, int], Held]]:
    found: list[tuple[tuple[int, int], Held]] = []
    for batch in partition.window.all():
        is_his = batch.each is None and batch.whole.state is RecordState.ACQUIRED and batch.whole.member == member
        if is_his and batch.first < partition.start <= batch.last:
            batch.split(partition.locks)
        elif is_his:
            found.append(((batch.first, batch.last), batch.whole))
            continue
        for offset, held in (batch.each or {}).items():
            if held.state is RecordState.ACQUIRED and held.member == member:
                found.append(((offset, offset), held))
    return found


def expire(partition: SharePartition, now: Instant) -> list[StateBatch]:
    """Locks that are due: their records are available again at once, whether or not that can be kept."""
    batches: list[StateBatch] = []
    for lock in partition.locks.due(now):
        floor = partition.window.floor(lock.first)
        for batch in [] if floor is None else partition.window.between(floor.first, lock.last):
            is_acquired = batch.each is None and batch.whole.state is RecordState.ACQUIRED
            if is_acquired and batch.first < partition.start <= batch.last:
                batch.split(partition.locks)
            if batch.each is None:
                _expire_held(partition, batch.whole, (batch.first, batch.last), batches)
                continue
            for offset in range(max(lock.first, batch.first), min(lock.last, batch.last) + 1):
                _expire_held(partition, batch.each[offset], (offset, offset), batches)
    return batches


def _expire_held(partition: SharePartition, held: Held, place: tuple[int, int], batches: list[StateBatch]) -> None:
    if held.state is not RecordState.ACQUIRED:
        return
    state = RecordState.ARCHIVED if place[1] < partition.start else RecordState.AVAILABLE
    if not held.change(state, NOBODY, partition.limits.delivery_count_limit):
        return
    batches.append(StateBatch(*place, held.state, held.count))
    held.unlock(partition.locks)
    if RecordState(held.state).is_terminal:  # It was delivered often enough.
        partition.complete_count += partition.counted(*place)
    else:
        partition.looks_back = True
