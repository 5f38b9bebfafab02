"""The shell around a node: performs its effects with sockets, threads and a timer. It decides nothing.

Which event comes next and which effects may be performed is `node.pump`'s to say. `SaveElection` is the only effect
that takes time: a thread saves the file, and the pump goes on when it is on disk. Log writes are queued and done by
another thread. Anything that fails here (a disk that refuses, a bug in the node) ends the driver with a fault: no
further effect is performed, so nothing leaves that was not made durable.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol

from controller_runtime.broker.effects import PartitionEffect, Relay
from controller_runtime.identifiers import Endpoint, Instant, WallClock
from controller_runtime.network.client_connection import CallError
from controller_runtime.network.client_connection import InFlightRequest as NetworkCall
from controller_runtime.network.client_pool import ClientPool
from controller_runtime.network.client_security import IN_THE_CLEAR, ClientSecurity
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.ports import DrivenNode
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
from controller_runtime.node.quorum.events import SnapshotFlushed
from controller_runtime.parts.effects import (
    Call,
    CancelCall,
    CloseConnection,
    Inside,
    LimitConnections,
    Log,
    Respond,
    SetLogLevels,
    Stop,
)
from controller_runtime.parts.events import (
    CallFailed,
    CallFailure,
    CallId,
    ConnectionId,
    PeerDisconnected,
    RequestId,
    ResponseReceived,
)
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.server.shell.disk_thread import DiskThread
from controller_runtime.server.shell.snapshot_work import SnapshotWork
from controller_runtime.server.telemetry import logs
from controller_runtime.server.telemetry.trace import render_effect, render_event
from controller_runtime.storage.metadata_log import MetadataLog, PendingWrite
from controller_runtime.values import dataclass

log = logging.getLogger(__name__)

_LEVELS: Final = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Responder(Protocol):
    """Where answers go (see `requests`)."""

    def respond(self, request_id: RequestId, body: Message, inside: Inside | None = None) -> None: ...

    def relay(self, request_id: RequestId, frame: bytes) -> None: ...

    def close_connection(self, connection_id: ConnectionId) -> None: ...


class DataPlane(Protocol):
    """Performs the effects that only a broker has; its completions come back through `Driver.feed`."""

    def perform(self, effect: PartitionEffect) -> None: ...

    def attach_room(self, has_room: Callable[[], bool]) -> None:
        """Nothing is read for consumers while `has_room` says no; see `room_made`."""
        ...

    def room_made(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, given to the driver by the process: monotonic seconds and wall-clock milliseconds."""

    instant: Callable[[], float]
    wall_ms: Callable[[], int]


def _not_limited(_limits: LimitConnections) -> None:
    """Of a driver without listeners."""


class Driver:
    def __init__(
        self,
        node: DrivenNode,
        metadata_log: MetadataLog,
        *,
        save_election: Callable[[ElectionState], None],
        pool: ClientPool,
        responder: Responder,
        clock: Clock,
        data_plane: DataPlane | None = None,
        limit_connections: Callable[[LimitConnections], None] = _not_limited,
        to_brokers: ClientSecurity = IN_THE_CLEAR,
    ) -> None:
        """`to_brokers`: how calls at other brokers are secured; `pool` knows that of calls at controllers."""
        self._pump = Pump(node, lambda: metadata_log.flushed_offset)
        self._log = metadata_log
        self._save_election = save_election
        self._pool = pool
        self._responder = responder
        self._clock = clock
        self._data_plane = data_plane
        self._limit_connections = limit_connections
        self._to_brokers = to_brokers
        self._loop = asyncio.get_running_loop()
        self._log_thread = DiskThread("metadata-log", self._loop)
        self._election_thread = DiskThread("quorum-state", self._loop)
        self._snapshots = SnapshotWork(metadata_log, self._loop, self.feed, self._fault)
        self._running = False
        self._run_due = False
        """At the end of this turn of the loop."""
        self._writing: PendingWrite | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._calls: dict[CallId, NetworkCall] = {}
        self._tracing = log.isEnabledFor(logging.DEBUG)
        self.stopped: asyncio.Future[Stop] = self._loop.create_future()
        pool.peer_disconnected = self._peer_disconnected

    def start(self) -> None:
        self._running = True
        try:
            self._pump.start(*self._now())
        except Exception as error:
            self._fault(error)
        self._run()

    def feed(self, event: NodeEvent) -> None:
        """Give the node an event: now if it is its turn, those of which many come at once at the end of this turn of
        the loop, with their like.
        """
        self._pump.feed(event)
        if self._running or self._run_due:
            return
        if self._pump.may_gather:
            self._run_due = True
            self._loop.call_soon(self._run)
        else:
            self._run()

    def end(self, stop: Stop) -> None:
        """Without the node, which did not come to it or must not go on."""
        self._pump.halt()
        if not self.stopped.done():
            self.stopped.set_result(stop)

    def close(self) -> None:
        """After `stopped`: finish the disk work that was begun, and let go of the log."""
        if self._timer is not None:
            self._timer.cancel()
        self._snapshots.close()
        self._election_thread.close()
        self._log_thread.close()

    def finish_writes(self) -> None:
        """After `close`: the thread has ended, so a write that was in flight is done; tell the log."""
        if self._writing is not None:
            self._log.complete(self._writing)
            self._writing = None

    def _run(self) -> None:
        """All that can be done now."""
        pump = self._pump
        self._running, self._run_due = True, False
        try:
            self._perform_effects()
            while taken := pump.take():
                if self._tracing:
                    for event in taken:
                        log.debug("<- %s", render_event(event))
                pump.step(taken, *self._now())
                self._perform_effects()
        except Exception as error:
            self._fault(error)
        finally:
            self._running = False
        if not pump.is_over:
            self._write_log()
            self._arm_timer()

    # Effects.

    def _perform_effects(self) -> None:
        for effect in self._pump.effects():
            if self._tracing:
                log.debug("-> %s", render_effect(effect))
            self._perform(effect)

    def _perform(self, effect: NodeEffect) -> None:
        match effect:
            case Respond(request_id, body, inside):
                self._responder.respond(request_id, body, inside)
            case Relay(request_id, frame):
                self._responder.relay(request_id, frame)
            case Call():
                self._call(effect)
            case Append(_, end_offset, batches):
                end = self._log.append(batches)
                assert end == end_offset, f"the node counted to {end_offset}, the log to {end}"
            case SaveElection(state):
                self._election_thread.submit(lambda: self._save_election(state), self._election_saved)
            case Truncate(end_offset):
                self._log.truncate(end_offset)
            case ResetLog(snapshot_id):
                self._log.reset(snapshot_id)
            case WriteSnapshot(snapshot_id, position, data, last):
                self._log.write_snapshot(snapshot_id, position, data, last=last)
            case DropSnapshotPart(snapshot_id):
                self._log.drop_snapshot_part(snapshot_id)
            case TakeSnapshot():
                self._snapshots.take(effect)
            case ShortenLog(snapshot_id):
                self._log.delete_before(snapshot_id)
            case RollLog():
                self._log.roll()
            case ScrubLog(max_bytes):
                self._snapshots.scrub(max_bytes)
            case CancelCall(call_id):
                if (call := self._calls.pop(call_id, None)) is not None:
                    call.cancel()
            case CloseConnection(connection_id):
                self._responder.close_connection(connection_id)
            case Log(level, text):
                log.log(_LEVELS[level], "%s", text)
            case SetLogLevels(levels):
                logs.set_levels(levels)
                self._tracing = log.isEnabledFor(logging.DEBUG)
            case LimitConnections():
                self._limit_connections(effect)
            case Stop():
                self.stopped.set_result(effect)
            case _:
                assert self._data_plane is not None, f"a controller asks for {type(effect).__name__}"
                self._data_plane.perform(effect)

    # Calls.

    def _call(self, call: Call) -> None:
        call_id = call.call_id

        def done(version: int, outcome: Message | CallError) -> None:
            self._calls.pop(call_id, None)
            if isinstance(outcome, CallError):
                if self._tracing:
                    log.debug("call %s: %s", call_id, outcome)
                self.feed(CallFailed(call_id, CallFailure(outcome.failure.value)))
            else:
                self.feed(ResponseReceived(call_id, version, outcome))

        security = self._to_brokers if call.at_broker else None
        started = self._pool.start_call(
            call.channel, call.endpoint, call.body, call.timeout_ms / 1000, done, security=security
        )
        if started.done is not None:
            self._calls[call_id] = started

    def _peer_disconnected(self, endpoint: Endpoint) -> None:
        self.feed(PeerDisconnected(endpoint))

    # Disks.

    def _election_saved(self, failure: BaseException | None) -> None:
        if failure is not None:
            self._fault(failure)
            return
        self._pump.saved()
        self._run()

    def _write_log(self) -> None:
        pending = self._log.take_pending_write()
        if pending is not None:
            self._writing = pending
            self._log_thread.submit(pending.perform, lambda failure: self._log_written(pending, failure))

    def _log_written(self, pending: PendingWrite, failure: BaseException | None) -> None:
        if failure is not None:
            self._fault(failure)
            return
        if self._writing is None:
            return  # the driver was closed meanwhile
        self._writing = None
        completed = self._log.complete(pending)
        for snapshot_id in completed.frozen_snapshots:
            self._pump.feed(SnapshotFlushed(snapshot_id))
        self._pump.log_flushed()
        if not self._running:
            self._run()

    # Time and faults.

    def _now(self) -> tuple[Instant, WallClock]:
        return Instant(self._clock.instant()), WallClock(self._clock.wall_ms())

    def _arm_timer(self) -> None:
        """One timer, moved only when the deadline comes closer; one that fires early is set again."""
        deadline = self._pump.timer(Instant(self._clock.instant()))
        if deadline is None or (self._timer is not None and self._timer_at <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._time_passed)

    def _time_passed(self) -> None:
        self._timer = None
        self._pump.time_passed(Instant(self._clock.instant()))
        self._run()

    def _fault(self, error: BaseException) -> None:
        if not self.stopped.done():
            log.critical("the node stops, because going on could break a promise: %s", error, exc_info=error)
        self.end(Stop(f"{type(error).__name__}: {error}", fault=True))
