"""What is due by itself: transactions that take too long are aborted, ids that nobody uses any more forgotten."""

from __future__ import annotations

from typing import Final

from controller_runtime.coordinator.transactions import ending, states
from controller_runtime.coordinator.transactions.coordinator import TransactionCoordinator
from controller_runtime.coordinator.transactions.partition import Effect, Effects, Say, TransactionPartition
from controller_runtime.coordinator.transactions.states import State, TransactionalId
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.pieces import InPieces

_FORGOTTEN_AT_ONCE: Final = 100


def abort_late(
    coordinator: TransactionCoordinator, partition: TransactionPartition, now: Instant, wall: WallClock
) -> InPieces[Effect, None]:
    """Open transactions whose producers have not ended them in time; those of two-phase commit have none."""
    for entry in list(partition.known.values()):
        yield None
        one = entry.now
        is_late = one.state is State.ONGOING and one.started_ms + one.timeout_ms < wall
        if not is_late or entry.pending is not None or one.timeout_ms == states.NO_TIMEOUT_MS or partition.has_resigned:
            continue
        aborted = ending.abort_fenced(coordinator, partition, entry, None, now=now, wall=wall)
        yield Say("info", f"aborts a transaction of {entry.name!r}, open since {wall - one.started_ms} ms")
        yield from aborted


def forget_old(partition: TransactionPartition, now: Instant, wall: WallClock) -> InPieces[Effect, None]:
    """Ids without a transaction, not used for `transactional.id.expiration.ms`."""
    expiration_ms = partition.settings.expiration_ms
    old: list[TransactionalId] = []
    for entry in list(partition.known.values()):
        yield None
        one = entry.now
        if one.state in states.OVER and entry.pending is None and one.updated_ms <= wall - expiration_ms:
            old.append(entry)
        if len(old) == _FORGOTTEN_AT_ONCE:
            yield from _forget(partition, old, now, wall)
            old = []
    yield from _forget(partition, old, now, wall)


def _forget(
    partition: TransactionPartition, old: list[TransactionalId], now: Instant, wall: WallClock
) -> InPieces[Effect, None]:
    still: Effects = []
    fresh = [entry for entry in old if entry.pending is None]
    if fresh and not partition.has_resigned:
        still = partition.forget(fresh, now, wall)
    yield from still
