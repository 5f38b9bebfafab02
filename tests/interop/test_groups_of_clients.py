"""Consumer groups of every client on our broker: kafka-python, aiokafka, librdkafka and Java's consumer share topics,
commit, and are seen by Java's own tool; and what our coordinator writes is read by Java, as Java's would be.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer

from support.apache_kafka.java_kafka import require_java, run_tool
from support.apache_kafka.kafka_python import (
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    NewTopic,
    TopicPartition,
)
from support.nodes.processes import Cluster, eventually

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]

TOPIC, PARTITIONS, RECORDS = "shared", 4, 200
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "200",
}
PATIENCE_S = 90.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("groups"), controllers=1, brokers=1, extra=SETTINGS) as made:
        made.start()
        made.wait_until_unfenced(PATIENCE_S)
        admin = KafkaAdminClient(bootstrap_servers=made.bootstrap_servers)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
        admin.close()
        producer = KafkaProducer(bootstrap_servers=made.bootstrap_servers)
        for number in range(RECORDS):
            producer.send(TOPIC, b"%d" % number, partition=number % PARTITIONS)
        producer.flush(60)
        producer.close()
        yield made


def committed(cluster: Cluster, group_id: str) -> int:
    """How many records the group has read, by its commits."""
    client = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=group_id, enable_auto_commit=False)
    found = [client.committed(TopicPartition(TOPIC, index)) or 0 for index in range(PARTITIONS)]
    client.close()
    return sum(found)


def test_members_of_kafka_python_share_a_topic_and_each_record_is_read_once(cluster: Cluster) -> None:
    """GRP-04, GRP-12: three come one after the other, one goes; what was committed is not read again."""
    seen: list[int] = []
    owned: dict[int, set[int]] = {}
    lock, stops = threading.Lock(), [threading.Event() for _ in range(3)]

    def read(number: int) -> None:
        client = KafkaConsumer(
            TOPIC,
            bootstrap_servers=cluster.bootstrap_servers,
            group_id="kafka-python",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        while not stops[number].is_set():
            batches = client.poll(200)
            with lock:
                owned[number] = {each.partition for each in client.assignment()}
                seen.extend(int(one.value) for batch in batches.values() for one in batch)
            if batches:
                client.commit()
        client.close()
        with lock:
            owned[number] = set()

    threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(3)]
    for thread in threads:
        thread.start()

    def is_shared() -> bool:
        with lock:
            parts = [each for each in owned.values() if each]
            return len(parts) == 3 and sum(map(len, parts)) == PARTITIONS == len(set().union(*parts))

    eventually("three members own disjoint partitions", is_shared, PATIENCE_S)
    eventually("everything is read", lambda: len(seen) >= RECORDS, PATIENCE_S)
    stops[0].set()
    threads[0].join(30)

    def two_are_left() -> bool:
        with lock:
            return sorted(map(len, owned.values())) == [0, 2, 2]

    eventually("two own everything", two_are_left, PATIENCE_S)
    for stop in stops:
        stop.set()
    for thread in threads:
        thread.join(30)
    assert set(seen) == set(range(RECORDS))
    assert committed(cluster, "kafka-python") == RECORDS


async def test_aiokafka_goes_on_where_its_group_has_stopped(cluster: Cluster) -> None:
    async def read(count: int) -> list[int]:
        client = AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=cluster.bootstrap_servers,
            group_id="aiokafka",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            max_poll_records=50,
        )
        await client.start()
        found: list[int] = []
        async with asyncio.timeout(PATIENCE_S):
            while len(found) < count:
                for batch in (await client.getmany(timeout_ms=500)).values():
                    found += [int(one.value) for one in batch]
        await client.commit()
        await client.stop()
        return found

    first = await read(RECORDS // 2)
    second = await read(RECORDS - len(first)) if len(first) < RECORDS else []
    assert sorted(first + second) == list(range(RECORDS))
    assert committed(cluster, "aiokafka") == RECORDS


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_librdkafka_shares_by_every_assignor(cluster: Cluster, strategy: str) -> None:
    """GRP-07, too: a static member that comes back has what it had."""
    name = f"librdkafka-{strategy}"

    def client(instance: str) -> Consumer:
        made = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "group.id": name,
                "group.instance.id": instance,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "partition.assignment.strategy": strategy,
            }
        )
        made.subscribe([TOPIC])
        return made

    members = [client("one"), client("two")]
    seen: set[int] = set()

    def step() -> bool:
        for each in members:
            message = each.poll(0.05)
            if message is not None and message.error() is None:
                seen.add(int(message.value() or b""))
        return len(seen) == RECORDS and sorted(len(each.assignment()) for each in members) == [2, 2]

    eventually("two members have read everything", step, PATIENCE_S)
    for each in members:
        each.commit(asynchronous=False)
    before = {each.partition for each in members[1].assignment()}
    members[1].close()
    members[1] = client("two")

    def is_back() -> bool:
        step()
        return {each.partition for each in members[1].assignment()} == before

    eventually("it has what it had", is_back, PATIENCE_S)
    for each in members:
        each.close()
    assert committed(cluster, name) == RECORDS


def test_groups_outlive_the_coordinator(cluster: Cluster) -> None:
    """GRP-19, GRP-26: after kill -9 the offsets are those that were committed, and members go on."""
    client = KafkaConsumer(
        TOPIC,
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="survivors",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    count = 0
    deadline = time.monotonic() + PATIENCE_S
    while count < RECORDS and time.monotonic() < deadline:
        count += sum(map(len, client.poll(500).values()))
    client.commit()
    broker = cluster.nodes[11]
    broker.kill()
    broker.start()
    cluster.wait_until_unfenced(PATIENCE_S)
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    for number in range(PARTITIONS):
        producer.send(TOPIC, b"%d" % (RECORDS + number), partition=number)
    producer.flush(60)
    producer.close()
    found: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < PARTITIONS and time.monotonic() < deadline:
        found += [int(one.value) for batch in client.poll(500).values() for one in batch]
    assert sorted(found) == list(range(RECORDS, RECORDS + PARTITIONS)), "and nothing else"
    client.commit()
    client.close()
    assert committed(cluster, "survivors") == RECORDS + PARTITIONS


def test_java_s_consumer_and_its_tool(cluster: Cluster) -> None:
    """GRP-21, GRP-22, OFF-11: Java's console consumer joins, its tool lists, describes, moves and deletes."""
    require_java()
    servers = ("--bootstrap-server", cluster.bootstrap_servers)
    read = run_tool(
        "kafka-console-consumer", *servers, "--topic", TOPIC, "--group", "java", "--from-beginning",
        "--max-messages", str(RECORDS), "--timeout-ms", "60000",
        timeout_s=PATIENCE_S,
    )  # fmt: skip
    assert len(read.out.split()) == RECORDS, read.err
    listed = run_tool("kafka-consumer-groups", *servers, "--list", "--state", timeout_s=PATIENCE_S)
    assert re.search(r"^java\s+Classic\s+Empty", listed.out, re.MULTILINE | re.IGNORECASE) or re.search(
        r"^java\s+Empty", listed.out, re.MULTILINE
    ), listed
    about = ("kafka-consumer-groups", *servers, "--group", "java")
    described = run_tool(*about, "--describe", timeout_s=PATIENCE_S)
    rows = [line.split() for line in described.out.splitlines() if line.startswith("java ")]
    assert {row[1] for row in rows} == {TOPIC}
    assert {row[2] for row in rows} == {str(index) for index in range(PARTITIONS)}, described
    moved = run_tool(*about, "--topic", TOPIC, "--reset-offsets", "--to-earliest", "--execute", timeout_s=PATIENCE_S)
    assert moved.rc == 0, moved
    assert committed(cluster, "java") == 0
    forgotten = run_tool(*about, "--delete-offsets", "--topic", f"{TOPIC}:0", timeout_s=PATIENCE_S)
    assert "Successful" in forgotten.out, forgotten
    deleted = run_tool(*about, "--delete", timeout_s=PATIENCE_S)
    assert "was successful" in deleted.out, deleted
    listed = run_tool("kafka-consumer-groups", *servers, "--list", timeout_s=PATIENCE_S)
    assert "java" not in listed.out.split()


def test_java_reads_what_our_coordinator_has_written(cluster: Cluster) -> None:
    """GRP-23: every record, with Java's own decoder of group metadata."""
    require_java()
    broker = cluster.nodes[11]
    logs = sorted(str(path) for path in Path(broker.properties["log.dirs"]).glob("__consumer_offsets-*/*.log"))
    shown = run_tool("kafka-dump-log", "--offsets-decoder", "--files", ",".join(logs), timeout_s=PATIENCE_S)
    assert shown.rc == 0, shown.err
    lines = [line for line in shown.out.splitlines() if line.startswith("| offset:")]
    assert len(lines) > 50
    assert not [line for line in lines if "skipping" in line or "Unknown" in line]
    assert any('"protocol":"range"' in line and '"subscription":{' in line for line in lines)
    assert any('"payload: <DELETE>' in line or "payload: <DELETE>" in line for line in lines)
    assert "isvalid: false" not in shown.out
