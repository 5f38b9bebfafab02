"""SAS-15 by OAUTHBEARER: nodes of ours and Java's show each other tokens, and clients of every kind show theirs.

The provider is one of the tests' own, on loopback; Java's nodes and tools have its allow-list from JDK_JAVA_OPTIONS.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AioTokens

from support.apache_kafka.java_kafka import require_java, run_tool
from support.apache_kafka.kafka_python import AbstractTokenProvider as PythonTokens
from support.apache_kafka.kafka_python import KafkaProducer
from support.apache_kafka.mixed_cluster import (
    JAVA,
    OURS,
    SECONDS,
    MixedCluster,
    read_by_librdkafka,
    write_by_librdkafka,
)
from support.nodes.processes import free_ports, kraft
from support.security.identity_provider import SECRET, IdentityProvider
from support.security.oauth_cluster import (
    NODE,
    PROTOCOLS,
    client_file,
    client_properties,
    of_listener,
    system_property,
)

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]


class TokenWorld(MixedCluster):
    """Controllers and brokers of both kinds come to each other by tokens, clients to both brokers."""

    def __init__(self, directory: Path, provider: IdentityProvider) -> None:
        super().__init__(directory)
        self.provider = provider
        provider.clients[NODE] = SECRET
        self.clients: dict[int, str] = {}
        for node in self.quorum.cluster.nodes.values():
            node.properties |= {
                "listener.security.protocol.map": PROTOCOLS,
                "sasl.mechanism.controller.protocol": "OAUTHBEARER",
                **of_listener("CONTROLLER", provider),
            }
        for node in self.quorum.cluster.broker_nodes:
            (port,) = free_ports(1)
            node.properties |= of_listener("CLIENTS", provider) | {"offsets.topic.replication.factor": "1"}
            node.properties["listeners"] += f",CLIENTS://127.0.0.1:{port}"
            self.clients[node.node_id] = f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenWorld]:
    require_java()
    with IdentityProvider(lifetime_seconds=120) as provider, pytest.MonkeyPatch.context() as patch:
        allowed = system_property(provider.url("jwks"), provider.url("token"))
        patch.setenv("JDK_JAVA_OPTIONS", allowed)
        with TokenWorld(tmp_path_factory.mktemp("mixed-oauth"), provider) as made:
            yield made


def _kraft(world: TokenWorld, *arguments: str) -> CompletedProcess[str]:
    allowed = system_property(world.provider.url("token"))
    return kraft("topics", *arguments, timeout=SECONDS, environment={"KAFKA_OPTS": allowed})


def test_tools_of_both_kinds_come_to_brokers_of_both_kinds(world: TokenWorld) -> None:
    """The nodes themselves have come by tokens, or no broker would be ready."""
    file = client_file(world.directory / "client.properties", client_properties(world.provider))
    for broker in (OURS, JAVA):
        to = ("--bootstrap-server", world.clients[broker], "--command-config", file)
        made = run_tool("kafka-topics", *to, "--create", "--topic", f"by-java-{broker}", timeout_s=SECONDS)
        assert made.rc == 0, made
        made_by_us = _kraft(world, *to, "--create", "--topic", f"by-us-{broker}")
        assert made_by_us.returncode == 0, made_by_us
        seen = _kraft(world, *to, "--list").stdout.split()
        assert {f"by-java-{broker}", f"by-us-{broker}"} <= set(seen)


def test_a_tool_whose_token_is_refused_says_the_same_at_both(world: TokenWorld) -> None:
    """Java's client and ours, at Java's broker and ours: the JSON of RFC 7628 is what they quote."""
    bad = world.directory / "bad-token"
    bad.write_text(world.provider.token(aud="others"))
    url = f"file://{bad}"
    told = client_properties(world.provider) | {"sasl.oauthbearer.token.endpoint.url": url}
    file = client_file(world.directory / "bad.properties", told)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", system_property(url))
        for broker in (OURS, JAVA):
            to = ("--bootstrap-server", world.clients[broker], "--command-config", file, "--list")
            java = run_tool("kafka-topics", *to, timeout_s=SECONDS)
            ours = kraft("topics", *to, timeout=SECONDS, environment={"KAFKA_OPTS": system_property(url)})
            assert (java.rc, ours.returncode) == (1, 1)
            for said in (java.out + java.err, ours.stdout + ours.stderr):
                assert '{"status":"invalid_token"}' in said, (broker, said)


class _Tokens(PythonTokens):  # type: ignore[misc]
    def __init__(self, provider: IdentityProvider) -> None:
        self._provider = provider

    def token(self) -> str:
        return self._provider.token()


class _AioTokens(AioTokens):  # type: ignore[misc]
    def __init__(self, provider: IdentityProvider) -> None:
        self._provider = provider

    async def token(self) -> str:
        return self._provider.token()


def test_clients_of_every_kind_come_by_tokens(world: TokenWorld) -> None:
    """kafka-python, aiokafka and librdkafka write to our broker; all of it is read."""
    at = world.clients[OURS]
    file = client_file(world.directory / "client.properties", client_properties(world.provider))
    to = ("--bootstrap-server", at, "--command-config", file)
    made = _kraft(world, *to, "--create", "--topic", "on-ours", "--replica-assignment", str(OURS))
    assert made.returncode == 0, made
    producer = KafkaProducer(
        bootstrap_servers=at, security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token_provider=_Tokens(world.provider))  # fmt: skip
    producer.send("on-ours", b"kafka-python").get(60)
    producer.close()
    write_by_librdkafka(_librdkafka(world), "on-ours", b"librdkafka")
    asyncio.run(_aiokafka(world))
    assert read_by_librdkafka(_librdkafka(world), "on-ours", 3) == [b"kafka-python", b"librdkafka", b"aiokafka"]


def _librdkafka(world: TokenWorld) -> dict[str, Any]:
    def token(config: str) -> tuple[str, float]:
        del config
        return world.provider.token(), time.time() + world.provider.lifetime_seconds

    return {
        "bootstrap.servers": world.clients[OURS], "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER", "oauth_cb": token,
    }  # fmt: skip


async def _aiokafka(world: TokenWorld) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=world.clients[OURS], security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token_provider=_AioTokens(world.provider))  # fmt: skip
    await producer.start()
    await producer.send_and_wait("on-ours", b"aiokafka")
    await producer.stop()
