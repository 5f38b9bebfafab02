"""What a node shows at /metrics: Kafka's JMX names, as the Prometheus JMX exporter's usual rules write them.

`kafka.controller:type=KafkaController,name=ActiveControllerCount` becomes `kafka_controller_kafkacontroller_activecontrollercount`, and an
attribute of `kafka.server:type=raft-metrics` becomes `kafka_server_raftmetrics_current_epoch`: lower case, dots and dashes to
underscores. So dashboards and alerts made for Apache Kafka work. The facts come in as values; nothing is kept here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class RaftFacts:
    """The attributes of raft-metrics. None: unknown, shown as -1."""

    state: str
    epoch: int
    leader_id: int | None
    voted_id: int | None
    high_watermark: int | None
    log_end_offset: int
    log_end_epoch: int
    voters: int
    observers: int | None
    """Known to the leader only, as in Kafka."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What the committed image of the cluster holds."""

    active_brokers: int
    fenced_brokers: int
    topics: int
    partitions: int
    offline_partitions: int
    metadata_version: int
    finalized: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    node_id: int
    cluster_id: str
    raft: RaftFacts
    image: ImageFacts
    is_controller: bool
    is_broker: bool
    connections: Mapping[str, int]
    """Open connections by listener."""
    resident_bytes: int
    started_at_ms: int
    broker_state: int | None = None
    """BrokerState's number: 0 not running, 1 starting, 2 recovery, 3 running, 6 pending controlled shutdown, 7 shutting down."""
    leaders: int = 0
    replicas: int = 0
    counters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()
    kind: str = "gauge"


def jmx_name(domain: str, kind: str, name: str) -> str:
    """`kafka.server`, `raft-metrics`, `current-epoch` -> `kafka_server_raftmetrics_current_epoch`."""
    bean = kind.replace("-", "")
    return f"{domain}_{bean}_{name}".replace(".", "_").replace("-", "_").lower()


def samples(facts: NodeFacts) -> Iterable[Sample]:
    yield from _raft(facts.raft)
    if facts.is_controller:
        yield from _controller(facts)
    if facts.is_broker:
        yield from _broker(facts)
    loader = "MetadataLoader"
    yield Sample(jmx_name("kafka.server", loader, "CurrentMetadataVersion"), facts.image.metadata_version)
    yield Sample(jmx_name("kafka.server", loader, "CurrentControllerId"), _known(facts.raft.leader_id))
    for feature, level in sorted(facts.image.finalized.items()):
        yield Sample(jmx_name("kafka.server", loader, "FinalizedLevel"), level, (("featurename", feature),))
    for listener, count in sorted(facts.connections.items()):
        yield Sample(
            jmx_name("kafka.server", "socket-server-metrics", "connection-count"), count, (("listener", listener),)
        )
    yield Sample("process_resident_memory_bytes", facts.resident_bytes)
    yield Sample("process_start_time_seconds", facts.started_at_ms / 1000)
    for name, value in sorted(facts.counters.items()):
        yield Sample(name, value, kind="counter")


def _raft(raft: RaftFacts) -> Iterable[Sample]:
    def named(attribute: str) -> str:
        return jmx_name("kafka.server", "raft-metrics", attribute)

    yield Sample(named("current-state"), 1, (("current_state", raft.state),))
    yield Sample(named("current-epoch"), raft.epoch)
    yield Sample(named("current-leader"), _known(raft.leader_id))
    yield Sample(named("current-vote"), _known(raft.voted_id))
    yield Sample(named("high-watermark"), _known(raft.high_watermark))
    yield Sample(named("log-end-offset"), raft.log_end_offset)
    yield Sample(named("log-end-epoch"), raft.log_end_epoch)
    yield Sample(named("number-of-voters"), raft.voters)
    if raft.observers is not None:
        yield Sample(named("number-of-observers"), raft.observers)


def _controller(facts: NodeFacts) -> Iterable[Sample]:
    def named(name: str) -> str:
        return jmx_name("kafka.controller", "KafkaController", name)

    is_active = facts.raft.leader_id == facts.node_id
    yield Sample(named("ActiveControllerCount"), int(is_active))
    yield Sample(named("ActiveBrokerCount"), facts.image.active_brokers)
    yield Sample(named("FencedBrokerCount"), facts.image.fenced_brokers)
    yield Sample(named("GlobalTopicCount"), facts.image.topics)
    yield Sample(named("GlobalPartitionCount"), facts.image.partitions)
    yield Sample(named("OfflinePartitionsCount"), facts.image.offline_partitions)
    yield Sample(named("LastCommittedRecordOffset"), _known(facts.raft.high_watermark, less=1))


def _broker(facts: NodeFacts) -> Iterable[Sample]:
    if facts.broker_state is not None:
        yield Sample(jmx_name("kafka.server", "KafkaServer", "BrokerState"), facts.broker_state)
    yield Sample(jmx_name("kafka.server", "ReplicaManager", "LeaderCount"), facts.leaders)
    yield Sample(jmx_name("kafka.server", "ReplicaManager", "PartitionCount"), facts.replicas)


def _known(value: int | None, less: int = 0) -> int:
    return -1 if value is None else value - less


def render(every: Iterable[Sample]) -> str:
    """Prometheus' text format, version 0.0.4."""
    lines: list[str] = []
    before = ""
    for sample in every:
        if sample.name != before:
            lines.append(f"# TYPE {sample.name} {sample.kind}")
            before = sample.name
        labels = ",".join(f'{name}="{_escape(value)}"' for name, value in sample.labels)
        value = int(sample.value) if sample.value == int(sample.value) else sample.value
        lines.append(f"{sample.name}{{{labels}}} {value}" if labels else f"{sample.name} {value}")
    return "\n".join(lines) + "\n"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
