"""What the admin client answers: plain values, in Kafka's words. Nothing here knows the wire."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, NodeId, Offset, Uuid
from controller_runtime.protocol.api_errors import ApiError
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class ReplicaDescription:
    """One replica of the metadata log, as its leader sees it. Times are wall-clock milliseconds, -1 when it never
    fetched.
    """

    replica_id: NodeId
    directory_id: DirectoryId
    log_end_offset: Offset
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    leader_id: NodeId
    leader_epoch: Epoch
    high_watermark: Offset
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]
    endpoints: Mapping[NodeId, Mapping[str, Endpoint]]
    """Of the voters: listener name -> address."""

    def leader(self) -> ReplicaDescription | None:
        return next((one for one in (*self.voters, *self.observers) if one.replica_id == self.leader_id), None)


@dataclass(frozen=True, slots=True)
class NodeDescription:
    node_id: NodeId
    endpoint: Endpoint
    rack: str | None = None
    is_fenced: bool = False


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str
    controller_id: NodeId
    """The active controller where controllers were asked; some broker where brokers were asked; -1: unknown."""
    nodes: tuple[NodeDescription, ...]
    """Brokers, or controllers: those of the kind that was asked."""


@dataclass(frozen=True, slots=True)
class FeaturesDescription:
    supported: Mapping[str, tuple[int, int]]
    finalized: Mapping[str, int]
    finalized_epoch: int
    api_versions: Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """A finalized level that is wanted. `kind` is UpdateFeatures' number: 1 upgrade, 2 safe downgrade, 3 unsafe
    downgrade.
    """

    feature: str
    level: int
    kind: int = 1


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    num_partitions: int = -1
    """-1: the cluster's default."""
    replication_factor: int = -1
    replicas: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Partition -> brokers; with it the two numbers stay -1."""
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    index: int
    leader: int
    """-1: none."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    """None: the node asked does not say."""
    last_known_elr: tuple[int, ...] | None = None
    offline_replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    topic_id: Uuid
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A partition whose replicas are on the move."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    """All that have it meanwhile."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    name: str
    value: str | None
    source: int
    """DescribeConfigs' number: 1 topic, 2 broker, 3 brokers' default, 4 static file, 5 Kafka's default."""
    is_sensitive: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ConfigResource:
    kind: int
    """2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group."""
    name: str


@dataclass(frozen=True, slots=True)
class ConfigChange:
    name: str
    value: str | None
    operation: int = 0
    """0 set, 1 delete, 2 append, 3 subtract."""


@dataclass(frozen=True, slots=True)
class LeaderSeen:
    """Whom a node takes for the leader of the metadata log, as its answer to a fetch that counts for nothing says."""

    leader_id: NodeId
    """-1: it knows none."""
    epoch: Epoch
    endpoint: Endpoint | None
    high_watermark: Offset
    """-1: unknown to it (a follower does not tell)."""


@dataclass(frozen=True, slots=True)
class ReplicaOnDisk:
    size_bytes: int
    offset_lag: int
    is_future: bool
    """It is being moved here from another directory of its broker."""


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    path: str
    error: ApiError | None
    replicas: Mapping[tuple[str, int], ReplicaOnDisk]
    usable_bytes: int = -1
    """-1: it does not say."""
