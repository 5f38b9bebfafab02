"""One simulated machine: a production ControllerNode on a production MetadataLog, driven as `server.driver` drives it.

Effects are performed in order, `SaveElection` holds back what follows it and every later event, log writes are performed later by a virtual disk and
complete as `LogFlushed`. What the world decides (when a write completes, when the process ends) comes in as calls; this class decides nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from controller_runtime.controller.service import Chance, ControllerConfig
from controller_runtime.identifiers import DirectoryId, Endpoint, Instant, NodeId, Offset, ReplicaKey, Uuid, WallClock
from controller_runtime.metadata.features import bootstrap_records
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.node.controller_node import ControllerNode, NodeConfig
from controller_runtime.node.controller_registration import ControllerIdentity
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
    SaveElection,
    Stop,
    Truncate,
    WriteSnapshot,
)
from controller_runtime.node.events import LogFlushed, NodeEvent, SnapshotFlushed, TimePassed
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.voter_set import EMPTY, VoterSet
from controller_runtime.storage.formatting import FormatRequest, InitialVoter, format_directory, load_bootstrap_values
from controller_runtime.storage.metadata_log import METADATA_DIRECTORY, LogConfig, MetadataLog, PendingWrite
from controller_runtime.storage.quorum_state import QuorumState, load_quorum_state, save_quorum_state
from support.simulation.disk import Crashed, SimDisk

if TYPE_CHECKING:
    from support.simulation.world import World

CLUSTER_ID = "c2ltdWxhdGVkLWNsdXN0ZXI"
DATA = "/data"
LOG = f"{DATA}/{METADATA_DIRECTORY}"
LISTENER = "CONTROLLER"


def endpoint_of(node_id: NodeId) -> Endpoint:
    return Endpoint(f"controller-{node_id}", 9093)


def directory_of(node_id: NodeId, generation: int = 0) -> DirectoryId:
    return DirectoryId(Uuid.of(0x5EED_0000_0000_4000 + generation, 0x8000_0000_0000_0000 + node_id))


@dataclass(frozen=True)
class Fleet:
    """What all machines of a schedule have in common."""

    voters: tuple[NodeId, ...]
    observers: tuple[NodeId, ...]
    dynamic: bool
    segment_bytes: int = 1 << 14

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        return self.voters + self.observers

    def static_voters(self) -> VoterSet:
        from controller_runtime.raft.voter_set import static_voters

        if self.dynamic:
            return EMPTY
        return static_voters(LISTENER, [(node, endpoint_of(node)) for node in self.voters])


class Machine:
    def __init__(self, node_id: NodeId, fleet: Fleet, world: World, rng: Random) -> None:
        self.id = node_id
        self.fleet = fleet
        self.world = world
        self.rng = rng
        self.disk = SimDisk()
        self.node: ControllerNode | None = None
        self.log: MetadataLog | None = None
        self.boots = 0
        self.skew = rng.uniform(0, 1000)
        self.wall_skew = rng.randrange(-5000, 5000)
        self.paused_until = 0.0
        self.persisted: ElectionState | None = None
        self.flushed_at_stop = Offset(0)
        self._events: deque[NodeEvent] = deque()
        self._held: deque[NodeEffect] = deque()
        self._saving: SaveElection | None = None
        self._writing: PendingWrite | None = None
        self._stepping = False
        self.format()

    # The machine's life.

    def wipe(self) -> None:
        """A new disk, formatted anew with the same directory id."""
        self.disk.wipe()
        self.format()
        self.flushed_at_stop = Offset(0)

    def format(self) -> None:
        voters = (
            [InitialVoter(v, directory_of(v), endpoint_of(v)) for v in self.fleet.voters] if self.fleet.dynamic else []
        )
        listed = voters if any(v.node_id == self.id for v in voters) else []
        request = FormatRequest(
            CLUSTER_ID,
            self.id,
            [DATA],
            DATA,
            [encode_record(*record) for record in bootstrap_records("4.3")],
            listed,
            LISTENER,
        )
        format_directory(self.disk, DATA, request, now=0, date="Sat", new_directory_id=lambda: directory_of(self.id))
        self.disk.make_directories(LOG)

    @property
    def is_up(self) -> bool:
        return self.node is not None

    @property
    def now(self) -> Instant:
        return Instant(self.world.time + self.skew)

    @property
    def wall(self) -> WallClock:
        return WallClock(1_795_000_000_000 + round(self.world.time * 1000) + self.wall_skew)

    @property
    def flushed_offset(self) -> Offset:
        """What this machine has on disk for sure."""
        return self.log.flushed_offset if self.log is not None else self.flushed_at_stop

    def boot(self) -> None:
        assert self.node is None, f"machine {self.id} is up"
        self.boots += 1
        self.log = MetadataLog.open(self.disk, LOG, LogConfig(segment_bytes=self.fleet.segment_bytes, tail_bytes=4096))
        if self.log.end_offset < self.flushed_at_stop:
            self.world.violation(
                f"n{self.id} reported {self.flushed_at_stop} as flushed, its disk holds {self.log.end_offset}"
            )
        found = load_quorum_state(self.disk, LOG)
        self.persisted = None if found is None else _from_file(found)
        self.node = ControllerNode(
            self._config(), self.log, self.log, self.persisted, self._chance(), self.rng.random, self.now
        )
        self._take(self.node.start(self.now, self.wall))
        self._settle()

    def _config(self) -> NodeConfig:
        values = load_bootstrap_values(self.disk, DATA) or ()
        listeners = ((LISTENER, endpoint_of(self.id)),)
        raft = RaftConfig(
            self.id,
            directory_of(self.id),
            LISTENER,
            listeners,
            bootstrap=tuple(endpoint_of(voter) for voter in self.fleet.voters),
        )
        controller = ControllerConfig(self.id, CLUSTER_ID, tuple(decode_record(value) for value in values))
        incarnation = Uuid(self.rng.randbytes(16))
        identity = ControllerIdentity(self.id, incarnation, ((LISTENER, endpoint_of(self.id), 0),))
        return NodeConfig(raft, controller, identity, self.fleet.static_voters())

    def _chance(self) -> Chance:
        return Chance(lambda: Uuid(self.rng.randbytes(16)), self.rng.randrange)

    def kill(self, *, power_loss: bool) -> None:
        """The process ends now, perhaps in the middle of a write; with `power_loss` the machine ends too."""
        assert self.log is not None, f"machine {self.id} is down"
        self.flushed_at_stop = self.log.flushed_offset
        self._interrupted_work()
        if power_loss:
            self.disk.power_loss(self.rng)
        else:
            self.disk.kill()
        self.node = self.log = None
        self._events.clear()
        self._held.clear()
        self._saving = self._writing = None

    def _interrupted_work(self) -> None:
        """What was under way got an arbitrary number of operations further."""
        self.disk.operations_left = self.rng.randrange(12)
        try:
            if self._saving is not None:
                save_quorum_state(self.disk, LOG, _to_file(self._saving.state))
            if self._writing is not None:
                self._writing.perform()
        except Crashed:
            pass

    def stop(self) -> None:
        """The process ended by itself, after a clean shutdown."""
        assert self.log is not None
        if self._writing is not None:
            self._writing.perform()
            self.log.complete(self._writing)
        self.log.close()
        self.flushed_at_stop = self.log.flushed_offset
        self.disk.kill()
        self.node = self.log = None
        self._events.clear()
        self._held.clear()
        self._saving = self._writing = None

    # The driver.

    def feed(self, event: NodeEvent) -> None:
        """Give the node an event, when it is its turn."""
        if self.node is None:
            return
        self._events.append(event)
        self._settle()

    def _settle(self) -> None:
        """Step while there is something to step; then let the disk and the timer know."""
        if self._stepping or self.world.time < self.paused_until:
            return
        self._stepping = True
        while self.node is not None and self._events and self._saving is None:
            event = self._events.popleft()
            self.world.trace_event(self, event)
            self._take(self.node.step(event, self.now, self.wall))
            self.world.after_step(self)
        self._stepping = False
        if self.node is not None:
            self._write_log()
            if self._saving is None:
                self.world.set_timer(self, self.node.next_deadline())

    def resume(self) -> None:
        self._settle()

    def time_passed(self) -> None:
        """A timer that fires during a save or a pause is set anew after it."""
        if self.node is not None and self._saving is None and self.world.time >= self.paused_until:
            due = self.node.next_deadline()
            if due is not None and due <= self.now:
                self.feed(TimePassed())
            else:
                self.world.set_timer(self, due)

    def _take(self, effects: list[NodeEffect]) -> None:
        self._held.extend(effects)
        while self._held and self._saving is None and self.node is not None:
            effect = self._held.popleft()
            self.world.trace_effect(self, effect)
            self._perform(effect)

    def _perform(self, effect: NodeEffect) -> None:
        assert self.log is not None
        match effect:
            case Append(_, end_offset, batches):
                assert self.log.append(batches) == end_offset
            case Truncate(end_offset):
                self.log.truncate(end_offset)
            case ResetLog(snapshot_id):
                self.log.reset(snapshot_id)
            case WriteSnapshot(snapshot_id, position, data, last):
                self.log.write_snapshot(snapshot_id, position, data, last=last)
            case DropSnapshotPart(snapshot_id):
                self.log.drop_snapshot_part(snapshot_id)
            case SaveElection():
                self._saving = effect
                self.world.later(self.world.disk_delay(), self._while_up(self._saved))
            case Respond(request_id, body):
                self.world.respond(self, request_id, body)
            case Call():
                self.world.call(self, effect)
            case CancelCall(call_id):
                self.world.cancel(self, call_id)
            case CloseConnection():
                self.world.violation(f"machine {self.id} closed a connection")
            case Log():
                pass
            case Stop(reason, fault):
                self.world.stopped(self, reason, fault=fault)

    def _while_up(self, action: Callable[[], None]) -> Callable[[], None]:
        """An action of this boot only."""
        boot = self.boots

        def run() -> None:
            if self.node is not None and self.boots == boot:
                action()

        return run

    def _saved(self) -> None:
        assert self._saving is not None
        save_quorum_state(self.disk, LOG, _to_file(self._saving.state))
        self.persisted = self._saving.state
        self.world.persisted(self)
        self._saving = None
        self._take([])
        self._settle()

    def _write_log(self) -> None:
        assert self.log is not None
        if self._writing is None:
            self._writing = self.log.take_pending_write()
            if self._writing is not None:
                self.world.later(self.world.disk_delay(), self._while_up(self._written))

    def _written(self) -> None:
        assert self.log is not None
        assert self._writing is not None
        pending, self._writing = self._writing, None
        pending.perform()
        completed = self.log.complete(pending)
        for snapshot_id in completed.frozen_snapshots:
            self.feed(SnapshotFlushed(snapshot_id))
        if self.log is not None:
            self.feed(LogFlushed(self.log.flushed_offset))


def _from_file(state: QuorumState) -> ElectionState:
    voted = None if state.voted_id is None else ReplicaKey(state.voted_id, state.voted_directory)
    return ElectionState(state.epoch, state.leader_id, voted, state.version, state.static_voters)


def _to_file(state: ElectionState) -> QuorumState:
    voted = state.voted_key
    extra = {} if voted is None or state.kraft_version == 0 else {"voted_directory": voted.directory_id}
    voted_id = None if voted is None else voted.node_id
    return QuorumState(
        state.epoch, state.leader_id, voted_id, static_voters=state.static_voters, version=state.kraft_version, **extra
    )
