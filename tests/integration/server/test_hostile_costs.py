"""What one stranger costs a running node, on both roles: the refusal, the memory that stays, and that others are
served.

The frames are those of `python -m benchmarks hostile`, which measures what a test must not assert: how long others
wait.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import hostile_frames as frames
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, encode_batch
from support.nodes.processes import CLUSTER_ID, Cluster, NodeProcess, eventually
from support.nodes.strangers import ask

pytestmark = pytest.mark.integration

MEBI = 1 << 20
STAYS = 20 * MEBI
CLOSED = (
    "2,000,000 empty names",
    "20,000,000 names claimed",
    "100,000 unknown tags",
    "CreateTopics of 100,000 names",
    "Metadata of 100,000 names",
    "IncrementalAlterConfigs of 100,000 topics",
    "Fetch of 100,000 partitions",
)
REPLY_BYTES = 50 * MEBI


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("hostile"), controllers=1, brokers=1) as running:
        running.start()
        running.wait_until_unfenced()
        yield running


def nodes(cluster: Cluster, role: str) -> list[NodeProcess]:
    return [node for node in cluster.nodes.values() if role in ("both", node.properties["process.roles"])]


def resident(node: NodeProcess) -> int:
    status = Path(f"/proc/{node.pid}/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])


def connect(node: NodeProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", node.port), timeout=60)


def sent(node: NodeProcess, frame: bytes) -> bytes | None:
    """The answer; None when the connection is closed instead."""
    with connect(node) as connection:
        try:
            connection.sendall(frame)
            with connection.makefile("rb") as stream:
                head = stream.read(4)
                return stream.read(struct.unpack(">i", head)[0]) if len(head) == 4 else None
        except (ConnectionResetError, BrokenPipeError):
            return None


def serves(node: NodeProcess) -> bool:
    asked = encode_request(ApiVersionsRequest(client_software_name="o", client_software_version="1"), 3, 5, "other")
    return (sent(node, asked) or b"")[:4] == struct.pack(">i", 5)


def test_what_is_too_much_ends_its_connection_and_leaves_no_memory_behind(cluster: Cluster) -> None:
    cases = [case for case in frames.CASES if case.name in CLOSED]
    assert len(cases) == len(CLOSED)
    before = {node.node_id: resident(node) for node in cluster.nodes.values()}
    for case in cases:
        frame = case.make(CLUSTER_ID)
        for node in nodes(cluster, case.role):
            for _ in range(3):
                assert sent(node, frame) is None, case.name
            assert serves(node)
    for node in cluster.nodes.values():
        eventually(
            f"node {node.node_id} gives its memory back ({before[node.node_id] >> 20} MiB before)",
            lambda one=node: resident(one) < before[one.node_id] + STAYS,  # type: ignore[misc]
        )


def test_more_partitions_than_kafka_makes_for_one_request_have_its_answer_for_every_topic(cluster: Cluster) -> None:
    before = {node.node_id: resident(node) for node in cluster.nodes.values()}
    frame = frames.create_topics(10_001)
    for node in cluster.nodes.values():
        answer = sent(node, frame)
        assert answer is not None
        body = decode_response(answer, 19, 7).body
        assert isinstance(body, CreateTopicsResponse)
        said = {(topic.error_code, topic.error_message) for topic in body.topics}
        assert said == {(44, "Excessively large number of partitions per request.")}
        assert len(body.topics) == 10_001
    for node in cluster.nodes.values():
        eventually("memory is given back", lambda one=node: resident(one) < before[one.node_id] + STAYS)  # type: ignore[misc]


def test_answers_that_nobody_takes_are_bounded_and_given_up_and_a_slow_reader_gets_his(cluster: Cluster) -> None:
    broker = cluster.nodes[11]
    fill(broker, "much", REPLY_BYTES)
    fetch = fetch_all("much")
    assert len(sent(broker, fetch) or b"") > REPLY_BYTES, "one reader gets all of it"
    eventually("memory is given back", lambda: resident(broker) < 100 * MEBI)
    before = resident(broker)
    deaf = []
    for _ in range(12):
        deaf.append(socket.socket())
        deaf[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf[-1].connect(("127.0.0.1", broker.port))
        deaf[-1].sendall(fetch)
    broker.wait_for_log("its peer has taken nothing of the last")
    most = max(resident(broker) for _ in range(100) if serves(broker))
    assert most < before + 420 * MEBI, (
        "twelve answers would have 600 MiB: 128 may wait, two more are read, some are on their way"
    )
    assert len(sent(broker, fetch) or b"") > REPLY_BYTES, "who reads is served beside them"
    for one in deaf:
        one.close()
    eventually("memory is given back", lambda: resident(broker) < before + STAYS)


def fill(broker: NodeProcess, topic: str, size: int) -> None:
    def there() -> bool:
        body = ask(broker, MetadataRequest(topics=(MetadataRequestTopic(name=topic),)), 12)
        assert isinstance(body, MetadataResponse)
        return not body.topics[0].error_code and bool(body.topics[0].partitions)

    eventually("the topic is there", there)
    records = encode_batch([Record(0, int(time.time() * 1000), None, bytes(500_000))], base_offset=0)
    for _ in range(size // 500_000 + 2):
        data = PartitionProduceData(index=0, records=records)
        body = ProduceRequest(
            acks=-1, timeout_ms=60_000, topic_data=(TopicProduceData(name=topic, partition_data=(data,)),)
        )
        answer = ask(broker, body, 9)
        assert isinstance(answer, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0


def fetch_all(topic: str) -> bytes:
    partition = FetchPartition(partition=0, partition_max_bytes=2**31 - 1)
    body = FetchRequest(max_wait_ms=500, min_bytes=1, topics=(FetchTopic(topic=topic, partitions=(partition,)),))
    return encode_request(body, 12, 3, "reader")
