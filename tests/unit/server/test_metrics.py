from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from controller_runtime.server.metrics import ImageFacts, NodeFacts, RaftFacts, Sample, jmx_name, render, samples

pytestmark = pytest.mark.unit

RAFT = RaftFacts("leader", 7, 1, 1, 100, 103, 7, 3, 2)
IMAGE = ImageFacts(
    active_brokers=3, fenced_brokers=1, topics=2, partitions=8, offline_partitions=1, metadata_version=30,
    finalized={"metadata.version": 30},
)  # fmt: skip
FACTS = NodeFacts(
    node_id=1, cluster_id="c", raft=RAFT, image=IMAGE, is_controller=True, is_broker=True, connections={"CONTROLLER": 4},
    resident_bytes=35_000_000, started_at_ms=1_795_220_000_500, broker_state=3, leaders=5, replicas=6,
)  # fmt: skip


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
    assert len(ours) > 15
    assert ours - names_of_kafka() == set()


def test_names_are_translated_as_the_exporter_does() -> None:
    assert jmx_name("kafka.server", "raft-metrics", "current-epoch") == "kafka_server_raftmetrics_current_epoch"
    assert (
        jmx_name("kafka.controller", "KafkaController", "ActiveControllerCount")
        == "kafka_controller_kafkacontroller_activecontrollercount"
    )


def test_the_active_controller_says_so_and_the_others_do_not() -> None:
    def active(facts: NodeFacts) -> float:
        name = "kafka_controller_kafkacontroller_activecontrollercount"
        return next(sample.value for sample in samples(facts) if sample.name == name)

    assert active(FACTS) == 1
    assert active(replace(FACTS, raft=replace(RAFT, leader_id=2, state="follower"))) == 0


def test_a_controller_shows_nothing_of_a_broker_and_the_reverse() -> None:
    controller = {sample.name for sample in samples(replace(FACTS, is_broker=False))}
    broker = {sample.name for sample in samples(replace(FACTS, is_controller=False))}
    assert not [name for name in controller if "replicamanager" in name]
    assert not [name for name in broker if "kafkacontroller_" in name]


def test_what_is_unknown_is_minus_one() -> None:
    facts = replace(FACTS, raft=RaftFacts("unattached", 0, None, None, None, 0, 0, 3, None))
    text = render(samples(facts))
    assert "kafka_server_raftmetrics_current_leader -1\n" in text
    assert "kafka_server_raftmetrics_high_watermark -1\n" in text
    assert "number_of_observers" not in text


def test_the_text_is_what_prometheus_reads() -> None:
    made = render([Sample("a", 1), Sample("a", 2.5, (("l", 'x"\\\n'),)), Sample("b", 3, kind="counter")])
    assert made == '# TYPE a gauge\na 1\na{l="x\\"\\\\\\n"} 2.5\n# TYPE b counter\nb 3\n'
