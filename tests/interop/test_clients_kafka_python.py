"""kafka-python against our brokers: topics, every way to produce, reading back, looking up by time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from support.apache_kafka.kafka_python import (
    InvalidReplicationFactorError,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    NewTopic,
    TopicAlreadyExistsError,
    TopicPartition,
)
from support.clients.client_story import CODECS, PARTITIONS, Sent, everything, records, running_cluster
from support.nodes.processes import Cluster, eventually

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    yield from running_cluster(tmp_path_factory.mktemp("kafka-python"))


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    yield client
    client.close()


def consumer(cluster: Cluster) -> KafkaConsumer:
    return KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=None, enable_auto_commit=False)


def read(cluster: Cluster, topic: str, count: int) -> list[Sent]:
    client = consumer(cluster)
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    client.assign(partitions)
    client.seek_to_beginning(*partitions)
    found: list[Sent] = []
    deadline = time.monotonic() + 90
    while len(found) < count and time.monotonic() < deadline:
        for batch in client.poll(1000).values():
            found += [Sent(each.partition, each.key, each.value) for each in batch]
    client.close()
    return sorted(found)


def test_every_record_comes_back_as_it_went_in(cluster: Cluster, admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic("story", PARTITIONS, 1)])
    for codec in CODECS:
        for idempotent in (False, True):
            producer = KafkaProducer(
                bootstrap_servers=cluster.bootstrap_servers,
                compression_type=None if codec == "none" else codec,
                enable_idempotence=idempotent,
                acks="all",
                request_timeout_ms=60_000,
            )
            futures = [
                producer.send("story", one.value, one.key, [("codec", codec.encode())], one.partition)
                for one in records(codec, idempotent=idempotent)
            ]
            producer.flush(90)
            assert all(future.get(30).offset >= 0 for future in futures)
            producer.close()
    assert read(cluster, "story", len(everything())) == everything()


def test_both_brokers_lead_partitions(cluster: Cluster, admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic("spread", PARTITIONS, 1)])
    client = consumer(cluster)
    leaders = eventually("leaders", lambda: {_leader(client, "spread", n) for n in range(PARTITIONS)} - {None})
    assert leaders == {11, 12}
    client.close()


def _leader(client: KafkaConsumer, topic: str, partition: int) -> int | None:
    client.partitions_for_topic(topic)
    found: int | None = client._client.cluster.leader_for_partition(TopicPartition(topic, partition))
    return found


def test_without_acknowledgement_records_arrive_too(cluster: Cluster, admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic("unacknowledged", 1, 1)])
    eventually("the topic", lambda: "unacknowledged" in consumer_topics(cluster))

    def end() -> list[int]:
        client = consumer(cluster)
        ends = client.end_offsets([TopicPartition("unacknowledged", 0)])
        client.close()
        return list(ends.values())

    eventually("somebody leads: what is sent before is lost without a word", lambda: end() == [0])
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks=0, enable_idempotence=False)
    for number in range(100):
        producer.send("unacknowledged", b"%d" % number)
    producer.flush(60)
    producer.close()
    eventually("all records", lambda: end() == [100])


def consumer_topics(cluster: Cluster) -> set[str]:
    client = consumer(cluster)
    found = set(client.topics())
    client.close()
    return found


def test_offsets_are_found_by_time(cluster: Cluster, admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic("times", 1, 1)])
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=0)
    for stamp in (1000, 2000, 3000, 4000):
        producer.send("times", b"x", timestamp_ms=stamp).get(60)
    producer.close()
    client = consumer(cluster)
    partition = TopicPartition("times", 0)
    found = {stamp: client.offsets_for_times({partition: stamp})[partition] for stamp in (0, 1000, 1001, 4000, 4001)}
    assert {stamp: each and (each.offset, each.timestamp) for stamp, each in found.items()} == {
        0: (0, 1000),
        1000: (0, 1000),
        1001: (1, 2000),
        4000: (3, 4000),
        4001: None,
    }
    assert client.beginning_offsets([partition]) == {partition: 0}
    assert client.end_offsets([partition]) == {partition: 4}
    client.close()


def test_what_cannot_be_created_is_refused_by_its_error(admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic("twice", 1, 1)])
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic("twice", 1, 1)])
    with pytest.raises(InvalidReplicationFactorError):
        admin.create_topics([NewTopic("three", 1, 3)])


def test_a_deleted_topic_and_its_files_are_gone(cluster: Cluster, admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic("doomed", 1, 1)])
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    producer.send("doomed", b"x").get(60)
    producer.close()

    def directories() -> list[str]:
        homes = [broker.directory / "data" for broker in cluster.broker_nodes]
        return [path.name for home in homes for path in home.iterdir() if path.name.startswith("doomed-0")]

    assert directories() == ["doomed-0"]
    admin.delete_topics(["doomed"])
    eventually("the files are gone", lambda: not directories())
    assert "doomed" not in consumer_topics(cluster)


def test_producing_to_an_unknown_topic_makes_it(cluster: Cluster) -> None:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    assert producer.send("made-by-need", b"x").get(90).offset == 0
    producer.close()
