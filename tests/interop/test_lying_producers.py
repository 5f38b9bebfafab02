"""What lying producers are told: the same bytes to a broker of Apache Kafka and to ours, for topics of each kind,
answers and logs compared.

The codes that Java gave are kept beside the lies (`tests/support/clients/lying_batches.json`), so that
`tests/unit/broker/test_lying_batches.py` needs no Java; this test fails when they are not what Java says.
`QUORATE_RECORD=1` writes them anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import pytest

from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.protocol.messages import create_topics_request as create_q
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import list_offsets_request as list_q
from controller_runtime.protocol.messages import produce_request as produce_q
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse
from controller_runtime.protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse
from support.apache_kafka.differential import Pair, Side
from support.clients.lying_batches import KINDS, LIES, RECORDED, partition_of
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

PARTITIONS = 1 + max(map(partition_of, LIES))
TOPIC = "lies."
JAVA_RUNS_OUT_OF_MEMORY = "gzip record that claims 2^31-1 bytes"
"""It makes room for the record before it finds that the bytes are not there, and says UNKNOWN_SERVER_ERROR; ours says
INVALID_RECORD.
"""
Told = tuple[int, int, tuple[tuple[int, str], ...]]
"""The code, how many records were appended, and which records are called wrong."""


@pytest.fixture(scope="module", autouse=True)
def _topics(pair: Pair) -> None:
    for side in pair.sides:
        for kind, configs in KINDS.items():
            _create(side, TOPIC + kind, configs)


def _create(side: Side, topic: str, configs: dict[str, str]) -> None:
    kept = {"retention.ms": "-1", **configs}  # the records are of 2023
    wanted = tuple(create_q.CreatableTopicConfig(name=name, value=value) for name, value in kept.items())
    one = create_q.CreatableTopic(name=topic, num_partitions=PARTITIONS, replication_factor=1, configs=wanted)
    made = side.call(ListenerType.BROKER, create_q.CreateTopicsRequest(timeout_ms=60_000, topics=(one,)), 7)
    assert isinstance(made, CreateTopicsResponse)
    assert [one.error_code for one in made.topics] == [0], made
    eventually(f"{topic} is led", lambda: all(_end(side, topic, number) == 0 for number in range(PARTITIONS)))


def _end(side: Side, topic: str, partition: int) -> int:
    wanted = list_q.ListOffsetsPartition(partition_index=partition, timestamp=-1)
    one = list_q.ListOffsetsTopic(name=topic, partitions=(wanted,))
    answer = side.call(ListenerType.BROKER, list_q.ListOffsetsRequest(replica_id=-1, topics=(one,)), 7)
    assert isinstance(answer, ListOffsetsResponse)
    return answer.topics[0].partitions[0].offset


def _produce(side: Side, topic: str, partition: int, data: bytes) -> PartitionProduceResponse:
    one = produce_q.PartitionProduceData(index=partition, records=data)
    topics = (produce_q.TopicProduceData(name=topic, partition_data=(one,)),)
    answer = side.call(ListenerType.BROKER, produce_q.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics), 9)
    assert isinstance(answer, ProduceResponse), answer
    return answer.responses[0].partition_responses[0]


def _fetch(side: Side, topic: str, partition: int, offset: int) -> bytes:
    one = fetch_q.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=64 << 20)
    topics = (fetch_q.FetchTopic(topic=topic, partitions=(one,)),)
    answer = side.call(
        ListenerType.BROKER, fetch_q.FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=64 << 20, topics=topics), 12
    )
    assert isinstance(answer, FetchResponse)
    return answer.responses[0].partitions[0].records or b""


def _tell(side: Side, topic: str) -> tuple[dict[str, Told], dict[str, bytes]]:
    """What each lie is told, and what the log has of those that were believed."""
    told, kept = dict[str, Told](), dict[str, bytes]()
    ends = dict.fromkeys(range(PARTITIONS), 0)
    for name, data in LIES.items():
        partition = partition_of(name)
        answer = _produce(side, topic, partition, data)
        end = _end(side, topic, partition)
        wrong = tuple((one.batch_index, _timeless(one.batch_index_error_message or "")) for one in answer.record_errors)
        told[name] = (answer.error_code, end - ends[partition], wrong)
        if end != ends[partition]:
            assert answer.base_offset == ends[partition], name
            kept[name] = _fetch(side, topic, partition, ends[partition])
        ends[partition] = end
    return told, kept


def _timeless(message: str) -> str:
    """Without the moment at which it was said, and without the partition that Java repeats."""
    for ending in (
        ". The timestamp should be",
        " in topic partition",
        " DefaultRecord(",
        " PartialDefaultRecord(",
        ". Producer should",
    ):
        message = message.partition(ending)[0]
    return message.removesuffix(".")


@pytest.mark.parametrize("kind", KINDS)
def test_every_lie_is_told_what_java_tells_and_keeps_what_java_keeps(pair: Pair, kind: str) -> None:
    java_said, java_has = _tell(pair.java, TOPIC + kind)
    ours_said, ours_has = _tell(pair.ours, TOPIC + kind)
    if "compression.type" in KINDS[kind]:
        del java_said[JAVA_RUNS_OUT_OF_MEMORY], ours_said[JAVA_RUNS_OUT_OF_MEMORY]
    if os.environ.get("QUORATE_RECORD"):
        recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
        recorded[kind] = {name: [code, count] for name, (code, count, _) in java_said.items()}
        RECORDED.write_text(json.dumps(recorded, indent=0) + "\n")
    assert _differing(java_said, ours_said) == {}
    assert json.loads(RECORDED.read_text())[kind] == {name: [told[0], told[1]] for name, told in java_said.items()}
    if "compression.type" not in KINDS[kind]:
        assert _differing(_without_times(java_has, kind), _without_times(ours_has, kind)) == {}


def _differing(java: Mapping[str, object], ours: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    names = [*java, *(name for name in ours if name not in java)]
    return {name: (java.get(name), ours.get(name)) for name in names if java.get(name) != ours.get(name)}


def _without_times(kept: dict[str, bytes], kind: str) -> dict[str, object]:
    """Checksum and largest timestamp are of the moment where the leader's time is put in."""
    if kind != "append-time":
        return dict(kept)
    return {name: data[:17] + data[21:35] + data[43:] for name, data in kept.items()}
