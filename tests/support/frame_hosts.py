"""Nodes in one process that talk in frames: production nodes, production `Requests`, logs on disks in memory, and a
test that moves the time.

town = Town("controller", "broker"); town.start(); line = Line(town.hosts[0], "CONTROLLER"); line.send(frame);
town.run(1.0); line.replies

Every request and answer, also between the nodes, is encoded and decoded. What a step raises ends the node, as its
driver would.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any, Final

from controller_runtime.broker.lifecycle import BrokerIdentity
from controller_runtime.controller.service import Chance
from controller_runtime.identifiers import Endpoint, Instant, NodeId, Offset, Uuid, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.node import broker_effects as b
from controller_runtime.node import effects as e
from controller_runtime.node.api_versions import SUPPORTED_LEVELS
from controller_runtime.node.broker_node import BrokerNode, BrokerNodeConfig
from controller_runtime.node.broker_service import BrokerConfig, BrokerService
from controller_runtime.node.combined_node import CombinedNode
from controller_runtime.node.controller_node import ControllerNode
from controller_runtime.node.events import (
    CallFailed,
    CallFailure,
    LogFlushed,
    RequestReceived,
    ResponseReceived,
    SnapshotGivenUp,
    TimePassed,
)
from controller_runtime.node.metadata_replica import CallIds, MetadataReplica
from controller_runtime.node.snapshots import SnapshotConfig
from controller_runtime.protocol.api_keys import ApiKey, Role
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.record_batch import RecordBatch, batch_headers
from controller_runtime.protocol.schema import Message
from controller_runtime.protocol.served import served
from controller_runtime.raft.config import RaftConfig
from controller_runtime.server.shell.assembly import _from_file, _to_file
from controller_runtime.server.shell.partition_work import PartitionWork
from controller_runtime.server.shell.requests import Requests
from controller_runtime.storage.log_manager import LogManager
from controller_runtime.storage.metadata_log import LogConfig, MetadataLog
from controller_runtime.storage.quorum_state import load_quorum_state, save_quorum_state
from support.lone_controller import AT, CLUSTER_ID, DATA, LOG, ME, directory_of, formatted_disk, own_config
from support.memory_disk import MemoryDisk

BROKER: Final = NodeId(11)
CONTROLLER_LISTENER: Final = "CONTROLLER"
BROKER_LISTENER: Final = "PLAINTEXT"


class Line:
    """A client's end of a connection."""

    def __init__(self, host: Host, listener: str) -> None:
        self.host = host
        self.listener_name = listener
        self.peer_address = b"\x7f\0\0\1"
        self.connection_id = 0
        self.replies: list[bytes] = []
        self.closed = False
        host.requests.connection_opened(self)  # type: ignore[arg-type]

    def send(self, frame: bytes) -> None:
        """What is raised ends the connection, as the event loop does it."""
        try:
            self.host.requests.frame_received(self, frame)  # type: ignore[arg-type]
        except Exception:
            self.close("it raised")

    def reply(self, frame: bytes) -> None:
        self.replies.append(frame[4:])

    def finish(self) -> None:
        self.replies.append(b"")

    def close(self, reason: str) -> None:
        del reason
        if not self.closed:
            self.closed = True
            self.host.requests.connection_closed(self)  # type: ignore[arg-type]


class _Call(Line):
    """One call of a node to another."""

    def __init__(self, host: Host, caller: Host, call: e.Call) -> None:
        self.caller, self.call, self.done = caller, call, False
        super().__init__(host, CONTROLLER_LISTENER)
        key = ApiKey(call.body.KEY or 0)
        self.key = key
        ours = type(call.body).VERSIONS
        self.version = min(served(Role.CONTROLLER)[key].highest, ours.highest)
        self.send(encode_request(call.body, self.version, 1, "a node", with_length=False))

    def reply(self, frame: bytes) -> None:
        try:
            answer = decode_response(frame[4:], self.key, self.version).body
        except Exception:  # as `ClientConnection` does
            self._end(CallFailed(self.call.call_id, CallFailure.MALFORMED))
            return
        self._end(ResponseReceived(self.call.call_id, self.version, answer))

    def close(self, reason: str) -> None:
        super().close(reason)
        self._end(CallFailed(self.call.call_id, CallFailure.DISCONNECTED))

    def _end(self, event: ResponseReceived | CallFailed) -> None:
        if not self.done and self.caller.calls.pop(self.call.call_id, None) is not None:
            self.done = True
            self.caller.events.append(event)


class Host:
    def __init__(self, town: Town, kind: str, disk: MemoryDisk | None = None) -> None:
        self.town, self.kind = town, kind
        self.me = BROKER if kind == "broker" else ME
        self.disk = disk or formatted_disk(me=self.me)
        self.log = MetadataLog.open(self.disk, LOG, LogConfig())
        self.data = PartitionWork(LogManager.open(self.disk, {directory_of(self.me): DATA}))
        self.events: deque[Any] = deque()
        self.calls: dict[int, _Call | None] = {}
        self.fault: BaseException | str | None = None
        self.said: list[str] = []
        roles = {CONTROLLER_LISTENER: Role.CONTROLLER, BROKER_LISTENER: Role.BROKER}
        self.requests = Requests(roles, self.events.append)
        self.node = self._build()
        self._perform(self.node.start(town.now, town.wall))

    def _build(self) -> ControllerNode | BrokerNode | CombinedNode:
        rng, now = Random(7), self.town.now
        found = load_quorum_state(self.disk, LOG)
        stored = None if found is None else _from_file(found)
        if self.kind == "broker":
            raft = RaftConfig(BROKER, directory_of(BROKER), can_vote=False, durable_fetch=False, bootstrap=(AT,))
            config = BrokerNodeConfig(raft, self._broker_config())
            return BrokerNode(config, self.log, self.log, stored, rng.random, now)
        calls = CallIds()
        own = own_config(ME, Uuid(rng.randbytes(16)), SnapshotConfig(), dynamic=True)
        chance = Chance(lambda: Uuid(self.town.dice.randbytes(16)), self.town.dice.randrange)
        controller = ControllerNode(own, self.log, self.log, stored, chance, rng.random, now, calls)
        if self.kind == "controller":
            return controller
        service = BrokerService(self._broker_config(), calls, now)
        return CombinedNode(controller, service, frozenset({CONTROLLER_LISTENER}))

    def _broker_config(self) -> BrokerConfig:
        at = Endpoint("broker", 9092)
        incarnation = Uuid(self.town.dice.randbytes(16))
        logs = (directory_of(self.me),)
        return BrokerConfig(
            BrokerIdentity(self.me, CLUSTER_ID, incarnation, ((BROKER_LISTENER, at, 0),), SUPPORTED_LEVELS, logs)
        )

    @property
    def meta(self) -> MetadataReplica:
        return self.node.controller.meta if isinstance(self.node, CombinedNode) else self.node.meta

    @property
    def image(self) -> MetadataImage:
        return self.node.controller.image if isinstance(self.node, CombinedNode) else self.node.image

    @property
    def failures(self) -> int:
        """Requests that failed inside, as metrics count them."""
        parts = [self.requests.faults, self.meta.faults]
        if not isinstance(self.node, ControllerNode):
            parts.append(self.node.service.faults)
        return sum(sum(part.counts.values()) for part in parts)

    def settle(self) -> bool:
        """Everything that waits. False: nothing did."""
        moved = False
        while self.events and self.fault is None:
            moved = True
            event = self.events.popleft()
            try:
                self._perform(self._step(event))
            except Exception as error:
                self.fault = error
        return moved

    def _step(self, event: Any) -> list[e.NodeEffect]:
        if not isinstance(self.node, ControllerNode) or not isinstance(event, RequestReceived):
            return self.node.step(event, self.town.now, self.town.wall)
        together = [event]
        while self.events and isinstance(self.events[0], RequestReceived):
            together.append(self.events.popleft())
        return self.node.step_requests(together, self.town.now, self.town.wall)

    def _perform(self, effects: list[e.NodeEffect]) -> None:
        for effect in effects:
            if self.fault is None:
                self._perform_one(effect)
        while (pending := self.log.take_pending_write()) is not None:
            pending.perform()
            self.log.complete(pending)
            self.events.append(LogFlushed(self.log.flushed_offset))

    def _perform_one(self, effect: Any) -> None:
        match effect:
            case e.Respond(request_id, body):
                self.requests.respond(request_id, body)
            case e.CloseConnection(connection_id):
                self.requests.close_connection(connection_id)
            case e.Append(_, end, batches):
                assert self.log.append(batches) == end
            case e.SaveElection(state):
                save_quorum_state(self.disk, LOG, _to_file(state))
            case e.Truncate(end):
                self.log.truncate(end)
            case e.Call():
                self.calls[effect.call_id] = None
                self.town.post.append((self, effect))
            case e.CancelCall(call_id):
                self.calls.pop(call_id, None)
            case e.ScrubLog() | e.RollLog():
                pass
            case e.TakeSnapshot():
                self.events.append(SnapshotGivenUp(effect.snapshot_id, "none in this town"))
            case e.Log(_, text):
                self.said.append(text)
            case e.Stop(reason):
                self.fault = reason
            case b.FinishWithoutReply(request_id):
                self.requests.finish_without_reply(request_id)
            case b.OpenPartition():
                self.events.append(self.data.open(effect))
            case b.AppendRecords():
                self.events.append(self.data.append(effect))
            case b.ReadRecords():
                self.events.append(self.data.read(effect))
            case b.FindTimestamp():
                self.events.append(self.data.find(effect))
            case b.ClosePartition(key, delete):
                self.data.close(key, delete=delete)
            case _:
                raise AssertionError(f"this town has no {type(effect).__name__}")


class Town:
    """Hosts by their kind: "controller", "broker" beside it, or "combined" alone."""

    def __init__(self, *kinds: str, seed: int = 1) -> None:
        self.now = Instant(1000.0)
        self.dice = Random(seed)
        self.post: deque[tuple[Host, e.Call]] = deque()
        self.hosts = [Host(self, kind) for kind in kinds]

    @property
    def wall(self) -> WallClock:
        return WallClock(1_795_000_000_000 + round(self.now * 1000))

    @property
    def controller(self) -> Host:
        return self.hosts[0]

    def restart(self, host: Host) -> Host:
        """Another process on the same disk."""
        self.hosts[self.hosts.index(host)] = again = Host(self, host.kind, host.disk)
        for other in self.hosts:
            for call in [one for one in other.calls.values() if one is not None and one.host is host]:
                call.close("it ended")
        return again

    def settle(self) -> None:
        while sum(host.settle() for host in self.hosts) or self.post:
            while self.post:
                self._deliver(*self.post.popleft())

    def _deliver(self, caller: Host, call: e.Call) -> None:
        if call.call_id not in caller.calls:
            return
        if call.endpoint != AT or self.controller.fault is not None:
            del caller.calls[call.call_id]
            caller.events.append(CallFailed(call.call_id, CallFailure.REFUSED))
            return
        line = _Call.__new__(_Call)
        caller.calls[call.call_id] = line
        line.__init__(self.controller, caller, call)  # type: ignore[misc]

    def run(self, seconds: float) -> None:
        """Let time pass, timer by timer."""
        end = Instant(self.now + seconds)
        self.settle()
        turns = 0
        while True:
            turns += 1
            assert turns < 5000 * (1 + seconds), f"the nodes spin: {[host.node.next_deadline() for host in self.hosts]}"
            living = [host for host in self.hosts if host.fault is None]
            due = min((at for host in living if (at := host.node.next_deadline()) is not None), default=None)
            if due is None or due > end:
                break
            self.now = max(self.now, due)
            for host in living:
                at = host.node.next_deadline()
                if at is not None and at <= self.now:
                    host.events.append(TimePassed())
            self.settle()
        self.now = end

    def until(self, what: str, seconds: float, there: Any) -> None:
        end = self.now + seconds
        while not there():
            assert self.now < end, f"{what}: not within {seconds:g} s; " + repr([h.fault for h in self.hosts])
            self.run(0.05)


def replayed(log: MetadataLog) -> MetadataImage:
    """What the log says, read from its beginning."""
    builder, offset = MetadataImage.empty().builder(), Offset(0)
    while data := log.read(offset, 1 << 20):
        for header in batch_headers(data):
            offset = Offset(header.next_offset)
            if not header.is_control:
                batch = RecordBatch(header, data[header.position : header.end_position])
                for record in batch.records:
                    replay(builder, decode_record(record.value or b"")[0])
    return builder.freeze()


def frame(body: Message, version: int | None = None) -> bytes:
    return encode_request(body, body.VERSIONS.highest if version is None else version, 7, "c", with_length=False)
