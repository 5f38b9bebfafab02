"""How a log moves to another log directory of its broker (KIP-113), step by step: each step is done by the thread of
one directory, and nothing but the files themselves says how far it came.

A copy takes whole batches from the log, as a follower does, and ends where the log's epochs say that it agrees with it;
so whatever is cut off the log meanwhile, or deleted, the copy follows. At the end nothing is
written to the log; what the copy lacks still is taken, the copy is flushed, and gets the log's name in its directory.
Only then the old files go. A crash before that leaves the log, and a copy that is known to be one; a crash between the
two leaves two logs that are the same, and a mark in the one that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final

from controller_runtime.broker.effects import AbandonMove, BrokerEvent, CompleteMove, CopyMore, LogMoved, MoveGrew
from controller_runtime.broker.replication.truncation import EpochStarts, cut_at, end_of_epoch, last_epoch
from controller_runtime.identifiers import DirectoryId, Offset, PartitionId
from controller_runtime.server.shell.partition_work import PartitionWork
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log_directory import LogDirectory
from controller_runtime.storage.partition_log import PartitionLog
from controller_runtime.values import dataclass

Step = tuple[DirectoryId, Callable[[PartitionWork], Any]]
Steps = Generator[Step, Any, BrokerEvent | None]
"""Each is done in the thread of its directory, and what it gave is sent back. What is returned is told."""
_AT_ONCE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a copy ends, and what it knows of epochs."""

    start: int
    end: int
    epochs: EpochStarts


@dataclass(frozen=True, slots=True)
class Missing:
    """What brings a copy nearer to its log: first it is cut, or begins anew; then batches."""

    log_end: int
    data: bytes = b""
    cut: int | None = None
    restart: int | None = None

    @property
    def is_nothing(self) -> bool:
        return not self.data and self.cut is None and self.restart is None


def copy_more(effect: CopyMore, source: DirectoryId) -> Steps:
    end, missing = yield from _copied(effect.key, effect.topic, source, effect.target, effect.max_bytes)
    return MoveGrew(effect.key, effect.target, end, missing.log_end, len(missing.data))


def complete(effect: CompleteMove, source: DirectoryId, switch: Callable[[], None]) -> Steps:
    """`switch`: from now on what comes for the log goes to the other directory."""
    key, target = effect.key, effect.target
    while True:
        _, missing = yield from _copied(key, effect.topic, source, target, _AT_ONCE)
        if missing.is_nothing:
            break
    start, config = yield source, lambda work: work.guarded(lambda directory: _rules(directory, key))
    high_watermark = effect.high_watermark
    yield (
        target,
        lambda work: work.guarded(lambda directory: directory.adopt(key, effect.topic, config, start, high_watermark)),
    )
    switch()
    yield source, lambda work: work.close(key, delete=True)
    yield target, lambda work: work.guarded(lambda directory: directory.end_move(key))
    return LogMoved(key, target)


def abandon(effect: AbandonMove, source: DirectoryId) -> Steps:
    key = effect.key
    yield effect.target, lambda work: work.guarded(lambda directory: directory.futures.drop(key))
    yield source, lambda work: work.guarded(lambda directory: directory.paused.discard(key))
    return None


def _copied(
    key: PartitionId, topic: str, source: DirectoryId, target: DirectoryId, max_bytes: int
) -> Generator[Step, Any, tuple[int, Missing]]:
    _, config = yield source, lambda work: work.guarded(lambda directory: _rules(directory, key))
    reached: Reached = yield (
        target,
        lambda work: work.guarded(lambda directory: _reached(directory.futures.open(key, topic, config))),
    )
    missing: Missing = yield source, lambda work: work.guarded(lambda log: _missing(log, key, reached, max_bytes))
    if missing.is_nothing:
        return reached.end, missing
    end = yield target, lambda work: work.guarded(lambda directory: _extend(directory.futures.log(key), missing))
    return end, missing


def _rules(directory: LogDirectory, key: PartitionId) -> tuple[int, LogConfig]:
    log = directory.log(key)
    return log.start_offset, log.config


def _reached(log: PartitionLog) -> Reached:
    return Reached(log.start_offset, log.end_offset, log.epoch_starts())


def _missing(directory: LogDirectory, key: PartitionId, reached: Reached, max_bytes: int) -> Missing:
    """Its log is not compacted from now on: a copy must not take what a tombstone took back, and miss the tombstone."""
    log = directory.log(key)
    directory.paused.add(key)
    end, starts = int(log.end_offset), log.epoch_starts()
    is_empty = reached.end == reached.start
    if not is_empty and (agreed := _agreed(reached, starts, end)) < reached.end:
        return Missing(end, restart=int(log.start_offset)) if agreed <= reached.start else Missing(end, cut=agreed)
    begins_anew = reached.end < log.start_offset or (is_empty and reached.end != log.start_offset)
    offset = log.start_offset if begins_anew or is_empty else Offset(reached.end)
    try:
        data = log.read(offset, max_bytes) if offset < end else b""
    except OSError as error:
        raise StorageError(f"cannot read {log.directory}: {error}") from error
    base = next((batch.base_offset for batch in split_batches(data)), int(offset))
    restart = base if (begins_anew or is_empty) and base != reached.end else None
    return Missing(end, data, restart=restart)


def _agreed(reached: Reached, starts: EpochStarts, log_end: int) -> int:
    """Up to where a copy has what its log has, as a follower finds it out."""
    last = last_epoch(reached.epochs, reached.end)
    if last < 0:
        return min(reached.end, log_end)
    own = end_of_epoch(starts, last, log_end)
    return reached.start if own is None else cut_at(reached.epochs, reached.end, *own)


def _extend(log: PartitionLog, missing: Missing) -> int:
    if missing.restart is not None:
        log.restart(Offset(missing.restart))
    if missing.cut is not None:
        log.cut(Offset(missing.cut))
    return int(log.append(missing.data)) if missing.data else int(log.end_offset)
