"""What a leader knows of its quorum: DescribeQuorum, metrics, readiness."""

from __future__ import annotations

from controller_runtime.identifiers import Epoch, Instant, NodeId, Offset, ReplicaKey
from controller_runtime.raft.counters import Counters
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.replication import OBSERVER_SESSION_MS
from controller_runtime.raft.roles import Follower, Leader, Progress, Prospective, Resigned, Unattached
from controller_runtime.raft.voter_set import Listeners
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaDescription:
    key: ReplicaKey
    end_offset: Offset
    """-1 until its first fetch of this epoch."""
    last_fetch: Instant | None
    last_caught_up: Instant | None
    listeners: Listeners = ()


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    leader_id: NodeId
    epoch: Epoch
    high_watermark: Offset
    """-1 while nothing of this epoch is committed."""
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """One replica at one moment, in the words of Kafka's raft-metrics."""

    state: str
    """leader, candidate, prospective, prospective-voted, follower, observer, unattached, unattached-voted."""
    epoch: Epoch
    leader_id: NodeId | None
    voted: ReplicaKey | None
    high_watermark: Offset | None
    log_end_offset: Offset
    log_end_epoch: Epoch
    voters: int
    observers: int | None
    """Replicas that fetch and are no voters; known to the leader only."""
    uncommitted_voter_change: bool | None
    """The leader has written or is about to write a voter set that is not committed."""
    ignores_static_voters: bool
    """`controller.quorum.voters` is set, but the log says who votes."""
    counters: Counters


def status(q: Quorum, now: Instant) -> ReplicaStatus:
    leader = q.role if isinstance(q.role, Leader) else None
    return ReplicaStatus(
        _state(q),
        q.epoch,
        leader_id=q.leader_id,
        voted=q.vote_in(q.epoch),
        high_watermark=q.high_watermark,
        log_end_offset=q.log.end_offset,
        log_end_epoch=q.log.last_epoch,
        voters=len(q.voters),
        observers=None if leader is None else len(live_observers(q, leader, now)),
        uncommitted_voter_change=None if leader is None else _has_uncommitted_change(q, leader),
        ignores_static_voters=bool(q.history.static) and q.history.kraft_version > 0,
        counters=q.counters,
    )


def _state(q: Quorum) -> str:
    match q.role:
        case Unattached(voted=voted) | Prospective(voted=voted) if voted is not None:
            return f"{type(q.role).__name__.lower()}-voted"
        case Follower() if not q.is_voter:
            return "observer"
        case Resigned():
            return "unattached"
        case role:
            return type(role).__name__.lower()


def _has_uncommitted_change(q: Quorum, leader: Leader) -> bool:
    hw, changed_at = leader.high_watermark, q.history.latest_offset
    return leader.change is not None or (changed_at is not None and (hw is None or changed_at >= hw))


def live_observers(q: Quorum, leader: Leader, now: Instant) -> list[Progress]:
    """Those that fetched within the last five minutes."""
    return [p for _, p in sorted(leader.observers.items()) if q.after(p.last_contact, OBSERVER_SESSION_MS) > now]


def describe(q: Quorum, now: Instant) -> QuorumDescription | None:
    leader = q.role
    if not isinstance(leader, Leader):
        return None
    voters: list[ReplicaDescription] = []
    for voter in q.voters.voters:
        if voter.key.node_id == q.config.node_id:
            key = ReplicaKey(q.config.node_id, q.config.directory_id)
            voters.append(ReplicaDescription(key, q.log.end_offset, now, now, voter.listeners))
        else:
            voters.append(_of(leader.voters[voter.key.node_id]))
    observers = [_of(progress) for progress in live_observers(q, leader, now)]
    hw = Offset(-1) if leader.high_watermark is None else leader.high_watermark
    return QuorumDescription(q.config.node_id, leader.epoch, hw, tuple(voters), tuple(observers))


def _of(progress: Progress) -> ReplicaDescription:
    end = Offset(-1) if progress.end_offset is None else progress.end_offset
    return ReplicaDescription(progress.key, end, progress.last_fetch, progress.last_caught_up, progress.listeners)
