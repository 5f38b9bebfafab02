"""SSL-26: nodes of ours and of Apache Kafka speak mutual TLS to each other, and clients of every kind to ours."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from controller_runtime.configuration.client_security import client_security
from controller_runtime.network.client_security import ClientSecurity
from support.apache_kafka.java_kafka import require_java, run_tool
from support.apache_kafka.kafka_python import KafkaConsumer, KafkaProducer, TopicPartition
from support.apache_kafka.mixed_cluster import (
    JAVA,
    OURS,
    SECONDS,
    MixedCluster,
    read_by_librdkafka,
    write_by_librdkafka,
)
from support.security.authority import Authority, secure_properties, tls_properties, write_properties

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]


class SecureWorld(MixedCluster):
    """All of it by mutual TLS, and a client's files."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        authority = Authority("mixed-ca")
        self.trusted = authority.write(directory)
        self.own = authority.issue("client").write(directory, "client.pem")
        self.settings = {"security.protocol": "SSL", **tls_properties(self.own, self.trusted)}
        self.file = str(write_properties(directory / "client.properties", self.settings))
        for node in self.quorum.cluster.nodes.values():
            own = authority.issue(f"node-{node.node_id}").write(node.directory)
            node.properties |= secure_properties(own, self.trusted)
            node.properties |= {"inter.broker.listener.name": "PLAINTEXT", "offsets.topic.num.partitions": "1"}
            node.properties |= {"offsets.topic.replication.factor": "1"}
            if node.node_id > 10:
                node.properties["listener.security.protocol.map"] = "CONTROLLER:SSL,PLAINTEXT:SSL"

    @property
    def ours(self) -> str:
        return f"127.0.0.1:{self.quorum.node(OURS).port}"

    def java_tool(self, name: str, *arguments: str, at: str) -> str:
        return self.ask(name, self.file, *arguments, at=at)

    def python_settings(self) -> dict[str, object]:
        return {
            "bootstrap_servers": self.ours,
            "security_protocol": "SSL",
            "ssl_cafile": str(self.trusted),
            "ssl_certfile": str(self.own),
            "ssl_keyfile": str(self.own),
        }

    def librdkafka_settings(self) -> dict[str, str | int | float | bool]:
        return {
            "bootstrap.servers": self.ours,
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.trusted),
            "ssl.certificate.location": str(self.own),
            "ssl.key.location": str(self.own),
        }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureWorld]:
    require_java()
    with SecureWorld(tmp_path_factory.mktemp("mixed-tls")) as made:
        yield made


def test_java_and_ours_are_one_cluster_over_mutual_tls(world: SecureWorld) -> None:
    """Voters and brokers of both kinds, by PEM files (OPS-13); Java's tools ask ours, and what is registered names the
    protocol.
    """
    said = world.java_tool("kafka-metadata-quorum", "describe", "--replication", at=world.quorum.bootstrap)
    assert (said.count("Leader"), said.count("Follower"), said.count("Observer")) == (1, 2, 2), said
    world.java_tool("kafka-topics", "--create", "--topic", "on-java", "--replica-assignment", f"{JAVA}", at=world.ours)
    world.java_tool("kafka-topics", "--create", "--topic", "on-ours", "--replica-assignment", f"{OURS}", at=world.ours)
    assert "on-java" in world.java_tool("kafka-topics", "--list", at=world.ours)
    sent = run_tool(
        "kafka-console-producer", "--bootstrap-server", world.ours, "--topic", "on-java", "--command-config",
        world.file, stdin="through-java\n", timeout_s=SECONDS)  # fmt: skip
    assert sent.rc == 0, sent


def test_clients_of_every_kind_produce_and_consume_over_tls(world: SecureWorld) -> None:
    """kafka-python, librdkafka, aiokafka; each reads what the one before has written."""
    world.java_tool("kafka-topics", "--create", "--topic", "clients", "--replica-assignment", f"{OURS}", at=world.ours)
    producer = KafkaProducer(**world.python_settings())
    producer.send("clients", b"kafka-python").get(60)
    producer.close()
    write_by_librdkafka(world.librdkafka_settings(), "clients", b"librdkafka")
    asyncio.run(_aiokafka(world))
    found = read_by_librdkafka(world.librdkafka_settings(), "clients", 3)
    assert found == [b"kafka-python", b"librdkafka", b"aiokafka"]
    consumer = KafkaConsumer(group_id=None, enable_auto_commit=False, **world.python_settings())
    consumer.assign([TopicPartition("clients", 0)])
    consumer.seek_to_beginning()
    found = []
    deadline = time.monotonic() + 60
    while len(found) < 3 and time.monotonic() < deadline:
        found += [each.value for batch in consumer.poll(500).values() for each in batch]
    consumer.close()
    assert found == [b"kafka-python", b"librdkafka", b"aiokafka"]


async def _aiokafka(world: SecureWorld) -> None:
    tls = ClientSecurity(client_security(world.settings, "test")).stores
    assert tls is not None
    producer = AIOKafkaProducer(bootstrap_servers=world.ours, security_protocol="SSL", ssl_context=tls.client)
    await producer.start()
    await producer.send_and_wait("clients", b"aiokafka")
    await producer.stop()
