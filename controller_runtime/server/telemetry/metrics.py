"""What a node shows at /metrics: Kafka's JMX names, as the Prometheus JMX exporter's usual rules write them.

`kafka.controller:type=KafkaController,name=ActiveControllerCount` becomes
`kafka_controller_kafkacontroller_activecontrollercount`, and an attribute of `kafka.server:type=raft-metrics` becomes
`kafka_server_raftmetrics_current_epoch`: lower case, dots and dashes to underscores. So dashboards and alerts made for
Apache Kafka work. What Kafka has no name for begins with `quorate_`. The facts come in as values; nothing is kept here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan, nan
from typing import Final

from controller_runtime.answers.api_versions import SUPPORTED_LEVELS
from controller_runtime.broker.fetch_sessions import SessionCounts
from controller_runtime.broker.share_facts import WORDS, ShareFacts
from controller_runtime.identifiers import METADATA_TOPIC_NAME
from controller_runtime.server.telemetry.api_meter import ApiFacts
from controller_runtime.server.telemetry.channel_facts import ChannelFacts
from controller_runtime.server.telemetry.facts import (
    AuthorizerFacts,
    ControllerFacts,
    LogFacts,
    NodeFacts,
    RaftFacts,
    SecurityFacts,
)
from controller_runtime.server.telemetry.image_facts import ACTIVE, CONTROLLED_SHUTDOWN, FENCED, ImageFacts
from controller_runtime.server.telemetry.measuring import Distribution, distribution_of
from controller_runtime.values import dataclass

BAD_ANSWERS: Final = dict.fromkeys(
    (
        *(("Fetch", reason) for reason in ("gap", "epoch", "corrupt batch", "malformed")),
        *(("FetchSnapshot", reason) for reason in ("corrupt snapshot", "malformed")),
        *((request, "malformed") for request in ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch")),
    ),
    0,
)
"""Shown from the start, because an increase is only seen by who saw the 0."""


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
    yield from _apis(facts.apis)
    yield from _peers(facts.raft)
    if facts.controller is not None:
        yield from _controller(facts, facts.controller)
    if facts.is_broker:
        yield from _broker(facts)
    yield from _metadata(facts)
    yield from _log(facts.raft, facts.log)
    for listener, count in sorted(facts.connections.items()):
        yield Sample(
            jmx_name("kafka.server", "socket-server-metrics", "connection-count"), count, (("listener", listener),)
        )
    yield from _secured(facts.secured)
    yield from _channel(facts.outgoing)
    yield Sample("process_resident_memory_bytes", facts.resident_bytes)
    yield Sample("process_start_time_seconds", facts.started_at_ms / 1000)
    for (request, doing), count in sorted({("all", "handled"): 0, **facts.failed_requests}.items()):
        yield Sample("quorate_failed_requests_total", count, (("request", request), ("while", doing)), "counter")
    for (request, said), count in sorted(facts.authorizations.items()):
        yield Sample("quorate_authorizations_total", count, (("request", request), ("said", said)), "counter")
    for authorizer in facts.authorizers:
        yield from _authorizer(authorizer)
    for name, value in sorted(facts.counters.items()):
        yield Sample(name, value, kind="counter")


def _authorizer(facts: AuthorizerFacts) -> Iterable[Sample]:
    """As a plugin's of Apache Kafka (KIP-877)."""
    whose = (("class", "StandardAuthorizer"), ("config", "authorizer.class.name"), ("role", facts.role))

    def named(attribute: str) -> str:
        return jmx_name("kafka.server", "plugins", attribute)

    yield Sample(named("authorization-request-rate-per-minute"), facts.allowed_rate + facts.denied_rate, whose)
    yield Sample(named("authorization-allowed-rate-per-minute"), facts.allowed_rate, whose)
    yield Sample(named("authorization-denied-rate-per-minute"), facts.denied_rate, whose)
    yield Sample(named("acls-total-count"), facts.acls, whose)


def _raft(raft: RaftFacts) -> Iterable[Sample]:
    def named(attribute: str) -> str:
        return jmx_name("kafka.server", "raft-metrics", attribute)

    yield Sample(named("current-state"), 1, (("current_state", raft.state),))
    yield Sample(named("current-epoch"), raft.epoch)
    yield Sample(named("current-leader"), _known(raft.leader_id))
    yield Sample(named("current-vote"), _known(raft.voted_id))
    if raft.voted_directory is not None:
        yield Sample(named("current-vote-directory-id"), 1, (("directory_id", raft.voted_directory),))
    yield Sample(named("high-watermark"), _known(raft.high_watermark))
    yield Sample(named("log-end-offset"), raft.log_end_offset)
    yield Sample(named("log-end-epoch"), raft.log_end_epoch)
    yield Sample(named("number-of-voters"), raft.voters)
    yield Sample(named("number-unknown-voter-connections"), raft.voters_without_address)
    if raft.observers is not None:
        yield Sample(named("number-of-observers"), raft.observers)
    if raft.uncommitted_voter_change is not None:
        yield Sample(named("uncommitted-voter-change"), int(raft.uncommitted_voter_change))
    for what, measured in (("commit-latency", raft.commit_latency_ms), ("election-latency", raft.election_latency_ms)):
        average, most = (nan, nan) if measured is None else measured
        yield Sample(named(f"{what}-avg"), average)
        yield Sample(named(f"{what}-max"), most)
    yield Sample(named("append-records-rate"), raft.append_rate)
    yield Sample(named("fetch-records-rate"), raft.fetch_rate)
    yield Sample(named("poll-idle-ratio-avg"), raft.idle_ratio)


def _secured(listeners: Mapping[str, SecurityFacts]) -> Iterable[Sample]:
    """Kafka counts a failed handshake as a failed authentication."""

    def named(attribute: str) -> str:
        return jmx_name("kafka.server", "socket-server-metrics", attribute)

    for listener, seen in sorted(listeners.items()):
        whose = (("listener", listener),)
        yield Sample(named("successful-authentication-total"), seen.successful, whose, "counter")
        yield Sample(named("failed-authentication-total"), seen.failed, whose, "counter")
        if seen.not_after is not None:
            yield Sample("quorate_certificate_end_timestamp_seconds", seen.not_after, whose)
        yield Sample("quorate_certificate_reloads_total", seen.reloads, whose, "counter")
        yield Sample("quorate_certificate_failed_reloads_total", seen.failed_reloads, whose, "counter")


NEVER_AUTHENTICATED: Final = (
    "failed-authentication",
    "failed-reauthentication",
    "successful-authentication",
    "successful-reauthentication",
)
"""Connections are plaintext: as on a plaintext connection of Kafka's, none of these ever happens."""


def _channel(outgoing: ChannelFacts) -> Iterable[Sample]:
    """Everything that this process asks of others."""

    def named(attribute: str) -> str:
        return jmx_name("kafka.server", "raft-channel-metrics", attribute)

    yield Sample(named("connection-count"), outgoing.open_connections)
    for sensor, total in outgoing.totals.items():
        yield Sample(named(f"{sensor}-total"), total, kind="counter")
        yield Sample(named(f"{sensor}-rate"), outgoing.rates[sensor])
    average, most = outgoing.request_size_avg, outgoing.request_size_max
    yield Sample(named("request-size-avg"), nan if average is None else average)
    yield Sample(named("request-size-max"), nan if most is None else most)
    for event in NEVER_AUTHENTICATED:
        yield Sample(named(f"{event}-total"), 0, kind="counter")
        yield Sample(named(f"{event}-rate"), 0)
    yield Sample(named("successful-authentication-no-reauth-total"), 0, kind="counter")
    yield Sample(named("reauthentication-latency-avg"), nan)
    yield Sample(named("reauthentication-latency-max"), nan)


def _apis(apis: tuple[ApiFacts, ...]) -> Iterable[Sample]:
    """A row of `parts.api_table` each, with the labels of Kafka's RequestMetrics and the role."""
    requests = jmx_name("kafka.network", "RequestMetrics", "RequestsPerSec") + "_count"
    for one in apis:
        for version, count in one.requests.items():
            labels = (("request", one.api), ("version", version), ("role", one.role))
            yield Sample(requests, count, labels, "counter")
    errors = jmx_name("kafka.network", "RequestMetrics", "ErrorsPerSec") + "_count"
    for one in apis:
        for error, count in sorted(one.errors.items()):
            yield Sample(errors, count, (("request", one.api), ("error", error), ("role", one.role)), "counter")
    for one in apis:
        whose = (("request", one.api), ("role", one.role))
        yield Sample("quorate_request_processor_seconds_total", one.seconds, whose, "counter")


def _peers(raft: RaftFacts) -> Iterable[Sample]:
    """What other nodes did that Kafka has no name for."""
    for (request, reason), count in sorted({**BAD_ANSWERS, **raft.bad_answers}.items()):
        labels = (("request", request), ("reason", reason))
        yield Sample("quorate_raft_bad_answers_total", count, labels, "counter")
    yield Sample("quorate_raft_diverging_fetches_total", raft.diverging_fetches, kind="counter")
    yield Sample("quorate_raft_refused_epochs_total", raft.refused_epochs, kind="counter")
    yield Sample("quorate_raft_impostors_total", raft.impostors, kind="counter")
    for replica in raft.replicas:
        who = (
            ("replica_id", str(replica.node_id)),
            ("directory_id", replica.directory_id),
            ("role", "voter" if replica.is_voter else "observer"),
        )
        yield Sample("quorate_raft_replica_lag", _known(replica.lag), who)
    for replica in raft.replicas:
        if replica.since_caught_up_s is not None:
            whose = (("replica_id", str(replica.node_id)), ("directory_id", replica.directory_id))
            yield Sample("quorate_raft_replica_seconds_since_caught_up", replica.since_caught_up_s, whose)


def _controller(facts: NodeFacts, controller: ControllerFacts) -> Iterable[Sample]:
    def named(name: str) -> str:
        return jmx_name("kafka.controller", "KafkaController", name)

    image, log = facts.image, facts.log
    yield Sample(named("ActiveControllerCount"), int(controller.is_active))
    yield Sample(named("ActiveBrokerCount"), image.brokers_in(ACTIVE) + image.brokers_in(CONTROLLED_SHUTDOWN))
    yield Sample(named("FencedBrokerCount"), image.brokers_in(FENCED))
    yield Sample(named("ControlledShutdownBrokerCount"), image.brokers_in(CONTROLLED_SHUTDOWN))
    for broker_id, state in sorted(image.brokers.items()):
        yield Sample(named("BrokerRegistrationState"), state, (("broker", str(broker_id)),))
    for broker_id, silence in sorted(controller.since_heartbeat_ms.items()):
        yield Sample(named("TimeSinceLastHeartbeatReceivedMs"), silence, (("broker", str(broker_id)),))
    yield Sample(named("GlobalTopicCount"), image.topics)
    yield Sample(named("GlobalPartitionCount"), image.partitions)
    yield Sample(named("OfflinePartitionsCount"), image.offline_partitions)
    yield Sample(named("PreferredReplicaImbalanceCount"), image.imbalanced_partitions)
    yield Sample(named("MetadataErrorCount"), log.failed_snapshots)
    yield Sample(named("IgnoredStaticVoters"), int(facts.raft.ignored_static_voters))
    yield Sample(named("LastCommittedRecordOffset"), _known(facts.raft.high_watermark, less=1))
    yield Sample(named("MetadataLag"), _behind(facts))
    latency, most = (nan, nan) if facts.raft.commit_latency_ms is None else facts.raft.commit_latency_ms
    yield Sample(named("MetadataCommitLatencyMs"), latency)
    yield Sample(named("MetadataCommitLatencyMs_max"), most)
    yield Sample(named("MetadataCommitRatePerSec"), facts.raft.commit_rate)
    yield Sample(
        named("MetadataSnapshotOffsetLag"), max(0, (facts.raft.high_watermark or 0) - facts.raft.snapshot_offset)
    )
    yield Sample(named("LastAppliedRecordOffset"), log.applied_offset)
    yield Sample(named("LastAppliedRecordTimestamp"), log.applied_timestamp_ms)
    yield Sample(named("LastAppliedRecordLagMs"), 0 if controller.is_active else log.lag_ms)
    yield Sample(named("NewActiveControllersCount"), facts.raft.new_leaders)
    yield Sample(named("EventQueueOperationsStartedCount"), controller.operations)
    yield Sample(named("EventQueueOperationsTimedOutCount"), controller.refused_operations)
    yield Sample(named("TimedOutBrokerHeartbeatCount"), controller.refused_heartbeats)
    for name, count in (
        ("UncleanLeaderElectionsPerSec", controller.unclean_elections),
        ("ElectionFromEligibleLeaderReplicasPerSec", controller.elections_from_elr),
    ):
        yield Sample(jmx_name("kafka.controller", "ControllerStats", name) + "_count", count, kind="counter")
    manager = "ControllerEventManager"
    yield Sample(jmx_name("kafka.controller", manager, "AvgIdleRatio"), facts.raft.idle_ratio)
    yield from _distribution(jmx_name("kafka.controller", manager, "EventQueueTimeMs"), controller.waiting)
    yield from _distribution(jmx_name("kafka.controller", manager, "EventQueueProcessingTimeMs"), controller.processing)


def _distribution(name: str, measured: Distribution) -> Iterable[Sample]:
    for quantile, value in measured.quantiles:
        yield Sample(name, value, (("quantile", f"{quantile:g}"),))
    yield Sample(f"{name}_count", measured.count, kind="counter")
    yield Sample(f"{name}_mean", measured.mean)
    yield Sample(f"{name}_max", measured.maximum)


def _broker(facts: NodeFacts) -> Iterable[Sample]:
    if facts.broker_state is not None:
        yield Sample(jmx_name("kafka.server", "KafkaServer", "BrokerState"), facts.broker_state)
    yield Sample(jmx_name("kafka.server", "ReplicaManager", "LeaderCount"), facts.leaders)
    yield Sample(jmx_name("kafka.server", "ReplicaManager", "PartitionCount"), facts.replicas)
    if facts.is_broker:
        counts = facts.in_sync
        yield Sample(jmx_name("kafka.server", "ReplicaManager", "UnderReplicatedPartitions"), counts.under_replicated)
        yield Sample(jmx_name("kafka.server", "ReplicaManager", "UnderMinIsrPartitionCount"), counts.under_min)
        yield Sample(jmx_name("kafka.server", "ReplicaManager", "AtMinIsrPartitionCount"), counts.at_min)
        late = jmx_name("kafka.server", "ReplicaManager", "PartitionsWithLateTransactionsCount")
        yield Sample(late, facts.late_transactions)
        yield from _fetch_sessions(facts.fetch_sessions)
        yield from _shared(facts.shared)
    if facts.batches is not None:
        yield from _distribution(
            jmx_name("kafka.server", "BrokerMetadataListener", "MetadataBatchSizes"), facts.batches.records
        )

    def named(attribute: str) -> str:
        return jmx_name("kafka.server", "broker-metadata-metrics", attribute)

    if facts.batches is not None:
        for attribute, measured, unit in (
            ("record-batch-size-byte", facts.batches.size_bytes, 1),
            ("pending-record-processing-time-us", facts.batches.replaying, 1000),
        ):
            yield Sample(named(f"{attribute}-avg"), measured.mean * unit if measured.count else nan)
            yield Sample(named(f"{attribute}-max"), measured.maximum * unit if measured.count else nan)
    yield Sample(jmx_name("kafka.controller", "KafkaServer", "MetadataLag"), _behind(facts))
    yield Sample(named("last-applied-record-offset"), facts.log.applied_offset)
    yield Sample(named("last-applied-record-timestamp"), facts.log.applied_timestamp_ms)
    yield Sample(named("last-applied-record-lag-ms"), facts.log.lag_ms)
    yield Sample(named("metadata-load-error-count"), 0)
    yield Sample(named("metadata-apply-error-count"), facts.log.failed_snapshots)
    yield Sample(named("ignored-static-voters"), int(facts.raft.ignored_static_voters))


def _fetch_sessions(counts: SessionCounts) -> Iterable[Sample]:
    cache = "FetchSessionCache"
    yield Sample(jmx_name("kafka.server", cache, "NumIncrementalFetchSessions"), counts.sessions)
    yield Sample(jmx_name("kafka.server", cache, "NumIncrementalFetchPartitionsCached"), counts.partitions)
    evictions = jmx_name("kafka.server", cache, "IncrementalFetchSessionEvictionsPerSec")
    yield Sample(f"{evictions}_count", counts.evictions, kind="counter")


def _shared(shared: ShareFacts) -> Iterable[Sample]:
    cache, topics, groups = "ShareSessionCache", "BrokerTopicMetrics", "ShareGroupMetrics"
    yield Sample(jmx_name("kafka.server", cache, "ShareSessionsCount"), shared.sessions)
    yield Sample(jmx_name("kafka.server", cache, "SharePartitionsCount"), shared.partitions)
    evictions = jmx_name("kafka.server", cache, "ShareSessionEvictionsPerSec")
    yield Sample(f"{evictions}_count", shared.evictions, kind="counter")
    for name, count in (
        ("TotalShareFetchRequestsPerSec", shared.fetches),
        ("FailedShareFetchRequestsPerSec", shared.failed_fetches),
        ("TotalShareAcknowledgementRequestsPerSec", shared.acknowledgements),
        ("FailedShareAcknowledgementRequestsPerSec", shared.failed_acknowledgements),
    ):
        yield Sample(jmx_name("kafka.server", topics, name) + "_count", count, kind="counter")
    records = jmx_name("kafka.server", groups, "RecordAcknowledgementsPerSec") + "_count"
    for word, name in WORDS.items():
        yield Sample(records, shared.records.get(word, 0), (("acktype", name),), "counter")
    took_ms = [seconds * 1000 for seconds in shared.last_loads_s]
    yield from _distribution(
        jmx_name("kafka.server", groups, "PartitionLoadTimeMs"), distribution_of(took_ms, shared.loads)
    )


def _metadata(facts: NodeFacts) -> Iterable[Sample]:
    image: ImageFacts = facts.image
    loader, emitter = "MetadataLoader", "SnapshotEmitter"
    yield Sample(jmx_name("kafka.server", loader, "AvgIdleRatio"), facts.raft.idle_ratio)
    yield Sample(jmx_name("kafka.server", loader, "CurrentMetadataVersion"), image.metadata_version)
    yield Sample(jmx_name("kafka.server", loader, "CurrentControllerId"), _known(facts.raft.leader_id))
    yield Sample(jmx_name("kafka.server", loader, "HandleLoadSnapshotCount"), facts.log.loaded_snapshots)
    for feature, level in sorted(image.finalized.items()):
        yield Sample(jmx_name("kafka.server", loader, "FinalizedLevel"), level, (("featurename", feature),))
    yield Sample(jmx_name("kafka.server", emitter, "LatestSnapshotGeneratedBytes"), facts.log.latest_snapshot_bytes)
    yield Sample(jmx_name("kafka.server", emitter, "LatestSnapshotGeneratedAgeMs"), facts.log.latest_snapshot_age_ms)
    for position, end in enumerate(("minimum", "maximum")):
        name = jmx_name("kafka.server", "node-metrics", f"{end}-supported-level")
        for feature, levels in sorted(SUPPORTED_LEVELS.items()):
            yield Sample(name, levels[position], (("feature_name", feature),))


def _log(raft: RaftFacts, log: LogFacts) -> Iterable[Sample]:
    labels = (("topic", METADATA_TOPIC_NAME), ("partition", "0"))
    yield Sample(jmx_name("kafka.log", "Log", "LogStartOffset"), raft.log_start_offset, labels)
    yield Sample(jmx_name("kafka.log", "Log", "LogEndOffset"), raft.log_end_offset, labels)
    flushes = jmx_name("kafka.log", "LogFlushStats", "LogFlushRateAndTimeMs")
    yield Sample(f"{flushes}_count", log.syncs, kind="counter")
    yield Sample("quorate_metadata_log_corruptions_total", log.damages, kind="counter")


def _behind(facts: NodeFacts) -> int:
    """Offsets that are committed and not yet replayed."""
    return max(0, (facts.raft.high_watermark or 0) - 1 - facts.log.applied_offset)


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
        shown = _number(sample.value)
        lines.append(f"{sample.name}{{{labels}}} {shown}" if labels else f"{sample.name} {shown}")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    if isnan(value):
        return "NaN"
    return str(int(value)) if value == int(value) else str(value)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
