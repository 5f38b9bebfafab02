"""The data plane's shell: performs a broker's effects on topic partitions, each in the thread of the log directory that
has the partition, in order, and reports back.

Everything that touches a directory's files runs in that directory's thread, so logs need no locks, the event loop never
waits for a disk, and no disk waits for another. What opens, closes, deletes and moves logs is patient (`disk_thread`):
records of other logs are written and read meanwhile. A failed append or open is reported, never retried: the node
decides whether it can go on. Every minute all logs are flushed and checkpointed, which bounds what a crash has to
recover.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar, assert_never

from controller_runtime.broker.effects import (
    AbandonMove,
    AppendRecords,
    BrokerEvent,
    CancelRead,
    ClosePartition,
    CompleteMove,
    ConfigureLog,
    CopyFound,
    CopyMore,
    CutLog,
    DeleteBefore,
    DirectoryFailed,
    FindTimestamp,
    FinishWithoutReply,
    MeasureDirectory,
    OpenPartition,
    PartitionEffect,
    PartitionFailed,
    ReadRecords,
    RestartLog,
    SetAsideStrays,
    StraysSetAside,
)
from controller_runtime.identifiers import DirectoryId, PartitionId
from controller_runtime.parts.events import RequestId
from controller_runtime.server.shell.directory_reads import DirectoryReads, Reading
from controller_runtime.server.shell.disk_thread import DiskThread
from controller_runtime.server.shell.housekeeping import Housekeeping, UpkeepSettings
from controller_runtime.server.shell.log_mover import LogMover
from controller_runtime.server.shell.partition_work import DirectoryLost, PartitionWork, room
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import FileSystem
from controller_runtime.storage.log.open_files import MANY
from controller_runtime.storage.log_directory import LogDirectory
from controller_runtime.storage.log_manager import LogManager, LogOffline

log = logging.getLogger(__name__)

CHECKPOINT_SECONDS: Final = 60.0
_TOLD_EVERY: Final = 1000
"""Logs: how often the closing of many says how far it is."""
_FEW_FILES: Final = 16
Result = TypeVar("Result")


class BrokerDataPlane:
    """Implements `driver.DataPlane`."""

    def __init__(
        self,
        filesystem: FileSystem,
        directories: Mapping[DirectoryId, str],
        finish_without_reply: Callable[[RequestId], None],
        *,
        wall_ms: Callable[[], int],
        upkeep: Callable[[], UpkeepSettings] = UpkeepSettings,
        has_offline: bool = False,
    ) -> None:
        """Opens the log directories: the checkpoints are read, no log is opened yet. `has_offline`: there are others,
        which cannot be read.
        """
        self._loop = asyncio.get_running_loop()
        self._manager = LogManager.open(filesystem, directories, open_files=_open_files(), has_offline=has_offline)
        self._lanes = {
            directory.id: _Lane(number, directory, self._loop)
            for number, directory in enumerate(self._manager.directories.values())
        }
        self._finish_without_reply = finish_without_reply
        self._fed: Callable[[BrokerEvent], None] | None = None
        self._high_watermarks: Callable[[], Mapping[PartitionId, int]] = dict
        self._reads = DirectoryReads(self._lanes, self._home, self._read, self._feed)
        self._mover = LogMover(self._move_step, self._home, self._manager.move, self._feed)
        self._patient: Counter[PartitionId] = Counter()
        """How much patient work on a log is not done: what else is asked of it waits behind."""
        self._leaving: dict[PartitionId, ClosePartition] = {}
        """Its deletion is on its way, and nobody opened it again."""
        self._timer = self._loop.call_later(CHECKPOINT_SECONDS, self._checkpoint)
        self._upkeep = upkeep
        self._housekeeping = Housekeeping(
            self._lanes,
            self._submit,
            self._upkeep_now,
            feed=self._feed,
            high_watermarks=self._known_high_watermarks,
            wall_ms=wall_ms,
        )

    @property
    def previous_broker_epoch(self) -> int:
        return self._manager.previous_broker_epoch

    def attach(self, feed: Callable[[BrokerEvent], None]) -> None:
        """Where completions go."""
        self._fed = feed

    def attach_room(self, has_room: Callable[[], bool]) -> None:
        """`has_room` tells whether what was read may still grow; `room_made` is called when it may again."""
        self._reads.has_room = has_room

    def attach_high_watermarks(self, high_watermarks: Callable[[], Mapping[PartitionId, int]]) -> None:
        """What the broker says of each partition, for the checkpoint."""
        self._high_watermarks = high_watermarks

    def attach_upkeep(self, upkeep: Callable[[], UpkeepSettings]) -> None:
        """Asked before each round, when there is an image to ask."""
        self._upkeep = upkeep

    def _upkeep_now(self) -> UpkeepSettings:
        return self._upkeep()

    def _known_high_watermarks(self) -> Mapping[PartitionId, int]:
        return dict(self._high_watermarks())

    def room_made(self) -> None:
        self._reads.go_on()

    def perform(self, effect: PartitionEffect) -> None:
        match effect:
            case FinishWithoutReply(request_id):
                self._finish_without_reply(request_id)
            case SetAsideStrays(known):
                self._set_aside_strays(known)
            case OpenPartition(key, topic, wanted):
                self._leaving.pop(key, None)
                try:
                    self._manager.home_of(key, topic, wanted, is_new=effect.is_new, avoid=effect.avoid)
                except LogOffline as error:
                    self._feed(PartitionFailed(key, str(error), fatal=False))
                else:
                    self._work_on(key, lambda work: work.open(effect), partial(self._opened, key), patient=True)
            case ClosePartition(key):
                self._close(effect)
            case ConfigureLog(key):
                self._work_on(key, lambda work: work.configure(effect), patient=True)
            case AppendRecords(key):
                self._work_on(key, lambda work: work.append(effect), self._feed)
            case CutLog(key) | RestartLog(key):
                self._work_on(key, lambda work: work.cut(effect), self._feed)
            case DeleteBefore(key):
                self._work_on(key, lambda work: work.delete_before(effect))
            case CopyMore() | CompleteMove() | AbandonMove():
                self._mover.begin(effect)
            case MeasureDirectory(_, directory):
                self._submit(directory, lambda work: work.measure(effect), self._feed)
            case ReadRecords():
                self._reads.add(effect)
            case CancelRead(work_id):
                self._reads.cancel(work_id)
            case FindTimestamp(_, key):
                self._work_on(key, lambda work: work.find(effect), self._feed)
            case _ as unknown:
                assert_never(unknown)

    def close(self, broker_epoch: int) -> None:
        """Finish what was submitted, then flush, close and mark every log directory: each in its own thread."""
        self._timer.cancel()
        self._housekeeping.close()
        high_watermarks = self._known_high_watermarks()
        for lane in self._lanes.values():
            lane.begin_shutdown(broker_epoch, high_watermarks)
        failures = [failure for lane in self._lanes.values() if (failure := lane.end()) is not None]
        if failures:
            raise failures[0]

    # In the loop.

    def _feed(self, event: BrokerEvent) -> None:
        if self._fed is not None:
            self._fed(event)

    def _home(self, key: PartitionId) -> DirectoryId:
        return self._manager.home(key).id

    def _opened(self, key: PartitionId, event: BrokerEvent) -> None:
        self._feed(event)
        if (target := self._manager.copy_of(key)) is not None:
            self._feed(CopyFound(key, target))

    def _set_aside_strays(self, known: frozenset[PartitionId]) -> None:
        """Counted by directory: the answer comes when the last one is through."""
        if (found_twice := self._manager.found_twice(known)) is not None:
            self._feed(PartitionFailed(None, found_twice, fatal=True))
            return
        self._manager.forget_strays(known)
        paths: dict[DirectoryId, list[str]] = {}

        def came(directory: DirectoryId, found: list[str]) -> None:
            paths[directory] = found
            if len(paths) == len(self._lanes):
                self._feed(StraysSetAside(tuple(path for each in self._lanes for path in paths[each])))

        for directory in self._lanes:
            old = self._manager.old.get(directory, set())
            self._submit(directory, partial(_set_aside, known, old), partial(came, directory), patient=True)

    def _close(self, effect: ClosePartition) -> None:
        """Its home is forgotten when it is empty: a log that is opened again before waits in the same thread."""
        key, delete = effect.key, effect.delete
        if delete:
            self._leaving[key] = effect

        def closed(_: object) -> None:
            if self._leaving.get(key) is effect:
                del self._leaving[key]
                self._manager.forget(key)

        self._work_on(key, lambda work: work.close(key, delete=delete), closed, patient=True)

    def _read(self, directory: DirectoryId, reading: Reading) -> None:
        slices, left, nothing_yet = reading.slices(directory), reading.left, not reading.found_bytes
        self._submit(
            directory,
            lambda work: work.read(slices, left, nothing_yet=nothing_yet),
            partial(self._reads.done, directory, reading),
            patient=any(one.key in self._patient for one in slices),
        )

    def _checkpoint(self) -> None:
        self._timer = self._loop.call_later(CHECKPOINT_SECONDS, self._checkpoint)
        high_watermarks = self._known_high_watermarks()
        for directory in self._lanes:
            self._submit(directory, lambda work: work.checkpoint(high_watermarks))

    def _work_on(
        self,
        key: PartitionId,
        work: Callable[[PartitionWork], Result],
        done: Callable[[Result], None] | None = None,
        *,
        patient: bool = False,
    ) -> None:
        def begin() -> None:
            self._submit(self._home(key), work, done, key, patient=patient or key in self._patient)

        if not self._mover.holds(key, begin):
            begin()

    def _submit(
        self,
        directory: DirectoryId,
        work: Callable[[PartitionWork], Result],
        done: Callable[[Result], None] | None = None,
        key: PartitionId | None = None,
        failed: Callable[[BaseException], None] | None = None,
        *,
        patient: bool = False,
    ) -> None:
        """`done` gets what the work gave, in the loop; what it raised costs the partition `key`, or the directory, and
        `failed` gets it.
        """
        results: list[Result] = []
        lane = self._lanes[directory]

        def report(failure: BaseException | None) -> None:
            if patient and key is not None:
                self._patient[key] -= 1
                if not self._patient[key]:
                    del self._patient[key]
            for grave in lane.work.take_graves():
                self._housekeeping.bury(directory, grave)
            if failure is not None:
                self._failed(directory, key, failure)
                if failed is not None:
                    failed(failure)
            elif done is not None:
                done(results[0])

        if patient and key is not None:
            self._patient[key] += 1
        submit = lane.thread.submit_patient if patient else lane.thread.submit
        submit(lambda: results.append(work(lane.work)), report)

    def _move_step(
        self,
        directory: DirectoryId,
        work: Callable[[PartitionWork], Any],
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._submit(directory, work, done, failed=failed, patient=True)

    def _failed(self, directory: DirectoryId, key: PartitionId | None, failure: BaseException) -> None:
        log.error("data plane: %s", failure, exc_info=None if isinstance(failure, StorageError) else failure)
        reason = str(failure) or type(failure).__name__
        if isinstance(failure, DirectoryLost):
            self._manager.lose(directory)
            self._feed(DirectoryFailed(directory, reason))
        elif key is not None:
            self._feed(PartitionFailed(key, reason, fatal=False))


def _set_aside(known: frozenset[PartitionId], old: set[tuple[str, int]], work: PartitionWork) -> list[str]:
    return work.set_aside_strays(known, old)


def _open_files() -> int:
    """For the files of logs: connections need as many as they."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MANY if allowed == resource.RLIM_INFINITY else min(MANY, max(_FEW_FILES, allowed // 2))


class _Lane:
    """One log directory and the thread that owns it."""

    def __init__(self, number: int, directory: LogDirectory, loop: asyncio.AbstractEventLoop) -> None:
        self._path = directory.path
        self.work = PartitionWork(directory, room)
        self.thread = DiskThread(f"data-{number}", loop)
        self._failure: Exception | None = None

    def begin_shutdown(self, broker_epoch: int, high_watermarks: Mapping[PartitionId, int]) -> None:
        def shut_down() -> None:
            try:
                self.work.shut_down(broker_epoch, high_watermarks, self._tell_progress)
            except Exception as error:
                self._failure = error

        self.thread.submit_last(shut_down, lambda _: None)

    def end(self) -> Exception | None:
        """Wait for it; what went wrong."""
        self.thread.close()
        return self._failure

    def _tell_progress(self, done: int, count: int) -> None:
        if done and done % _TOLD_EVERY == 0:
            log.info("closing logs: %d of %d in %s", done, count, self._path)
