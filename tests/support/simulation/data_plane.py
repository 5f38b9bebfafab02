"""The topic partitions of a simulated broker: the work of production (`partition_work`) on a virtual disk.

One piece of work is done after the other, as by the thread of `server.shell.data_plane`, and each takes as long as a
write. A disk that refuses what was promised ends the broker with a fault; one that refuses to open a log makes the
partition offline.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from controller_runtime.broker.effects import (
    AbandonMove,
    AppendRecords,
    BrokerEvent,
    CancelRead,
    ClosePartition,
    CompleteMove,
    ConfigureLog,
    CopyMore,
    CutLog,
    DeleteBefore,
    FindTimestamp,
    FinishWithoutReply,
    MeasureDirectory,
    OpenPartition,
    PartitionEffect,
    PartitionFailed,
    ReadRecords,
    RestartLog,
    SetAsideStrays,
)
from controller_runtime.identifiers import BrokerEpoch, Offset, PartitionId
from controller_runtime.server.shell.partition_work import DirectoryLost
from controller_runtime.storage.errors import DiskFailed, StorageError
from support.disks.work_in_order import Logs, WorkInOrder
from support.simulation.fleet import DATA

if TYPE_CHECKING:
    from support.simulation.machine import Machine

CHECKPOINT_S: Final = 0.3
"""In production a minute; a schedule is shorter."""

Work = (
    SetAsideStrays
    | OpenPartition
    | ClosePartition
    | ConfigureLog
    | AppendRecords
    | CutLog
    | RestartLog
    | DeleteBefore
    | ReadRecords
    | FindTimestamp
    | MeasureDirectory
    | CopyMore
    | CompleteMove
    | AbandonMove
)
CHECKPOINT: Final = "checkpoint"


class DataPlane:
    def __init__(self, machine: Machine) -> None:
        """Opens the log directory: the checkpoints are read, no log is opened yet."""
        self._machine = machine
        self.manager = Logs.open(machine.disk, {machine.directory: DATA})
        self._work = WorkInOrder(self.manager)
        self._waiting: deque[Work | str] = deque()
        self._doing: Work | str | None = None
        self._checkpoint_is_due = False
        self._open: set[PartitionId] = set()
        self.unrecovered = set(self.manager._homes)
        """Logs that lay here at the start, and were neither opened nor refused yet."""

    def perform(self, effect: PartitionEffect) -> None:
        match effect:
            case CancelRead(work_id):
                kept = (one for one in self._waiting if not (isinstance(one, ReadRecords) and one.work_id == work_id))
                self._waiting = deque(kept)
            case FinishWithoutReply(request_id):
                self._machine.world.finish_without_reply(request_id)
            case _:
                self._submit(effect)

    def flushed(self) -> Mapping[PartitionId, int]:
        """How far each open log is on the platter."""
        return {log_id: self.manager.log(log_id).recovery_point for log_id in self._open}

    def is_open(self, log_id: PartitionId) -> bool:
        return log_id in self._open

    def read(self, log_id: PartitionId, offset: int) -> bytes:
        """From there on, all that is in the log. Raises StorageError."""
        return self.manager.log(log_id).read(Offset(offset), 1 << 20)

    def _submit(self, work: Work | str) -> None:
        self._waiting.append(work)
        if self._doing is None:
            self._begin()

    def _begin(self) -> None:
        if self._waiting:
            self._doing = self._waiting.popleft()
            self._machine.write(self._done)

    def _done(self) -> None:
        work, self._doing = self._doing, None
        assert work is not None
        event = self._attempt(work)
        self._begin()
        if event is not None:
            self._machine.feed(event)

    def _attempt(self, work: Work | str) -> BrokerEvent | None:
        try:
            return self._do(work)
        except (StorageError, OSError) as error:
            fatal = isinstance(work, str | AppendRecords) and isinstance(error, OSError | DiskFailed | DirectoryLost)
            if isinstance(work, AppendRecords):
                self._open.discard(work.key)  # It was given up.
            self._machine.refused |= fatal
            self._machine.has_offline |= not fatal
            self._machine.world.trace(f"n{self._machine.id}: data plane: {error}")
            if isinstance(work, OpenPartition):
                self.unrecovered.discard(work.key)
            key = work.key if isinstance(work, OpenPartition | ClosePartition | AppendRecords) else None
            return PartitionFailed(key, str(error), fatal=fatal) if key is not None or fatal else None

    def _do(self, work: Work | str) -> BrokerEvent | None:
        match work:
            case SetAsideStrays():
                self.unrecovered &= work.replicas
                return self._work.set_aside_strays(work)
            case OpenPartition():
                event = self._work.open(work)
                self._open.add(work.key)
                self.unrecovered.discard(work.key)
                return event
            case ConfigureLog():
                self._work.configure(work)
                return None
            case ClosePartition(key, delete):
                self._open.discard(key)
                self.unrecovered.discard(key)
                self._work.close(key, delete=delete)
                return None
            case AppendRecords():
                self._plan_checkpoint()
                return self._work.append(work)
            case CutLog() | RestartLog():
                return self._work.cut(work)
            case ReadRecords():
                return self._work.read(work)
            case FindTimestamp():
                return self._work.find(work)
            case MeasureDirectory():
                return self._work.measure(work)
            case CopyMore() | CompleteMove() | AbandonMove():
                return self._work.move(work)
            case DeleteBefore():
                self._work.delete_before(work)
                return None
            case _:
                self.manager.checkpoint(self._high_watermarks())
                return None

    def _high_watermarks(self) -> Mapping[PartitionId, int]:
        broker = self._machine.broker
        return {} if broker is None else dict(broker.partitions.high_watermarks())

    def _plan_checkpoint(self) -> None:
        """Of what was written now; nobody needs one of an idle broker."""
        if not self._checkpoint_is_due:
            self._checkpoint_is_due = True
            self._machine.world.later(CHECKPOINT_S, self._machine.while_up(self._checkpoint))

    def _checkpoint(self) -> None:
        self._checkpoint_is_due = False
        self._submit(CHECKPOINT)

    # The end.

    def go_on(self) -> None:
        """The disk does what was under way, as far as it comes."""
        if self._doing is not None:
            self._attempt(self._doing)

    def close(self, broker_epoch: BrokerEpoch) -> None:
        """Finish what was submitted, then flush, close and mark the log directory."""
        for work in (self._doing, *self._waiting):
            if work is not None:
                self._attempt(work)
        self.manager.shut_down(broker_epoch, self._high_watermarks())
