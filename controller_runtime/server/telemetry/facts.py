"""What a running node shows to its probes and metrics, read from the node when somebody asks.

`NodeFacts` are values of one moment; `metrics` gives them their names. `Observer` is what a process keeps between two
looks, to turn counters into rates.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from controller_runtime.broker.fetch_sessions import SessionCounts
from controller_runtime.broker.replication.in_sync_counts import InSyncCounts
from controller_runtime.broker.share_facts import ShareFacts
from controller_runtime.identifiers import NO_DIRECTORY, Instant
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.node import Node
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.server.telemetry.api_meter import ApiFacts, ApiMeter
from controller_runtime.server.telemetry.channel_facts import ChannelFacts, ChannelObserver
from controller_runtime.server.telemetry.image_facts import ImageCounter, ImageFacts
from controller_runtime.server.telemetry.measuring import Distribution, IdleShare, Rate, WatchedNode, distribution_of
from controller_runtime.values import dataclass, field

if TYPE_CHECKING:
    from controller_runtime.answers.rights.guard import Guard

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ReplicaFacts:
    """What a leader knows of another replica. None: it has not fetched yet."""

    node_id: int
    directory_id: str
    is_voter: bool
    lag: int | None
    since_caught_up_s: float | None


@dataclass(frozen=True, slots=True)
class RaftFacts:
    """The attributes of raft-metrics. None: unknown, shown as -1; an average of nothing is shown as NaN."""

    state: str
    epoch: int
    leader_id: int | None
    voted_id: int | None
    voted_directory: str | None
    high_watermark: int | None
    log_end_offset: int
    log_end_epoch: int
    voters: int
    log_start_offset: int = 0
    voters_without_address: int = 0
    observers: int | None = None
    """Known to the leader only, as in Kafka; so are the next two."""
    uncommitted_voter_change: bool | None = None
    replicas: tuple[ReplicaFacts, ...] = ()
    commit_latency_ms: tuple[float, float] | None = None
    election_latency_ms: tuple[float, float] | None = None
    append_rate: float = 0.0
    commit_rate: float = 0.0
    """Offsets that were committed, a second."""
    snapshot_offset: int = 0
    """Where the newest snapshot ends; 0: there is none."""
    fetch_rate: float = 0.0
    idle_ratio: float = 1.0
    ignored_static_voters: bool = False
    new_leaders: int = 0
    bad_answers: Mapping[tuple[str, str], int] = field(default_factory=dict)
    diverging_fetches: int = 0
    refused_epochs: int = 0
    impostors: int = 0


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What the image was made of, and what was made of it."""

    applied_offset: int
    """-1: nothing yet."""
    applied_timestamp_ms: int
    loaded_snapshots: int
    latest_snapshot_bytes: int
    latest_snapshot_age_ms: int
    failed_snapshots: int = 0
    damages: int = 0
    """Places on the disk that gave back other bytes than were written."""
    syncs: int = 0
    now_ms: int = 0

    @property
    def lag_ms(self) -> int:
        return max(0, self.now_ms - self.applied_timestamp_ms) if self.applied_timestamp_ms > 0 else 0


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """Of the batches that a broker replayed."""

    records: Distribution
    size_bytes: Distribution
    replaying: Distribution
    """Of steps that replayed any, while somebody watched; in milliseconds."""


@dataclass(frozen=True, slots=True)
class ControllerFacts:
    """What only a controller counts."""

    is_active: bool
    operations: int
    refused_operations: int
    refused_heartbeats: int
    unclean_elections: int
    elections_from_elr: int
    since_heartbeat_ms: Mapping[int, int]
    """Known to the active controller only."""
    processing: Distribution
    waiting: Distribution


@dataclass(frozen=True, slots=True)
class SecurityFacts:
    """Of a listener that speaks TLS."""

    successful: int
    """Handshakes that ended well."""
    failed: int
    not_after: int | None
    """When its certificate ends, in seconds since 1970."""
    reloads: int
    failed_reloads: int


@dataclass(frozen=True, slots=True)
class AuthorizerFacts:
    """Of one role."""

    role: str
    """`broker` or `controller`."""
    allowed_rate: float
    """Decisions in a minute, over the last one."""
    denied_rate: float
    acls: int
    """In the image that it decides by."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    node_id: int
    cluster_id: str
    raft: RaftFacts
    log: LogFacts
    image: ImageFacts
    controller: ControllerFacts | None
    is_broker: bool
    connections: Mapping[str, int]
    """Open connections by listener."""
    outgoing: ChannelFacts
    resident_bytes: int
    started_at_ms: int
    secured: Mapping[str, SecurityFacts] = field(default_factory=dict)
    """By listener."""
    broker_state: int | None = None
    """BrokerState's number: 0 not running, 1 starting, 2 recovery, 3 running, 6 pending controlled shutdown, 7 shutting
    down.
    """
    leaders: int = 0
    replicas: int = 0
    in_sync: InSyncCounts = InSyncCounts()
    """Of the partitions that it leads."""
    late_transactions: int = 0
    """Partitions of which one hangs."""
    fetch_sessions: SessionCounts = SessionCounts()
    shared: ShareFacts = ShareFacts()
    """Partitions that groups share."""
    batches: BatchFacts | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    failed_requests: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By API and by what was being done (see `node.faults`)."""
    authorizations: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By API, and whether the authorizer allowed or denied; none without one."""
    authorizers: tuple[AuthorizerFacts, ...] = ()
    apis: tuple[ApiFacts, ...] = ()
    """Of each role's table."""


class Observer:
    """What is kept between two looks at one process."""

    def __init__(self, node: Node, meter: ApiMeter) -> None:
        def listen(watching: bool) -> None:
            node.heard = meter.heard if watching else None

        self.node = WatchedNode(node, lambda: node.quorum.replayed_batches[0], meter, lambda: node.working_on, listen)
        self.images = ImageCounter()
        self._began = now = time.monotonic()
        self._appended, self._fetched = Rate(now), Rate(now)
        self._decided: dict[str, tuple[Rate, Rate]] = {}
        """Allowed and denied, by role."""
        self._committed: tuple[Rate, int] | None = None
        """And the high watermark at the first look."""
        self._idle = IdleShare()
        self.channel = ChannelObserver(now)
        self._counting = asyncio.Lock()

    @staticmethod
    def now() -> Instant:
        """The clock of the event loop, which drives the node."""
        return Instant(asyncio.get_running_loop().time())

    async def count(self, image: MetadataImage) -> ImageFacts:
        """Off the loop when it takes long; two at once would be in each other's way."""
        async with self._counting:
            if self.images.is_quick(image):
                return self.images.count(image)
            return await asyncio.to_thread(self.images.count, image)

    def authorizer(self, role: str, guard: Guard, acls: int) -> AuthorizerFacts:
        now, counts = self.now(), guard.authority
        allowed, denied = self._decided.setdefault(role, (Rate(self._began), Rate(self._began)))
        return AuthorizerFacts(
            role,
            60 * allowed.per_second(sum(counts.allowed.values()), now),
            60 * denied.per_second(sum(counts.denied.values()), now),
            acls,
        )

    def _commit_rate(self, high_watermark: int, now: float) -> float:
        if self._committed is None:
            self._committed = (Rate(now), high_watermark)
        rate, before = self._committed
        return rate.per_second(high_watermark - before, now)

    def raft(self, meta: MetadataReplica) -> RaftFacts:
        replica, meter, now = meta.replica, meta.meter, self.now()
        seen = replica.status(now)
        voted = seen.voted
        return RaftFacts(
            state=seen.state,
            epoch=seen.epoch,
            leader_id=seen.leader_id,
            voted_id=None if voted is None else voted.node_id,
            voted_directory=None if voted is None or voted.directory_id == NO_DIRECTORY else str(voted.directory_id),
            high_watermark=seen.high_watermark,
            log_end_offset=seen.log_end_offset,
            log_end_epoch=seen.log_end_epoch,
            log_start_offset=replica.log.start_offset,
            voters=seen.voters,
            voters_without_address=sum(v.endpoint(meta.config.listener) is None for v in replica.voters.voters),
            observers=seen.observers,
            uncommitted_voter_change=seen.uncommitted_voter_change,
            replicas=replica_facts(meta, now),
            commit_latency_ms=_in_ms(meter.commits.average_and_maximum(now)),
            election_latency_ms=_in_ms(meter.elections.average_and_maximum(now)),
            append_rate=self._appended.per_second(meter.appended_records, now),
            commit_rate=self._commit_rate(seen.high_watermark or 0, now),
            snapshot_offset=0 if replica.log.latest_snapshot is None else replica.log.latest_snapshot.offset,
            fetch_rate=self._fetched.per_second(meter.fetched_records, now),
            idle_ratio=self._idle.read(),
            ignored_static_voters=seen.ignores_static_voters,
            new_leaders=meter.new_leaders,
            bad_answers=dict(meter.bad_answers),
            diverging_fetches=meter.diverging_fetches,
            refused_epochs=seen.counters.refused_epochs,
            impostors=seen.counters.impostors,
        )


def _in_ms(seconds: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if seconds is None else (seconds[0] * 1000, seconds[1] * 1000)


def replica_facts(meta: MetadataReplica, now: Instant) -> tuple[ReplicaFacts, ...]:
    seen = meta.replica.describe(now)
    if seen is None:
        return ()
    end = meta.replica.log.end_offset
    return tuple(
        ReplicaFacts(
            one.key.node_id,
            str(one.key.directory_id),
            is_voter,
            None if one.end_offset < 0 else max(0, end - one.end_offset),
            None if one.last_caught_up is None else max(0.0, now - one.last_caught_up),
        )
        for is_voter, group in ((True, seen.voters), (False, seen.observers))
        for one in group
        if one.key.node_id != meta.config.node_id or not is_voter
    )


def log_facts(node: Node, syncs: int) -> LogFacts:
    quorum, keeper = node.quorum, node.upkeep.keeper
    return LogFacts(
        applied_offset=quorum.image_offset - 1,
        applied_timestamp_ms=quorum.applied_timestamp,
        loaded_snapshots=quorum.loaded_snapshots,
        latest_snapshot_bytes=keeper.latest_size_bytes,
        latest_snapshot_age_ms=int((Observer.now() - keeper.latest_at) * 1000),
        failed_snapshots=keeper.failures,
        damages=keeper.damages,
        syncs=syncs,
        now_ms=time.time_ns() // 1_000_000,
    )


def controller_facts(node: Node, observer: Observer) -> ControllerFacts | None:
    """None: the node is no controller."""
    controller, elections = node.controller, node.quorum.elections
    if controller is None:
        return None
    counters, silences = controller.counters, controller.silences(observer.now())
    while counters.waits_s:
        observer.node.waiting.add(counters.waits_s.popleft())
    return ControllerFacts(
        is_active=controller.is_active,
        operations=counters.operations,
        refused_operations=counters.refused_operations,
        refused_heartbeats=counters.refused_heartbeats,
        unclean_elections=elections.unclean,
        elections_from_elr=elections.from_elr,
        since_heartbeat_ms={broker_id: int(seconds * 1000) for broker_id, seconds in silences.items()},
        processing=observer.node.processing.distribution(),
        waiting=observer.node.waiting.distribution(),
    )


def batch_facts(node: Node, observer: Observer) -> BatchFacts:
    count, sizes = node.quorum.replayed_batches
    return BatchFacts(
        records=distribution_of([records for records, _ in sizes], count),
        size_bytes=distribution_of([size for _, size in sizes], count),
        replaying=observer.node.replaying.distribution(),
    )


def failed_requests(*parts: FailedRequests) -> dict[tuple[str, str], int]:
    """Of all parts of a process."""
    total: Counter[tuple[str, str]] = Counter()
    for part in parts:
        total.update(part.counts)
    return dict(total)


def authorizations(guards: Iterable[Guard]) -> dict[tuple[str, str], int]:
    """What the authorizer said, in all roles of a process."""
    total: Counter[tuple[str, str]] = Counter()
    for guard in guards:
        total.update(guard.authority.counts)
    return dict(total)


def resident_bytes() -> int:
    """RSS, as /proc has it."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE_BYTES
