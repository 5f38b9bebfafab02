"""The metadata log as a node lives with it: consensus, its wire, and the committed batches in order.

Controllers and brokers both have one: a broker's never votes. Events of the shell go in, effects come out; what is
committed waits in the log until `next_committed` takes it, piece by piece, so that a long log never blocks the node.
Callers may not assume that two calls in one step see each other's effects performed; reading what the step itself
appends works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, assert_never

from controller_runtime.identifiers import Endpoint, Epoch, Instant, Offset, OffsetAndEpoch, WallClock
from controller_runtime.node import effects as shell
from controller_runtime.node import envelope as envelopes
from controller_runtime.node import raft_fetch_rpc, raft_rpc, voter_rpc
from controller_runtime.node.control_batches import encode_control_batch
from controller_runtime.node.effects import Call, CancelCall, NodeEffect, Respond, Stop
from controller_runtime.node.events import CallFailure, CallId, RequestReceived
from controller_runtime.node.faults import OURS, FailedRequests, NodeFault
from controller_runtime.node.log_reading import READ_BYTES, StepLog, recover, snapshot_voters
from controller_runtime.node.pending import Asker
from controller_runtime.node.ports import MetadataLogReader, SnapshotReader
from controller_runtime.node.raft_meter import RaftMeter, request_name
from controller_runtime.node.raft_rpc import Border
from controller_runtime.node.snapshot_content import ArrivingSnapshot
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from controller_runtime.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from controller_runtime.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
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
from controller_runtime.raft.messages import LogBatch, RaftError
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.voter_set import VoterSet
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.values import dataclass, replace

RAFT_KEYS: Final = frozenset(
    {
        ApiKey.FETCH,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.UPDATE_RAFT_VOTER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)
"""The requests that consensus answers."""

VOTER_KEYS: Final = frozenset({ApiKey.UPDATE_RAFT_VOTER, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER})
"""Those that may make the leader write."""

_FAILURES: Final = {
    CallFailure.REFUSED: Failure.REFUSED,
    CallFailure.DISCONNECTED: Failure.DISCONNECTED,
    CallFailure.TIMED_OUT: Failure.TIMED_OUT,
    CallFailure.UNSUPPORTED_VERSION: Failure.UNSUPPORTED,
    CallFailure.MALFORMED: Failure.INVALID,
}


@dataclass(frozen=True, slots=True)
class Leading:
    """The node leads `epoch`: everything before its first record is committed."""

    epoch: Epoch
    epoch_start: Offset


@dataclass(slots=True)
class CallIds:
    """One numbering for all calls of a process."""

    last: int = 0

    def next(self) -> CallId:
        self.last += 1
        return CallId(self.last)


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
        self.replica = Replica(config, stored, view, history, now, jitter)
        self.calls = calls or CallIds()
        self.leading: Leading | None = None
        """Set while this node leads and may write."""
        self.arrived_snapshot: OffsetAndEpoch | None = None
        """A fetched snapshot that the application has not loaded yet."""
        self.unreadable: list[str] = []
        """Places that the disk gave back changed, found while serving; see `damage`."""
        self.ready_to_stop = False
        self.meter = RaftMeter()
        """For metrics: what happened so far."""
        self.faults = FailedRequests()
        self._cluster_id = cluster_id
        self._log = StepLog(log)
        self._snapshots = snapshots
        self._arriving: ArrivingSnapshot | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._next_token = 1
        self._asked: dict[CallId, tuple[int, messages.Request]] = {}
        self._call_of: dict[int, CallId] = {}
        self._out: list[NodeEffect] = []

    # Driving it.

    def begin_step(self) -> None:
        """The shell performed all effects of the last step."""
        self._log.begin_step()

    def start(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        out = self._translate(self.replica.start(now), wall)
        self.meter.stepped(self.replica, now)
        return out

    def tick(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        return self._step(Tick(), now, wall)

    def flushed(self, end_offset: Offset, now: Instant, wall: WallClock) -> list[NodeEffect]:
        return self._step(Flushed(end_offset), now, wall)

    def upgrade_kraft_version(self, epoch: Epoch, level: int, now: Instant, wall: WallClock) -> list[NodeEffect]:
        """As the leader of `epoch`, after `replica.upgrade_fault(level)` said None in this step."""
        return self._step(UpgradeKRaftVersion(epoch, level), now, wall)

    def resign(self, epoch: Epoch, now: Instant, wall: WallClock) -> list[NodeEffect]:
        return self._step(Resign(epoch), now, wall)

    def shutdown(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        return self._step(Shutdown(), now, wall)

    def append(self, epoch: Epoch, batches: list[LogBatch], now: Instant, wall: WallClock) -> list[NodeEffect]:
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
    ) -> list[NodeEffect]:
        """A request with a key of RAFT_KEYS; `envelope` is the header of one that a broker forwarded."""
        asker = Asker(event.request_id, event.body, envelope, event.connection.connection_id)
        waiting = _Waiting(asker, event.api_version, event.connection.listener)
        token, self._next_token = self._next_token, self._next_token + 1
        try:
            asked = self._from_wire(event)
            if isinstance(asked, Message):
                self.meter.refuse(request_name(asked), ErrorCode(getattr(asked, "error_code", -1) or -1).name)
                return [_respond(asker, asked)]
            self._waiting[token] = waiting
            return self._hear(RequestArrived(token, asked), now, wall)
        except OURS:
            raise
        except Exception as error:
            self._waiting.pop(token, None)
            return self.faults.fail(asker, "judged", error)

    def owns(self, call_id: CallId) -> bool:
        return call_id in self._asked

    def response(self, call_id: CallId, body: Message, now: Instant, wall: WallClock) -> list[NodeEffect]:
        number, asked = self._asked.pop(call_id)
        del self._call_of[number]
        try:
            answer = self._answer_from_wire(asked, body)
            if isinstance(asked, messages.FetchRequest) and isinstance(answer, messages.FetchResponse):
                self._judge(asked, answer, body)
            if isinstance(asked, messages.FetchSnapshotRequest) and isinstance(answer, messages.FetchSnapshotResponse):
                answer = self._checked(asked, answer)
            return self._hear(ResponseArrived(number, answer), now, wall)
        except OURS:
            raise
        except Exception as error:
            self.meter.bad_answer(type(asked).__name__.removesuffix("Request"), "malformed")
            if not isinstance(error, ProtocolError):
                self._out.append(self.faults.count(body.KEY, "answered by a peer", error))
            return self._step(CallEnded(number, Failure.INVALID), now, wall)

    def _judge(self, asked: messages.FetchRequest, answer: messages.FetchResponse, body: Message) -> None:
        """Count what a leader sends and nobody will append."""
        if answer.batches:
            self.meter.answered(asked, answer)
        if isinstance(body, FetchResponse) and (fault := raft_fetch_rpc.fault_of_records(body, answer.batches)):
            self.meter.bad_answer("Fetch", "corrupt batch")
            self._out.append(shell.Log("error", f"leader {answer.leader_id} sends records that are none: {fault}"))

    def _checked(
        self, asked: messages.FetchSnapshotRequest, answer: messages.FetchSnapshotResponse
    ) -> messages.FetchSnapshotResponse:
        """Consensus gives up its log for a snapshot: bytes that are none are an error before it hears of them."""
        if answer.error is not RaftError.NONE or answer.snapshot_id != asked.snapshot_id:
            return answer
        if asked.position == 0:
            self._arriving = ArrivingSnapshot(asked.snapshot_id)
        if self._arriving is None or not self._arriving.position == asked.position == answer.position:
            return answer
        try:
            self._arriving.take(answer.data)
            if self._arriving.position >= answer.size:
                self._arriving.finish()
        except ProtocolError as error:
            self.meter.bad_answer("FetchSnapshot", "corrupt snapshot")
            self._out.append(shell.Log("error", f"leader {answer.leader_id} sends a snapshot that is none: {error}"))
            return replace(answer, error=RaftError.UNKNOWN_SERVER_ERROR, data=b"")
        return answer

    def failed(self, call_id: CallId, why: CallFailure, now: Instant, wall: WallClock) -> list[NodeEffect]:
        number, asked = self._end_call(call_id)
        if why is CallFailure.MALFORMED:
            self.meter.bad_answer(type(asked).__name__.removesuffix("Request"), "malformed")
        return self._step(CallEnded(number, _FAILURES[why]), now, wall)

    def snapshot_flushed(self, snapshot_id: OffsetAndEpoch, now: Instant, wall: WallClock) -> list[NodeEffect]:
        """A fetched snapshot is on disk: its voters are read, and the log begins anew. One that a later one has
        replaced already says nothing.
        """
        if self._snapshots.snapshot_size(snapshot_id) is None:
            return []
        version, voters = snapshot_voters(self._snapshots, snapshot_id)
        return self._step(SnapshotFetched(snapshot_id, version, voters), now, wall)

    def snapshot_taken(self, snapshot_id: OffsetAndEpoch, now: Instant, wall: WallClock) -> list[NodeEffect]:
        """A snapshot of our own is on disk."""
        return self._step(SnapshotTaken(snapshot_id), now, wall)

    def log_shortened(self, snapshot_id: OffsetAndEpoch, now: Instant, wall: WallClock) -> list[NodeEffect]:
        """The log begins at this snapshot now; the shell is told by the caller."""
        return self._step(LogShortened(snapshot_id), now, wall)

    def peer_disconnected(self, endpoint: Endpoint, now: Instant, wall: WallClock) -> list[NodeEffect]:
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

    def _step(self, event: RaftEvent, now: Instant, wall: WallClock) -> list[NodeEffect]:
        """Raises NodeFault, once something may have changed."""
        try:
            out = self._translate(self.replica.step(event, now), wall)
            self.meter.stepped(self.replica, now)
        except OURS:
            raise
        except Exception as error:
            raise NodeFault(f"raft failed at {type(event).__name__}: {error!r}") from error
        return out

    def _hear(self, event: RequestArrived | ResponseArrived, now: Instant, wall: WallClock) -> list[NodeEffect]:
        """`_step` with what another node says: what it provokes is its own, as long as nothing has changed."""
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

    def _from_wire(self, event: RequestReceived) -> messages.Request | Message:
        border = self._border(event.connection.listener)
        match event.body:
            case FetchRequest() as fetch:
                return raft_fetch_rpc.fetch_from_wire(fetch, event.api_version, border)
            case FetchSnapshotRequest() as fetch_snapshot:
                return raft_fetch_rpc.snapshot_from_wire(fetch_snapshot, border)
            case AddRaftVoterRequest() | RemoveRaftVoterRequest() as change:
                return voter_rpc.request_from_wire(change, border)
            case body:
                return raft_rpc.request_from_wire(body, event.api_version, border)

    def _answer_from_wire(self, asked: messages.Request, body: Message) -> messages.Response:
        match body:
            case FetchResponse():
                return raft_fetch_rpc.fetch_response_from_wire(body)
            case FetchSnapshotResponse() if isinstance(asked, messages.FetchSnapshotRequest):
                return raft_fetch_rpc.snapshot_response_from_wire(body, asked)
            case AddRaftVoterResponse() | RemoveRaftVoterResponse() | ApiVersionsResponse():
                return voter_rpc.response_from_wire(body)
            case _:
                return raft_rpc.response_from_wire(body)

    def _end_call(self, call_id: CallId) -> tuple[int, messages.Request]:
        number, asked = self._asked.pop(call_id)
        del self._call_of[number]
        return number, asked

    def _translate(self, effects: list[raft.RaftEffect], wall: WallClock) -> list[NodeEffect]:
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
        border = self._border(self.config.listener)
        match send.request:
            case messages.FetchRequest() as fetch:
                body = raft_fetch_rpc.fetch_to_wire(fetch, border)
            case messages.FetchSnapshotRequest() as snapshot:
                body = raft_fetch_rpc.snapshot_to_wire(snapshot, border)
            case messages.AddVoterRequest() | messages.RemoveVoterRequest() | messages.ApiVersionsRequest() as change:
                body = voter_rpc.request_to_wire(change, border, send.timeout_ms)
            case request:
                body = raft_rpc.request_to_wire(request, border)
        self._out.append(Call(call_id, send.lane.value, send.endpoint, body, send.timeout_ms))

    def _abandon(self, number: int) -> None:
        call_id = self._call_of.pop(number, None)
        if call_id is not None:
            del self._asked[call_id]
            self._out.append(CancelCall(call_id))

    def _reply(self, effect: raft.Reply | raft.ReplyRecords | raft.ReplySnapshot) -> None:
        waiting = self._waiting.pop(effect.token, None)
        if waiting is None:
            return  # its request failed while it was judged, and was answered then
        try:
            self._out.append(_respond(waiting.asker, self._reply_body(effect, waiting)))
        except OURS:
            raise
        except Exception as error:
            self._out += self.faults.fail(waiting.asker, "answered", error)

    def _reply_body(self, effect: raft.Reply | raft.ReplyRecords | raft.ReplySnapshot, waiting: _Waiting) -> Message:
        border = self._border(waiting.listener)
        if isinstance(effect, raft.ReplyRecords):
            served, records = self._read(effect)
            return raft_fetch_rpc.fetch_response_to_wire(served, waiting.version, border, records)
        response = self._slice(effect) if isinstance(effect, raft.ReplySnapshot) else effect.response
        if response.error is not RaftError.NONE:
            self.meter.refuse(request_name(response), response.error.name)
        elif isinstance(response, messages.FetchResponse) and response.diverging is not None:
            self.meter.diverging_fetches += 1
        match response:
            case messages.FetchResponse():
                return raft_fetch_rpc.fetch_response_to_wire(response, waiting.version, border)
            case messages.FetchSnapshotResponse():
                return raft_fetch_rpc.snapshot_response_to_wire(response, waiting.version, border)
            case messages.AddVoterResponse() | messages.RemoveVoterResponse():
                return voter_rpc.response_to_wire(response)
            case messages.ApiVersionsResponse():
                raise AssertionError("consensus asks for versions, it does not tell them")
            case _:
                return raft_rpc.response_to_wire(response, waiting.version, border)

    def _read(self, asked: raft.ReplyRecords) -> tuple[messages.FetchResponse, bytes]:
        """What the disk gives back changed is not served; what may not be committed yet must be readable."""
        if asked.offset >= self.end_offset:
            return asked.response, b""
        try:
            return asked.response, self._log.read(asked.offset, asked.max_bytes)
        except CorruptFile as error:
            if asked.offset >= self.high_watermark:
                raise
            self.unreadable.append(str(error))
        return messages.FetchResponse(
            RaftError.UNKNOWN_SERVER_ERROR, asked.response.epoch, asked.response.leader_id
        ), b""

    def _slice(self, asked: raft.ReplySnapshot) -> messages.FetchSnapshotResponse:
        size = self._snapshots.snapshot_size(asked.snapshot_id)
        error = RaftError.NONE
        if size is None:
            error = RaftError.SNAPSHOT_NOT_FOUND
        elif not 0 <= asked.position < size:
            error = RaftError.POSITION_OUT_OF_RANGE
        if error is not RaftError.NONE or size is None:
            return messages.FetchSnapshotResponse(error, asked.epoch, asked.leader_id, asked.snapshot_id)
        try:
            data = self._snapshots.read_snapshot(asked.snapshot_id, asked.position, asked.max_bytes)
        except CorruptFile as failure:
            self.unreadable.append(str(failure))
            missing = RaftError.SNAPSHOT_NOT_FOUND
            return messages.FetchSnapshotResponse(missing, asked.epoch, asked.leader_id, asked.snapshot_id)
        return messages.FetchSnapshotResponse(
            RaftError.NONE, asked.epoch, asked.leader_id, asked.snapshot_id, size, asked.position, data
        )


def _respond(asker: Asker, body: Message) -> NodeEffect:
    return Respond(asker.request_id, envelopes.told(asker.envelope, body))
