"""A broker beside a controller, without processes: its calls are answered by the real controller service, its appends
and reads are done on a disk in memory by the code that does them in production, and time passes when the test says so.

`settle` performs what waits; a test that wants to see the world between decision and write performs it piece by piece.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, TypeVar

from controller_runtime.broker.lifecycle import BrokerIdentity
from controller_runtime.identifiers import Endpoint, Instant, NodeId, Offset, WallClock
from controller_runtime.node import envelope
from controller_runtime.node.api_versions import SUPPORTED_LEVELS
from controller_runtime.node.broker_effects import (
    AppendRecords,
    BrokerEffect,
    ClosePartition,
    FindTimestamp,
    FinishWithoutReply,
    OpenPartition,
    ReadRecords,
)
from controller_runtime.node.broker_service import BrokerConfig, BrokerService
from controller_runtime.node.describe_quorum import describe_quorum
from controller_runtime.node.effects import Call, CloseConnection, Log, NodeEffect, Respond, Stop
from controller_runtime.node.events import CallFailure, ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.node.faults import FAILED
from controller_runtime.node.metadata_replica import CallIds
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from controller_runtime.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.voter_set import EMPTY
from controller_runtime.server.shell.partition_work import PartitionWork
from controller_runtime.storage.log_manager import LogManager
from support.controller_world import CLUSTER_ID, World, directory_of, uuid
from support.memory_disk import MemoryDisk

Answer = TypeVar("Answer", bound=Message)
CONTROLLER = Endpoint("controller", 9093)
BROKER = NodeId(11)
DATA_EFFECTS = (OpenPartition, ClosePartition, AppendRecords, ReadRecords, FindTimestamp)


class BrokerWorld:
    def __init__(self, disk: MemoryDisk | None = None, directories: int = 1, **config: Any) -> None:
        self.controller = World()
        self.disk = disk or MemoryDisk()
        paths = ["/data", "/data2"][:directories]
        self.directories = {directory_of(BROKER, number): path for number, path in enumerate(paths, 1)}
        for path in paths:
            self.disk.make_directories(path)
        self.manager = LogManager.open(self.disk, self.directories)
        self.work = PartitionWork(self.manager)
        self.now = Instant(1000.0)
        self.wall = WallClock(1_800_000_000_000)
        self.reachable = True
        self.may_fail = False
        """A test that puts bugs there itself; for all others a request that fails inside is a bug found."""
        self.answers: dict[RequestId, Message | None] = {}
        self.closed: list[ConnectionId] = []
        self.stopped: Stop | None = None
        self.data: deque[BrokerEffect] = deque()
        self.calls: deque[Call] = deque()
        self._last_request = 0
        identity = BrokerIdentity(
            node_id=BROKER,
            cluster_id=CLUSTER_ID,
            incarnation_id=uuid("start", BROKER * 100),
            listeners=(("PLAINTEXT", Endpoint("localhost", 9092), 0),),
            features=SUPPORTED_LEVELS,
            log_dirs=tuple(self.directories),
        )
        self.service = BrokerService(BrokerConfig(identity, **config), CallIds(), self.now)

    # Letting things happen.

    def start(self) -> None:
        """Until it is unfenced."""
        for _ in range(50):
            if self.service.is_serving:
                return
            self.wait(0.1)
        raise AssertionError(f"not serving: {self.service.lifecycle.state}")

    def wait(self, seconds: float) -> None:
        end = Instant(self.now + seconds)
        while True:
            self.settle()
            due = self.service.next_deadline()
            if due is None or due > end or self.stopped:
                break
            self.now = max(self.now, due)
            self._perform(self.service.poll(self.now))
        self.now = end
        self.controller.now = Instant(max(self.controller.now, self.now))
        self.settle()

    def settle(self) -> None:
        """Perform everything that waits, and tell the broker about the newest image, until nothing moves."""
        self.see_metadata()
        self._perform(self.service.poll(self.now))
        while self.calls or self.data:
            self.perform_calls()
            self.perform_data()
            self.see_metadata()
            self._perform(self.service.poll(self.now))

    def see_metadata(self) -> None:
        image, end = self.controller.image, Offset(self.controller.offset)
        at = CONTROLLER if self.reachable else None
        self._perform(self.service.metadata_moved(image, end, 1, at, self.now, self.wall))

    def perform_calls(self) -> None:
        while self.calls:
            call = self.calls.popleft()
            if not self.reachable:
                self._perform(self.service.on_failure(call.call_id, CallFailure.REFUSED, self.now))
                continue
            self._perform(self.service.on_response(call.call_id, self._controller_answers(call.body), self.now))

    def perform_data(self, count: int = 1_000_000) -> None:
        """The first `count` effects of the data plane."""
        while self.data and count > 0:
            count -= 1
            match self.data.popleft():
                case OpenPartition() as effect:
                    event = self.work.open(effect)
                case AppendRecords() as effect:
                    event = self.work.append(effect)
                case ReadRecords() as effect:
                    event = self.work.read(effect)
                case FindTimestamp() as effect:
                    event = self.work.find(effect)
                case ClosePartition(key, delete):
                    self.work.close(key, delete=delete)
                    continue
                case other:
                    raise AssertionError(f"not queued: {other}")
            self._perform(self.service.on_data(event, self.now, self.wall))

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

    def _perform(self, effects: Iterable[NodeEffect | BrokerEffect]) -> None:
        for effect in effects:
            match effect:
                case Respond(request_id, body):
                    assert request_id not in self.answers, "answered twice"
                    self.answers[request_id] = body
                case FinishWithoutReply(request_id):
                    self.answers[request_id] = None
                case Call():
                    self.calls.append(effect)
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

    def send(self, body: Message, version: int | None = None, connection: int = 1) -> RequestId:
        """Send a request and perform nothing yet."""
        self._last_request += 1
        request_id = RequestId(self._last_request)
        assert body.KEY is not None
        wanted = body.VERSIONS.highest if version is None else version
        info = ConnectionInfo(ConnectionId(connection), "PLAINTEXT")
        event = RequestReceived(request_id, info, body.KEY, wanted, "client", body)
        self._perform(self.service.on_request(event, self.now, self.wall))
        self._perform(self.service.poll(self.now))
        return request_id

    def ask(self, body: Message, kind: type[Answer], version: int | None = None) -> Answer:
        """Send a request, let everything happen, and give the answer."""
        request_id = self.send(body, version)
        self.settle()
        answer = self.answers[request_id]
        assert isinstance(answer, kind), answer
        return answer
