"""A run of a production node on a simulated machine: `node.pump` says what comes next, as in `server.shell.driver`, and
this performs it on a virtual disk and network.

Log writes are done later by the disk and come back as `LogFlushed`; so do snapshots and scrubs. A disk that fails ends
the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from controller_runtime.broker.effects import Relay
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.node import Node
from controller_runtime.node.pump import Pump
from controller_runtime.node.quorum.effects import (
    Append,
    DropSnapshotPart,
    ResetLog,
    RollLog,
    SaveElection,
    ScrubLog,
    ShortenLog,
    TakeSnapshot,
    Truncate,
    WriteSnapshot,
)
from controller_runtime.node.quorum.events import (
    LogScrubbed,
    SnapshotFlushed,
    SnapshotGivenUp,
    SnapshotWritten,
)
from controller_runtime.node.quorum.snapshot_content import content
from controller_runtime.parts.effects import (
    Call,
    CancelCall,
    CloseConnection,
    LimitConnections,
    Log,
    Respond,
    SetLogLevels,
    Stop,
)
from controller_runtime.parts.events import TimePassed
from controller_runtime.parts.failed_requests import FAILED
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.storage import snapshot_writer
from controller_runtime.storage.errors import CorruptFile, DiskFailed
from controller_runtime.storage.metadata_log import MetadataLog, PendingWrite
from controller_runtime.storage.snapshot_writer import SnapshotWrite

if TYPE_CHECKING:
    from support.simulation.data_plane import DataPlane
    from support.simulation.machine import Machine


class Process:
    def __init__(self, machine: Machine, node: Node, log: MetadataLog, data: DataPlane | None) -> None:
        """`data`: of a broker."""
        self.machine = machine
        self.world = machine.world
        self.node = node
        self.log = log
        self.data = data
        self.pump = Pump(node, lambda: log.flushed_offset)
        self.taken: Sequence[NodeEvent] = (TimePassed(),)
        """The events of the last step, in order; a start counts as time that passed."""
        self.taken_at = machine.now
        self.saving: ElectionState | None = None
        self._running = False
        self._busy_until = 0.0
        """Where steps have a price: what the last one decided happens when it is over."""
        self._unseen = False
        """The invariants have not looked at what the last step did."""
        self._writing: PendingWrite | None = None
        self._snapshot: tuple[SnapshotWrite, TakeSnapshot] | None = None

    # What the driver does.

    def start(self) -> None:
        self.pump.start(self.machine.now, self.machine.wall)
        self.run()

    def feed(self, event: NodeEvent) -> None:
        self.pump.feed(event)
        self.run()

    def time_passed(self) -> None:
        """A timer that fires during a pause is set anew after it."""
        if not self._is_paused():
            self.pump.time_passed(self.machine.now)
            self.run()

    @property
    def is_writing(self) -> bool:
        return self._writing is not None

    def _is_paused(self) -> bool:
        return self.world.time < max(self.machine.paused_until, self._busy_until)

    @property
    def _is_up(self) -> bool:
        return self.machine.process is self

    def run(self) -> None:
        """All that can be done now; then let the disk and the timer know."""
        if self._running or self._is_paused():
            return
        self._running = True
        try:
            self._end_step()
            while not self._is_paused() and (taken := self.pump.take()):
                self._step(taken)
                if not self._is_paused():
                    self._end_step()
        except CorruptFile as error:
            self._damaged(error)
        finally:
            self._running = False
        if self._is_up and not self._is_paused():
            self._write_log()
            self.world.set_timer(self.machine, self.pump.timer(self.machine.now))

    def _step(self, taken: Sequence[NodeEvent]) -> None:
        self.taken = taken
        if self.world.tracer is not None:
            for event in taken:
                self.world.trace_event(self.machine, event)
        self._unseen = True
        now, wall, processor = self.machine.now, self.machine.wall, self.world.processor
        self.taken_at = now
        if processor is None:
            self.pump.step(taken, now, wall)
            return
        _, seconds = processor.measured(lambda: self.pump.step(taken, now, wall))
        self._busy_until = self.world.time + seconds
        self.world.later(seconds, self.machine.while_up(self.run))

    def _end_step(self) -> None:
        self._perform_effects()
        if self._unseen and self._is_up:
            self._unseen = False
            self.world.after_step(self.machine)

    def _perform_effects(self) -> None:
        for effect in self.pump.effects():
            if self.world.tracer is not None:
                self.world.trace_effect(self.machine, effect)
            self._perform(effect)

    def end(self) -> None:
        """Nothing that was under way is performed any more."""
        self.pump.halt()

    def _damaged(self, error: CorruptFile) -> None:
        """What must be readable is not: the driver ends the process."""
        if not self.machine.disk.is_rotten:
            raise error
        self.world.disk_failed(self.machine, error)

    def _perform(self, effect: NodeEffect) -> None:
        match effect:
            case Append(_, end_offset, batches):
                assert self.log.append(batches) == end_offset
            case Respond(request_id, body):
                self.world.respond(self.machine, request_id, body)
            case Call():
                self.world.call(self.machine, effect)
            case CancelCall(call_id):
                self.world.cancel(self.machine, call_id)
            case SaveElection(state):
                self.saving = state
                self.machine.write(self._save)
            case Truncate(end_offset):
                self.log.truncate(end_offset)
            case ResetLog(snapshot_id):
                self.log.reset(snapshot_id)
            case WriteSnapshot(snapshot_id, position, data, last):
                self.log.write_snapshot(snapshot_id, position, data, last=last)
            case DropSnapshotPart(snapshot_id):
                self.log.drop_snapshot_part(snapshot_id)
            case TakeSnapshot():
                self._take_snapshot(effect)
            case ShortenLog(snapshot_id):
                self.log.delete_before(snapshot_id)
            case RollLog():
                self.log.roll()
            case ScrubLog(max_bytes):
                self.world.later(0.01, self.machine.while_up(lambda: self._scrub(max_bytes)))
            case CloseConnection():
                self.world.violation(f"machine {self.machine.id} closed a connection")
            case Log(_, text):
                if FAILED in text:  # a bug of ours, paid for by a request: nobody here sends what could provoke one
                    raise AssertionError(f"n{self.machine.id}: {text}")
            case SetLogLevels() | LimitConnections():
                pass
            case Stop(reason, fault):
                self.world.stopped(self.machine, reason, fault=fault)
            case Relay(request_id, frame):
                self.world.relay(self.machine, request_id, frame)
            case _:
                assert self.data is not None, f"a controller asks for {type(effect).__name__}"
                self.data.perform(effect)

    # The disk.

    def _save(self) -> None:
        assert self.saving is not None
        try:
            self.machine.save(self.saving)
        except DiskFailed as error:
            self.world.disk_failed(self.machine, error)
            return
        self.saving = None
        self.pump.saved()
        self.run()

    def _write_log(self) -> None:
        if self._writing is None:
            self._writing = self.log.take_pending_write()
            if self._writing is not None:
                self.machine.write(self._written)

    def _written(self) -> None:
        assert self._writing is not None
        pending = self._writing
        try:
            pending.perform()
        except DiskFailed as error:
            self.world.disk_failed(self.machine, error)
            return
        self._writing = None
        for snapshot_id in self.log.complete(pending).frozen_snapshots:
            self.pump.feed(SnapshotFlushed(snapshot_id))
        self.pump.log_flushed()
        self.run()

    def go_on_writing(self) -> None:
        """The disk does what was under way, as far as it comes: then it raises."""
        if self._writing is not None:
            self._writing.perform()
        if self._snapshot is not None:
            self._snapshot[0].perform(content(self._snapshot[1]))
        if self.data is not None:
            self.data.go_on()

    def finish(self) -> None:
        """After a clean stop: the threads end what they began, and the logs are closed."""
        if self._writing is not None:
            self._writing.perform()
            self.log.complete(self._writing)
        if self.data is not None and self.node.broker is not None:
            self.data.close(self.node.broker.service.epoch)
        self.log.close()

    def _take_snapshot(self, asked: TakeSnapshot) -> None:
        """Beside the log, on a thread of its own (`server.shell.snapshot_work`)."""
        write = self.log.begin_snapshot(asked.snapshot_id)
        if write is None:
            given_up = SnapshotGivenUp(asked.snapshot_id, "there is one, or the log begins later")
            self.world.later(0.0, self.machine.while_up(lambda: self.feed(given_up)))
            return
        self._snapshot = write, asked
        delay = self.world.disk_delay(self.machine) + self.world.disk_delay(self.machine)
        self.world.later(delay, self.machine.while_up(self._snapshot_written))

    def _snapshot_written(self) -> None:
        assert self._snapshot is not None
        (write, asked), self._snapshot = self._snapshot, None
        try:
            size = write.perform(content(asked))
        except snapshot_writer.SnapshotGivenUp as error:
            self.feed(SnapshotGivenUp(asked.snapshot_id, str(error)))
            return
        except DiskFailed as error:
            self.world.disk_failed(self.machine, error)
            return
        self.log.snapshot_written(write, size)
        self.feed(SnapshotWritten(asked.snapshot_id, size))

    def _scrub(self, max_bytes: int) -> None:
        found = self.log.begin_scrub(max_bytes)
        damage = None
        if found is not None:
            try:
                self.log.scrubbed(found, found.perform())
            except CorruptFile as error:
                damage = str(error)
        self.feed(LogScrubbed(damage))
