"""A broker beside a controller, without processes: its calls are answered by the real controller service, its appends
and reads are done on a disk in memory by the code that does them in production, and time passes when the test says so.

It is the broker's part of a node alone, driven by the pump of production; what it sees of the metadata log is what the
test shows it.

`settle` performs what waits; a test that wants to see the world between decision and write performs it piece by piece.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from controller_runtime.answers.api_versions import SUPPORTED_LEVELS
from controller_runtime.broker.broker_config import BrokerConfig
from controller_runtime.broker.effects import (
    AbandonMove,
    AppendRecords,
    BrokerEffect,
    CancelRead,
    ClosePartition,
    CompleteMove,
    ConfigureLog,
    CopyFound,
    CopyMore,
    CutLog,
    DeleteBefore,
    FindTimestamp,
    FinishWithoutReply,
    MeasureDirectory,
    OpenPartition,
    ReadRecords,
    Relay,
    RestartLog,
    SetAsideStrays,
    WorkId,
)
from controller_runtime.broker.lifecycle import BrokerIdentity
from controller_runtime.broker.service import BrokerService
from controller_runtime.identifiers import Endpoint, Instant, NodeId, Offset, Uuid, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.broker_part import BrokerPart
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.pump import Pump
from controller_runtime.node.quorum.describe_quorum import describe_quorum
from controller_runtime.parts import envelope
from controller_runtime.parts.api_table import BROKER as TABLE
from controller_runtime.parts.api_table import Forwarded
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call, CloseConnection, Log, Respond, Stop
from controller_runtime.parts.events import (
    CallFailed,
    CallFailure,
    ConnectionClosed,
    ConnectionId,
    ConnectionInfo,
    RequestId,
    RequestReceived,
    ResponseReceived,
    TimePassed,
    UnreadRequest,
)
from controller_runtime.parts.failed_requests import FAILED
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from controller_runtime.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.voter_set import EMPTY
from support.disks.memory_disk import MemoryDisk
from support.disks.work_in_order import Logs, WorkInOrder
from support.nodes.controller_world import CLUSTER_ID, World, directory_of, uuid

Answer = TypeVar("Answer", bound=Message)
CONTROLLER = Endpoint("controller", 9093)
BROKER = NodeId(11)
DATA_EFFECTS = (
    SetAsideStrays, OpenPartition, ClosePartition, ConfigureLog, AppendRecords, CutLog, RestartLog, DeleteBefore,
    ReadRecords, FindTimestamp, MeasureDirectory, CopyMore, CompleteMove, AbandonMove,
)  # fmt: skip


def endpoint_of(node_id: NodeId) -> Endpoint:
    return Endpoint("localhost", 9081 + node_id)


@dataclass(slots=True)
class Shown:
    """What the test shows the broker of the metadata log. Implements `broker_part.SeenMetadata`."""

    image: MetadataImage
    image_offset: Offset
    controller: Endpoint | None = None
    kraft_version: int = 1
    is_known: bool = True

    def leader_endpoint(self) -> Endpoint | None:
        return self.controller


class LoneBroker:
    """A node of the broker's part alone. Implements `node.ports.DrivenNode`."""

    def __init__(self, part: BrokerPart) -> None:
        self._part = part

    def start(self, now: Instant, wall: WallClock) -> Sequence[NodeEffect]:
        return ()

    def step(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> Sequence[NodeEffect]:
        decided = [effect for event in events for effect in self._part.on_event(event, now, wall)]
        return [*decided, *self._part.poll(now, wall)]

    def next_deadline(self) -> Instant | None:
        return self._part.next_deadline()


class BrokerWorld:
    def __init__(
        self,
        disk: MemoryDisk | None = None,
        directories: int = 1,
        controller: World | None = None,
        run: int = 0,
        node_id: NodeId = BROKER,
        rack: str | None = None,
        **config: Any,
    ) -> None:
        """`run`: how often it was started before."""
        self.node_id = node_id
        self.cuts = 0
        """How often a log was cut, or begun anew."""
        self.peer_calls: deque[Call] = deque()
        """Calls of other brokers: nobody answers them here (see `broker_fleet`)."""
        self.controller = controller or World()
        self.run = run
        self.disk = disk or MemoryDisk()
        paths = ["/data", "/data2"][:directories]
        self.directories = {directory_of(node_id, number): path for number, path in enumerate(paths, 1)}
        for path in paths:
            self.disk.make_directories(path)
        self.manager = Logs.open(self.disk, self.directories)
        self.work = WorkInOrder(self.manager)
        self.now = self.controller.now
        self.wall = WallClock(1_800_000_000_000)
        self.reachable = True
        self.authenticates = False
        """Who asks has shown who he is."""
        self.may_fail = False
        """A test that puts bugs there itself; for all others a request that fails inside is a bug found."""
        self.answers: dict[RequestId, Message | None] = {}
        self.closed: list[ConnectionId] = []
        self.stopped: Stop | None = None
        self.data: deque[BrokerEffect] = deque()
        self.calls: deque[Call] = deque()
        self._last_request = 0
        self._uuids = 0
        self._asked: dict[RequestId, tuple[int, int]] = {}
        """Which API at which version."""
        identity = BrokerIdentity(
            node_id=node_id,
            cluster_id=CLUSTER_ID,
            incarnation_id=uuid("start", node_id * 100 + run),
            listeners=(("PLAINTEXT", endpoint_of(node_id), 0),),
            features=SUPPORTED_LEVELS,
            log_dirs=tuple(self.directories),
            rack=rack,
        )
        self.service = BrokerService(BrokerConfig(identity, **config), CallIds(), self._new_uuid, self.now)
        self.shown = Shown(MetadataImage(), Offset(0))
        self.pump = Pump(LoneBroker(BrokerPart(self.service, self.shown)), lambda: Offset(0))

    def _new_uuid(self) -> Uuid:
        """No two brokers make the same. Its first four bytes differ, too: ids of fetch sessions are made of them."""
        self._uuids += 1
        number = self.run * 1_000_000 + self._uuids
        return Uuid(number.to_bytes(4, "big") + uuid("member", self.node_id * 1_000_000_000 + number)[4:])

    def restarted(self) -> BrokerWorld:
        """Another process on the same disk, after a crash and the end of the session of this one."""
        self.controller.wait(10.0)
        disk, run = self.disk.survivors("everything"), self.run + 1
        return BrokerWorld(disk, len(self.directories), self.controller, run)

    # Letting things happen.

    def start(self) -> None:
        """Until it is unfenced."""
        for _ in range(50):
            if self.service.is_serving:
                return
            self.wait(0.1)
        raise AssertionError(f"not serving: {self.service.lifecycle.state}")

    def wait(self, seconds: float, *, moves: bool = True) -> None:
        """Time passes; unless it `moves`, what waits for a disk or a peer waits on."""
        end = Instant(self.now + seconds)
        while True:
            if moves:
                self.settle()
            due = self.pump.timer(self.now)
            if due is None or due > end:
                break
            self.now = max(self.now, due)
            self.pump.time_passed(self.now)
            self._run()
        self.now = end
        self.controller.now = Instant(max(self.controller.now, self.now))
        if moves:
            self.settle()

    def settle(self) -> None:
        """Perform everything that waits, and show the broker the newest image, until nothing moves."""
        self.see_metadata()
        while self.calls or self.data or self.service.has_more_to_do:
            self.perform_calls()
            self.perform_data()
            self.see_metadata()

    def see_metadata(self) -> None:
        self.see(self.controller.image, Offset(self.controller.offset), CONTROLLER if self.reachable else None)

    def see(self, image: MetadataImage, end: Offset, controller: Endpoint | None = None) -> None:
        """An image of the test's choice."""
        self.shown.image, self.shown.image_offset, self.shown.controller = image, end, controller
        self.happen(TimePassed())

    def happen(self, event: NodeEvent) -> None:
        self.pump.feed(event)
        self._run()

    def _run(self) -> None:
        while taken := self.pump.take():
            self.pump.step(taken, self.now, self.wall)
            for effect in self.pump.effects():
                self._perform(effect)

    def perform_calls(self) -> None:
        while self.calls:
            call = self.calls.popleft()
            if call.endpoint != CONTROLLER:
                self.peer_calls.append(call)
            elif self.reachable:
                answer = self._controller_answers(call.body)
                self.happen(ResponseReceived(call.call_id, call.body.VERSIONS.highest, answer))
            else:
                self.happen(CallFailed(call.call_id, CallFailure.REFUSED))

    def perform_data(self, count: int = 1_000_000) -> None:
        """The first `count` effects of the data plane."""
        while self.data and count > 0:
            count -= 1
            match self.data.popleft():
                case SetAsideStrays() as effect:
                    event = self.work.set_aside_strays(effect)
                case OpenPartition() as effect:
                    self.happen(self.work.open(effect))
                    if (target := self.work.copy_of(effect.key)) is not None:
                        self.happen(CopyFound(effect.key, target))
                    continue
                case CopyMore() | CompleteMove() | AbandonMove() as effect:
                    if (told := self.work.move(effect)) is not None:
                        self.happen(told)
                    continue
                case AppendRecords() as effect:
                    event = self.work.append(effect)
                case ReadRecords() as effect:
                    event = self.work.read(effect)
                case MeasureDirectory() as effect:
                    event = self.work.measure(effect)
                case CutLog() | RestartLog() as effect:
                    self.cuts += 1
                    event = self.work.cut(effect)
                case DeleteBefore() as effect:
                    self.work.delete_before(effect)
                    continue
                case FindTimestamp() as effect:
                    event = self.work.find(effect)
                case ConfigureLog() as effect:
                    self.work.configure(effect)
                    continue
                case ClosePartition(key, delete):
                    self.work.close(key, delete=delete)
                    continue
                case other:
                    raise AssertionError(f"not queued: {other}")
            self.happen(event)

    def retain(self) -> None:
        """A round of retention."""
        for event in self.work.retain(self.service.partitions.high_watermarks(), self.wall):
            self.happen(event)

    def compact(self, ahead_ms: int = 0) -> None:
        """A round of compaction, as if it were so much later."""
        self.work.compact(self.service.partitions.high_watermarks(), self.wall + ahead_ms)

    def _controller_answers(self, body: Message) -> Message:
        if not isinstance(body, EnvelopeRequest):
            return self.controller.decide(body).response
        inner = envelope.unwrap(body)
        assert isinstance(inner, envelope.Unwrapped), inner
        header = inner.request.header
        if isinstance(inner.request.body, DescribeQuorumRequest):
            described = describe_quorum(inner.request.body, None, EMPTY, self.now, self.wall)
            return envelope.wrap(described, header)
        if isinstance(inner.request.body, AddRaftVoterRequest):  # the quorum's, and there is none in this world
            return envelope.wrap(AddRaftVoterResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER), header)
        if isinstance(inner.request.body, RemoveRaftVoterRequest):
            return envelope.wrap(RemoveRaftVoterResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER), header)
        return envelope.wrap(self.controller.decide(inner.request.body, header.request_api_version).response, header)

    def _perform(self, effect: NodeEffect) -> None:
        match effect:
            case Respond(request_id, body):
                assert request_id > 0, "what it asks itself is answered inside"
                assert request_id not in self.answers, "answered twice"
                self.answers[request_id] = body
            case Relay(request_id, frame):
                assert request_id not in self.answers, "answered twice"
                self.answers[request_id] = decode_response(frame, *self._asked[request_id]).body
            case FinishWithoutReply(request_id):
                self.answers[request_id] = None
            case Call():
                self.calls.append(effect)
            case CancelRead(work_id):
                unread = (each for each in self.data if not _is_read(each, work_id))
                self.data = deque(unread)
            case CloseConnection(connection_id):
                self.closed.append(connection_id)
            case Stop():
                self.stopped = effect
            case Log(_, text):
                assert self.may_fail or FAILED not in text, text
            case _ if isinstance(effect, DATA_EFFECTS):
                self.data.append(effect)
            case _:
                raise AssertionError(f"unexpected: {effect}")

    # Clients.

    def send(
        self, body: Message, version: int | None = None, connection: int = 1, info: ConnectionInfo | None = None
    ) -> RequestId:
        """Send a request and perform nothing yet."""
        self._last_request += 1
        request_id = RequestId(self._last_request)
        assert body.KEY is not None
        wanted = body.VERSIONS.highest if version is None else version
        info = info or ConnectionInfo(ConnectionId(connection), "PLAINTEXT", authenticated=self.authenticates)
        self._asked[request_id] = body.KEY, wanted
        self.happen(_as_it_arrives(request_id, info, body.KEY, wanted, body))
        return request_id

    def hang_up(self, connection: int) -> None:
        self.happen(ConnectionClosed(ConnectionId(connection)))

    def ask(self, body: Message, kind: type[Answer], version: int | None = None) -> Answer:
        """Send a request, let everything happen, and give the answer."""
        request_id = self.send(body, version)
        self.settle()
        answer = self.answers[request_id]
        assert isinstance(answer, kind), answer
        return answer


def _is_read(effect: BrokerEffect, work_id: WorkId) -> bool:
    return isinstance(effect, ReadRecords) and effect.work_id == work_id


def _as_it_arrives(
    request_id: RequestId, info: ConnectionInfo, key: int, version: int, body: Message
) -> RequestReceived | UnreadRequest:
    """As the shell gives it, by the table."""
    row = TABLE.get(ApiKey(key))
    if row is None or row.forwarded is Forwarded.NO:
        return RequestReceived(request_id, info, key, version, "client", body)
    frame = encode_request(body, version, request_id, "client", with_length=False)
    if row.forwarded is Forwarded.UNREAD:
        return UnreadRequest(request_id, info, key, version, request_id, frame)
    return RequestReceived(request_id, info, key, version, "client", body, request_id, frame)
