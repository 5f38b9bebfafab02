"""From which replica a consumer had better read: one in its own rack (KIP-392, Kafka's RackAwareReplicaSelector).

Only the leader says so, of those in sync that have what is asked for. It serves itself whoever is in its own rack, in a
rack without a replica, or in none.
"""

from __future__ import annotations

from controller_runtime.broker.replication.led_replicas import LedReplicas
from controller_runtime.broker.replication.remote_replica import RemoteReplica
from controller_runtime.identifiers import Instant, NodeId
from controller_runtime.metadata.cluster import ClusterImage
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Reader:
    """Who asks, and where it would find a broker."""

    rack: str
    listener: str


def preferred_replica(
    leader: NodeId, replicas: LedReplicas, offset: int, reader: Reader, cluster: ClusterImage
) -> int | None:
    """The broker to read from at `offset`; None: the leader."""
    if not reader.rack or reader.rack == _rack(leader, reader, cluster):
        return None
    near = {
        broker: remote
        for broker, remote in replicas.remotes.items()
        if broker in replicas.isr
        and remote.start_offset <= offset <= remote.end_offset
        and _rack(NodeId(broker), reader, cluster) == reader.rack
    }
    return max(near, key=lambda broker: (*_rank(near[broker]), broker), default=None)


def _rank(remote: RemoteReplica) -> tuple[int, Instant]:
    """The most complete first, then who caught up last."""
    return remote.end_offset, remote.caught_up_at or Instant(0.0)


def _rack(broker: NodeId, reader: Reader, cluster: ClusterImage) -> str | None:
    found = cluster.unfenced(broker)
    return found.rack if found is not None and reader.listener in found.listeners else None
