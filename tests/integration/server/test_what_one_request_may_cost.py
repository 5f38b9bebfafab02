"""Three controllers and a broker, and clients whose requests go wrong inside: each costs its sender an error, and
nobody else anything.

What Apache Kafka answers to the same requests is in `tests/interop/test_differential_topics.py` ("the longest string").
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.describe_quorum_response import DescribeQuorumResponse
from controller_runtime.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from controller_runtime.protocol.schema import Message
from support.nodes.processes import Cluster, NodeProcess, eventually
from support.nodes.strangers import metrics

pytestmark = pytest.mark.integration
LONG = "x" * 32_767
"""The longest string that a version without flexible fields can carry: an error that repeats it cannot be carried."""
SAME_TAG_TWICE = b"\x02\x05\x01a\x05\x01b"


def send(node: NodeProcess, frame: bytes, key: int, version: int) -> Message | None:
    """The answer; None when the node ends the connection instead."""
    with socket.create_connection(("127.0.0.1", node.port), timeout=60) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        with connection.makefile("rb") as stream:
            head = stream.read(4)
            if len(head) < 4:
                return None
            return decode_response(stream.read(struct.unpack(">i", head)[0]), key, version).body


def creation(name: str, version: int = 4) -> bytes:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return encode_request(CreateTopicsRequest(topics=(topic,), timeout_ms=10_000), version, 7, "c", with_length=False)


def with_tags(key: ApiKey, version: int, body: bytes) -> bytes:
    """Header version 2 (client id "c", no tags), then `body`, then one unknown tag named twice."""
    return struct.pack(">hhih", key, version, 7, 1) + b"c\x00" + body + SAME_TAG_TWICE


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cost"), controllers=3, brokers=1) as running:
        running.start()
        running.wait_until_unfenced()
        yield running


@pytest.fixture
def unharmed(cluster: Cluster) -> Iterator[Cluster]:
    """Afterwards: the same leader of the same epoch, all four processes there, and a topic can be made through the
    broker.
    """
    before = cluster.quorum()
    yield cluster
    after = cluster.quorum()
    assert all(node.is_running for node in cluster.nodes.values())
    assert (after.leader_id, after.leader_epoch) == (before.leader_id, before.leader_epoch)
    (broker,) = cluster.broker_nodes
    name = f"after-{metrics(broker)['kafka_server_raftmetrics_log_end_offset']:.0f}"
    made = send(broker, creation(name), ApiKey.CREATE_TOPICS, 4)
    assert isinstance(made, CreateTopicsResponse)
    assert [(one.name, one.error_code) for one in made.topics] == [(name, 0)]
    eventually("commits go on", lambda: cluster.quorum().high_watermark > after.high_watermark)


def failed(node: NodeProcess) -> float:
    return sum(value for name, value in metrics(node).items() if name.startswith("quorate_failed_requests_total"))


def test_an_error_too_long_for_its_version_is_answered_as_an_unknown_error(unharmed: Cluster) -> None:
    (broker,) = unharmed.broker_nodes
    leader = unharmed.wait_for_leader()
    before = failed(leader)
    for node in (broker, leader):
        answer = send(node, creation(LONG), ApiKey.CREATE_TOPICS, 4)
        assert isinstance(answer, CreateTopicsResponse), f"node {node.node_id} answered {answer}"
        assert [(one.name == LONG, one.error_code) for one in answer.topics] == [(True, ErrorCode.UNKNOWN_SERVER_ERROR)]
    assert failed(leader) == before + 2
    assert "xxxx" not in "".join(node.log() for node in unharmed.nodes.values()), "a log repeats what a client sent"


def test_a_request_that_names_an_unknown_tag_twice_is_forwarded_as_it_came(unharmed: Cluster) -> None:
    (broker,) = unharmed.broker_nodes
    nothing = bytes.fromhex("010000000000")  # no topics, timeout 0, not validate-only
    answer = send(broker, with_tags(ApiKey.CREATE_TOPICS, 7, nothing), ApiKey.CREATE_TOPICS, 7)
    assert answer == CreateTopicsResponse()
    answer = send(broker, with_tags(ApiKey.DESCRIBE_QUORUM, 2, b"\x01"), ApiKey.DESCRIBE_QUORUM, 2)
    assert isinstance(answer, DescribeQuorumResponse)
    answer = send(broker, with_tags(ApiKey.UNREGISTER_BROKER, 0, struct.pack(">i", 77)), ApiKey.UNREGISTER_BROKER, 0)
    assert isinstance(answer, UnregisterBrokerResponse)
    assert answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
