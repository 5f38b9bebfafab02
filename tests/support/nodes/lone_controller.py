"""A controller that is the only voter, on a disk in memory, driven by hand: production node, production log, time that
a test moves.

Effects are performed at once and remembered in `seen`; only snapshots and scrubs can be held back, as a slow thread
would.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from random import Random

from controller_runtime.controller.service import ControllerConfig
from controller_runtime.identifiers import DirectoryId, Endpoint, Instant, NodeId, Uuid, WallClock
from controller_runtime.metadata.features import bootstrap_records
from controller_runtime.node.compose import NodeConfig, NodeDisk, compose
from controller_runtime.node.controller_part import ControllerPart, ControllerPartConfig
from controller_runtime.node.controller_registration import ControllerIdentity
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.pump import Pump
from controller_runtime.node.quorum import effects as e
from controller_runtime.node.quorum.events import (
    LogScrubbed,
    SnapshotFlushed,
    SnapshotGivenUp,
    SnapshotWritten,
)
from controller_runtime.node.quorum.snapshot_content import content
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.parts.chance import Chance
from controller_runtime.parts.events import (
    CallFailed,
    CallFailure,
    CallId,
    ConnectionId,
    ConnectionInfo,
    RequestId,
    RequestReceived,
    ResponseReceived,
    TimePassed,
)
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.voter_set import EMPTY, static_voters
from controller_runtime.server.shell.assembly import _from_file, _to_file
from controller_runtime.storage.consistency import check_same_moment
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.formatting import FormatRequest, InitialVoter, format_directory
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import METADATA_DIRECTORY, MetadataLog
from controller_runtime.storage.quorum_state import load_quorum_state, save_quorum_state
from support.disks.memory_disk import MemoryDisk

CLUSTER_ID = "bG9uZS1jb250cm9sbGVyLTE"
DATA = "/data"
LOG = f"{DATA}/{METADATA_DIRECTORY}"
ME = NodeId(1)
AT = Endpoint("controller-1", 9093)
SMALL_SEGMENTS = LogConfig(segment_bytes=2000, tail_bytes=500)


def directory_of(node_id: NodeId) -> DirectoryId:
    return DirectoryId(Uuid.of(0x4000, 0x8000_0000_0000_0000 + node_id))


def endpoint_of(node_id: NodeId) -> Endpoint:
    return Endpoint(f"controller-{node_id}", 9093)


def formatted_disk(*, dynamic: bool = True, me: NodeId = ME) -> MemoryDisk:
    disk = MemoryDisk()
    voters = [InitialVoter(ME, directory_of(ME), AT)] if dynamic and me == ME else []
    request = FormatRequest(CLUSTER_ID, me, [DATA], DATA, [], voters, "CONTROLLER")
    format_directory(disk, DATA, request, now=0, date="Sat", new_directory_id=lambda: directory_of(me))
    disk.make_directories(LOG)
    return disk


def own_config(me: NodeId, incarnation: Uuid, snapshots: SnapshotConfig, *, dynamic: bool) -> NodeConfig:
    at = endpoint_of(me)
    raft = RaftConfig(me, directory_of(me), "CONTROLLER", (("CONTROLLER", at),), bootstrap=(AT,))
    controller = ControllerConfig(me, CLUSTER_ID, tuple(bootstrap_records("4.3")))
    identity = ControllerIdentity(me, incarnation, (("CONTROLLER", at, 0),))
    fixed = EMPTY if dynamic else static_voters("CONTROLLER", [(ME, AT)])
    return NodeConfig(raft, CLUSTER_ID, fixed, snapshots, ControllerPartConfig(controller, identity))


class LoneController:
    def __init__(
        self,
        disk: MemoryDisk | None = None,
        snapshots: SnapshotConfig = SnapshotConfig(),
        *,
        dynamic: bool = True,
        log_config: LogConfig = SMALL_SEGMENTS,
        started_at: float = 1000.0,
        me: NodeId = ME,
        config: NodeConfig | None = None,
    ) -> None:
        """`me` other than the only voter: a controller that follows it as an observer (see `Pair`). `config`: another
        node's altogether.
        """
        self.me = config.raft.node_id if config else me
        self.disk = disk or formatted_disk(dynamic=dynamic, me=me)
        self.log = MetadataLog.open(self.disk, LOG, log_config)
        self.now = Instant(started_at)
        self._running = False
        self.seen: list[NodeEffect] = []
        self.held: list[e.TakeSnapshot] = []
        self.holds_snapshots = False
        self.holds_flushes = False
        """The disk is slow: what is appended is not flushed before `finish_flush`."""
        self.no_room = False
        self.outgoing: deque[e.Call | e.Respond | e.CancelCall] = deque()
        rng = Random(7)
        if config is None:
            config = own_config(me, Uuid(rng.randbytes(16)), snapshots, dynamic=dynamic)
        chance = Chance(lambda: Uuid(rng.randbytes(16)), rng.randrange)
        found = load_quorum_state(self.disk, LOG)
        check_same_moment(self.log, found)
        stored = None if found is None else _from_file(found)
        self.node = compose(config, NodeDisk(self.log, self.log, stored), chance, rng.random, self.now)
        self._pump = Pump(self.node, lambda: self.log.flushed_offset)
        self._pump.start(self.now, self.wall)
        self._run()

    @property
    def controller(self) -> ControllerPart:
        assert self.node.controller is not None
        return self.node.controller

    @property
    def wall(self) -> WallClock:
        return WallClock(1_795_000_000_000 + round(self.now * 1000))

    def feed(self, event: NodeEvent) -> None:
        self._pump.feed(event)
        self._run()

    def run(self, seconds: float) -> None:
        """Let time pass, timer by timer."""
        end = Instant(self.now + seconds)
        while (due := self.node.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.feed(TimePassed())
        self.now = end
        self.feed(TimePassed())

    def effects(self, kind: type) -> list[NodeEffect]:
        return [effect for effect in self.seen if isinstance(effect, kind)]

    def said(self, text: str) -> bool:
        return any(isinstance(effect, e.Log) and text in effect.text for effect in self.seen)

    def finish_snapshot(self) -> None:
        """The thread that writes snapshots is done with the oldest one."""
        asked = self.held.pop(0)
        write = self.log.begin_snapshot(asked.snapshot_id)
        assert write is not None
        size = write.perform(content(asked))
        self.log.snapshot_written(write, size)
        self.feed(SnapshotWritten(asked.snapshot_id, size))

    def flush(self) -> None:
        while (pending := self.log.take_pending_write()) is not None:
            pending.perform()
            for snapshot_id in self.log.complete(pending).frozen_snapshots:
                self._pump.feed(SnapshotFlushed(snapshot_id))

    def finish_flush(self) -> None:
        self.flush()
        self._pump.log_flushed()
        self._run()

    def perform(self, effects: Iterable[NodeEffect]) -> None:
        """What a test had the node decide by itself; and what follows from it."""
        for effect in effects:
            self.seen.append(effect)
            self._perform(effect)
        self._flush_when_due()
        self._run()

    def _run(self) -> None:
        if self._running:
            return
        self._running = True
        self._perform_effects()
        while taken := self._pump.take():
            self._pump.step(taken, self.now, self.wall)
            self._perform_effects()
        self._running = False

    def _perform_effects(self) -> None:
        for effect in self._pump.effects():
            self.seen.append(effect)
            self._perform(effect)
        self._flush_when_due()

    def _flush_when_due(self) -> None:
        if not self.holds_flushes:
            flushed = self.log.flushed_offset
            self.flush()
            if self.log.flushed_offset != flushed:
                self._pump.log_flushed()

    def _perform(self, effect: NodeEffect) -> None:
        match effect:
            case e.Append(_, _, batches):
                self.log.append(batches)
            case e.ShortenLog(snapshot_id):
                self.log.delete_before(snapshot_id)
            case e.RollLog():
                self.log.roll()
            case e.TakeSnapshot() if self.no_room:
                self._pump.feed(SnapshotGivenUp(effect.snapshot_id, "no room"))
            case e.TakeSnapshot():
                self.held.append(effect)
                if not self.holds_snapshots:
                    self.finish_snapshot()
            case e.ScrubLog(max_bytes):
                self._scrub(max_bytes)
            case e.SaveElection(state):
                save_quorum_state(self.disk, LOG, _to_file(state))
                if self._pump.is_saving:
                    self._pump.saved()
            case e.ResetLog(snapshot_id):
                self.log.reset(snapshot_id)
            case e.WriteSnapshot(snapshot_id, position, data, last):
                self.log.write_snapshot(snapshot_id, position, data, last=last)
            case e.DropSnapshotPart(snapshot_id):
                self.log.drop_snapshot_part(snapshot_id)
            case e.Truncate(end_offset):
                self.log.truncate(end_offset)
            case e.Call() | e.Respond() | e.CancelCall():
                self.outgoing.append(effect)
            case e.Stop(reason):
                raise AssertionError(reason)
            case _:
                pass

    def _scrub(self, max_bytes: int) -> None:
        found = self.log.begin_scrub(max_bytes)
        damage: str | None = None
        if found is not None:
            try:
                self.log.scrubbed(found, found.perform())
            except CorruptFile as error:
                damage = str(error)
                self.log.scrubbed(found, 1 << 62)
        self._pump.feed(LogScrubbed(damage))


FOLLOWER = NodeId(2)
VERSIONS = {1: 18, 59: 1, 70: 0, 80: 0, 81: 0, 82: 0}
"""What two of ours agree on, by API key; others at 0."""


class Pair:
    """The voter and an observer that follows it; their messages pass through `tamper`, which may change or drop an
    answer.
    """

    def __init__(self, leader: LoneController, follower: LoneController) -> None:
        self.leader = leader
        self.follower = follower
        self.tamper: Callable[[e.Call, Message], Message | None] = lambda _, answer: answer
        self.asked: list[Message] = []
        """What the follower asked, in order."""
        self._calls: dict[RequestId, e.Call] = {}
        self._next = 1

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        end = self.follower.now + seconds
        while self.follower.now < end and not until():
            self.deliver(until)
            self.leader.run(0.02)
            self.follower.run(0.02)

    def deliver(self, until: Callable[[], bool] = lambda: False) -> None:
        """Everything that is under way, and what follows from it."""
        while (self.follower.outgoing or self.leader.outgoing) and not until():
            while self.follower.outgoing:
                self._ask(self.follower.outgoing.popleft())
            while self.leader.outgoing:
                self._answer(self.leader.outgoing.popleft())

    def _ask(self, effect: e.Call | e.Respond | e.CancelCall) -> None:
        match effect:
            case e.Call(_, _, endpoint, body) if endpoint == AT:
                number = RequestId(self._next)
                self._next += 1
                self._calls[number] = effect
                self.asked.append(body)
                connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
                key = body.KEY or 0
                request = RequestReceived(number, connection, key, VERSIONS.get(key, 0), "follower", body)
                self.leader.feed(request)
            case e.CancelCall(call_id):
                self._calls = {number: call for number, call in self._calls.items() if call.call_id != call_id}
            case _:
                pass

    def _answer(self, effect: e.Call | e.Respond | e.CancelCall) -> None:
        if not isinstance(effect, e.Respond) or effect.request_id not in self._calls:
            return
        call = self._calls.pop(effect.request_id)
        answer = self.tamper(call, effect.body)
        if answer is None:
            self.follower.feed(CallFailed(CallId(call.call_id), CallFailure.DISCONNECTED))
        else:
            self.follower.feed(ResponseReceived(call.call_id, VERSIONS.get(call.body.KEY or 0, 0), answer))
