"""One simulated machine: a production ControllerNode on a production MetadataLog, driven as `server.shell.driver`
drives it.

Effects are performed in order, `SaveElection` holds back what follows it and every later event, log writes are
performed later by a virtual disk and complete as `LogFlushed`. A disk that fails ends the process. What the world
decides (when a write completes, when the process ends) comes in as calls; this class decides nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

from controller_runtime.controller.service import Chance, ControllerConfig
from controller_runtime.identifiers import DirectoryId, Instant, NodeId, Offset, ReplicaKey, Uuid, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.records import decode_record
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
    LogFlushed,
    LogScrubbed,
    NodeEvent,
    RequestReceived,
    SnapshotFlushed,
    SnapshotGivenUp,
    SnapshotWritten,
    TimePassed,
)
from controller_runtime.node.faults import FAILED
from controller_runtime.node.snapshot_content import content
from controller_runtime.node.snapshots import SnapshotConfig
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.roles import Leader
from controller_runtime.raft.voter_set import VoterSet
from controller_runtime.storage import snapshot_writer
from controller_runtime.storage.errors import CorruptFile, DiskFailed
from controller_runtime.storage.formatting import load_bootstrap_values
from controller_runtime.storage.metadata_log import LogConfig, MetadataLog, PendingWrite
from controller_runtime.storage.quorum_state import QuorumState, load_quorum_state, save_quorum_state
from controller_runtime.storage.snapshot_writer import SnapshotWrite
from controller_runtime.values import replace
from support.simulation.disk import Crashed, SimDisk, SimFile
from support.simulation.fleet import CLUSTER_ID, DATA, LISTENER, LOG, Fleet, directory_of, endpoint_of

if TYPE_CHECKING:
    from support.simulation.world import World

__all__ = ["CLUSTER_ID", "DATA", "LISTENER", "LOG", "Fleet", "Machine", "directory_of", "endpoint_of"]


class Machine:
    def __init__(self, node_id: NodeId, fleet: Fleet, world: World, rng: Random) -> None:
        self.id = node_id
        self.fleet = fleet
        self.world = world
        self.rng = rng
        self.disk = SimDisk(rng)
        self.generation = 0
        """Which of this node's disks: a new disk has a new directory id."""
        self.contents = 0
        """Grows when the disk's content is replaced by another, older one: promises of before are not on it."""
        self.node: ControllerNode | None = None
        self.log: MetadataLog | None = None
        self.boots = 0
        self.rate = 1.0
        self.skew = rng.uniform(0, 1000)
        self.wall_skew = rng.randrange(-5000, 5000)
        self.paused_until = 0.0
        self.persisted: ElectionState | None = None
        self.flushed_at_stop = Offset(0)
        self._promised: ElectionState | None = None
        """The newest election state that is on disk for sure."""
        self.known_voters: list[VoterSet] = []
        """Every voter set that this node acted by, the newest last; also while it is down."""
        self.lost_at: dict[ReplicaKey, Offset] = {}
        """What its lost disks had held."""
        self.on_write: Callable[[], None] | None = None
        """What is to happen while this machine's next write is under way."""
        self._events: deque[NodeEvent] = deque()
        self._held: deque[NodeEffect] = deque()
        self._saving: SaveElection | None = None
        self._writing: PendingWrite | None = None
        self._snapshot: tuple[SnapshotWrite, TakeSnapshot] | None = None
        self._stepping = False
        self.taken: list[NodeEvent] = [TimePassed()]
        """The events of the last step, in order; a start counts as time that passed."""
        self.facts_seen: tuple[object, ...] = ()
        """What `facts` said when the invariants looked at this machine last."""
        self.format()

    # The machine's life.

    @property
    def directory(self) -> DirectoryId:
        return directory_of(self.id, self.generation)

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.id, self.directory)

    @property
    def content_key(self) -> tuple[NodeId, int]:
        """Names what this node may be held to: one content of one disk."""
        return self.id, self.contents

    def wipe(self) -> None:
        """A new disk, formatted anew with the same directory id."""
        self.disk.wipe()
        self.format()
        self.forget()

    def replace_disk(self) -> None:
        """The old disk is gone; the new one has another directory id, and knows no voters."""
        self.lost_at[self.key] = self.flushed_at_stop
        self.generation += 1
        self.wipe()
        self.known_voters = []

    def restore(self, backup: SimDisk) -> None:
        """The right directory, as it was some time ago."""
        self.disk = backup.copy()
        self.disk.rng = self.rng
        self.forget()

    def inherit(self, disk: SimDisk, end: Offset) -> None:
        """The disk of a node that was at work before this run; its log is whole up to there."""
        self.disk.take(disk)
        self.flushed_at_stop = end

    def forget(self) -> None:
        self.contents += 1
        self.flushed_at_stop = Offset(0)
        self._promised = None

    def format(self) -> None:
        self.fleet.format(self.disk, self.id, self.generation)

    @property
    def is_up(self) -> bool:
        return self.node is not None

    @property
    def is_holding(self) -> bool:
        """Effects wait for an election state to be on disk: the node knows more than its log."""
        return self._saving is not None or bool(self._held)

    @property
    def now(self) -> Instant:
        return Instant(self.world.time * self.rate + self.skew)

    def world_time(self, at: Instant) -> float:
        """When this machine's clock will show `at`."""
        return (at - self.skew) / self.rate

    def set_clock(self, now: float, rate: float) -> None:
        self.rate = rate
        self.skew = now - self.world.time * rate

    @property
    def wall(self) -> WallClock:
        return WallClock(1_795_000_000_000 + round(self.world.time * 1000) + self.wall_skew)

    @property
    def flushed_offset(self) -> Offset:
        """What this machine has on disk for sure."""
        return self.log.flushed_offset if self.log is not None else self.flushed_at_stop

    def facts(self) -> tuple[object, ...]:
        """All that invariants read after a step: while it stays the same, nothing can have been broken. A role's epoch
        and leader never change.
        """
        assert self.node is not None
        assert self.log is not None
        meta = self.node.meta
        q = meta.replica._q
        role, view, history, log = q.role, q.log, q.history, self.log
        return (
            self.boots,
            role,
            role.high_watermark if isinstance(role, Leader) else None,
            q.high_watermark,
            view.end_offset,
            view.start_offset,
            view.snapshots,
            log.end_offset,
            log.flushed_offset,
            log.start_offset,
            self._saving is None,
            self.persisted,
            len(history.sets),
            history.latest,
            self.node.is_active,
            meta.arrived_snapshot,
        )

    def boot(self) -> None:
        assert self.node is None, f"machine {self.id} is up"
        self.boots += 1
        self.taken = [TimePassed()]
        self.paused_until = 0.0
        self.on_write = None
        self.log = MetadataLog.open(self.disk, LOG, LogConfig(segment_bytes=self.fleet.segment_bytes, tail_bytes=4096))
        if self.log.end_offset < self.flushed_at_stop:
            self.world.violation(
                f"n{self.id} reported {self.flushed_at_stop} as flushed, its disk holds {self.log.end_offset}"
            )
        found = load_quorum_state(self.disk, LOG)
        self._check_promise(found)
        self.persisted = None if found is None else _from_file(found)
        self.node = ControllerNode(
            self._config(), self.log, self.log, self.persisted, self._chance(), self.rng.random, self.now
        )
        self._take(self.node.start(self.now, self.wall))
        self._settle()

    def _check_promise(self, found: QuorumState | None) -> None:
        """What was saved is there again, or something newer that was being saved."""
        told = self._promised
        if told is None:
            return
        voted = told.voted_key is not None and (found is None or found.voted_id != told.voted_key.node_id)
        if found is None or found.epoch < told.epoch or (found.epoch == told.epoch and voted):
            self.world.violation(f"n{self.id} had saved {told}, its disk says {found}")

    def _config(self) -> NodeConfig:
        timings = self.fleet.timings
        raft = RaftConfig(
            self.id,
            self.directory,
            LISTENER,
            ((LISTENER, endpoint_of(self.id)),),
            bootstrap=tuple(endpoint_of(voter) for voter in self.fleet.voters),
            election_timeout_ms=timings.election_timeout_ms,
            first_election_timeout_ms=timings.first_election_timeout_ms,
            fetch_timeout_ms=timings.fetch_timeout_ms,
            request_timeout_ms=timings.request_timeout_ms,
            retry_backoff_ms=timings.retry_backoff_ms,
            fetch_max_wait_ms=timings.fetch_max_wait_ms,
            high_watermark_linger_ms=(0, 5)[self.id % 2],
            fetch_max_bytes=self.fleet.fetch_bytes,
            snapshot_max_bytes=self.fleet.fetch_bytes,
            auto_join=self.fleet.auto_join,
        )
        records = _records(load_bootstrap_values(self.disk, DATA) or ())
        controller = ControllerConfig(self.id, CLUSTER_ID, records, no_op_interval_s=timings.no_op_interval_s)
        incarnation = Uuid(self.rng.randbytes(16))
        identity = ControllerIdentity(self.id, incarnation, ((LISTENER, endpoint_of(self.id), 0),))
        snapshots = SnapshotConfig(scrub_interval_ms=self.fleet.scrub_ms)
        if self.fleet.snapshot_bytes:
            retention = 2 * self.fleet.snapshot_bytes
            snapshots = replace(snapshots, max_new_bytes=self.fleet.snapshot_bytes, retention_bytes=retention)
        return NodeConfig(raft, controller, identity, self.fleet.static_voters(), snapshots)

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
        self._end()

    def rot(self, rng: Random) -> bool:
        """A bit of a closed segment turns over, if there is one: of what is committed, so that no truncation makes it
        the end of the log.
        """
        if self.log is None or self.node is None:
            return False
        committed = self.node.meta.high_watermark
        closed = [
            segment
            for segment in self.log._segments[:-1]
            if isinstance(segment.file, SimFile)
            and segment.end_offset <= committed
            and segment.file.durable_size() == segment.size > 0
        ]
        if not closed:
            return False
        self.disk.rot(rng.choice(closed).path, rng)
        return True

    def fail(self) -> None:
        """The process ends because its disk refused a write or a sync; nothing is tried again."""
        if self.node is not None and self.log is not None:
            self.flushed_at_stop = self.log.flushed_offset
        self.disk.kill()
        self._end()

    def _end(self) -> None:
        self.node = self.log = None
        self._events.clear()
        self._held.clear()
        self._saving = self._writing = self._snapshot = None

    def _interrupted_work(self) -> None:
        """What was under way got an arbitrary number of operations further."""
        self.disk.operations_left = self.rng.choice((0, 1, 1, 2, 3, self.rng.randrange(12)))
        try:
            if self._saving is not None:
                save_quorum_state(self.disk, LOG, _to_file(self._saving.state))
            if self._writing is not None:
                self._writing.perform()
            if self._snapshot is not None:
                self._snapshot[0].perform(content(self._snapshot[1]))
        except (Crashed, DiskFailed, snapshot_writer.SnapshotGivenUp):
            pass

    def stop(self) -> None:
        """The process ended by itself, after a clean shutdown."""
        assert self.log is not None
        try:
            if self._writing is not None:
                self._writing.perform()
                self.log.complete(self._writing)
            self.log.close()
        except DiskFailed as error:
            self.world.trace(f"n{self.id}: its last write failed: {error}")
        self.flushed_at_stop = self.log.flushed_offset
        self.disk.kill()
        self._end()

    # The driver.

    def feed(self, event: NodeEvent) -> None:
        """Give the node an event, when it is its turn."""
        if self.node is None:
            return
        self._events.append(event)
        self._settle()

    def _settle(self) -> None:
        """Step while there is something to step; then let the disk and the timer know."""
        world = self.world
        if self._stepping or world.time < self.paused_until:
            return
        self._stepping = True
        while self.node is not None and self._events and self._saving is None:
            event = self._events.popleft()
            if world.tracer is not None:
                world.trace_event(self, event)
            try:
                self._take(self._step(event))
            except CorruptFile as error:
                self._damaged(error)
                break
            world.after_step(self)
        self._stepping = False
        if self.node is not None:
            self._write_log()
            if self._saving is None:
                world.set_timer(self, self.node.next_deadline())

    def _step(self, event: NodeEvent) -> list[NodeEffect]:
        """As the driver: requests that wait one after another are stepped together."""
        assert self.node is not None
        self.taken = [event]
        if not isinstance(event, RequestReceived):
            return self.node.step(event, self.now, self.wall)
        together = [event]
        while self._events and isinstance(following := self._events[0], RequestReceived):
            together.append(following)
            self._events.popleft()
            if self.world.tracer is not None:
                self.world.trace_event(self, following)
        self.taken += together[1:]
        return self.node.step_requests(together, self.now, self.wall)

    def _damaged(self, error: CorruptFile) -> None:
        """What must be readable is not: the driver ends the process."""
        if not self.disk.is_rotten:
            raise error
        self.world.disk_failed(self, error)

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
            if self.world.tracer is not None:
                self.world.trace_effect(self, effect)
            self._perform(effect)

    def _perform(self, effect: NodeEffect) -> None:
        assert self.log is not None
        match effect:
            case Append(_, end_offset, batches):
                assert self.log.append(batches) == end_offset
            case Respond(request_id, body):
                self.world.respond(self, request_id, body)
            case Call():
                self.world.call(self, effect)
            case CancelCall(call_id):
                self.world.cancel(self, call_id)
            case SaveElection():
                self._saving = effect
                self._write(self._saved)
            case Truncate(end_offset):
                self.log.truncate(end_offset)
            case ResetLog(snapshot_id):
                self.log.reset(snapshot_id)
            case WriteSnapshot(snapshot_id, position, data, last):
                self.log.write_snapshot(snapshot_id, position, data, last=last)
            case DropSnapshotPart(snapshot_id):
                self.log.drop_snapshot_part(snapshot_id)
            case TakeSnapshot():
                self._take_snapshot(effect)
            case ShortenLog(snapshot_id):
                self.log.delete_before(snapshot_id)
            case RollLog():
                self.log.roll()
            case ScrubLog(max_bytes):
                self.world.later(0.01, self.while_up(lambda: self._scrub(max_bytes)))
            case CloseConnection():
                self.world.violation(f"machine {self.id} closed a connection")
            case Log(_, text):
                if (
                    FAILED in text
                ):  # an assertion of ours, paid for by a request: nobody here sends what could provoke one
                    raise AssertionError(f"n{self.id}: {text}")
            case Stop(reason, fault):
                self.world.stopped(self, reason, fault=fault)

    def while_up(self, action: Callable[[], None]) -> Callable[[], None]:
        """An action of this boot only."""
        boot = self.boots

        def run() -> None:
            if self.node is not None and self.boots == boot:
                action()

        return run

    def _saved(self) -> None:
        assert self._saving is not None
        try:
            save_quorum_state(self.disk, LOG, _to_file(self._saving.state))
        except DiskFailed as error:
            self.world.disk_failed(self, error)
            return
        self.persisted = self._promised = self._saving.state
        self.world.persisted(self)
        self._saving = None
        self._take([])
        self._settle()

    def _write_log(self) -> None:
        assert self.log is not None
        if self._writing is None:
            self._writing = self.log.take_pending_write()
            if self._writing is not None:
                self._write(self._written)

    def _write(self, done: Callable[[], None]) -> None:
        delay = self.world.disk_delay(self)
        if self.on_write is not None:
            action, self.on_write = self.on_write, None
            self.world.later(delay * self.rng.random(), self.while_up(action))
        self.world.later(delay, self.while_up(done))

    def _take_snapshot(self, asked: TakeSnapshot) -> None:
        """Beside the log, on a thread of its own (`server.snapshot_work`)."""
        assert self.log is not None
        write = self.log.begin_snapshot(asked.snapshot_id)
        if write is None:
            given_up = SnapshotGivenUp(asked.snapshot_id, "there is one, or the log begins later")
            self.world.later(0.0, self.while_up(lambda: self.feed(given_up)))
            return
        self._snapshot = write, asked
        delay = self.world.disk_delay(self) + self.world.disk_delay(self)
        self.world.later(delay, self.while_up(self._snapshot_written))

    def _scrub(self, max_bytes: int) -> None:
        assert self.log is not None
        found = self.log.begin_scrub(max_bytes)
        damage = None
        if found is not None:
            try:
                self.log.scrubbed(found, found.perform())
            except CorruptFile as error:
                damage = str(error)
        self.feed(LogScrubbed(damage))

    def _snapshot_written(self) -> None:
        assert self.log is not None
        assert self._snapshot is not None
        (write, asked), self._snapshot = self._snapshot, None
        try:
            size = write.perform(content(asked))
        except snapshot_writer.SnapshotGivenUp as error:
            self.feed(SnapshotGivenUp(asked.snapshot_id, str(error)))
            return
        except DiskFailed as error:
            self.world.disk_failed(self, error)
            return
        self.log.snapshot_written(write, size)
        self.feed(SnapshotWritten(asked.snapshot_id, size))

    def _written(self) -> None:
        assert self.log is not None
        assert self._writing is not None
        pending = self._writing
        try:
            pending.perform()
        except DiskFailed as error:
            self.world.disk_failed(self, error)
            return
        self._writing = None
        completed = self.log.complete(pending)
        for snapshot_id in completed.frozen_snapshots:
            self.feed(SnapshotFlushed(snapshot_id))
        if self.log is not None:
            self.feed(LogFlushed(self.log.flushed_offset))


@lru_cache(maxsize=16)
def _records(values: tuple[bytes, ...]) -> tuple[VersionedRecord, ...]:
    """Of a bootstrap checkpoint; the same ones at every start."""
    return tuple(decode_record(value) for value in values)


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
