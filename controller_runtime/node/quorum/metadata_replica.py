"""The metadata log as a node lives with it: consensus, its wire, and the committed batches in order.

Controllers and brokers both have one: a broker's never votes. Events of the shell go in, effects come out; what is
committed waits in the log until `next_committed` takes it, piece by piece, so that a long log never blocks the node.
Callers may not assume that two calls in one step see each other's effects performed; reading what the step itself
appends works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from controller_runtime.identifiers import Endpoint, Epoch, Instant, Offset, OffsetAndEpoch, WallClock
from controller_runtime.node.quorum import effects as shell
from controller_runtime.node.quorum import raft_fetch_rpc, wire
from controller_runtime.node.quorum.control_batches import encode_control_batch
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.faults import OURS, NodeFault
from controller_runtime.node.quorum.log_reading import READ_BYTES, StepLog, recover, snapshot_voters
from controller_runtime.node.quorum.ports import MetadataLogReader, SnapshotReader
from controller_runtime.node.quorum.raft_meter import RaftMeter
from controller_runtime.node.quorum.raft_rpc import Border
from controller_runtime.node.quorum.sent_by_leader import SentByLeader
from controller_runtime.node.quorum.serving import Serving
from controller_runtime.parts import envelope as envelopes
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call, CancelCall, Stop
from controller_runtime.parts.events import CallFailure, CallId, RequestReceived
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.record_batch import RecordBatch, batch_headers
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import effects as raft
from controller_runtime.raft import messages
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import (
    CallEnded,
    ConnectionLost,
    Failure,
    Flushed,
    LeaderAppend,
    LogShortened,
    RaftEvent,
    RequestArrived,
    Resign,
    ResponseArrived,
    Shutdown,
    SnapshotFetched,
    SnapshotTaken,
    Tick,
    UpgradeKRaftVersion,
)
from controller_runtime.raft.messages import LogBatch
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.voter_set import VoterSet
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Leading:
    """The node leads `epoch`: everything before its first record is committed."""

    epoch: Epoch
    epoch_start: Offset


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request that consensus will answer later."""

    asker: Asker
    version: int
    listener: str


class MetadataReplica:
    def __init__(
        self,
        config: RaftConfig,
        cluster_id: str,
        log: MetadataLogReader,
        snapshots: SnapshotReader,
        stored: ElectionState | None,
        static_voters: VoterSet,
        jitter: Callable[[], float],
        now: Instant,
        calls: CallIds | None = None,
    ) -> None:
        view, history = recover(log, snapshots, static_voters)
        self.config = config
        self.replica = Replica(config, stored, view, history=history, now=now, jitter=jitter)
        self.calls = calls or CallIds()
        self.leading: Leading | None = None
        """Set while this node leads and may write."""
        self.arrived_snapshot: OffsetAndEpoch | None = None
        """A fetched snapshot that the application has not loaded yet."""
        self.ready_to_stop = False
        self.changes = 0
        """Steps of consensus so far: what was read of it holds until there is one more."""
        self.meter = RaftMeter()
        """For metrics: what happened so far."""
        self.faults = FailedRequests()
        self._sent = SentByLeader(self.meter)
        self._cluster_id = cluster_id
        self._log = StepLog(log)
        self.serving = Serving(self._log, snapshots)
        self._snapshots = snapshots
        self._waiting: dict[int, _Waiting] = {}
        self._next_token = 1
        self._asked: dict[CallId, tuple[int, messages.Request]] = {}
        self._call_of: dict[int, CallId] = {}
        self._out: list[QuorumEffect] = []

    # Driving it.

    def begin_step(self) -> None:
        """The shell performed all effects of the last step."""
        self._log.begin_step()

    def start(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        out = self._translate(self.replica.start(now), wall)
        self.meter.stepped(self.replica, now)
        return out

    def tick(self, now: Instant, wall: WallClock, held_up_s: float = 0.0) -> list[QuorumEffect]:
        return self._step(Tick(held_up_s), now, wall)

    def flushed(self, end_offset: Offset, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        return self._step(Flushed(end_offset), now, wall)

    def upgrade_kraft_version(self, epoch: Epoch, level: int, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """As the leader of `epoch`, after `replica.upgrade_fault(level)` said None in this step."""
        return self._step(UpgradeKRaftVersion(epoch, level), now, wall)

    def resign(self, epoch: Epoch, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        return self._step(Resign(epoch), now, wall)

    def shutdown(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        return self._step(Shutdown(), now, wall)

    def append(self, epoch: Epoch, batches: list[LogBatch], now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """Write as the leader of `epoch`. The batches continue the log and carry its epoch."""
        try:
            for batch in batches:
                self._append(batch.base_offset, batch.end_offset, batch.data)
            self.meter.appended(batches[-1].end_offset - batches[0].base_offset, batches[-1].end_offset, now)
            return self._step(LeaderAppend(epoch, tuple(batches)), now, wall)
        except OURS:
            raise
        except Exception as error:
            raise NodeFault(f"batches of epoch {epoch} cannot be appended: {error!r}") from error

    def request(
        self, event: RequestReceived, now: Instant, wall: WallClock, envelope: RequestHeader | None = None
    ) -> list[QuorumEffect]:
        """A request with a key of RAFT_KEYS; `envelope` is the header of one that a broker forwarded."""
        asker = Asker(event.request_id, event.body, envelope, event.connection.connection_id)
        waiting = _Waiting(asker, event.api_version, event.connection.listener)
        token, self._next_token = self._next_token, self._next_token + 1
        try:
            asked = wire.request_from_wire(event, self._border(event.connection.listener))
            if isinstance(asked, Message):
                return [envelopes.respond(asker, asked)]
            self._waiting[token] = waiting
            return self._hear(RequestArrived(token, asked), now, wall)
        except OURS:
            raise
        except Exception as error:
            self._waiting.pop(token, None)
            return [*self.faults.fail(asker, "judged", error)]

    def response(self, call_id: CallId, body: Message, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        number, asked = self._asked.pop(call_id)
        del self._call_of[number]
        try:
            answer = wire.response_from_wire(asked, body)
            answer = self._sent.checked(asked, answer, body, self._out)
            return self._hear(ResponseArrived(number, answer), now, wall)
        except OURS:
            raise
        except Exception as error:
            self.meter.bad_answer(type(asked).__name__.removesuffix("Request"), "malformed")
            if not isinstance(error, ProtocolError):
                self._out.append(self.faults.count(body.KEY, "answered by a peer", error))
            return self._step(CallEnded(number, Failure.INVALID), now, wall)

    def failed(self, call_id: CallId, why: CallFailure, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        number, asked = self._end_call(call_id)
        if why is CallFailure.MALFORMED:
            self.meter.bad_answer(type(asked).__name__.removesuffix("Request"), "malformed")
        return self._step(CallEnded(number, wire.FAILURES[why]), now, wall)

    def snapshot_flushed(self, snapshot_id: OffsetAndEpoch, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """A fetched snapshot is on disk: its voters are read, and the log begins anew. One that a later one has
        replaced already says nothing.
        """
        if self._snapshots.snapshot_size(snapshot_id) is None:
            return []
        version, voters = snapshot_voters(self._snapshots, snapshot_id)
        return self._step(SnapshotFetched(snapshot_id, version, voters), now, wall)

    def snapshot_taken(self, snapshot_id: OffsetAndEpoch, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """A snapshot of our own is on disk."""
        return self._step(SnapshotTaken(snapshot_id), now, wall)

    def log_shortened(self, snapshot_id: OffsetAndEpoch, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """The log begins at this snapshot now; its caller says so to the shell."""
        return self._step(LogShortened(snapshot_id), now, wall)

    def peer_disconnected(self, endpoint: Endpoint, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        return self._step(ConnectionLost(endpoint), now, wall)

    def next_deadline(self) -> Instant | None:
        return self.replica.next_deadline()

    # What is committed.

    @property
    def high_watermark(self) -> Offset:
        return self.replica.high_watermark or Offset(0)

    @property
    def end_offset(self) -> Offset:
        return self.replica.log.end_offset

    def next_committed(self, position: Offset, max_bytes: int = READ_BYTES) -> Iterator[RecordBatch]:
        """Committed batches from `position` on, up to about `max_bytes`; the caller continues where the
        last one ends.
        """
        committed = self.high_watermark
        if position >= committed:
            return
        data = self._log.read(position, max_bytes)
        for header in batch_headers(data):
            assert header.base_offset == position, f"batch {header.base_offset} where {position} is due"
            if header.next_offset > committed:
                return
            position = Offset(header.next_offset)
            yield RecordBatch(header, data[header.position : header.end_position])

    # Translation.

    def _step(self, event: RaftEvent, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """Raises NodeFault, once something may have changed."""
        self.changes += 1
        try:
            out = self._translate(self.replica.step(event, now), wall)
            self.meter.stepped(self.replica, now)
        except OURS:
            raise
        except Exception as error:
            raise NodeFault(f"raft failed at {type(event).__name__}: {error!r}") from error
        return out

    def _hear(self, event: RequestArrived | ResponseArrived, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """`_step` with what another node says: what it provokes is its own, as long as nothing has changed."""
        self.changes += 1
        before = self.replica.look(event)
        effects: list[raft.RaftEffect] = []
        try:
            effects = self.replica.step(event, now)
            out = self._translate(effects, wall)
            self.meter.stepped(self.replica, now)
        except OURS:
            raise
        except Exception as error:
            if not self.replica.take_back(before, event, effects):
                raise NodeFault(f"raft failed at {type(event).__name__}: {error!r}") from error
            self._out.clear()
            raise
        return out

    def _append(self, base: Offset, end: Offset, data: bytes) -> None:
        self._log.append(base, end, data)
        self._out.append(shell.Append(base, end, data))

    def _border(self, listener: str) -> Border:
        at = self.replica
        return Border(self._cluster_id, at.leader_endpoint(listener), at.leader_id, at.epoch)

    def _end_call(self, call_id: CallId) -> tuple[int, messages.Request]:
        number, asked = self._asked.pop(call_id)
        del self._call_of[number]
        return number, asked

    def _translate(self, effects: list[raft.RaftEffect], wall: WallClock) -> list[QuorumEffect]:
        for effect in effects:
            self._translate_one(effect, wall)
        out, self._out = self._out, []
        return out

    def _translate_one(self, effect: raft.RaftEffect, wall: WallClock) -> None:
        match effect:
            case (
                raft.SaveElection() | raft.Truncate() | raft.ResetLog() | raft.WriteSnapshot() | raft.DropSnapshotPart()
            ):
                self._out.append(effect)
            case raft.Append(batches):
                self.meter.fetched_records += batches[-1].end_offset - batches[0].base_offset
                data = b"".join([batch.data for batch in batches])
                self._append(batches[0].base_offset, batches[-1].end_offset, data)
            case raft.AppendControl(base, epoch, records):
                self._append(base, Offset(base + len(records)), encode_control_batch(base, epoch, records, wall))
            case raft.Send():
                self._call(effect)
            case raft.Abandon(number):
                self._abandon(number)
            case raft.Reply() | raft.ReplyRecords() | raft.ReplySnapshot():
                self._reply(effect)
            case raft.AdvanceHighWatermark():
                pass
            case raft.StartLeading(epoch):
                self._start_leading(epoch)
            case raft.StopLeading():
                self.leading = None
            case raft.LoadSnapshot(snapshot_id):
                self.arrived_snapshot = snapshot_id
            case raft.Note(text, alarming):
                self._out.append(shell.Log("error" if alarming else "warning", text))
            case raft.ReadyToStop():
                self.ready_to_stop = True
            case raft.Fault(reason):
                self._out.append(Stop(reason, fault=True))
            case _ as unknown:
                assert_never(unknown)

    def _start_leading(self, epoch: Epoch) -> None:
        starts = dict(self.replica.log.epoch_starts)
        self.leading = Leading(epoch, starts[epoch])

    def _call(self, send: raft.Send) -> None:
        call_id = self.calls.next()
        self._asked[call_id] = (send.call, send.request)
        self._call_of[send.call] = call_id
        body = wire.request_to_wire(send.request, self._border(self.config.listener), send.timeout_ms)
        self._out.append(Call(call_id, send.lane.value, send.endpoint, body, send.timeout_ms))

    def _abandon(self, number: int) -> None:
        call_id = self._call_of.pop(number, None)
        if call_id is not None:
            del self._asked[call_id]
            self.calls.cancelled(call_id)
            self._out.append(CancelCall(call_id))

    def _reply(self, effect: raft.Reply | raft.ReplyRecords | raft.ReplySnapshot) -> None:
        waiting = self._waiting.pop(effect.token, None)
        if waiting is None:
            return  # its request failed while it was judged, and was answered then
        try:
            self._out.append(envelopes.respond(waiting.asker, self._reply_body(effect, waiting)))
        except OURS:
            raise
        except Exception as error:
            self._out += self.faults.fail(waiting.asker, "answered", error)

    def _reply_body(self, effect: raft.Reply | raft.ReplyRecords | raft.ReplySnapshot, waiting: _Waiting) -> Message:
        border = self._border(waiting.listener)
        if isinstance(effect, raft.ReplyRecords):
            served, records = self.serving.records(effect, self.end_offset, self.high_watermark)
            return raft_fetch_rpc.fetch_response_to_wire(served, waiting.version, border, records)
        response = self.serving.snapshot_slice(effect) if isinstance(effect, raft.ReplySnapshot) else effect.response
        if isinstance(response, messages.FetchResponse) and response.diverging is not None:
            self.meter.diverging_fetches += 1
        return wire.response_to_wire(response, waiting.version, border)
