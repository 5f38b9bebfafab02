"""The data plane's shell: performs a broker's effects on topic partitions in one thread, in order, and reports back.

Everything that touches a partition's files runs in that thread, so logs need no locks and the event loop never waits
for a disk. A failed append or open is reported, never retried: the node decides whether it can go on. Every minute all
logs are flushed and checkpointed, which bounds what a crash has to recover. What is read for consumers is in memory
until they have taken it: so few reads are on their way at once, and none begins while consumers have much to take
(`attach_room`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, cast

from controller_runtime.broker.partition import PartitionKey
from controller_runtime.identifiers import DirectoryId
from controller_runtime.node.broker_effects import (
    AppendRecords,
    BrokerEvent,
    ClosePartition,
    FindTimestamp,
    FinishWithoutReply,
    OpenPartition,
    PartitionFailed,
    ReadRecords,
)
from controller_runtime.node.events import NodeEvent, RequestId
from controller_runtime.server.shell.disk_thread import DiskThread
from controller_runtime.server.shell.partition_work import PartitionWork
from controller_runtime.storage.errors import DiskFailed, StorageError
from controller_runtime.storage.filesystem import FileSystem
from controller_runtime.storage.log_manager import LogManager

log = logging.getLogger(__name__)

CHECKPOINT_SECONDS: Final = 60.0
DISK_FAILURES: Final = (OSError, DiskFailed)
READS_AT_ONCE: Final = 2
"""Reads that are on their way to the thread, which does one after the other. Each may have 55 MiB
(`fetch.max.bytes`).
"""


class BrokerDataPlane:
    """Implements `driver.DataPlane`."""

    def __init__(
        self,
        filesystem: FileSystem,
        directories: Mapping[DirectoryId, str],
        finish_without_reply: Callable[[RequestId], None],
    ) -> None:
        """Opens the log directories: the checkpoints are read, no log is opened yet."""
        self._loop = asyncio.get_running_loop()
        self._thread = DiskThread("data", self._loop)
        self._manager = LogManager.open(filesystem, directories)
        self._work = PartitionWork(self._manager)
        self._finish_without_reply = finish_without_reply
        self._feed: Callable[[BrokerEvent], None] | None = None
        self._has_room: Callable[[], bool] = lambda: True
        self._reads: deque[ReadRecords] = deque()
        self._reading = 0
        self._timer = self._loop.call_later(CHECKPOINT_SECONDS, self._checkpoint)

    @property
    def previous_broker_epoch(self) -> int:
        return self._manager.previous_broker_epoch

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        """The node of a broker takes both kinds of events; the type of `Driver.feed` names the common one."""
        self._feed = cast("Callable[[BrokerEvent], None]", feed)

    def attach_room(self, has_room: Callable[[], bool]) -> None:
        """`has_room` tells whether what was read may still grow; `room_made` is called when it may again."""
        self._has_room = has_room

    def room_made(self) -> None:
        self._read_on()

    def perform(self, effect: object) -> bool:
        match effect:
            case FinishWithoutReply(request_id):
                self._finish_without_reply(request_id)
            case OpenPartition():
                self._submit(effect.key, lambda: self._work.open(effect))
            case ClosePartition(key, delete):
                self._submit(key, lambda: self._work.close(key, delete=delete))
            case AppendRecords():
                self._submit(effect.key, lambda: self._work.append(effect), acknowledges=True)
            case ReadRecords():
                self._reads.append(effect)
                self._read_on()
            case FindTimestamp():
                self._submit(None, lambda: self._work.find(effect))
            case _:
                return False
        return True

    def close(self, broker_epoch: int) -> None:
        """Finish what was submitted, then flush, close and mark every log directory."""
        self._timer.cancel()
        self._thread.close()
        self._manager.shut_down(broker_epoch)

    # In the loop.

    def _read_on(self) -> None:
        while self._reads and self._reading < READS_AT_ONCE and self._has_room():
            effect = self._reads.popleft()
            self._reading += 1
            self._submit(None, partial(self._work.read, effect), after=self._read_done)

    def _read_done(self) -> None:
        self._reading -= 1
        self._read_on()

    def _submit(
        self,
        key: PartitionKey | None,
        work: Callable[[], BrokerEvent | None],
        *,
        acknowledges: bool = False,
        after: Callable[[], None] | None = None,
    ) -> None:
        """`acknowledges`: what was promised to clients depends on it, so a disk that refuses it is fatal."""
        results: list[BrokerEvent | None] = []

        def run() -> None:
            results.append(work())

        def done(failure: BaseException | None) -> None:
            report(failure)
            if after is not None:
                after()

        def report(failure: BaseException | None) -> None:
            if failure is not None:
                self._failed(key, failure, acknowledges=acknowledges)
            elif (event := results[0]) is not None and self._feed is not None:
                self._feed(event)

        self._thread.submit(run, done)

    def _failed(self, key: PartitionKey | None, failure: BaseException, *, acknowledges: bool) -> None:
        fatal = acknowledges and isinstance(failure, DISK_FAILURES)
        log.error("data plane: %s", failure, exc_info=None if isinstance(failure, StorageError) else failure)
        if (key is not None or fatal) and self._feed is not None:
            reason = str(failure) or type(failure).__name__
            self._feed(PartitionFailed(key, reason, fatal=fatal))

    def _checkpoint(self) -> None:
        self._timer = self._loop.call_later(CHECKPOINT_SECONDS, self._checkpoint)
        self._submit(None, self._manager.checkpoint, acknowledges=True)
