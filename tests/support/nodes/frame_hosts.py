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

from controller_runtime.answers.api_versions import SUPPORTED_LEVELS
from controller_runtime.broker import effects as b
from controller_runtime.broker.broker_config import BrokerConfig
from controller_runtime.broker.lifecycle import BrokerIdentity
from controller_runtime.identifiers import Endpoint, Instant, NodeId, Offset, Uuid, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.node.compose import NodeConfig, NodeDisk, compose
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.node import Node
from controller_runtime.node.pump import Pump
from controller_runtime.node.quorum import effects as e
from controller_runtime.node.quorum.events import SnapshotGivenUp
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.parts.api_table import served
from controller_runtime.parts.chance import Chance
from controller_runtime.parts.events import CallFailed, CallFailure, ResponseReceived, TimePassed
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.record_batch import RecordBatch, batch_headers
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.config import RaftConfig
from controller_runtime.server.shell.assembly import _from_file, _to_file
from controller_runtime.server.shell.requests import Requests
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.quorum_state import load_quorum_state, save_quorum_state
from controller_runtime.values import replace
from support.disks.memory_disk import MemoryDisk
from support.disks.work_in_order import Logs, WorkInOrder
from support.nodes.lone_controller import AT, CLUSTER_ID, DATA, LOG, ME, directory_of, formatted_disk, own_config

BROKER: Final = NodeId(11)
CONTROLLER_LISTENER: Final = "CONTROLLER"
BROKER_LISTENER: Final = "PLAINTEXT"


class Line:
    """A client's end of a connection."""

    def __init__(self, host: Host, listener: str) -> None:
        self.host = host
        self.listener_name = listener
        self.peer_address = b"\x7f\0\0\1"
        self.principal = "User:ANONYMOUS"
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
        self.version = min(served(ListenerType.CONTROLLER)[key].highest, ours.highest)
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
            self.caller.feed(event)


class Host:
    def __init__(self, town: Town, kind: str, disk: MemoryDisk | None = None) -> None:
        self.town, self.kind = town, kind
        self.me = BROKER if kind == "broker" else ME
        self.disk = disk or formatted_disk(me=self.me)
        self.log = MetadataLog.open(self.disk, LOG, LogConfig())
        self.data = WorkInOrder(Logs.open(self.disk, {directory_of(self.me): DATA}))
        self.calls: dict[int, _Call | None] = {}
        self.fault: BaseException | str | None = None
        self.said: list[str] = []
        roles = {CONTROLLER_LISTENER: ListenerType.CONTROLLER, BROKER_LISTENER: ListenerType.BROKER}
        self.requests = Requests(roles, self.feed)
        self.node = self._build()
        self.pump = Pump(self.node, lambda: self.log.flushed_offset)
        self.pump.start(town.now, town.wall)
        self._perform()

    def _build(self) -> Node:
        rng = Random(7)
        found = load_quorum_state(self.disk, LOG)
        disk = NodeDisk(self.log, self.log, None if found is None else _from_file(found))
        chance = Chance(lambda: Uuid(self.town.dice.randbytes(16)), self.town.dice.randrange)
        return compose(self._config(rng), disk, chance, rng.random, self.town.now)

    def _config(self, rng: Random) -> NodeConfig:
        if self.kind == "broker":
            raft = RaftConfig(BROKER, directory_of(BROKER), can_vote=False, durable_fetch=False, bootstrap=(AT,))
            return NodeConfig(raft, CLUSTER_ID, broker=self._broker_config())
        own = own_config(ME, Uuid(rng.randbytes(16)), SnapshotConfig(), dynamic=True)
        return own if self.kind == "controller" else replace(own, broker=self._broker_config())

    def _broker_config(self) -> BrokerConfig:
        at = Endpoint("broker", 9092)
        incarnation = Uuid(self.town.dice.randbytes(16))
        logs = (directory_of(self.me),)
        return BrokerConfig(
            BrokerIdentity(self.me, CLUSTER_ID, incarnation, ((BROKER_LISTENER, at, 0),), SUPPORTED_LEVELS, logs)
        )

    @property
    def meta(self) -> MetadataReplica:
        return self.node.meta

    @property
    def image(self) -> MetadataImage:
        return self.node.image

    @property
    def serves(self) -> bool:
        """A broker that is unfenced, or the active controller."""
        return self.node.is_active if self.node.broker is None else self.node.broker.service.is_serving

    @property
    def failures(self) -> int:
        """Requests that failed inside, as metrics count them."""
        parts = [self.requests.faults, self.meta.faults]
        if self.node.broker is not None:
            parts.append(self.node.broker.service.faults)
        return sum(sum(part.counts.values()) for part in parts)

    def feed(self, event: NodeEvent) -> None:
        self.pump.feed(event)

    def settle(self) -> bool:
        """Everything that waits. False: nothing did."""
        moved = False
        while self.fault is None and (taken := self.pump.take()):
            moved = True
            try:
                self.pump.step(taken, self.town.now, self.town.wall)
                self._perform()
            except Exception as error:
                self.fault = error
                self.pump.halt()
        return moved

    def _perform(self) -> None:
        for effect in self.pump.effects():
            self._perform_one(effect)
        while (pending := self.log.take_pending_write()) is not None:
            pending.perform()
            self.log.complete(pending)
            self.pump.log_flushed()

    def _perform_one(self, effect: Any) -> None:
        match effect:
            case e.Respond(request_id, body, inside):
                self.requests.respond(request_id, body, inside)
            case b.Relay(request_id, answer):
                self.requests.relay(request_id, answer)
            case e.CloseConnection(connection_id):
                self.requests.close_connection(connection_id)
            case e.Append(_, end, batches):
                assert self.log.append(batches) == end
            case e.SaveElection(state):
                save_quorum_state(self.disk, LOG, _to_file(state))
                self.pump.saved()
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
                self.feed(SnapshotGivenUp(effect.snapshot_id, "none in this town"))
            case e.Log(_, text):
                self.said.append(text)
            case e.Stop(reason):
                self.fault = reason
            case b.FinishWithoutReply(request_id):
                self.requests.finish_without_reply(request_id)
            case b.SetAsideStrays():
                self.feed(self.data.set_aside_strays(effect))
            case b.OpenPartition():
                self.feed(self.data.open(effect))
            case b.AppendRecords():
                self.feed(self.data.append(effect))
            case b.ReadRecords():
                self.feed(self.data.read(effect))
            case b.CancelRead():
                pass  # It was read at once.
            case b.MeasureDirectory():
                self.feed(self.data.measure(effect))
            case b.DeleteBefore():
                self.data.delete_before(effect)
            case b.FindTimestamp():
                self.feed(self.data.find(effect))
            case b.ConfigureLog():
                self.data.configure(effect)
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
            caller.feed(CallFailed(call.call_id, CallFailure.REFUSED))
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
                    host.feed(TimePassed())
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
