"""The shell around a node: feeds it events one at a time and performs its effects in order. It decides nothing.

The next event is fed only when every effect of the last one was performed. `SaveElection` is the only effect that takes
time: what follows it, and all later events, wait until the file is on disk. Log writes are queued and done by a thread;
the flushed offset is read when `LogFlushed` is fed, not when the write ended. Anything that fails here (a disk that
refuses, a bug in the node) ends the driver with a fault: no further effect is performed, so nothing that was not made
durable is ever told to anybody.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, assert_never

from controller_runtime.identifiers import Endpoint, Instant, WallClock
from controller_runtime.network.client_connection import Call as NetworkCall
from controller_runtime.network.client_connection import CallError
from controller_runtime.network.client_pool import ClientPool
from controller_runtime.node.effects import (
    Append,
    Call,
    CancelCall,
    CloseConnection,
    DropSnapshotPart,
    Log,
    NodeEffect,
    ResetLog,
    Respond,
    RollLog,
    SaveElection,
    ScrubLog,
    ShortenLog,
    Stop,
    TakeSnapshot,
    Truncate,
    WriteSnapshot,
)
from controller_runtime.node.events import (
    CallFailed,
    CallFailure,
    CallId,
    ConnectionId,
    LogFlushed,
    NodeEvent,
    PeerDisconnected,
    RequestId,
    RequestReceived,
    ResponseReceived,
    SnapshotFlushed,
    TimePassed,
)
from controller_runtime.node.ports import Node
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.server.shell.disk_thread import DiskThread
from controller_runtime.server.shell.snapshot_work import SnapshotWork
from controller_runtime.server.telemetry.trace import render_effect, render_event
from controller_runtime.storage.metadata_log import MetadataLog, PendingWrite
from controller_runtime.values import dataclass

log = logging.getLogger(__name__)

MAX_TOGETHER: Final = 128
"""Requests that are decided in one step at most, so that consensus is never kept waiting long."""
LATE_SECONDS: Final = 0.02
"""A timer that fires so much too late was held up, by a long step or because the process did not run."""
LISTEN_SECONDS: Final = 0.002
"""What arrived meanwhile is then read first: a turn of the loop, so that nobody is taken for silent who was not."""
_LEVELS: Final = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Responder(Protocol):
    """Where answers go (see `requests`)."""

    def respond(self, request_id: RequestId, body: Message) -> None: ...

    def close_connection(self, connection_id: ConnectionId) -> None: ...


class DataPlane(Protocol):
    """Performs the effects that only a broker has; its completions come back through `Driver.feed`."""

    def perform(self, effect: object) -> bool:
        """False: not an effect of the data plane."""
        ...

    def attach_room(self, has_room: Callable[[], bool]) -> None:
        """Nothing is read for consumers while `has_room` says no; see `room_made`."""
        ...

    def room_made(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, given to the driver by the process: monotonic seconds and wall-clock milliseconds."""

    instant: Callable[[], float]
    wall_ms: Callable[[], int]


StepRequests = Callable[[Sequence[RequestReceived], Instant, WallClock], list[NodeEffect]]
"""`ControllerNode.step_requests`: one step for requests that came in the same turn of the loop."""


class Driver:
    def __init__(
        self,
        node: Node,
        metadata_log: MetadataLog,
        *,
        save_election: Callable[[ElectionState], None],
        pool: ClientPool,
        responder: Responder,
        clock: Clock,
        data_plane: DataPlane | None = None,
        step_requests: StepRequests | None = None,
    ) -> None:
        self._node = node
        self._step_requests = step_requests
        self._pump_due = False
        self._log = metadata_log
        self._save_election = save_election
        self._pool = pool
        self._responder = responder
        self._clock = clock
        self._data_plane = data_plane
        self._loop = asyncio.get_running_loop()
        self._log_thread = DiskThread("metadata-log", self._loop)
        self._election_thread = DiskThread("quorum-state", self._loop)
        self._snapshots = SnapshotWork(metadata_log, self._loop, self.feed, self._fault)
        self._events: deque[NodeEvent] = deque()
        self._held: deque[NodeEffect] = deque()
        self._saving = False
        self._pumping = False
        self._log_flushed = False
        self._writing: PendingWrite | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._listened = False
        self._calls: dict[CallId, NetworkCall] = {}
        self._tracing = log.isEnabledFor(logging.DEBUG)
        self.stopped: asyncio.Future[Stop] = self._loop.create_future()
        pool.peer_disconnected = self._peer_disconnected

    def start(self) -> None:
        self._pumping = True
        try:
            self._take(self._node.start(*self._now()))
        except Exception as error:
            self._fault(error)
        finally:
            self._pumping = False
        self._pump()

    def feed(self, event: NodeEvent) -> None:
        """Give the node an event: now if it is its turn, requests at the end of this turn of the loop, with
        their like.
        """
        self._events.append(event)
        if self._pumping or self._pump_due:
            return
        if self._step_requests is not None and event.__class__ is RequestReceived:
            self._pump_due = True
            self._loop.call_soon(self._pump)
        else:
            self._pump()

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

    # The pump.

    def _pump(self) -> None:
        self._pumping = True
        self._pump_due = False
        try:
            while not self._saving and not self.stopped.done():
                event = self._next_event()
                if event is None:
                    break
                self._take(self._effects_of(event))
        except Exception as error:
            self._fault(error)
        finally:
            self._pumping = False
        if not self.stopped.done():
            self._write_log()
            if not self._saving:
                self._arm_timer()

    def _effects_of(self, event: NodeEvent) -> list[NodeEffect]:
        if self._tracing:
            log.debug("<- %s", render_event(event))
        if self._step_requests is None or not isinstance(event, RequestReceived):
            return self._node.step(event, *self._now())
        together, events = [event], self._events
        while events and isinstance(following := events[0], RequestReceived) and len(together) < MAX_TOGETHER:
            if self._tracing:
                log.debug("<- %s", render_event(following))
            together.append(following)
            events.popleft()
        return self._step_requests(together, *self._now())

    def _next_event(self) -> NodeEvent | None:
        if self._log_flushed:
            self._log_flushed = False
            return LogFlushed(self._log.flushed_offset)
        return self._events.popleft() if self._events else None

    def _take(self, effects: Iterable[NodeEffect]) -> None:
        self._held.extend(effects)
        self._perform_held()

    def _perform_held(self) -> None:
        while self._held and not self._saving and not self.stopped.done():
            effect = self._held.popleft()
            if self._tracing:
                log.debug("-> %s", render_effect(effect))
            self._perform(effect)

    def _perform(self, effect: NodeEffect) -> None:
        match effect:
            case Respond(request_id, body):
                self._responder.respond(request_id, body)
            case Call():
                self._call(effect)
            case Append(_, end_offset, batches):
                end = self._log.append(batches)
                assert end == end_offset, f"the node counted to {end_offset}, the log to {end}"
            case SaveElection(state):
                self._saving = True
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
            case Stop():
                self.stopped.set_result(effect)
            case _ as unknown:
                if self._data_plane is None or not self._data_plane.perform(unknown):
                    assert_never(unknown)

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

        started = self._pool.start_call(call.channel, call.endpoint, call.body, call.timeout_ms / 1000, done)
        if started.done is not None:
            self._calls[call_id] = started

    def _peer_disconnected(self, endpoint: Endpoint) -> None:
        self.feed(PeerDisconnected(endpoint))

    # Disks.

    def _election_saved(self, failure: BaseException | None) -> None:
        if failure is not None:
            self._fault(failure)
            return
        self._saving = False
        self._pumping = True
        try:
            self._perform_held()
        except Exception as error:
            self._fault(error)
        finally:
            self._pumping = False
        self._pump()

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
            self._events.append(SnapshotFlushed(snapshot_id))
        self._log_flushed = True
        if not self._pumping:
            self._pump()

    # Time and faults.

    def _now(self) -> tuple[Instant, WallClock]:
        return Instant(self._clock.instant()), WallClock(self._clock.wall_ms())

    def _arm_timer(self) -> None:
        """One timer, moved only when the deadline comes closer; one that fires early is set again."""
        deadline = self._node.next_deadline()
        if deadline is None or (self._timer is not None and self._timer_at <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._time_passed)

    def _time_passed(self) -> None:
        self._timer = None
        listened, self._listened = self._listened, False
        if self.stopped.done() or self._saving:
            return
        deadline, now = self._node.next_deadline(), self._clock.instant()
        if deadline is None or deadline > now:
            self._arm_timer()
        elif now - deadline > LATE_SECONDS and not listened:
            self._listened = True
            self._timer_at = deadline
            self._timer = self._loop.call_later(LISTEN_SECONDS, self._time_passed)
        else:
            self.feed(TimePassed())

    def _fault(self, error: BaseException) -> None:
        if not self.stopped.done():
            log.critical("the node stops, because going on could break a promise: %s", error, exc_info=error)
            self.stopped.set_result(Stop(f"{type(error).__name__}: {error}", fault=True))
