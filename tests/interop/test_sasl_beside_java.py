"""SAS-15, SAS-44: nodes of ours and Java's say who they are to each other, and clients of every kind to ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from aiokafka import AIOKafkaProducer

from support.apache_kafka.java_kafka import require_java, run_tool
from support.apache_kafka.kafka_python import KafkaProducer
from support.apache_kafka.mixed_cluster import (
    OURS,
    SECONDS,
    MixedCluster,
    read_by_librdkafka,
    write_by_librdkafka,
)
from support.nodes.processes import eventually, free_ports
from support.security.sasl_cluster import (
    NODE_SECRET,
    PASSWORD,
    SCRAM_USER,
    USER,
    added_users,
    client_file,
    of_brokers,
    of_controllers,
)

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]

WAYS: Final = (("PLAIN", USER), ("SCRAM-SHA-256", SCRAM_USER), ("SCRAM-SHA-512", SCRAM_USER))


class SaslWorld(MixedCluster):
    """The controllers know each other by PLAIN, the brokers by SCRAM."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, tuple(added_users()))
        for node in self.quorum.cluster.nodes.values():
            node.properties["delegation.token.secret.key"] = NODE_SECRET
        for node in self.quorum.cluster.controller_nodes:
            node.properties |= of_controllers()
        for node in self.quorum.cluster.broker_nodes:
            (port,) = free_ports(1)
            node.properties |= of_brokers() | {"offsets.topic.replication.factor": "1"}
            node.properties["listeners"] += f",CLIENTS://127.0.0.1:{port}"
            node.properties["offsets.topic.num.partitions"] = "1"
            if node.node_id == OURS:
                self.clients = f"127.0.0.1:{port}"

    def java_tool(self, name: str, mechanism: str, *arguments: str, at: str) -> str:
        user = dict(WAYS)[mechanism]
        file = client_file(self.directory / f"{mechanism}.properties", mechanism, user, PASSWORD)
        return self.ask(name, file, *arguments, at=at)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslWorld]:
    require_java()
    with SaslWorld(tmp_path_factory.mktemp("mixed-sasl")) as made:
        yield made


def test_java_and_ours_are_one_cluster_that_knows_its_members(world: SaslWorld) -> None:
    """Voters and brokers of both kinds, PLAIN among controllers, SCRAM of brokers; Java's tools by every mechanism."""
    said = world.java_tool("kafka-metadata-quorum", "PLAIN", "describe", "--replication", at=world.quorum.bootstrap)
    assert (said.count("Leader"), said.count("Follower"), said.count("Observer")) == (1, 2, 2), said
    made = ("--create", "--topic", "on-ours", "--replica-assignment", f"{OURS}")
    world.java_tool("kafka-topics", "SCRAM-SHA-256", *made, at=world.clients)
    assert "on-ours" in world.java_tool("kafka-topics", "SCRAM-SHA-512", "--list", at=world.clients)


def test_clients_of_every_kind_come_by_every_mechanism(world: SaslWorld) -> None:
    """kafka-python, librdkafka, aiokafka write to our broker; librdkafka reads all of it."""
    sent = []
    for mechanism, user in WAYS:
        sent += [f"{client} {mechanism}".encode() for client in ("kafka-python", "librdkafka", "aiokafka")]
        producer = KafkaProducer(
            bootstrap_servers=world.clients, security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism,
            sasl_plain_username=user, sasl_plain_password=PASSWORD)  # fmt: skip
        producer.send("on-ours", f"kafka-python {mechanism}".encode()).get(60)
        producer.close()
        write_by_librdkafka(_librdkafka(world, mechanism, user), "on-ours", f"librdkafka {mechanism}".encode())
        asyncio.run(_aiokafka(world, mechanism, user))
    assert read_by_librdkafka(_librdkafka(world, *WAYS[2]), "on-ours", len(sent)) == sent


def _librdkafka(world: SaslWorld, mechanism: str, user: str) -> dict[str, str | int | float | bool]:
    return {
        "bootstrap.servers": world.clients, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism,
        "sasl.username": user, "sasl.password": PASSWORD,
    }  # fmt: skip


async def _aiokafka(world: SaslWorld, mechanism: str, user: str) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=world.clients, security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism,
        sasl_plain_username=user, sasl_plain_password=PASSWORD)  # fmt: skip
    await producer.start()
    await producer.send_and_wait("on-ours", f"aiokafka {mechanism}".encode())
    await producer.stop()


def test_a_token_of_javas_tool_is_shown_to_ours(world: SaslWorld) -> None:
    """TOK-02: created through our broker by Java's tool, and shown by Java's client."""
    made = world.java_tool(
        "kafka-delegation-tokens", "PLAIN", "--create", "--max-life-time-period", "-1", at=world.clients
    )
    token_id, token_hmac = made.splitlines()[-1].split()[:2]
    file = client_file(world.directory / "token.properties", "SCRAM-SHA-512", token_id, token_hmac, by_token=True)

    def listed() -> bool:
        asked = ("--bootstrap-server", world.clients, "--command-config", file, "--list")
        return run_tool("kafka-topics", *asked, timeout_s=SECONDS).rc == 0

    eventually("our broker knows the token", listed, SECONDS)
