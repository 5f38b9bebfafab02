"""aiokafka against our brokers: it speaks old versions of every API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from support.clients.client_story import CODECS, PARTITIONS, Sent, everything, records, running_cluster
from support.nodes.processes import Cluster

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    yield from running_cluster(tmp_path_factory.mktemp("aiokafka"))


async def create(cluster: Cluster, topic: str, partitions: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    await admin.start()
    await admin.create_topics([NewTopic(topic, partitions, 1)])
    await admin.close()


async def read(cluster: Cluster, topic: str, count: int) -> list[Sent]:
    consumer = AIOKafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=None, enable_auto_commit=False)
    await consumer.start()
    try:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        found: list[Sent] = []
        async with asyncio.timeout(90):
            while len(found) < count:
                for batch in (await consumer.getmany(timeout_ms=1000)).values():
                    found += [Sent(each.partition, each.key, each.value) for each in batch]
        return sorted(found)
    finally:
        await consumer.stop()


async def test_every_record_comes_back_as_it_went_in(cluster: Cluster) -> None:
    await create(cluster, "story", PARTITIONS)
    for codec in CODECS:
        for idempotent in (False, True):
            producer = AIOKafkaProducer(
                bootstrap_servers=cluster.bootstrap_servers,
                compression_type=None if codec == "none" else codec,
                enable_idempotence=idempotent,
                acks="all",
                request_timeout_ms=60_000,
            )
            await producer.start()
            futures = [
                await producer.send("story", one.value, one.key, one.partition)
                for one in records(codec, idempotent=idempotent)
            ]
            await asyncio.gather(*futures)
            await producer.stop()
    assert await read(cluster, "story", len(everything())) == everything()


async def test_ends_and_times_are_known(cluster: Cluster) -> None:
    await create(cluster, "times", 1)
    producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    await producer.start()
    for stamp in (1000, 2000, 3000):
        await producer.send_and_wait("times", b"x", timestamp_ms=stamp)
    await producer.stop()
    consumer = AIOKafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=None)
    await consumer.start()
    partition = TopicPartition("times", 0)
    consumer.assign([partition])
    assert await consumer.beginning_offsets([partition]) == {partition: 0}
    assert await consumer.end_offsets([partition]) == {partition: 3}
    found = await consumer.offsets_for_times({partition: 1500})
    assert found[partition].offset == 1
    await consumer.stop()
