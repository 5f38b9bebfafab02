"""A Kafka Streams application (KIP-1071, exactly once) on a broker of ours: members come, one is killed,
every word is counted once, and Java's `kafka-streams-groups` lists, describes, resets and deletes the group.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.apache_kafka.java_kafka import require_java, run_tool
from support.apache_kafka.streams_clients import WordCount, compile_counter
from support.nodes.processes import Cluster, eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

SETTINGS: Final = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.min.isr": "1",
    "group.streams.initial.rebalance.delay.ms": "0",
}
GROUP, WORDS, COUNTS = "counting", "words", "counts"
VOCABULARY: Final = ("log", "epoch", "offset", "image", "voter")
PATIENCE_S: Final = 180.0


def tell(servers: str, told: Counter[str], count: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    for number in range(count):
        word = VOCABULARY[number % len(VOCABULARY)]
        producer.produce(WORDS, word, key=str(number))
        told[word] += 1
    assert producer.flush(PATIENCE_S) == 0


def wait_until_counted(servers: str, told: Counter[str]) -> None:
    """The last count of every word, as transactions committed it."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "nobody",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(COUNTS, number, 0) for number in range(2)])
    found: dict[str, int] = {}

    def counted() -> bool:
        for message in consumer.consume(500, 1.0):
            assert message.error() is None, message.error()
            found[(message.key() or b"").decode()] = int(message.value() or b"0")
        return found == told

    try:
        eventually(f"the counts are {dict(told)}", counted, PATIENCE_S)
    finally:
        consumer.close()


def groups(servers: str, *words: str) -> str:
    said = run_tool("kafka-streams-groups", "--bootstrap-server", servers, *words)
    assert said.rc == 0, said.err
    return said.out


@pytest.mark.timeout(900)
def test_every_word_is_counted_once_while_a_member_is_killed(tmp_path: Path) -> None:
    require_java()
    compiled, told = compile_counter(tmp_path), Counter[str]()
    with Cluster(tmp_path, controllers=1, brokers=1, extra=SETTINGS) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(PATIENCE_S)
        servers = cluster.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})  # a name of its own: its requests end with it
        for each in admin.create_topics([NewTopic(WORDS, 2, 1), NewTopic(COUNTS, 2, 1)]).values():
            each.result(PATIENCE_S)
        with WordCount(compiled, tmp_path / "a", servers, GROUP, WORDS, COUNTS) as first:
            first.wait_until_running()
            tell(servers, told, 100)
            wait_until_counted(servers, told)
            with WordCount(compiled, tmp_path / "b", servers, GROUP, WORDS, COUNTS) as second:
                second.wait_until_running()
                shown = ("--describe", "--group", GROUP, "--members")
                eventually("both have tasks", lambda: groups(servers, *shown).count("ACTIVE: ") == 2, PATIENCE_S)
                first.kill()
                tell(servers, told, 100)
                wait_until_counted(servers, told)
                second.stop()
        reset = groups(servers, "--reset-offsets", "--group", GROUP, "--to-earliest", "--all-input-topics", "--dry-run")
        assert sum(line.startswith(GROUP) for line in reset.splitlines()) == 2
        assert "was successful" in groups(servers, "--delete", "--group", GROUP)
        assert GROUP not in groups(servers, "--list")
