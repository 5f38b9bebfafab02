"""A transactional id and what may become of it: who produces under it, and where its transaction is.

Apache Kafka 4.3.1's (KIP-98, KIP-360, KIP-890). Each step makes the next `Transaction` of the one that is; it counts
when it is committed in the log. `fenced` alone is never written: it lasts until the abort that follows in the same
step.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass, field, replace

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
LAST_EPOCH: Final = 32_767
EXHAUSTED_EPOCH: Final = LAST_EPOCH - 1
"""No client is given a later one: the fence of the coordinator needs one more."""
NO_TIME: Final = -1
BUMPING: Final = 2
"""The first `transaction.version` in which each transaction has its own epoch."""
NO_TIMEOUT_MS: Final = (1 << 31) - 1
"""Of two-phase commit: such a transaction waits for its coordinator outside for ever."""

Place = tuple[str, int]
"""Topic and partition."""


class State(IntEnum):
    """As in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def words(self) -> str:
        """Kafka's, in answers."""
        return "".join(part.capitalize() for part in self.name.split("_"))


PREPARED: Final = (State.PREPARE_COMMIT, State.PREPARE_ABORT)
OVER: Final = (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)

BEFORE: Final = {
    State.EMPTY: (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT),
    State.ONGOING: (State.ONGOING, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT),
    State.PREPARE_COMMIT: (State.ONGOING,),
    State.PREPARE_ABORT: (State.ONGOING, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT),
    State.COMPLETE_COMMIT: (State.PREPARE_COMMIT,),
    State.COMPLETE_ABORT: (State.PREPARE_ABORT,),
}
"""Which states may come before."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """One state of a transactional id; the log has all of it but `last_epoch`. Times are milliseconds since 1970."""

    producer_id: int
    timeout_ms: int
    updated_ms: int
    epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    """That of the producer before it was given a newer one: who asks for that again is answered the same."""
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """Of a transaction that ends with the last epoch of its producer."""
    next_epoch: int = NO_EPOCH
    state: State = State.EMPTY
    partitions: frozenset[Place] = frozenset()
    started_ms: int = NO_TIME
    version: int = 0
    """`transaction.version` of the client that began it."""

    @property
    def is_exhausted(self) -> bool:
        return self.epoch >= EXHAUSTED_EPOCH


@dataclass(slots=True, eq=False)
class TransactionalId:
    """The mutable part: what is committed, and what is on its way to the log."""

    name: str
    now: Transaction
    pending: State | None = None
    """One step at a time: others are told CONCURRENT_TRANSACTIONS."""
    fence_failed: bool = False
    """The epoch was raised to fence a producer, and the log did not take the abort: it is not raised again."""
    unended: set[Place] = field(default_factory=set)
    """Partitions that have no marker yet, while the transaction ends."""

    def commit(self, to: Transaction) -> None:
        """The log has it."""
        assert self.now.state in BEFORE[to.state], f"{self.name}: {self.now.state.name} -> {to.state.name}"
        self.now, self.pending = to, None


def with_next_epoch(
    one: Transaction, timeout_ms: int, expected_epoch: int | None, now_ms: int
) -> Transaction | ErrorCode:
    """A producer begins, or begins anew with the epoch that it had (KIP-360)."""
    epoch, last = one.epoch + 1, NO_EPOCH
    if expected_epoch is not None:
        if one.epoch in (NO_EPOCH, expected_epoch):
            last = one.epoch
        elif expected_epoch == one.last_epoch:
            epoch, last = one.epoch, one.last_epoch  # It did not hear the answer to its first attempt.
        else:
            return ErrorCode.PRODUCER_FENCED
    if epoch >= LAST_EPOCH:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return replace(_emptied(one, timeout_ms, now_ms), epoch=epoch, last_epoch=last)


def with_next_producer(
    one: Transaction, producer_id: int, timeout_ms: int, now_ms: int, *, keeps_last: bool
) -> Transaction:
    """Its epochs are used up. `keeps_last`: the producer named itself, and may ask again."""
    return replace(
        _emptied(one, timeout_ms, now_ms),
        producer_id=producer_id,
        previous_producer_id=one.producer_id,
        epoch=0,
        last_epoch=one.epoch if keeps_last else NO_EPOCH,
    )


def _emptied(one: Transaction, timeout_ms: int, now_ms: int) -> Transaction:
    return replace(
        one,
        timeout_ms=timeout_ms,
        updated_ms=now_ms,
        state=State.EMPTY,
        partitions=frozenset(),
        started_ms=NO_TIME,
        next_producer_id=NO_PRODUCER_ID,
    )


def with_partitions(one: Transaction, added: Iterable[Place], now_ms: int, version: int) -> Transaction:
    started = now_ms if one.state in OVER else one.started_ms
    return replace(
        one,
        state=State.ONGOING,
        partitions=one.partitions | frozenset(added),
        started_ms=started,
        updated_ms=now_ms,
        version=version,
    )


def fenced(entry: TransactionalId) -> Transaction:
    """Nobody goes on with its epoch. Only the abort that follows is written."""
    one = entry.now
    epoch = one.epoch if entry.fence_failed else min(one.epoch + 1, LAST_EPOCH)
    return replace(one, epoch=epoch, last_epoch=NO_EPOCH)


def ending(
    one: Transaction, *, commit: bool, version: int, next_producer_id: int, now_ms: int, is_empty: bool = False
) -> Transaction:
    """It is decided. `next_producer_id`: if its epochs are used up. `is_empty`: it had no partition."""
    state = State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
    started = now_ms if is_empty else one.started_ms
    epoch, last = one.epoch, one.last_epoch
    if version >= BUMPING and epoch < LAST_EPOCH:
        epoch, last = epoch + 1, epoch
    return replace(
        one,
        state=state,
        epoch=epoch,
        last_epoch=last,
        next_producer_id=next_producer_id,
        started_ms=started,
        updated_ms=now_ms,
        version=version,
    )


def completed(one: Transaction, now_ms: int) -> Transaction:
    """Every partition has its marker."""
    state = State.COMPLETE_COMMIT if one.state is State.PREPARE_COMMIT else State.COMPLETE_ABORT
    done = replace(one, state=state, partitions=frozenset(), updated_ms=now_ms, next_producer_id=NO_PRODUCER_ID)
    if one.version >= BUMPING and one.next_producer_id != NO_PRODUCER_ID:
        return replace(done, producer_id=one.next_producer_id, previous_producer_id=one.producer_id, epoch=0)
    return done
