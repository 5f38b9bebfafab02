"""What encryption costs: a quorum and a broker whose listeners all speak mutual TLS beside the same ones in the clear,
in turns of one run, by the same clients; and what a thousand clients that connect at once cost those who are there.

A commit is one AlterClientQuotas, answered after commit, from CONNECTIONS connections with one request in flight each.
Records are produced by librdkafka with acks=all.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import shutil
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import uvloop
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.report import Figure
from controller_runtime.configuration.client_security import client_security
from controller_runtime.identifiers import Endpoint
from controller_runtime.network.client_pool import ClientOptions, ClientPool
from controller_runtime.network.client_security import ClientSecurity
from controller_runtime.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from controller_runtime.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse
from support.nodes.processes import Cluster
from support.security.authority import Authority, secure_properties, tls_properties

CONNECTIONS: Final = 16
NEWCOMERS: Final = 1000
RECORDS: Final = 60_000
VALUE: Final = b"x" * 512


class World:
    """Three controllers and a broker, in the clear or not."""

    def __init__(self, directory: Path, *, encrypted: bool) -> None:
        self.cluster = Cluster(directory, controllers=3, brokers=1)
        self.settings: Mapping[str, str] = {}
        self.authority = Authority("benchmark-ca")
        self.librdkafka: dict[str, str | int | float | bool] = {}
        if encrypted:
            self._encrypt(directory)

    def _encrypt(self, directory: Path) -> None:
        authority = self.authority
        trusted = authority.write(directory)
        own = authority.issue("client").write(directory, "client.pem")
        for node in self.cluster.nodes.values():
            identity = authority.issue(f"node-{node.node_id}").write(node.directory)
            node.properties |= secure_properties(identity, trusted)
        self.settings = {"security.protocol": "SSL", **tls_properties(own, trusted)}
        self.librdkafka = {
            "security.protocol": "SSL",
            "ssl.ca.location": str(trusted),
            "ssl.certificate.location": str(own),
            "ssl.key.location": str(own),
        }

    def start(self) -> None:
        self.cluster.start()
        self.cluster.wait_until_unfenced()

    def pool(self) -> ClientPool:
        return ClientPool(
            ClientOptions("benchmark"),
            lambda: 0.5,
            security=ClientSecurity(client_security(self.settings, "benchmark")),
        )

    def leader(self) -> Endpoint:
        """Found by its metrics, which are not encrypted."""
        active = "kafka_controller_kafkacontroller_activecontrollercount 1"
        for node in self.cluster.controller_nodes:
            if active in node.http("/metrics")[1]:
                return node.endpoint
        raise AssertionError("nobody leads")


def quota(number: int) -> AlterClientQuotasRequest:
    entity = EntityData(entity_type="user", entity_name=f"user-{number % 50}")
    value = OpData(key="producer_byte_rate", value=float(1000 + number))
    return AlterClientQuotasRequest(entries=(EntryData(entity=(entity,), ops=(value,)),))


async def commits(world: World, seconds: float) -> list[float]:
    """How long each took."""
    leader, took, pool = world.leader(), [], world.pool()
    end = time.perf_counter() + seconds

    async def one_connection(channel: int) -> None:
        number = channel * 1_000_000
        while (begun := time.perf_counter()) < end:
            number += 1
            _, answer = await pool.call(f"c{channel}", leader, quota(number), 20)
            assert isinstance(answer, AlterClientQuotasResponse)
            assert not answer.entries[0].error_code
            took.append(time.perf_counter() - begun)

    await asyncio.gather(*(one_connection(channel) for channel in range(CONNECTIONS)))
    await pool.close()
    return took


def hello() -> bytes:
    """What a client of TLS says first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def stragglers(settings: Mapping[str, str], port: int) -> None:
    """In a process of its own: all connect at once. Half of them say their first message a few bytes at a time, the
    others half of it and then nothing; they stay until the node has closed them all.
    """
    del settings
    said = hello()

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        if number % 2:
            writer.write(said[: len(said) // 2])
        else:
            for at in range(0, len(said), 16):
                writer.write(said[at : at + 16])
                await asyncio.sleep(0.2)
        await reader.read()
        writer.close()

    async def connect() -> None:
        await asyncio.gather(*(one(number) for number in range(NEWCOMERS)), return_exceptions=True)

    uvloop.run(connect())


def newcomers(settings: Mapping[str, str], port: int) -> None:
    """In a process of its own: all connect at once, with a whole handshake, and leave."""

    async def connect() -> None:
        secured = ClientSecurity(client_security(settings, "benchmark")).connecting_to("127.0.0.1")
        secured["ssl_handshake_timeout"] = 60

        async def one() -> None:
            _, writer = await asyncio.open_connection("127.0.0.1", port, **secured)
            writer.transport.abort()

        await asyncio.gather(*(one() for _ in range(NEWCOMERS)), return_exceptions=True)

    uvloop.run(connect())


def produced_per_second(world: World) -> float:
    servers = {"bootstrap.servers": world.cluster.bootstrap_servers, **world.librdkafka}
    producer = Producer({**servers, "acks": "all", "linger.ms": 5})
    begun = time.perf_counter()
    for _ in range(RECORDS):
        while True:
            try:
                producer.produce("load", VALUE)
                break
            except BufferError:
                producer.poll(0.05)
    assert producer.flush(120) == 0
    return RECORDS / (time.perf_counter() - begun)


def measure(say: Callable[[str], None], rounds: int = 3, seconds: float = 4.0) -> list[Figure]:
    work = Path(tempfile.mkdtemp(prefix="quorate-encrypted-"))
    worlds = {kind: World(work / kind, encrypted=kind == "mTLS") for kind in ("mTLS", "plaintext")}
    try:
        for kind, world in worlds.items():
            world.cluster.directory.mkdir(parents=True, exist_ok=True)
            say(f"encrypted: three controllers and a broker, {kind}")
            world.start()
            servers = {"bootstrap.servers": world.cluster.bootstrap_servers, **world.librdkafka}
            admin = AdminClient(servers)
            admin.create_topics([NewTopic("load", 1, 1)])["load"].result(60)
        return _measured(say, worlds, rounds, seconds)
    finally:
        for world in worlds.values():
            for node in world.cluster.nodes.values():
                node.kill()
        shutil.rmtree(work, ignore_errors=True)


def _measured(say: Callable[[str], None], worlds: Mapping[str, World], rounds: int, seconds: float) -> list[Figure]:
    rates: dict[str, list[float]] = {kind: [] for kind in worlds}
    p99s: dict[str, list[float]] = {kind: [] for kind in worlds}
    produced: dict[str, list[float]] = {kind: [] for kind in worlds}
    for number in range(rounds):
        for kind, world in worlds.items():
            took = uvloop.run(commits(world, seconds))
            rates[kind].append(len(took) / seconds)
            p99s[kind].append(_p99(took))
            produced[kind].append(produced_per_second(world))
            say(
                f"encrypted {number + 1}/{rounds} {kind}: {rates[kind][-1]:.0f} commits/s, "
                f"p99 {p99s[kind][-1]:.1f} ms, {produced[kind][-1]:.0f} records/s"
            )
    crowded = _crowded(say, worlds["mTLS"], seconds, newcomers)
    slow = _crowded(say, worlds["mTLS"], seconds, stragglers)
    return [
        _figure("client commits", "1/s", rates, larger=True),
        _figure("p99 of client commits", "ms", p99s, larger=False),
        _figure("records produced, acks=all", "1/s", produced, larger=True),
        Figure(
            area="encrypted",
            name=f"p99 of commits while {NEWCOMERS} connect",
            unit="ms",
            ours=crowded,
            peer=median(p99s["mTLS"]),
            peer_name="nobody connects",
        ),
        Figure(
            area="encrypted",
            name=f"p99 of commits while {NEWCOMERS} connect that are slow or never finish",
            unit="ms",
            ours=slow,
            peer=median(p99s["mTLS"]),
            peer_name="nobody connects",
        ),
    ]


def _crowded(
    say: Callable[[str], None], world: World, seconds: float, crowd_of: Callable[[Mapping[str, str], int], None]
) -> float:
    crowd = multiprocessing.get_context("spawn").Process(
        target=crowd_of, args=(dict(world.settings), world.leader().port)
    )
    crowd.start()
    took = uvloop.run(commits(world, max(seconds, 6.0)))
    crowd.join(120)
    say(f"encrypted: p99 {_p99(took):.1f} ms, longest {max(took) * 1000:.1f} ms beside {NEWCOMERS} {crowd_of.__name__}")
    return _p99(took)


def _p99(took: list[float]) -> float:
    return quantiles(took, n=100)[98] * 1000


def _figure(name: str, unit: str, seen: Mapping[str, list[float]], *, larger: bool) -> Figure:
    return Figure(
        area="encrypted",
        name=name,
        unit=unit,
        ours=median(seen["mTLS"]),
        peer=median(seen["plaintext"]),
        peer_name="in the clear",
        larger_is_better=larger,
    )
