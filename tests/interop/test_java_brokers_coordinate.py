"""What Apache Kafka's brokers coordinate works under three controllers of ours, and goes on under the next leader:
transactions, classic groups, groups of KIP-848, share groups (INT-01).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaError, Producer

from support.apache_kafka.java_brokers import SECONDS, JavaBrokers
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

TOPIC: Final = "moves"
OF_JAVA: Final = 100
"""Records that a producer of Java's commits in transactions of 50 ms."""


@pytest.fixture
def nodes(java: str, tmp_path: Path) -> Iterator[JavaBrokers]:
    with JavaBrokers(tmp_path, controllers=3) as made:
        made.start()
        yield made


@pytest.mark.timeout(900)
def test_transactions_and_every_kind_of_group_go_on_under_the_next_leader(nodes: JavaBrokers) -> None:
    nodes.tool("kafka-topics", "--create", "--topic", TOPIC, "--partitions", "1", "--replication-factor", "3",
               "--config", "min.insync.replicas=2")  # fmt: skip
    nodes.tool("kafka-configs", "--alter", "--entity-type", "groups", "--entity-name", "share",
               "--add-config", "share.auto.offset.reset=earliest")  # fmt: skip
    before = nodes.not_served()
    producers: set[str] = set()
    for turn in ("first", "second"):
        commit_by_java(nodes, turn)
        expected = [f"{turn} {number}".encode() for number in range(20)]
        commit_and_abort(nodes, f"ours-{turn}", expected)
        for protocol in ("classic", "consumer"):
            seen = read_committed(nodes, protocol)
            assert len(seen) == OF_JAVA + len(expected), (protocol, len(seen))
            assert [value for value in seen if value.startswith((b"first ", b"second ", b"aborted "))] == expected
        read_by_java(nodes, OF_JAVA + len(expected))
        assert nodes.not_served() == before
        producers |= listed_producers(nodes)
        if turn == "first":
            kill_the_leader(nodes)
            before = nodes.not_served()
    assert len(producers) == 4, producers
    assert kinds_of_groups(nodes) == {"classic": "Classic", "consumer": "Consumer", "share": "Share"}
    assert nodes.refused() == []


def commit_by_java(nodes: JavaBrokers, transactional_id: str) -> None:
    nodes.tool("kafka-producer-perf-test", "--topic", TOPIC, "--num-records", str(OF_JAVA), "--throughput", "-1",
               "--record-size", "20", "--transactional-id", transactional_id, "--transaction-duration-ms", "50",
               "--command-property", "acks=all")  # fmt: skip


def commit_and_abort(nodes: JavaBrokers, transactional_id: str, values: list[bytes]) -> None:
    """By librdkafka: a transaction that commits these, and around it one that is aborted and one more."""
    producer = Producer({"bootstrap.servers": nodes.servers, "transactional.id": transactional_id})
    producer.init_transactions(SECONDS)
    for batch in ([b"aborted 1"], values, [b"aborted 2"]):
        producer.begin_transaction()
        for value in batch:
            producer.produce(TOPIC, value)
        producer.flush(SECONDS)
        if batch is values:
            producer.commit_transaction(SECONDS)
        else:
            producer.abort_transaction(SECONDS)


def read_committed(nodes: JavaBrokers, protocol: str) -> list[bytes]:
    """What a member of the group of this name and protocol reads from where the group was to the end."""
    member = Consumer({
        "bootstrap.servers": nodes.servers, "group.id": protocol, "group.protocol": protocol,
        "auto.offset.reset": "earliest", "isolation.level": "read_committed", "enable.partition.eof": True,
        "enable.auto.commit": False,
    })  # fmt: skip
    member.subscribe([TOPIC])
    found: list[bytes] = []

    def at_the_end() -> bool:
        for message in member.consume(100, 1.0):
            error = message.error()
            if error is None:
                found.append(message.value() or b"")
            elif error.code() == KafkaError._PARTITION_EOF:
                return True
        return False

    try:
        eventually(f"the {protocol} group is at the end", at_the_end, SECONDS)
        member.commit(asynchronous=False)
    finally:
        member.close()
    return found


def read_by_java(nodes: JavaBrokers, count: int) -> None:
    """By a member of the share group, which has not had them, and which sees what was aborted, too."""
    done = nodes.tool("kafka-console-share-consumer", "--topic", TOPIC, "--group", "share",
                      "--max-messages", str(count), "--timeout-ms", "90000")  # fmt: skip
    assert f"Processed a total of {count} messages" in done.err, done


def listed_producers(nodes: JavaBrokers) -> set[str]:
    """The ids that our controllers gave to producers of transactions."""
    rows = [line.split() for line in nodes.tool("kafka-transactions", "list").out.splitlines()[1:] if line.strip()]
    return {row[2] for row in rows}


def kinds_of_groups(nodes: JavaBrokers) -> dict[str, str]:
    rows = [line.split() for line in nodes.tool("kafka-groups", "--list").out.splitlines()[1:] if line.strip()]
    return {row[0]: row[1] for row in rows}


def kill_the_leader(nodes: JavaBrokers) -> None:
    leader = nodes.cluster.wait_for_leader(seconds=SECONDS).node_id
    nodes.kill(leader)
    nodes.cluster.wait_for_leader(other_than=leader, seconds=SECONDS)
