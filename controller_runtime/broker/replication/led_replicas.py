"""The replicas of a partition that this broker leads: who is in sync, who was asked to be, and the high watermark.

The ISR changes only when the controller says so (KIP-497). Until it has answered, both outcomes are reckoned with: the
high watermark waits for everybody who is in the ISR or may be by now (the maximal ISR), and no second change is asked
for. What is committed comes from two sides, the answer and the image; the partition epoch says which is newer.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.replication.remote_replica import UNKNOWN, RemoteReplica
from controller_runtime.identifiers import Instant, NodeId
from controller_runtime.metadata.cluster import ClusterImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.values import dataclass, field

ANY_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else decides, beside the replicas themselves."""

    now: Instant
    cluster: ClusterImage
    max_lag_s: float
    """`replica.lag.time.max.ms`."""
    min_in_sync: int
    """`min.insync.replicas` of the topic."""

    def may_join(self, follower: int, remote: RemoteReplica) -> bool:
        """Unfenced, not on its way out, and the incarnation that fetched is the one that is registered (KIP-841,
        KIP-903).
        """
        broker = self.cluster.unfenced(follower)
        if broker is None or broker.in_controlled_shutdown or remote.broker_epoch is None:
            return False
        return remote.broker_epoch in (ANY_EPOCH, broker.epoch)


@dataclass(frozen=True, slots=True)
class IsrChange:
    """What the controller is asked for."""

    leader_epoch: int
    partition_epoch: int
    """The state that it was made of."""
    members: tuple[tuple[int, int], ...]
    """Broker ids with the epochs of the incarnations that are meant; -1: any."""

    @property
    def isr(self) -> tuple[int, ...]:
        return tuple(broker for broker, _ in self.members)


@dataclass(slots=True)
class LedReplicas:
    """Of a partition without others, all is as it was made."""

    epoch: int = -1
    epoch_start: int = 0
    """Where the leader epoch begins in the log."""
    partition_epoch: int = -1
    isr: tuple[int, ...] = ()
    """As it is committed."""
    pending: IsrChange | None = None
    remotes: dict[int, RemoteReplica] = field(default_factory=dict)

    def begin(self, node_id: NodeId, partition: Partition, epoch_start: int, now: Instant, *, led: bool) -> None:
        """A leader epoch. `led`: this broker led the one before, too."""
        self.epoch, self.epoch_start = partition.leader_epoch, epoch_start
        self.partition_epoch = -1
        self.see(node_id, partition)
        for broker, remote in self.remotes.items():
            remote.begin(now, in_sync=broker in partition.isr, forget=not led)

    def see(self, node_id: NodeId, partition: Partition) -> None:
        """What is committed, if it is not older than what is known: the answer to a change may have come first."""
        if partition.partition_epoch < self.partition_epoch:
            return
        others = [broker for broker in partition.replicas if broker != node_id]
        if list(self.remotes) != others:
            self.remotes = {broker: self.remotes.get(broker) or RemoteReplica() for broker in others}
        self.isr, self.partition_epoch, self.pending = partition.isr, partition.partition_epoch, None

    @property
    def maximal_isr(self) -> frozenset[int]:
        """Who is in sync, or may be as soon as the controller has answered."""
        return frozenset(self.isr if self.pending is None else (*self.isr, *self.pending.isr))

    def needed(self, min_in_sync: int) -> int:
        """As in Kafka no more are asked for than there are."""
        return min(min_in_sync, len(self.remotes) + 1)

    def high_watermark(self, own_end: int, around: Surroundings) -> int:
        """How far everybody is who counts; UNKNOWN if that cannot be said, or too few are in sync to promise anything
        (KIP-966).
        """
        if not self.remotes:
            return own_end
        if len(self.isr) < self.needed(around.min_in_sync):
            return UNKNOWN
        awaited = self.maximal_isr
        reached = own_end
        for broker, remote in self.remotes.items():
            if remote.end_offset < reached and (broker in awaited or self._is_joining(broker, remote, own_end, around)):
                reached = remote.end_offset
        return reached

    def low_watermark(self, own_start: int, cluster: ClusterImage) -> int:
        """No replica that is alive has records below it. Who has not told yet has deleted nothing."""
        starts = (remote.start_offset for broker, remote in self.remotes.items() if cluster.unfenced(broker))
        return min(own_start, min(starts, default=own_start))

    def _is_joining(self, broker: int, remote: RemoteReplica, own_end: int, around: Surroundings) -> bool:
        """It is about to be asked for: the high watermark does not run away from it."""
        caught_up = remote.is_caught_up(own_end, around.now, around.max_lag_s)
        return caught_up and around.may_join(broker, remote)

    def expand(self, follower: int, high_watermark: int, around: Surroundings) -> IsrChange | None:
        """A follower that has all that consumers may see, and the beginning of this epoch (KAFKA-7128), joins."""
        remote = self.remotes[follower]
        if self.pending is not None or follower in self.isr or not around.may_join(follower, remote):
            return None
        if remote.end_offset < max(high_watermark, self.epoch_start):
            return None
        return self._ask((*self.isr, follower))

    def shrink(self, own_end: int, around: Surroundings) -> IsrChange | None:
        """Whoever was not caught up for too long leaves."""
        if self.pending is not None:
            return None
        kept = [
            broker
            for broker in self.isr
            if broker not in self.remotes or self.remotes[broker].is_caught_up(own_end, around.now, around.max_lag_s)
        ]
        return self._ask(tuple(kept)) if len(kept) < len(self.isr) else None

    def _ask(self, isr: tuple[int, ...]) -> IsrChange:
        members = tuple((broker, self._epoch_of(broker)) for broker in isr)
        self.pending = IsrChange(self.epoch, self.partition_epoch, members)
        return self.pending

    def _epoch_of(self, broker: int) -> int:
        remote = self.remotes.get(broker)
        return ANY_EPOCH if remote is None or remote.broker_epoch is None else remote.broker_epoch

    def granted(self, isr: tuple[int, ...], leader_epoch: int, partition_epoch: int) -> None:
        """An answer that is about another epoch, or older than the image, says nothing."""
        if leader_epoch == self.epoch and partition_epoch >= self.partition_epoch:
            self.isr, self.partition_epoch, self.pending = isr, partition_epoch, None

    def taken_back(self) -> None:
        """The controller did not do it, and never will."""
        self.pending = None
