"""Transactions of every client on our brokers: what is committed is read, and nothing else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.apache_kafka.java_kafka import require_java, run_tool
from support.nodes.processes import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.slow]

SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "200",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
PATIENCE_S = 90.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("transactions"), controllers=1, brokers=1, extra=SETTINGS) as made:
        made.start()
        made.wait_until_unfenced(PATIENCE_S)
        yield made


def create(cluster: Cluster, topic: str, partitions: int = 1) -> None:
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    client.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)


def producer(cluster: Cluster, name: str, **more: object) -> Producer:
    found = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": name, **more})
    found.init_transactions(60)
    return found


def committed(cluster: Cluster, topic: str, partitions: int = 1, isolation: str = "read_committed") -> list[bytes]:
    """All that may be read of a topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "none",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found: list[bytes] = []
    ended: set[int | None] = set()
    deadline = time.monotonic() + 60
    while len(ended) < partitions and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error() is None:
            found.append(message.value() or b"")
        else:
            ended.add(message.partition())
    consumer.close()
    assert len(ended) == partitions
    return found


def test_librdkafka_commits_and_aborts(cluster: Cluster) -> None:
    """TXN-26, FCH-10."""
    create(cluster, "ledger", 2)
    one = producer(cluster, "one")
    for turn in range(6):
        one.begin_transaction()
        for number in range(10):
            one.produce("ledger", b"%d-%d" % (turn, number), partition=number % 2)
        if turn % 2:
            one.abort_transaction(30)
        else:
            one.commit_transaction(30)
    wanted = {b"%d-%d" % (turn, number) for turn in (0, 2, 4) for number in range(10)}
    found = committed(cluster, "ledger", 2)
    assert sorted(found) == sorted(wanted)
    assert len(committed(cluster, "ledger", 2, "read_uncommitted")) >= 30


def test_what_is_open_is_not_read(cluster: Cluster) -> None:
    """LOG-29: the last stable offset stays before an open transaction; others behind it are read when it ends."""
    create(cluster, "open")
    first, second = producer(cluster, "first"), producer(cluster, "second")
    first.begin_transaction()
    first.produce("open", b"first")
    assert first.flush(30) == 0
    second.begin_transaction()
    second.produce("open", b"second")
    second.commit_transaction(30)
    assert committed(cluster, "open") == []
    first.commit_transaction(30)
    assert committed(cluster, "open") == [b"first", b"second"]


def test_a_newer_producer_fences_an_older(cluster: Cluster) -> None:
    """TXN-03, TXN-05: what the older one has begun is aborted."""
    create(cluster, "fenced")
    old = producer(cluster, "same")
    old.begin_transaction()
    old.produce("fenced", b"old")
    assert old.flush(30) == 0
    new = producer(cluster, "same")
    new.begin_transaction()
    new.produce("fenced", b"new")
    new.commit_transaction(30)
    with pytest.raises(KafkaException):
        old.commit_transaction(30)
    assert committed(cluster, "fenced") == [b"new"]


def test_an_abandoned_transaction_is_aborted_in_time(cluster: Cluster) -> None:
    """TXN-17."""
    create(cluster, "late")
    lost = producer(cluster, "lost", **{"transaction.timeout.ms": 1000, "message.timeout.ms": 1000})
    lost.begin_transaction()
    lost.produce("late", b"lost")
    assert lost.flush(30) == 0
    other = producer(cluster, "other")
    other.begin_transaction()
    other.produce("late", b"other")
    other.commit_transaction(30)
    deadline = time.monotonic() + 30
    while (found := committed(cluster, "late")) != [b"other"] and time.monotonic() < deadline:
        time.sleep(0.2)
    assert found == [b"other"]


def test_offsets_are_committed_with_their_transaction(cluster: Cluster) -> None:
    """OFF-06: offsets of an aborted transaction are not there; those of a committed one are."""
    create(cluster, "source")
    create(cluster, "sink")
    plain = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(20):
        plain.produce("source", b"%d" % number)
    assert plain.flush(30) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "copier",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe(["source"])
    copier = producer(cluster, "copier")

    def copied(count: int) -> None:
        copier.begin_transaction()
        left = count
        while left:
            message = consumer.poll(10.0)
            assert message is not None and message.error() is None, message
            copier.produce("sink", message.value())
            left -= 1
        copier.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30
        )

    copied(10)
    copier.commit_transaction(30)
    assert consumer.committed([TopicPartition("source", 0)], 30)[0].offset == 10
    copied(5)
    copier.abort_transaction(30)
    assert consumer.committed([TopicPartition("source", 0)], 30)[0].offset == 10
    consumer.seek(TopicPartition("source", 0, 10))
    copied(10)
    copier.commit_transaction(30)
    assert consumer.committed([TopicPartition("source", 0)], 30)[0].offset == 20
    consumer.close()
    assert committed(cluster, "sink") == [b"%d" % number for number in range(20)]


def test_aiokafka_commits_and_aborts(cluster: Cluster) -> None:
    """TXN-26."""
    create(cluster, "aio")

    async def story() -> None:
        made = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, transactional_id="aio")
        await made.start()
        try:
            for turn in range(4):
                await made.begin_transaction()
                await made.send_and_wait("aio", b"%d" % turn)
                await (made.abort_transaction() if turn % 2 else made.commit_transaction())
        finally:
            await made.stop()

    asyncio.run(story())
    assert committed(cluster, "aio") == [b"0", b"2"]


def test_java_produces_in_transactions_and_reads_what_is_committed(cluster: Cluster) -> None:
    """TXN-26: the performance tool's producer, at the newest versions; the console consumer."""
    require_java()
    create(cluster, "javas")
    servers = ("--bootstrap-server", cluster.bootstrap_servers)
    written = run_tool(
        "kafka-producer-perf-test", *servers, "--topic", "javas", "--num-records", "500", "--record-size", "10",
        "--throughput", "-1", "--transactional-id", "javas", "--transaction-duration-ms", "50",
        timeout_s=PATIENCE_S,
    )  # fmt: skip
    assert written.rc == 0, written.err
    read = run_tool(
        "kafka-console-consumer", *servers, "--topic", "javas", "--from-beginning", "--max-messages", "500",
        "--timeout-ms", "30000", "--isolation-level", "read_committed", timeout_s=PATIENCE_S,
    )  # fmt: skip
    assert len(read.out.split()) == 500, read.err


def _ours(cluster: Cluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "controller_runtime.cli.main", "transactions"]
    return subprocess.run(
        [*words, "--bootstrap-server", cluster.bootstrap_servers, *arguments],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def _javas(cluster: Cluster, *arguments: str) -> str:
    done = run_tool(
        "kafka-transactions", "--bootstrap-server", cluster.bootstrap_servers, *arguments, timeout_s=PATIENCE_S
    )
    assert done.rc == 0, done
    return done.out


def test_the_tool_for_transactions_says_what_javas_says(cluster: Cluster) -> None:
    """TXN-23, QRY-10; and a transaction that is ended by force."""
    require_java()
    create(cluster, "seen")
    seen = producer(cluster, "seen")
    seen.begin_transaction()
    seen.produce("seen", b"x")
    assert seen.flush(30) == 0
    for words in (("list",), ("describe-producers", "--topic", "seen", "--partition", "0")):
        ours, javas = _ours(cluster, *words), _javas(cluster, *words)
        assert ours.returncode == 0, ours
        assert sorted(ours.stdout.splitlines()) == sorted(javas.splitlines())
    about = ("describe", "--transactional-id", "seen")
    ours_words, javas_words = _ours(cluster, *about).stdout.split(), _javas(cluster, *about).split()
    assert (ours_words[:-2], ours_words[-1]) == (javas_words[:-2], javas_words[-1])
    hanging = ("find-hanging", "--topic", "seen", "--max-transaction-timeout", "0")
    assert _ours(cluster, *hanging).stdout == _javas(cluster, *hanging)
    ended = _ours(cluster, "abort", "--topic", "seen", "--partition", "0", "--start-offset", "0")
    assert ended.returncode == 0, ended
    assert "None" in _ours(cluster, "describe-producers", "--topic", "seen", "--partition", "0").stdout
    ended = _ours(cluster, "forceTerminateTransaction", "--transactionalId", "seen")
    assert ended.returncode == 0, ended
    with pytest.raises(KafkaException):
        seen.commit_transaction(30)
    assert committed(cluster, "seen") == []
