from __future__ import annotations

import re
from dataclasses import replace
from math import isnan
from pathlib import Path

import pytest

from controller_runtime.broker.share_facts import ShareFacts
from controller_runtime.network.client_pool import PoolCounts
from controller_runtime.server.telemetry.api_meter import ApiFacts
from controller_runtime.server.telemetry.channel_facts import ChannelObserver
from controller_runtime.server.telemetry.facts import (
    AuthorizerFacts,
    BatchFacts,
    ControllerFacts,
    LogFacts,
    NodeFacts,
    RaftFacts,
    ReplicaFacts,
)
from controller_runtime.server.telemetry.image_facts import ACTIVE, CONTROLLED_SHUTDOWN, FENCED, ImageFacts
from controller_runtime.server.telemetry.measuring import Durations, distribution_of
from controller_runtime.server.telemetry.metrics import Sample, jmx_name, render, samples

pytestmark = pytest.mark.unit

DIRECTORY = "VucBj5VPQqWvCFTwdZDVRg"
RAFT = RaftFacts(
    state="leader", epoch=7, leader_id=1, voted_id=1, voted_directory=DIRECTORY, high_watermark=100, log_end_offset=103,
    log_end_epoch=7, voters=3, observers=2, uncommitted_voter_change=True,
    replicas=(ReplicaFacts(2, DIRECTORY, True, 5, 0.5), ReplicaFacts(3, DIRECTORY, True, None, None)),
    commit_latency_ms=(1.5, 4.0), bad_answers={("Fetch", "gap"): 2},
)  # fmt: skip
LOG = LogFacts(
    applied_offset=99, applied_timestamp_ms=1_795_220_000_000, loaded_snapshots=1, latest_snapshot_bytes=4096,
    latest_snapshot_age_ms=60_000, failed_snapshots=1, syncs=12, now_ms=1_795_220_000_250,
)  # fmt: skip
IMAGE = ImageFacts(
    brokers={11: ACTIVE, 12: ACTIVE, 13: FENCED, 14: CONTROLLED_SHUTDOWN}, topics=2, partitions=8, offline_partitions=1,
    metadata_version=30, finalized={"metadata.version": 30}, imbalanced_partitions=2,
)  # fmt: skip
CONTROLLER = ControllerFacts(
    is_active=True, operations=9, refused_operations=2, refused_heartbeats=1, unclean_elections=4, elections_from_elr=5,
    since_heartbeat_ms={11: 250}, processing=Durations().distribution(), waiting=Durations().distribution(),
)  # fmt: skip
CHANNEL = ChannelObserver(0.0).read(PoolCounts(2, 5, 900, 3, 890, 90_000, 300_000, 1800, 4000), 10.0)
FACTS = NodeFacts(
    node_id=1, cluster_id="c", raft=RAFT, log=LOG, image=IMAGE, controller=CONTROLLER, is_broker=True,
    connections={"CONTROLLER": 4}, outgoing=CHANNEL, resident_bytes=35_000_000, started_at_ms=1_795_220_000_500,
    broker_state=3, leaders=5,
    apis=(ApiFacts("Vote", "controller", {"2": 9}, {"INVALID_REQUEST": 3}, 0.25),),
    authorizers=(AuthorizerFacts("broker", 90.0, 6.0, 40),),
    replicas=6, batches=BatchFacts(distribution_of([1, 1, 8], 90), distribution_of([80, 240], 90),
        distribution_of([0.5, 1.5], 2)),
)  # fmt: skip
SAID = ("request", "allowed", "denied")
BESIDE_A_VALUE = ("_count", "_mean", "_max")
"""What the exporter adds to the name of a meter or a histogram."""


OF_KIPS_ONLY = {
    *(jmx_name("kafka.controller", kind, "MetadataLag") for kind in ("KafkaController", "KafkaServer")),
    *(
        jmx_name("kafka.controller", "KafkaController", f"Metadata{rest}")
        for rest in ("CommitLatencyMs", "CommitRatePerSec", "SnapshotOffsetLag")
    ),
    *(
        jmx_name("kafka.server", "broker-metadata-metrics", f"{name}-{which}")
        for name in ("record-batch-size-byte", "pending-record-processing-time-us")
        for which in ("avg", "max")
    ),
}
"""KIP-631 and KIP-835 name them, Kafka 4.3.1 has none of them."""
OF_PLUGINS = {
    *(jmx_name("kafka.server", "plugins", f"authorization-{said}-rate-per-minute") for said in SAID),
    jmx_name("kafka.server", "plugins", "acls-total-count"),
}
"""Of StandardAuthorizer (KIP-877); the Kafka that was listed ran without one."""


def value(facts: NodeFacts, domain: str, kind: str, name: str, **labels: str) -> float:
    wanted = jmx_name(domain, kind, name)
    return next(s.value for s in samples(facts) if s.name == wanted and dict(s.labels) == labels)


def names_of_kafka() -> set[str]:
    """Every JMX name of a running Kafka 4.3.1, as the exporter writes it."""
    translated = set()
    text = (Path(__file__).parent / "testdata" / "kafka-4.3.1-metrics.txt").read_text()
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        _, bean, *attributes = line.split(None, 2)
        domain, _, keys = bean.partition(":")
        parts = dict(key.split("=", 1) for key in keys.split(","))
        if "name" in parts:
            translated.add(jmx_name(domain, parts["type"], parts["name"]))
        elif attributes:
            translated |= {jmx_name(domain, parts["type"], one) for one in re.split(r",\s*", attributes[0])}
    return translated


def test_every_metric_of_kafka_that_we_show_has_the_name_of_kafka() -> None:
    ours = {sample.name for sample in samples(FACTS) if sample.name.startswith("kafka_")}
    kafka = names_of_kafka()
    assert len(ours) > 60
    known = kafka | OF_KIPS_ONLY | OF_PLUGINS
    assert ours - known - {f"{name}{suffix}" for name in known for suffix in BESIDE_A_VALUE} == set()
    assert (OF_KIPS_ONLY | OF_PLUGINS) - ours == set()


def test_no_name_of_the_quorums_kips_is_missing() -> None:
    """KIP-595 (raft-metrics), KIP-631 and KIP-835 (KafkaController, MetadataLoader, SnapshotEmitter,
    broker-metadata-metrics), KIP-853.
    """
    beans = [*("raftmetrics", "kafkacontroller", "controllereventmanager"), *("metadataloader", "snapshotemitter")]
    beans += ["brokermetadatametrics", "nodemetrics", "raftchannelmetrics"]
    kafka = {name for name in names_of_kafka() if any(f"_{bean}_" in name for bean in beans)}
    kafka |= {f"{name}_count" for name in names_of_kafka() if "_controllerstats_" in name}  # meters
    without_meaning = {name for name in kafka if re.search("raftchannelmetrics_(io_|select_)", name)}
    assert len(without_meaning) == 8, "docs/deviations.md says why there are none"
    assert kafka - without_meaning - {sample.name for sample in samples(FACTS)} == set()
    assert len(kafka) > 80


def test_no_name_of_share_groups_is_missing_at_the_leader_of_their_partitions() -> None:
    """KIP-932 as of Apache Kafka 4.3.1: the requests, the records, the sessions."""
    kafka = {name for name in names_of_kafka() if re.search("_brokertopicmetrics_.*share|_share(group|session)", name)}
    assert len(kafka) == 9
    ours = {sample.name for sample in samples(FACTS)}
    assert {name for name in kafka if not {name, f"{name}_count"} & ours} == set()
    shared = ShareFacts(
        sessions=3, partitions=4, evictions=5, fetches=6, failed_fetches=7, acknowledgements=8,
        failed_acknowledgements=9, records={1: 10, 4: 11}, loads=300, last_loads_s=(0.25, 0.75),
    )  # fmt: skip
    facts = replace(FACTS, shared=shared)

    def shown(kind: str, name: str, **labels: str) -> float:
        return value(facts, "kafka.server", kind, name, **labels)

    cache, topics, groups = "ShareSessionCache", "BrokerTopicMetrics", "ShareGroupMetrics"
    assert (shown(cache, "ShareSessionsCount"), shown(cache, "SharePartitionsCount")) == (3, 4)
    assert shown(cache, "ShareSessionEvictionsPerSec_count") == 5
    assert [shown(topics, f"{what}ShareFetchRequestsPerSec_count") for what in ("Total", "Failed")] == [6, 7]
    assert [shown(topics, f"{what}ShareAcknowledgementRequestsPerSec_count") for what in ("Total", "Failed")] == [8, 9]
    said = [shown(groups, "RecordAcknowledgementsPerSec_count", acktype=word) for word in ("Accept", "Reject", "Renew")]
    assert said == [10, 0, 11]
    load = "PartitionLoadTimeMs"
    assert [shown(groups, f"{load}{what}") for what in ("_count", "_mean", "_max")] == [300, 500, 750]


def test_the_channel_has_totals_and_rates_and_the_sizes_of_requests() -> None:
    def channel(name: str) -> float:
        return value(FACTS, "kafka.server", "raft-channel-metrics", name)

    assert (channel("request-total"), channel("request-rate")) == (900, 90)
    assert (channel("response-total"), channel("connection-close-total")) == (890, 3)
    assert (channel("incoming-byte-rate"), channel("outgoing-byte-rate")) == (30_000, 9_000)
    assert (channel("request-size-avg"), channel("request-size-max")) == (100, 4000)
    assert (channel("failed-authentication-rate"), channel("successful-reauthentication-total")) == (0, 0)
    assert isnan(channel("reauthentication-latency-avg"))


def test_what_only_kips_name_is_told_with_their_meaning() -> None:
    """KIP-631: lag is committed and not replayed; KIP-835: sizes and times of the batches that a broker replays."""
    facts = replace(FACTS, raft=replace(RAFT, high_watermark=130, snapshot_offset=70, commit_rate=2.5))

    def controller(name: str) -> float:
        return value(facts, "kafka.controller", "KafkaController", name)

    def broker(name: str) -> float:
        return value(facts, "kafka.server", "broker-metadata-metrics", name)

    assert (controller("MetadataLag"), value(facts, "kafka.controller", "KafkaServer", "MetadataLag")) == (30, 30)
    assert (controller("MetadataCommitLatencyMs"), controller("MetadataCommitRatePerSec")) == (1.5, 2.5)
    assert controller("MetadataSnapshotOffsetLag") == 60
    assert (broker("record-batch-size-byte-avg"), broker("record-batch-size-byte-max")) == (160, 240)
    assert (broker("pending-record-processing-time-us-avg"), broker("pending-record-processing-time-us-max")) == (
        1000,
        1500,
    )


def test_a_broker_tells_how_many_records_the_batches_had() -> None:
    bean = ("kafka.server", "BrokerMetadataListener")
    assert value(FACTS, *bean, "MetadataBatchSizes", quantile="0.5") == 1
    assert [value(FACTS, *bean, f"MetadataBatchSizes_{which}") for which in ("count", "max")] == [90, 8]


def test_the_largest_request_is_that_of_the_last_minute_whoever_looked() -> None:
    observer = ChannelObserver(0.0)

    def looked(largest: int, at: float) -> int | None:
        return observer.read(PoolCounts(1, 1, 1, largest_request=largest), at).request_size_max

    assert [looked(500, 1.0), looked(20, 2.0), looked(30, 50.0), looked(0, 61.5), looked(0, 200.0)] == [
        *(500, 500, 500, 30, None)
    ]


def test_names_are_translated_as_the_exporter_does() -> None:
    assert jmx_name("kafka.server", "raft-metrics", "current-epoch") == "kafka_server_raftmetrics_current_epoch"
    assert (
        jmx_name("kafka.controller", "KafkaController", "ActiveControllerCount")
        == "kafka_controller_kafkacontroller_activecontrollercount"
    )


def test_the_active_controller_says_so_and_the_others_do_not() -> None:
    standby = replace(FACTS, controller=replace(CONTROLLER, is_active=False))
    bean = ("kafka.controller", "KafkaController")
    assert value(FACTS, *bean, "ActiveControllerCount") == 1
    assert value(standby, *bean, "ActiveControllerCount") == 0
    assert value(FACTS, *bean, "LastAppliedRecordLagMs") == 0, "the active controller is never behind itself"
    assert value(standby, *bean, "LastAppliedRecordLagMs") == 250


def test_the_vote_is_shown_with_its_directory() -> None:
    assert value(FACTS, "kafka.server", "raft-metrics", "current-vote") == 1
    assert value(FACTS, "kafka.server", "raft-metrics", "current-vote-directory-id", directory_id=DIRECTORY) == 1


def test_brokers_are_counted_by_what_they_do() -> None:
    bean = ("kafka.controller", "KafkaController")
    counts = {
        n: value(FACTS, *bean, n) for n in ("ActiveBrokerCount", "FencedBrokerCount", "ControlledShutdownBrokerCount")
    }
    assert counts == {"ActiveBrokerCount": 3, "FencedBrokerCount": 1, "ControlledShutdownBrokerCount": 1}
    assert value(FACTS, *bean, "BrokerRegistrationState", broker="14") == 20
    assert value(FACTS, *bean, "TimeSinceLastHeartbeatReceivedMs", broker="11") == 250


def test_what_only_a_leader_knows_vanishes_with_the_leadership() -> None:
    """RCF-14."""
    names = {sample.name for sample in samples(FACTS)}
    lost = replace(RAFT, state="follower", observers=None, uncommitted_voter_change=None, replicas=())
    gone = names - {sample.name for sample in samples(replace(FACTS, raft=lost))}
    raft = {jmx_name("kafka.server", "raft-metrics", n) for n in ("number-of-observers", "uncommitted-voter-change")}
    assert gone == raft | {"quorate_raft_replica_lag", "quorate_raft_replica_seconds_since_caught_up"}


def test_what_peers_did_wrong_is_counted_by_kind() -> None:
    text = render(samples(FACTS))
    of_kafka = "kafka_network_requestmetrics_"
    assert of_kafka + 'errorspersec_count{request="Vote",error="INVALID_REQUEST",role="controller"} 3\n' in text
    assert of_kafka + 'requestspersec_count{request="Vote",version="2",role="controller"} 9\n' in text
    assert 'quorate_request_processor_seconds_total{request="Vote",role="controller"} 0.25\n' in text
    assert 'quorate_raft_bad_answers_total{request="Fetch",reason="gap"} 2\n' in text


def test_a_controller_shows_nothing_of_a_broker_and_the_reverse() -> None:
    controller = {sample.name for sample in samples(replace(FACTS, is_broker=False))}
    broker = {sample.name for sample in samples(replace(FACTS, controller=None))}
    assert not [name for name in controller if "replicamanager" in name or "brokermetadata" in name]
    assert not [name for name in broker if "kafkacontroller_" in name]


def test_what_is_unknown_is_minus_one_and_an_average_of_nothing_no_number() -> None:
    raft = RaftFacts(
        state="unattached", epoch=0, leader_id=None, voted_id=None, voted_directory=None, high_watermark=None,
        log_end_offset=0, log_end_epoch=0, voters=3,
    )  # fmt: skip
    text = render(samples(replace(FACTS, raft=raft)))
    assert "kafka_server_raftmetrics_current_leader -1\n" in text
    assert "kafka_server_raftmetrics_current_vote -1\n" in text
    assert "kafka_server_raftmetrics_high_watermark -1\n" in text
    assert "kafka_server_raftmetrics_commit_latency_avg NaN\n" in text
    assert "number_of_observers" not in text


def test_the_text_is_what_prometheus_reads() -> None:
    made = render([Sample("a", 1), Sample("a", 2.5, (("l", 'x"\\\n'),)), Sample("b", 3, kind="counter")])
    assert made == '# TYPE a gauge\na 1\na{l="x\\"\\\\\\n"} 2.5\n# TYPE b counter\nb 3\n'


def test_the_authorizer_is_measured_as_a_plugin_of_kafkas() -> None:
    whose = {"class": "StandardAuthorizer", "config": "authorizer.class.name", "role": "broker"}
    rates = [value(FACTS, "kafka.server", "plugins", f"authorization-{one}-rate-per-minute", **whose) for one in SAID]
    assert rates == [96.0, 90.0, 6.0]
    assert value(FACTS, "kafka.server", "plugins", "acls-total-count", **whose) == 40
