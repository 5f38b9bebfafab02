"""Apache Kafka's share consumer against a broker of ours: what it is given, releases, is given again, and what is left
of that when the broker is killed.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.record_batch import Record, encode_batch
from support.apache_kafka.java_kafka import run_tool
from support.nodes.processes import Cluster, NodeProcess, eventually
from support.nodes.strangers import ask

pytestmark = [pytest.mark.interop]

SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
TOPIC, GROUP, PARTITIONS = "work", "workers", 3


def _begin(broker: NodeProcess) -> None:
    topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
    ask(broker, CreateTopicsRequest(topics=(topic,), timeout_ms=30_000), 7)
    config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    resource = AlterConfigsResource(resource_type=32, resource_name=GROUP, configs=(config,))
    answer: Any = ask(broker, IncrementalAlterConfigsRequest(resources=(resource,)), 1)
    assert answer.responses[0].error_code == 0


def _write(broker: NodeProcess, values: range) -> None:
    for index in range(PARTITIONS):
        said = [f"{value}" for value in values if value % PARTITIONS == index]
        records = [Record(offset=n, timestamp=-1, key=None, value=each.encode()) for n, each in enumerate(said)]
        data = PartitionProduceData(
            index=index, records=encode_batch(records, base_offset=0, partition_leader_epoch=-1)
        )
        topic = TopicProduceData(name=TOPIC, partition_data=(data,))

        def is_taken(topic: TopicProduceData = topic) -> bool:
            answer: Any = ask(broker, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(topic,)), 9)
            return bool(answer.responses[0].partition_responses[0].error_code == 0)

        eventually(f"the records of {index}", is_taken)


def _read(broker: NodeProcess, count: int, *more: str) -> Counter[str]:
    """What the tool prints, and how often."""
    done = run_tool(
        "kafka-console-share-consumer", "--bootstrap-server", f"127.0.0.1:{broker.port}", "--topic", TOPIC,
        "--group", GROUP, "--max-messages", str(count), "--timeout-ms", "40000", *more, timeout_s=100,
    )  # fmt: skip
    assert done.rc == 0, done.err
    return Counter(done.out.split())


def test_javas_share_consumer_reads_releases_and_reads_again_from_a_broker_of_ours(java: str, tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=1, extra=SETTINGS) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120)
        (broker,) = cluster.broker_nodes
        _begin(broker)
        _write(broker, range(30))
        every = Counter(str(value) for value in range(30))
        assert _read(broker, 30, "--release") == every
        assert _read(broker, 30) == every
        _write(broker, range(30, 60))
        broker.kill()
        broker.start()
        assert _read(broker, 30) == Counter(str(value) for value in range(30, 60))
