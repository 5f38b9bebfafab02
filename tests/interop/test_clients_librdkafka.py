"""confluent-kafka (librdkafka) against our brokers."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.clients.client_story import CODECS, PARTITIONS, Sent, everything, records, running_cluster
from support.nodes.processes import Cluster, eventually

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    yield from running_cluster(tmp_path_factory.mktemp("librdkafka"))


def create(cluster: Cluster, topic: str, partitions: int) -> None:
    """Returns when every broker knows it: a client may ask any."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    client.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)
    for server in cluster.bootstrap_servers.split(","):
        one = AdminClient({"bootstrap.servers": server})
        eventually(f"{server} knows {topic}", lambda it=one: topic in it.list_topics(timeout=60).topics)  # type: ignore[misc]


def read(cluster: Cluster, topic: str, partitions: int, count: int) -> list[Sent]:
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "none", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found: list[Sent] = []
    deadline = time.monotonic() + 90
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.append(Sent(message.partition(), message.key() or b"", message.value() or b""))
    consumer.close()
    return sorted(found)


def test_every_record_comes_back_as_it_went_in(cluster: Cluster) -> None:
    create(cluster, "story", PARTITIONS)
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            errors.append(error)

    for codec in CODECS:
        for idempotent in (False, True):
            producer = Producer(
                {
                    "bootstrap.servers": cluster.bootstrap_servers,
                    "compression.type": codec,
                    "enable.idempotence": idempotent,
                    "acks": "all",
                }
            )
            for one in records(codec, idempotent=idempotent):
                producer.produce("story", one.value, one.key, one.partition, on_delivery=delivered)
            assert producer.flush(90) == 0
    assert errors == []
    assert read(cluster, "story", PARTITIONS, len(everything())) == everything()


def test_watermarks_and_times_are_known(cluster: Cluster) -> None:
    create(cluster, "times", 1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for stamp in (1000, 2000, 3000):
        producer.produce("times", b"x", timestamp=stamp)
        assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "none"})
    assert consumer.get_watermark_offsets(TopicPartition("times", 0), timeout=60) == (0, 3)
    (found,) = consumer.offsets_for_times([TopicPartition("times", 0, 1500)], timeout=60)
    assert found.offset == 1
    consumer.close()


def test_many_large_records_keep_their_order(cluster: Cluster) -> None:
    create(cluster, "large", 1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True, "linger.ms": 5})
    wanted = [Sent(0, b"%05d" % number, bytes([number % 251]) * 10_000) for number in range(1000)]
    for one in wanted:
        producer.produce("large", one.value, one.key, one.partition)
        producer.poll(0)
    assert producer.flush(120) == 0
    assert read(cluster, "large", 1, len(wanted)) == wanted


def test_a_consumer_waits_for_what_comes_later(cluster: Cluster) -> None:
    create(cluster, "later", 1)
    config = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "none", "fetch.wait.max.ms": 5000}
    consumer = Consumer({**config, "enable.auto.commit": False})  # else `close` waits for a group's coordinator
    consumer.assign([TopicPartition("later", 0, 0)])
    assert consumer.poll(1.0) is None
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce("later", b"at last")
    assert producer.flush(60) == 0
    message = consumer.poll(60.0)
    assert message is not None
    assert message.value() == b"at last"
    consumer.close()
