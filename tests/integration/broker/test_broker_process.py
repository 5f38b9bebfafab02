"""Broker processes: kill -9 loses nothing acknowledged, two log directories, both roles in one process, brokers that
come back.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from support.apache_kafka.kafka_python import (
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    NewTopic,
    TopicPartition,
)
from support.nodes.processes import Cluster, eventually

pytestmark = [
    pytest.mark.integration,
    # The client's own deprecated call.
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]


def create(cluster: Cluster, topic: str, partitions: int = 1) -> None:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    admin.create_topics([NewTopic(topic, partitions, 1)])
    admin.close()


def read_all(cluster: Cluster, topic: str, count: int, partitions: int = 1) -> list[bytes]:
    """The values, partition after partition, when at least `count` have come and the ends are reached."""
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=None, enable_auto_commit=False)
    wanted = [TopicPartition(topic, number) for number in range(partitions)]
    consumer.assign(wanted)
    consumer.seek_to_beginning(*wanted)
    found: dict[TopicPartition, list[bytes]] = {one: [] for one in wanted}

    def enough() -> bool:
        for partition, records in consumer.poll(500).items():
            found[partition] += [record.value for record in records]
        return sum(map(len, found.values())) >= count

    eventually(f"{count} records of {topic}", enough)
    ends = consumer.end_offsets(wanted)
    assert {one: len(values) for one, values in found.items()} == ends
    consumer.close()
    return [value for one in wanted for value in found[one]]


def test_a_killed_broker_returns_with_everything_it_acknowledged(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=1) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120)
        create(cluster, "orders")
        (broker,) = cluster.broker_nodes
        producer = KafkaProducer(
            bootstrap_servers=cluster.bootstrap_servers,
            enable_idempotence=True,
            linger_ms=0,
            request_timeout_ms=60_000,
            delivery_timeout_ms=180_000,
        )
        futures = []
        for number in range(300):
            futures.append(producer.send("orders", b"%d" % number))
            if number in (100, 200):
                producer.flush(60)
                broker.kill()
                broker.start()
        producer.flush(180)
        offsets = [future.get(10).offset for future in futures]
        producer.close()
        assert offsets == list(range(300))
        assert read_all(cluster, "orders", 300) == [b"%d" % number for number in range(300)]


def test_two_log_directories_share_the_partitions_and_survive_a_restart(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=1) as cluster:
        (broker,) = cluster.broker_nodes
        homes = [broker.directory / name for name in ("disk0", "disk1")]
        broker.properties["log.dirs"] = ",".join(map(str, homes))
        cluster.start()
        cluster.wait_until_unfenced(120)
        create(cluster, "orders", partitions=4)
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
        for number in range(40):
            producer.send("orders", b"%d" % number, partition=number % 4)
        producer.flush(60)
        producer.close()
        assert [len(list(home.glob("orders-*"))) for home in homes] == [2, 2]
        assert broker.stop() == 0
        assert all((home / ".kafka_cleanshutdown").exists() for home in homes)
        broker.start()
        cluster.wait_until_unfenced(120)
        found = read_all(cluster, "orders", 40, partitions=4)
        assert found == [b"%d" % number for first in range(4) for number in range(first, 40, 4)]


def test_both_roles_in_one_process_serve_and_leave_together(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=0) as cluster:
        (node,) = cluster.nodes.values()
        port = node.http_port  # a free port that only the probes would use
        node.properties.pop("quorate.http.listener")
        node.properties["process.roles"] = "broker,controller"
        node.properties["listeners"] += f",PLAINTEXT://127.0.0.1:{port}"
        cluster.format()
        node.start()
        node.wait_for_log("broker is RUNNING")
        bootstrap = f"127.0.0.1:{port}"
        admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        admin.create_topics([NewTopic("orders", 1, 1)])
        admin.close()
        producer = KafkaProducer(bootstrap_servers=bootstrap)
        assert producer.send("orders", b"one").get(60).offset == 0
        producer.close()
        assert node.stop() == 0
        assert "broker is STOPPED" in node.log()
        node.start()
        eventually("it runs again", lambda: node.log().count("broker is RUNNING") == 2)
        producer = KafkaProducer(bootstrap_servers=bootstrap)
        assert producer.send("orders", b"two").get(60).offset == 1
        producer.close()


def test_a_frozen_broker_is_fenced_and_serves_again_when_it_thaws(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=2, extra={"broker.session.timeout.ms": "3000"}) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120)
        create(cluster, "orders", partitions=2)
        frozen, _ = cluster.broker_nodes
        producer = KafkaProducer(
            bootstrap_servers=cluster.bootstrap_servers,
            enable_idempotence=True,
            request_timeout_ms=60_000,
            delivery_timeout_ms=180_000,
        )
        for number in range(20):
            producer.send("orders", b"%d" % number, partition=number % 2)
        producer.flush(60)

        def fenced(count: int) -> bool:
            return (
                f"kafka_controller_kafkacontroller_fencedbrokercount {count}\n" in cluster.nodes[1].http("/metrics")[1]
            )

        os.kill(frozen.pid, signal.SIGSTOP)
        eventually("it is fenced", lambda: fenced(1))
        os.kill(frozen.pid, signal.SIGCONT)
        eventually("it is back", lambda: fenced(0))
        for number in range(20, 40):
            producer.send("orders", b"%d" % number, partition=number % 2)
        producer.flush(120)
        producer.close()
        found = read_all(cluster, "orders", 40, partitions=2)
        assert found == [b"%d" % number for first in (0, 1) for number in range(first, 40, 2)]


def test_a_broker_of_another_cluster_never_registers_and_says_why(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=1) as cluster:
        for node in cluster.controller_nodes:
            node.format("--standalone")
            node.start()
        (broker,) = cluster.broker_nodes
        broker.format(cluster_id="AAAAAAAAAAAAAAAAAAAAAw")
        broker.properties["initial.broker.registration.timeout.ms"] = "5000"
        broker.start()
        assert broker.wait(120) != 0
        assert "belongs to another cluster than this node" in broker.log()
        assert "not registered within 5 seconds" in broker.log()


def test_a_log_directory_that_cannot_be_read_at_start_is_offline_and_the_others_go_on(tmp_path: Path) -> None:
    """As Apache Kafka 4.3.1: a file in the place of a directory is a disk that cannot be read. One that is missing was
    never formatted, for all that anybody knows; and without the directory of the metadata log nothing starts.
    """
    with Cluster(tmp_path, controllers=1, brokers=1) as cluster:
        (broker,) = cluster.broker_nodes
        homes = [broker.directory / name for name in ("disk0", "disk1")]
        broker.properties["log.dirs"] = ",".join(map(str, homes))
        broker.properties["metadata.log.dir"] = str(homes[0])
        cluster.start()
        cluster.wait_until_unfenced(120)
        create(cluster, "orders", partitions=4)
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
        futures = [producer.send("orders", b"%d" % number, partition=number) for number in range(4)]
        assert [future.get(60).offset for future in futures] == [0] * 4
        producer.close()
        lost = sorted(int(path.name.rpartition("-")[2]) for path in homes[1].glob("orders-*"))
        assert len(lost) == 2
        assert broker.stop() == 0
        homes[1].rename(broker.directory / "kept")
        homes[1].write_text("no directory")
        broker.start()
        cluster.wait_until_unfenced(120)
        assert f"offline: {homes[1]} is not a directory" in broker.log()
        assert [path.name for path in sorted(homes[0].glob("orders-*"))] == [
            f"orders-{number}" for number in range(4) if number not in lost
        ]
        consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=None)
        led = [TopicPartition("orders", number) for number in range(4) if number not in lost]
        consumer.assign(led)
        consumer.seek_to_beginning(*led)
        found: list[bytes] = []

        def both_came() -> bool:
            found.extend(record.value for records in consumer.poll(500).values() for record in records)
            return len(found) == 2

        eventually("the others serve", both_came)
        consumer.close()
        create(cluster, "new", partitions=2)
        eventually("new ones are placed", lambda: len(list(homes[0].glob("new-*"))) == 2)
        assert broker.stop() == 0
        homes[1].unlink()
        (broker.directory / "kept").rename(homes[1])
        broker.start()
        cluster.wait_until_unfenced(120)
        assert sorted(read_all(cluster, "orders", 4, partitions=4)) == [b"0", b"1", b"2", b"3"]


def test_a_broker_deletes_what_its_topics_do_not_keep(tmp_path: Path) -> None:
    """LOG-20, LOG-24: whole segments go while it runs, and their files soon after."""
    soon = {
        "log.initial.task.delay.ms": "1",
        "log.retention.check.interval.ms": "50",
        "log.segment.delete.delay.ms": "1",
    }
    with Cluster(tmp_path, controllers=1, brokers=1, extra=soon) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120)
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
        rules = {"segment.bytes": str(1 << 20), "retention.bytes": str(1 << 20)}
        admin.create_topics([NewTopic("events", 1, 1, topic_configs=rules)])
        admin.close()
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=0)
        for number in range(8):
            producer.send("events", b"%d" % number + b"x" * 600_000).get(60)
        producer.close()
        consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=None)
        partition = TopicPartition("events", 0)
        eventually("the log begins later", lambda: consumer.beginning_offsets([partition])[partition] == 6)
        assert consumer.end_offsets([partition])[partition] == 8
        consumer.close()
        logs, kept = next(tmp_path.rglob("events-0")), {f"{6:020}", f"{7:020}"}
        eventually("the files go", lambda: {name[:20] for name in os.listdir(logs) if ".log" in name} == kept)


def test_a_broker_compacts_a_topic_while_it_is_written(tmp_path: Path) -> None:
    """CLN-04: and it starts again with what it left."""
    soon = {"log.initial.task.delay.ms": "1", "log.cleaner.backoff.ms": "50"}
    with Cluster(tmp_path, controllers=1, brokers=1, extra=soon) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120)
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
        rules = {"cleanup.policy": "compact", "segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.01"}
        admin.create_topics([NewTopic("state", 1, 1, topic_configs=rules)])
        admin.close()
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=0)
        for number in range(12):
            producer.send("state", b"%d" % number + b"x" * 600_000, key=b"%d" % (number % 3)).get(60)
        producer.close()
        logs = next(tmp_path.rglob("state-0"))

        def is_compacted() -> bool:
            names = [name for name in os.listdir(logs) if name.endswith(".log")]
            return sum((logs / name).stat().st_size for name in names) < 5 * 600_000

        eventually("it is compacted", is_compacted)
        (broker,) = cluster.broker_nodes
        broker.kill()
        broker.start()
        cluster.wait_until_unfenced(120)  # who is refused for nine seconds does not ask again in time
        consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=None)
        partition = TopicPartition("state", 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        found: list[int] = []

        def has_come() -> bool:
            found.extend(record.offset for records in consumer.poll(500).values() for record in records)
            return bool(found) and found[-1] == 11

        eventually("the last record", has_come)
        consumer.close()
        assert found == [8, 9, 10, 11], "the last of each key, and the active segment"
