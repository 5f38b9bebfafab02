"""A Java broker follows what ours leads, and ours what Java's leads, under Java's controller: through kill -9 of either
nothing that was acknowledged by all in sync is lost, and both logs are the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_reassignments_request as reassign_q
from controller_runtime.protocol.messages import create_topics_request as create_q
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import metadata_request as metadata_q
from controller_runtime.protocol.messages import produce_request as produce_q
from controller_runtime.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.metadata_response import MetadataResponse, MetadataResponsePartition
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch
from support.apache_kafka.java_kafka import JavaNode, require_java
from support.nodes.processes import Cluster, NodeProcess, eventually
from support.nodes.strangers import ask, metrics

pytestmark = [pytest.mark.interop, pytest.mark.slow]

SECONDS = 240.0
UNDER_MIN = "kafka_server_replicamanager_underminisrpartitioncount"
OURS, JAVAS = 11, 12
BOTH = {OURS, JAVAS}
LAG_MS = "3000"


class Mixed:
    """Java's controller, a broker of ours and one of Java's."""

    def __init__(self, made: Cluster) -> None:
        self.cluster = made
        self.java: dict[int, JavaNode] = {}

    def start_java(self, node_id: int, said: str) -> None:
        node = self.cluster.nodes[node_id]
        self.java[node_id] = JavaNode(node.properties_file, node.directory / "java.txt")
        self.java[node_id].wait_for_log(said, timeout_s=SECONDS)


def wait_until_serving(broker: NodeProcess) -> None:
    eventually(f"broker {broker.node_id} is ready", lambda: broker.http("/readyz")[0] == 200, SECONDS)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    require_java()
    with Cluster(tmp_path_factory.mktemp("replicas"), controllers=1, brokers=2) as made:
        for node in made.nodes.values():
            node.properties["replica.lag.time.max.ms"] = LAG_MS
        for node_id in (1, JAVAS):
            made.nodes[node_id].properties.pop("quorate.http.listener")
        made.format()
        for node_id in (1, JAVAS):
            made.nodes[node_id].write_properties()
        found = Mixed(made)
        try:
            found.start_java(1, "Kafka Server started")
            found.start_java(JAVAS, "Kafka Server started")
            made.nodes[OURS].start()
            wait_until_serving(made.nodes[OURS])
            yield found
        finally:
            for java in found.java.values():
                java.kill()


def create(cluster: Cluster, name: str, replicas: tuple[int, ...], **configs: str) -> NodeProcess:
    """The broker that leads it, once it knows that."""
    wanted = tuple(
        create_q.CreatableTopicConfig(name=key.replace("_", "."), value=text) for key, text in configs.items()
    )
    place = create_q.CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)
    topic = create_q.CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=(place,), configs=wanted
    )
    leader = cluster.nodes[replicas[0]]
    made = ask(leader, create_q.CreateTopicsRequest(timeout_ms=60_000, topics=(topic,)), 7)
    assert isinstance(made, CreateTopicsResponse)
    assert [one.error_code for one in made.topics] == [0], made
    eventually(f"{name} is led", lambda: described(leader, name) is not None)
    return leader


def described(broker: NodeProcess, name: str) -> MetadataResponsePartition | None:
    answer = ask(broker, metadata_q.MetadataRequest(topics=(metadata_q.MetadataRequestTopic(name=name),)), 12)
    assert isinstance(answer, MetadataResponse)
    found = answer.topics[0].partitions
    return found[0] if found and found[0].leader_id >= 0 else None


def isr(broker: NodeProcess, name: str) -> set[int]:
    found = described(broker, name)
    return set() if found is None else set(found.isr_nodes)


def produced(broker: NodeProcess, name: str, value: bytes, acks: int = -1) -> ErrorCode:
    one = produce_q.PartitionProduceData(index=0, records=encode_batch([Record(0, 1_000, None, value)]))
    topics = (produce_q.TopicProduceData(name=name, partition_data=(one,)),)
    answer = ask(broker, produce_q.ProduceRequest(acks=acks, timeout_ms=20_000, topic_data=topics), 9)
    assert isinstance(answer, ProduceResponse)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def read(broker: NodeProcess, name: str, offset: int = 0) -> list[bytes | None]:
    """What a consumer sees from there on."""
    found: list[bytes | None] = []
    while True:
        at = offset + len(found)
        one = fetch_q.FetchPartition(partition=0, fetch_offset=at, partition_max_bytes=1 << 20)
        topics = (fetch_q.FetchTopic(topic=name, partitions=(one,)),)
        answer = ask(broker, fetch_q.FetchRequest(max_bytes=1 << 20, topics=topics), 12)
        assert isinstance(answer, FetchResponse)
        data = answer.responses[0].partitions[0]
        assert data.error_code == 0, (ErrorCode(data.error_code), at, found)
        new = [record.value for batch in decode_batches(data.records or b"") for record in batch.records]
        if not new:
            return found
        found += new


def log_of(broker: NodeProcess, name: str) -> bytes:
    (path,) = Path(broker.properties["log.dirs"]).glob(f"{name}-0")
    return b"".join(segment.read_bytes() for segment in sorted(path.glob("*.log")))


def test_java_follows_what_ours_leads_and_nothing_acknowledged_is_lost_with_either(mixed: Mixed) -> None:
    """ISR-04, ISR-12, PRD-15 and FLW-01 beside Java."""
    cluster = mixed.cluster
    ours, javas = cluster.nodes[OURS], cluster.nodes[JAVAS]
    create(cluster, "pairs", (OURS, JAVAS), min_insync_replicas="2", retention_ms="-1")
    acknowledged = [b"first %d" % number for number in range(100)]
    eventually("the first is acknowledged", lambda: produced(ours, "pairs", b"begin") == ErrorCode.NONE)
    acknowledged.insert(0, b"begin")
    assert {produced(ours, "pairs", value) for value in acknowledged[1:]} == {ErrorCode.NONE}
    assert read(ours, "pairs") == acknowledged

    mixed.java[JAVAS].kill()
    eventually("it is out of the ISR", lambda: isr(ours, "pairs") == {OURS})
    assert produced(ours, "pairs", b"not enough") == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produced(ours, "pairs", b"on one", acks=1) == ErrorCode.NONE
    assert read(ours, "pairs") == acknowledged, "what one of two has is not shown (KIP-966)"
    assert metrics(ours)[UNDER_MIN] == 1
    mixed.start_java(JAVAS, "Kafka Server started")
    eventually("it is in the ISR again", lambda: isr(ours, "pairs") == BOTH)
    acknowledged.append(b"on one")
    more = [b"second %d" % number for number in range(100)]
    assert {produced(ours, "pairs", value) for value in more} == {ErrorCode.NONE}
    acknowledged += more
    assert read(ours, "pairs") == acknowledged
    eventually("both logs are the same", lambda: log_of(ours, "pairs") == log_of(javas, "pairs"))

    ours.kill()
    eventually("Java leads", lambda: (found := described(javas, "pairs")) is not None and found.leader_id == JAVAS)
    eventually("Java takes the next", lambda: produced(javas, "pairs", b"while ours is away", acks=1) == 0)
    ours.start()
    wait_until_serving(ours)
    eventually("ours follows", lambda: isr(javas, "pairs") == BOTH)
    acknowledged.append(b"while ours is away")
    third = [b"third %d" % number for number in range(100)]
    assert {produced(javas, "pairs", value) for value in third} == {ErrorCode.NONE}
    acknowledged += third
    assert without_repeats(read(javas, "pairs")) == acknowledged

    mixed.java[JAVAS].kill()
    eventually("ours leads", lambda: (found := described(ours, "pairs")) is not None and found.leader_id == OURS)
    mixed.start_java(JAVAS, "Kafka Server started")
    eventually("Java follows again", lambda: isr(ours, "pairs") == BOTH)
    eventually("it shows all", lambda: without_repeats(read(ours, "pairs")) == acknowledged)
    eventually("both logs are the same", lambda: log_of(ours, "pairs") == log_of(javas, "pairs"))


def without_repeats(found: list[bytes | None]) -> list[bytes | None]:
    """What is written until it is acknowledged may be there more than once."""
    return list(dict.fromkeys(found))


def test_one_replica_is_served_although_two_are_asked_for(mixed: Mixed) -> None:
    leader = create(mixed.cluster, "alone", (OURS,), min_insync_replicas="2", retention_ms="-1")
    eventually("it is served", lambda: produced(leader, "alone", b"one") == ErrorCode.NONE)
    assert read(leader, "alone")[0] == b"one"


def sent_away(node: NodeProcess, name: str, version: int) -> object:
    """What a producer is told where `name` is not led: the hint's leader, epoch, and where it is reached."""
    topic_id = topic_id_of(node, name)
    one = produce_q.PartitionProduceData(index=0, records=encode_batch([Record(0, 1_000, None, b"x")]))
    topics = (produce_q.TopicProduceData(name=name, topic_id=topic_id, partition_data=(one,)),)
    answer = ask(node, produce_q.ProduceRequest(acks=-1, timeout_ms=20_000, topic_data=topics), version)
    assert isinstance(answer, ProduceResponse)
    (found,) = answer.responses[0].partition_responses
    assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    at = [(each.node_id, each.host, each.port, each.rack) for each in answer.node_endpoints]
    return found.current_leader.leader_id, found.current_leader.leader_epoch, at


def read_elsewhere(node: NodeProcess, name: str, version: int, epoch: int = -1) -> object:
    """The same of a consumer."""
    one = fetch_q.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20, current_leader_epoch=epoch)
    topics = (fetch_q.FetchTopic(topic=name, topic_id=topic_id_of(node, name), partitions=(one,)),)
    answer = ask(node, fetch_q.FetchRequest(max_bytes=1 << 20, topics=topics), version)
    assert isinstance(answer, FetchResponse)
    (found,) = answer.responses[0].partitions
    assert found.error_code != ErrorCode.NONE
    at = [(each.node_id, each.host, each.port, each.rack) for each in answer.node_endpoints]
    return ErrorCode(found.error_code).name, found.current_leader.leader_id, found.current_leader.leader_epoch, at


def topic_id_of(node: NodeProcess, name: str) -> Uuid:
    answer = ask(node, metadata_q.MetadataRequest(topics=(metadata_q.MetadataRequestTopic(name=name),)), 12)
    assert isinstance(answer, MetadataResponse)
    return answer.topics[0].topic_id


def test_both_tell_who_asks_the_wrong_one_who_leads(mixed: Mixed) -> None:
    """KIP-951: each is asked for what the other one leads, and for an epoch that is over."""
    cluster = mixed.cluster
    ours, javas = cluster.nodes[OURS], cluster.nodes[JAVAS]
    create(cluster, "hints-ours", (OURS,))
    create(cluster, "hints-javas", (JAVAS,))
    eventually("Java knows ours", lambda: described(javas, "hints-ours") is not None)
    eventually("ours knows Java's", lambda: described(ours, "hints-javas") is not None)
    for asked, leader, name in ((ours, javas, "hints-javas"), (javas, ours, "hints-ours")):
        there = [(leader.node_id, "127.0.0.1", leader.port, None)]
        assert {v: sent_away(asked, name, v) for v in (9, 10, 13)} == {
            9: (-1, -1, []), 10: (leader.node_id, 0, there), 13: (leader.node_id, 0, there)
        }  # fmt: skip
        wrong = "NOT_LEADER_OR_FOLLOWER"
        assert {v: read_elsewhere(asked, name, v) for v in (15, 16, 18)} == {
            15: (wrong, -1, -1, []), 16: (wrong, leader.node_id, 0, there), 18: (wrong, leader.node_id, 0, there)
        }  # fmt: skip
    for leader, name in ((ours, "fenced-ours"), (javas, "fenced-javas")):
        other = JAVAS if leader is ours else OURS
        create(cluster, name, (leader.node_id, other))
        epoch = moved_away_and_back(cluster, name, leader.node_id, other)
        there = [(leader.node_id, "127.0.0.1", leader.port, None)]
        found = {v: read_elsewhere(leader, name, v, epoch=0) for v in (15, 16)}
        over = "FENCED_LEADER_EPOCH"
        assert found == {15: (over, -1, -1, []), 16: (over, leader.node_id, epoch, there)}


def moved_away_and_back(cluster: Cluster, name: str, leader: int, other: int) -> int:
    """By reassignments of its only replica; the epoch in which it leads again."""
    for place in ((other,), (leader,)):
        wanted = reassign_q.ReassignablePartition(partition_index=0, replicas=place)
        topic = reassign_q.ReassignableTopic(name=name, partitions=(wanted,))
        asked = reassign_q.AlterPartitionReassignmentsRequest(timeout_ms=60_000, topics=(topic,))
        answer = ask(cluster.nodes[OURS], asked, 0)
        assert isinstance(answer, AlterPartitionReassignmentsResponse)
        assert answer.error_code == 0, answer
        for node_id in BOTH:
            eventually(f"{name} is at {place}", lambda: is_at(cluster.nodes[node_id], name, place))  # noqa: B023
    found = described(cluster.nodes[leader], name)
    assert found is not None
    return found.leader_epoch


def is_at(broker: NodeProcess, name: str, place: tuple[int, ...]) -> bool:
    found = described(broker, name)
    return found is not None and found.replica_nodes == place and (found.leader_id,) == place
