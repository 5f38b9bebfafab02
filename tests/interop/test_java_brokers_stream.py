"""A streams group (KIP-1071) on Apache Kafka's broker under three controllers of ours: the broker's coordinator makes
the group's own topics at our controllers, members come and go, the leader is killed, and every word is counted once
(INT-01).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.apache_kafka.java_brokers import SECONDS, JavaBrokers
from support.apache_kafka.streams_clients import WordCount, compile_counter
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

GROUP: Final = "counting"
WORDS: Final = "words"
COUNTS: Final = "counts"
VOCABULARY: Final = ("log", "epoch", "offset", "image", "voter")
ALONE: Final = dict.fromkeys(("offsets.topic.replication.factor", "transaction.state.log.replication.factor"), "1")


@pytest.fixture
def nodes(java: str, tmp_path: Path) -> Iterator[JavaBrokers]:
    with JavaBrokers(tmp_path, controllers=3, brokers=1, extra=ALONE) as made:
        made.start()
        yield made


@pytest.mark.timeout(900)
def test_every_word_is_counted_once_while_members_and_the_leader_go(nodes: JavaBrokers, tmp_path: Path) -> None:
    compiled = compile_counter(tmp_path)
    for topic in (WORDS, COUNTS):
        nodes.tool("kafka-topics", "--create", "--topic", topic, "--partitions", "2")
    told: Counter[str] = Counter()
    with WordCount(compiled, tmp_path / "a", nodes.servers, GROUP, WORDS, COUNTS) as first:
        first.wait_until_running()
        tell(nodes, told, 100)
        wait_until_counted(nodes, told)
        leader = nodes.cluster.wait_for_leader(seconds=SECONDS).node_id
        nodes.kill(leader)
        tell(nodes, told, 100)
        with WordCount(compiled, tmp_path / "b", nodes.servers, GROUP, WORDS, COUNTS) as second:
            second.wait_until_running()
            wait_until_counted(nodes, told)
            eventually("two members have tasks", lambda: len(members(nodes)) == 2, SECONDS)
            first.stop()
            tell(nodes, told, 100)
            wait_until_counted(nodes, told)
    nodes.boot(leader)
    nodes.wait_until_voters_follow()
    listed = nodes.tool("kafka-groups", "--list").out
    assert [line.split()[:2] for line in listed.splitlines() if line.startswith(GROUP)] == [[GROUP, "Streams"]]
    topics = nodes.tool("kafka-topics", "--list").out.split()
    assert {f"{GROUP}-counts-changelog", f"{GROUP}-counts-repartition"} <= set(topics), topics
    assert nodes.refused() == []


def tell(nodes: JavaBrokers, told: Counter[str], count: int) -> None:
    producer = Producer({"bootstrap.servers": nodes.servers, "acks": "all"})
    for number in range(count):
        word = VOCABULARY[number % len(VOCABULARY)]
        producer.produce(WORDS, word, key=str(number))
        told[word] += 1
    assert producer.flush(SECONDS) == 0


def wait_until_counted(nodes: JavaBrokers, told: Counter[str]) -> None:
    """The last count of every word, as transactions committed it."""
    consumer = Consumer({
        "bootstrap.servers": nodes.servers, "group.id": "nobody", "isolation.level": "read_committed",
        "enable.auto.commit": False,
    })  # fmt: skip
    consumer.assign([TopicPartition(COUNTS, number, 0) for number in range(2)])
    found: dict[str, int] = {}

    def counted() -> bool:
        for message in consumer.consume(500, 1.0):
            assert message.error() is None, message.error()
            found[(message.key() or b"").decode()] = int(message.value() or b"0")
        return found == told

    try:
        eventually(f"the counts are {dict(told)}", counted, SECONDS)
    finally:
        consumer.close()


def members(nodes: JavaBrokers) -> set[str]:
    """Those to which Java's tool knows active tasks."""
    said = nodes.tool("kafka-streams-groups", "--describe", "--group", GROUP, "--members").out
    return {line.split()[1] for line in said.splitlines() if line.startswith(GROUP) and "ACTIVE: " in line}
