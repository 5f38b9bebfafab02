"""A Java controller places two replicas on brokers of ours, which copy nothing to each other: nothing is acknowledged,
so nothing can be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import create_topics_request as create_q
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import metadata_request as metadata_q
from controller_runtime.protocol.messages import produce_request as produce_q
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.metadata_response import MetadataResponse, MetadataResponsePartition
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from support.apache_kafka.java_kafka import JavaNode, require_java
from support.clients.lying_batches import batch
from support.nodes.processes import Cluster, NodeProcess, eventually
from support.nodes.strangers import ask, metrics

pytestmark = [pytest.mark.interop, pytest.mark.slow]

SECONDS = 240.0
NOT_SERVED = "quorate_broker_replicated_partitions_not_served"
BOTH = {11, 12}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Java's controller, two brokers of ours; the one asks for two replicas in sync in its file."""
    require_java()
    with Cluster(tmp_path_factory.mktemp("replicas"), controllers=1, brokers=2) as made:
        controller = made.nodes[1]
        controller.properties.pop("quorate.http.listener")
        made.nodes[11].properties["min.insync.replicas"] = "2"
        made.format()
        controller.write_properties()
        java = JavaNode(controller.properties_file, controller.directory / "java.txt")
        try:
            java.wait_for_log("Kafka Server started", timeout_s=SECONDS)
            for broker in made.broker_nodes:
                broker.start()
            made.wait_until_unfenced(SECONDS)
            yield made
        finally:
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


def produced(broker: NodeProcess, name: str, acks: int) -> ErrorCode:
    one = produce_q.PartitionProduceData(index=0, records=batch())
    topics = (produce_q.TopicProduceData(name=name, partition_data=(one,)),)
    answer = ask(broker, produce_q.ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=topics), 9)
    assert isinstance(answer, ProduceResponse)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def fetched(broker: NodeProcess, name: str) -> ErrorCode:
    one = fetch_q.FetchPartition(partition=0, partition_max_bytes=1000)
    topics = (fetch_q.FetchTopic(topic=name, partitions=(one,)),)
    answer = ask(broker, fetch_q.FetchRequest(max_bytes=1000, topics=topics), 12)
    assert isinstance(answer, FetchResponse)
    return ErrorCode(answer.responses[0].partitions[0].error_code)


def directories(cluster: Cluster, name: str) -> list[Path]:
    return [path for broker in cluster.broker_nodes for path in Path(broker.properties["log.dirs"]).glob(f"{name}-*")]


def test_what_two_brokers_of_ours_should_both_have_is_never_acknowledged(cluster: Cluster) -> None:
    leader = create(cluster, "pairs", (11, 12), min_insync_replicas="2")
    seen = described(leader, "pairs")
    assert seen is not None
    assert (seen.leader_id, set(seen.replica_nodes), set(seen.isr_nodes)) == (11, BOTH, BOTH)
    assert {produced(leader, "pairs", acks) for acks in (-1, 1) for _ in range(50)} == {
        ErrorCode.NOT_LEADER_OR_FOLLOWER
    }
    assert fetched(leader, "pairs") == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert leader.log().count("move pairs-0 to Java brokers or to one replica") == 1
    assert metrics(leader)[NOT_SERVED] == 1

    other = cluster.nodes[12]
    leader.kill()
    eventually("the other leads", lambda: (found := described(other, "pairs")) is not None and found.leader_id == 12)
    assert produced(other, "pairs", -1) == ErrorCode.NOT_ENOUGH_REPLICAS, "one of two is in sync"
    assert produced(other, "pairs", 1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert directories(cluster, "pairs") == [], "nothing of it is on a disk, so nothing of it is lost"
    leader.start()
    cluster.wait_until_unfenced(SECONDS)


def test_one_replica_is_served_although_two_are_asked_for(cluster: Cluster) -> None:
    leader = create(cluster, "alone", (11,), min_insync_replicas="2")
    eventually("it is served", lambda: produced(leader, "alone", -1) == ErrorCode.NONE)
    assert fetched(leader, "alone") == ErrorCode.NONE
    assert len(directories(cluster, "alone")) == 1
