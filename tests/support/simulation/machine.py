"""One simulated machine: a disk, clocks, and the process that runs on it while it is up.

It formats the disk, starts a production node on it, and ends it in all the ways in which a process or a machine may
end. What the world decides (when it starts, when it ends and how) comes in as calls; this class decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from controller_runtime.broker.service import BrokerService
from controller_runtime.identifiers import (
    DirectoryId,
    Instant,
    NodeId,
    Offset,
    PartitionId,
    ReplicaKey,
    Uuid,
    WallClock,
)
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.node import Node
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.roles import Leader
from controller_runtime.raft.voter_set import VoterSet
from controller_runtime.storage.errors import DiskFailed
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.quorum_state import QuorumState, load_quorum_state, save_quorum_state
from controller_runtime.storage.snapshot_writer import SnapshotGivenUp
from support.simulation.composition import composed
from support.simulation.data_plane import DataPlane
from support.simulation.disk import Crashed, SimDisk, SimFile
from support.simulation.fleet import CLUSTER_ID, DATA, LISTENER, LOG, Fleet, directory_of, endpoint_of
from support.simulation.process import Process

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
        self.process: Process | None = None
        self.node: Node | None = None
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
        self.incarnation: Uuid | None = None
        """Of a broker that runs, or ran last."""
        self.refused = False
        """Its disk refused something that a broker had promised: it ends with a fault."""
        self.has_offline = False
        """Its disk refused to open the log of a partition."""
        self.losses: list[Mapping[PartitionId, int]] = []
        """Every time when what a broker had not flushed may have been lost: how far its partitions were."""
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
    def is_broker(self) -> bool:
        return self.id in self.fleet.brokers

    @property
    def broker(self) -> BrokerService | None:
        """While it is up, if it is one."""
        return self.node.broker.service if self.node is not None and self.node.broker is not None else None

    @property
    def data(self) -> DataPlane | None:
        return None if self.process is None else self.process.data

    @property
    def is_up(self) -> bool:
        return self.node is not None

    @property
    def is_saving(self) -> bool:
        return self.process is not None and self.process.pump.is_saving

    @property
    def is_holding(self) -> bool:
        """Effects wait for an election state to be on disk: the node knows more than its log."""
        return self.process is not None and self.process.pump.is_holding

    @property
    def taken(self) -> Sequence[NodeEvent]:
        """The events of the last step, in order; a start counts as time that passed."""
        assert self.process is not None
        return self.process.taken

    @property
    def taken_at(self) -> Instant:
        """When the last step began: where steps take time, before now."""
        assert self.process is not None
        return self.process.taken_at

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
            self.is_saving,
            self.persisted,
            len(history.sets),
            history.latest,
            self.node.is_active,
            meta.arrived_snapshot,
            self.node.image_offset,
            None if self.broker is None else self.broker.epoch,
        )

    def boot(self) -> None:
        assert self.node is None, f"machine {self.id} is up"
        self.boots += 1
        self.refused = self.has_offline = False
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
        data = DataPlane(self) if self.is_broker else None
        self.node = composed(self, self.log, data)
        self.process = Process(self, self.node, self.log, data)
        self.process.start()

    def _check_promise(self, found: QuorumState | None) -> None:
        """What was saved is there again, or something newer that was being saved."""
        told = self._promised
        if told is None:
            return
        voted = told.voted_key is not None and (found is None or found.voted_id != told.voted_key.node_id)
        if found is None or found.epoch < told.epoch or (found.epoch == told.epoch and voted):
            self.world.violation(f"n{self.id} had saved {told}, its disk says {found}")

    def kill(self, *, power_loss: bool) -> None:
        """The process ends now, perhaps in the middle of a write; with `power_loss` the machine ends too."""
        assert self.log is not None, f"machine {self.id} is down"
        self.flushed_at_stop = self.log.flushed_offset
        flushed = {} if self.data is None else self.data.flushed()
        self._interrupted_work()
        if power_loss:
            self.losses.append(flushed)
            self.disk.power_loss(self.rng)
        else:
            self.disk.kill()
        self._end()

    def rot(self, rng: Random) -> bool:
        """A bit of a closed segment turns over, if there is one: of what is committed, so that no truncation makes it
        the end of the log.
        """
        if self.log is None or self.node is None or self.is_broker:
            return False
        committed = self.node.meta.high_watermark
        closed = [
            segment
            for segment in self.log._log.segments[:-1]
            if self.disk.exists(segment.path)
            and isinstance(segment.file, SimFile)
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
        if self.data is not None:
            self.losses.append(self.data.flushed())
        self.disk.kill()
        self._end()

    def _end(self) -> None:
        if self.process is not None:
            self.process.end()
        self.node = self.log = self.process = None

    def _interrupted_work(self) -> None:
        """What was under way got an arbitrary number of operations further."""
        assert self.process is not None
        self.disk.operations_left = self.rng.choice((0, 1, 1, 2, 3, self.rng.randrange(12)))
        try:
            if self.process.saving is not None:
                save_quorum_state(self.disk, LOG, _to_file(self.process.saving))
            self.process.go_on_writing()
        except (Crashed, DiskFailed, SnapshotGivenUp):
            pass

    def stop(self) -> None:
        """The process ended by itself, after a clean shutdown."""
        assert self.log is not None
        assert self.process is not None
        try:
            self.process.finish()
        except DiskFailed as error:
            self.world.trace(f"n{self.id}: its last write failed: {error}")
        self.flushed_at_stop = self.log.flushed_offset
        self.disk.kill()
        self._end()

    # While it is up.

    def feed(self, event: NodeEvent) -> None:
        """Give the node an event, when it is its turn."""
        if self.process is not None:
            self.process.feed(event)

    def resume(self) -> None:
        if self.process is not None:
            self.process.run()

    def time_passed(self) -> None:
        if self.process is not None:
            self.process.time_passed()

    def while_up(self, action: Callable[[], None]) -> Callable[[], None]:
        """An action of this boot only."""
        process = self.process

        def run() -> None:
            if process is not None and self.process is process:
                action()

        return run

    def write(self, done: Callable[[], None]) -> None:
        """A write to its disk begins, and ends some time later."""
        delay = self.world.disk_delay(self)
        if self.on_write is not None:
            action, self.on_write = self.on_write, None
            self.world.later(delay * self.rng.random(), self.while_up(action))
        self.world.later(delay, self.while_up(done))

    def save(self, state: ElectionState) -> None:
        """Raises DiskFailed."""
        save_quorum_state(self.disk, LOG, _to_file(state))
        self.persisted = self._promised = state
        self.world.persisted(self)


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
