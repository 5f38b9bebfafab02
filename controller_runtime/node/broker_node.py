"""A broker-only node: it follows the metadata log as an observer, and serves clients.

The metadata replica finds the quorum, fetches what is committed and keeps it; the image feed replays it; the broker
service does the rest. Long logs are replayed in pieces, one per step, so that clients are answered meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from controller_runtime.identifiers import Instant, Offset, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.broker_effects import BrokerEffect, BrokerEvent
from controller_runtime.node.broker_service import BrokerConfig, BrokerService, Effects
from controller_runtime.node.damage import DamageWatch
from controller_runtime.node.effects import NodeEffect, Stop
from controller_runtime.node.events import (
    CallFailed,
    ConnectionClosed,
    LogFlushed,
    LogScrubbed,
    NodeEvent,
    PeerDisconnected,
    RequestReceived,
    ResponseReceived,
    ShutdownRequested,
    SnapshotFlushed,
    SnapshotGivenUp,
    SnapshotWritten,
    TimePassed,
)
from controller_runtime.node.faults import UnreadableLog
from controller_runtime.node.image_feed import ImageFeed
from controller_runtime.node.metadata_replica import CallIds, MetadataReplica
from controller_runtime.node.ports import MetadataLogReader, SnapshotReader
from controller_runtime.node.snapshots import SnapshotConfig, SnapshotKeeper
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.voter_set import EMPTY, VoterSet
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class BrokerNodeConfig:
    raft: RaftConfig
    broker: BrokerConfig
    static_voters: VoterSet = EMPTY
    snapshots: SnapshotConfig = SnapshotConfig()


class BrokerNode:
    """Implements `ports.Node`; its effects are NodeEffect or BrokerEffect, its events NodeEvent or BrokerEvent."""

    def __init__(
        self,
        config: BrokerNodeConfig,
        log: MetadataLogReader,
        snapshots: SnapshotReader,
        stored: ElectionState | None,
        jitter: Callable[[], float],
        now: Instant,
    ) -> None:
        self.config = config
        calls = CallIds()
        cluster_id = config.broker.identity.cluster_id
        self.meta = MetadataReplica(
            config.raft, cluster_id, log, snapshots, stored, config.static_voters, jitter, now, calls
        )
        self.service = BrokerService(config.broker, calls, now)
        self._feed = ImageFeed(self.meta, snapshots)
        self.keeper = SnapshotKeeper(config.snapshots, self.meta, log, snapshots, now)
        self.damage = DamageWatch(config.snapshots.scrub_interval_ms, self.meta, self.keeper, now)
        self._wants_turn = False
        self._leaving = False
        self._stopped = False

    @property
    def image(self) -> MetadataImage:
        return self._feed.image.stable

    @property
    def image_offset(self) -> Offset:
        return self._feed.position

    @property
    def applied_timestamp(self) -> int:
        """The wall clock of the newest batch in the image, ms; -1: none."""
        return self._feed.last_timestamp

    @property
    def replayed_batches(self) -> tuple[int, Sequence[tuple[int, int]]]:
        """How many this process replayed, and the records and bytes of the newest; for metrics."""
        return self._feed.batches, self._feed.batch_sizes

    @property
    def loaded_snapshots(self) -> int:
        return self._feed.loaded_snapshots

    def start(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        self.meta.begin_step()
        return self._finish([*self.meta.start(now, wall)], now, wall)

    def step(self, event: NodeEvent | BrokerEvent, now: Instant, wall: WallClock) -> list[NodeEffect]:
        self.meta.begin_step()
        try:
            return self._finish(self._on_event(event, now, wall), now, wall)
        except UnreadableLog as unreadable:
            return [Stop(str(unreadable), fault=True)]

    def next_deadline(self) -> Instant | None:
        if self._wants_turn:
            return Instant(0.0)
        wanted = (
            self.meta.next_deadline(),
            self.service.next_deadline(),
            self.keeper.next_deadline(),
            self.damage.next_deadline(),
        )
        return min((at for at in wanted if at is not None), default=None)

    def _on_event(self, event: NodeEvent | BrokerEvent, now: Instant, wall: WallClock) -> Effects:
        match event:
            case RequestReceived():
                return self.service.on_request(event, now, wall)
            case ResponseReceived(call_id, _, body):
                if self.meta.owns(call_id):
                    return [*self.meta.response(call_id, body, now, wall)]
                return self.service.on_response(call_id, body, now) if self.service.owns(call_id) else []
            case CallFailed(call_id, why):
                if self.meta.owns(call_id):
                    return [*self.meta.failed(call_id, why, now, wall)]
                return self.service.on_failure(call_id, why, now) if self.service.owns(call_id) else []
            case PeerDisconnected(endpoint):
                return [*self.meta.peer_disconnected(endpoint, now, wall)]
            case LogFlushed(end_offset):
                return [*self.meta.flushed(end_offset, now, wall)]
            case SnapshotFlushed(snapshot_id):
                return [*self.meta.snapshot_flushed(snapshot_id, now, wall)]
            case SnapshotWritten(snapshot_id, size_bytes):
                return [*self.keeper.written(snapshot_id, size_bytes, now, wall)]
            case SnapshotGivenUp(snapshot_id, reason):
                return [*self.keeper.given_up(snapshot_id, reason)]
            case LogScrubbed(damage):
                return [*self.damage.scrubbed(damage, now)]
            case TimePassed():
                return [*self.meta.tick(now, wall)]
            case ShutdownRequested():
                self.service.shut_down(now)
                return []
            case ConnectionClosed(connection_id):
                self.service.on_connection_closed(connection_id)
                return []
            case _:
                return self.service.on_data(event, now, wall)

    def _finish(self, out: Effects, now: Instant, wall: WallClock) -> list[NodeEffect]:
        feed = self._feed
        self._wants_turn = feed.advance()
        out += self.damage.poll(now)
        out += self.keeper.poll(feed.image, feed.position, feed.last_timestamp, feed.replayed_bytes, now, wall)
        replica = self.meta.replica
        controller = replica.leader_endpoint(self.config.raft.listener)
        out += self.service.metadata_moved(
            self.image, self._feed.position, replica.voter_history.kraft_version, controller, now, wall
        )
        out += self.service.poll(now)
        if self.service.has_left and not self._leaving:
            self._leaving = True
            out += self.meta.shutdown(now, wall)
        if self._leaving and self.meta.ready_to_stop and not self._stopped:
            self._stopped = True
            out.append(Stop("shut down"))
        return as_node_effects(out)


def as_node_effects(effects: list[NodeEffect | BrokerEffect]) -> list[NodeEffect]:
    """The shell of a broker knows both kinds (see `driver.DataPlane`); the type of `ports.Node` names the
    common one.
    """
    return cast("list[NodeEffect]", effects)
