"""All log directories of a broker worked on in order, as if one thread had them: what production gives to a thread for
each directory (`server.shell.data_plane`), one piece after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final

from controller_runtime.broker.effects import (
    AbandonMove,
    AppendRecords,
    BrokerEvent,
    CompleteMove,
    ConfigureLog,
    CopyMore,
    CutLog,
    DeleteBefore,
    FindTimestamp,
    MeasureDirectory,
    OpenPartition,
    PartitionFailed,
    ReadRecords,
    RecordsRead,
    RestartLog,
    SetAsideStrays,
    StraysSetAside,
)
from controller_runtime.identifiers import DirectoryId, PartitionId
from controller_runtime.server.shell.directory_reads import DirectoryReads, Reading
from controller_runtime.server.shell.log_mover import LogMover
from controller_runtime.server.shell.partition_work import PartitionWork
from controller_runtime.storage.compaction.cleaning import CleanerSettings
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log_manager import LogManager
from controller_runtime.storage.partition_log import PartitionLog


class Logs(LogManager):
    """The logs themselves, found by their homes."""

    def open_log(
        self, partition_id: PartitionId, topic: str, directory_id: DirectoryId | None, config: LogConfig
    ) -> tuple[PartitionLog, DirectoryId]:
        home = self.home_of(partition_id, topic, directory_id)
        return home.open_log(partition_id, topic, config), home.id

    def log(self, partition_id: PartitionId) -> PartitionLog:
        return self.home(partition_id).log(partition_id)

    def close_log(self, partition_id: PartitionId, *, delete: bool) -> None:
        self.home(partition_id).close_log(partition_id, delete=delete)
        if delete:
            self.forget(partition_id)

    def set_aside_strays(self, known: Container[PartitionId]) -> list[str]:
        self.forget_strays(known)
        return [path for directory in self.directories.values() for path in directory.set_aside_strays(known)]

    def checkpoint(self, high_watermarks: Mapping[PartitionId, int]) -> None:
        for directory in self.directories.values():
            directory.checkpoint(high_watermarks)

    def shut_down(self, broker_epoch: int, high_watermarks: Mapping[PartitionId, int]) -> None:
        for directory in self.directories.values():
            directory.shut_down(broker_epoch, high_watermarks)


ROOM: Final = (1 << 40, 1 << 39)


def room(_: str) -> tuple[int, int]:
    """Of every disk."""
    return ROOM


class Stopped(Exception):
    """The process ends between two steps of a move."""


class WorkInOrder:
    def __init__(self, manager: LogManager) -> None:
        self.move_steps = -1
        """How many steps of moves are done before the process ends; -1: all."""
        self._manager = manager
        self._work = {each: PartitionWork(directory, room) for each, directory in manager.directories.items()}

    def set_aside_strays(self, effect: SetAsideStrays) -> BrokerEvent:
        if (found_twice := self._manager.found_twice(effect.replicas)) is not None:
            return PartitionFailed(None, found_twice, fatal=True)
        self._manager.forget_strays(effect.replicas)
        old = self._manager.old
        paths = [
            path
            for each, work in self._work.items()
            for path in work.set_aside_strays(effect.replicas, old.get(each, set()))
        ]
        return StraysSetAside(tuple(paths))

    def open(self, effect: OpenPartition) -> BrokerEvent:
        self._manager.home_of(effect.key, effect.topic, effect.directory_id, avoid=effect.avoid)
        return self._at(effect.key).open(effect)

    def copy_of(self, key: PartitionId) -> DirectoryId | None:
        return self._manager.copy_of(key)

    def move(self, effect: CopyMore | CompleteMove | AbandonMove) -> BrokerEvent | None:
        """Every step, one after the other; what comes for the log meanwhile comes later."""
        told: list[BrokerEvent] = []

        def submit(
            directory: DirectoryId,
            work: Callable[[PartitionWork], Any],
            done: Callable[[Any], None],
            failed: Callable[[BaseException], None],
        ) -> None:
            if self.move_steps == 0:
                raise Stopped
            self.move_steps -= 1
            try:
                found = work(self._work[directory])
            except Exception as error:
                failed(error)
            else:
                done(found)

        LogMover(submit, lambda key: self._manager.home(key).id, self._manager.move, told.append).begin(effect)
        return told[0] if told else None

    def configure(self, effect: ConfigureLog) -> None:
        self._at(effect.key).configure(effect)

    def close(self, key: PartitionId, *, delete: bool) -> None:
        self._at(key).close(key, delete=delete)
        if delete:
            self._manager.forget(key)

    def append(self, effect: AppendRecords) -> BrokerEvent:
        return self._at(effect.key).append(effect)

    def cut(self, effect: CutLog | RestartLog) -> BrokerEvent:
        return self._at(effect.key).cut(effect)

    def delete_before(self, effect: DeleteBefore) -> None:
        self._at(effect.key).delete_before(effect)

    def retain(self, high_watermarks: Mapping[PartitionId, int], now_ms: int) -> list[BrokerEvent]:
        """A whole round of retention in every directory."""
        rounds = [work.upkeep.retention(high_watermarks, now_ms) for work in self._work.values()]
        return [event for each in rounds for piece in each for event in piece.events]

    def compact(
        self, high_watermarks: Mapping[PartitionId, int], now_ms: int, settings: CleanerSettings = CleanerSettings()
    ) -> None:
        """A whole round of compaction in every directory."""
        for work in self._work.values():
            found = work.upkeep.cleaning(high_watermarks, now_ms, settings)
            while work.go_on(found) is not None:
                pass

    def bury(self) -> None:
        """Remove what was set aside, as if its time had come."""
        for work in self._work.values():
            for grave in work.take_graves():
                work.remove_grave(grave)

    def measure(self, effect: MeasureDirectory) -> BrokerEvent:
        return self._work[effect.directory_id].measure(effect)

    def read(self, effect: ReadRecords) -> BrokerEvent:
        answers: list[RecordsRead] = []

        def begin(directory: DirectoryId, reading: Reading) -> None:
            slices, left = reading.slices(directory), reading.left
            data = self._work[directory].read(slices, left, nothing_yet=not reading.found_bytes)
            reads.done(directory, reading, data)

        reads = DirectoryReads(self._work, lambda key: self._manager.home(key).id, begin, answers.append)
        reads.add(effect)
        return answers[0]

    def find(self, effect: FindTimestamp) -> BrokerEvent:
        return self._at(effect.key).find(effect)

    def _at(self, key: PartitionId) -> PartitionWork:
        return self._work[self._manager.home(key).id]
