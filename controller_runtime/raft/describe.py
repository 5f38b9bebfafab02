"""What a leader tells about its quorum: DescribeQuorum, metrics, readiness."""

from __future__ import annotations

from controller_runtime.identifiers import Epoch, Instant, NodeId, Offset, ReplicaKey
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader, Progress
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
    observers = [_of(progress) for _, progress in sorted(leader.observers.items())]
    hw = Offset(-1) if leader.high_watermark is None else leader.high_watermark
    return QuorumDescription(q.config.node_id, leader.epoch, hw, tuple(voters), tuple(observers))


def _of(progress: Progress) -> ReplicaDescription:
    end = Offset(-1) if progress.end_offset is None else progress.end_offset
    return ReplicaDescription(progress.key, end, progress.last_fetch, progress.last_caught_up, progress.listeners)
