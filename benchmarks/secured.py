"""What security costs besides encryption (`encrypted`), in turns of one run: a node that starts with mutual TLS and the
authorizer beside one without, logins by SCRAM beside those of Apache Kafka's broker, a certificate that is renewed
under requests.

A login is a connection with SaslHandshake and two SaslAuthenticate (SCRAM-SHA-512, 4096 iterations, of which the client
remembers its half), from LOGGING_IN threads of one client.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import ssl
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import uvloop

from benchmarks.data_cluster import cpu_s
from benchmarks.encrypted import World, quota
from benchmarks.report import Figure
from controller_runtime.network.client_connection import CallError
from controller_runtime.network.client_pool import ClientPool
from controller_runtime.security.sasl import scram as client_side
from controller_runtime.security.sasl.scram import ScramClient
from controller_runtime.security.scram_keys import salted_password
from support.apache_kafka.java_kafka import JavaNode
from support.clients.sasl_frames import authenticate, handshake, read_authenticate, read_handshake
from support.nodes.processes import Cluster, NodeProcess, eventually, free_ports
from support.security.authority import Authority, secure_properties
from support.security.sasl_cluster import PASSWORD, SCRAM_USER, SaslCluster
from support.security.secure_brokers import guard

LOGGING_IN: Final = 8
MECHANISM: Final = "SCRAM-SHA-512"
RENEWALS: Final = 3


def measure(say: Callable[[str], None], rounds: int = 5, seconds: float = 4.0) -> list[Figure]:
    work = Path(tempfile.mkdtemp(prefix="quorate-secured-"))
    try:
        return [*_starts(say, work / "starts", rounds), *_logins(say, work / "logins", seconds), _renewed(say, work)]
    finally:
        shutil.rmtree(work, ignore_errors=True)


# Starts.


def _starts(say: Callable[[str], None], work: Path, rounds: int) -> list[Figure]:
    authority, nodes = Authority("benchmark-ca"), {}
    for kind in ("secured", "plain"):
        (work / kind).mkdir(parents=True)
        made = Cluster(work / kind, controllers=1)
        node = made.nodes[1]
        if kind == "secured":
            own = authority.issue("node-1").write(node.directory)
            node.properties |= secure_properties(own, authority.write(node.directory)) | guard(["CN=node-1"])
        made.format()
        nodes[kind] = node
    walls: dict[str, list[float]] = {kind: [] for kind in nodes}
    processor: dict[str, list[float]] = {kind: [] for kind in nodes}
    idle: dict[str, list[float]] = {kind: [] for kind in nodes}
    for _ in range(rounds):
        for kind, node in nodes.items():
            begun = time.perf_counter()
            node.start()
            while not _answers(node):
                time.sleep(0.002)
            walls[kind].append((time.perf_counter() - begun) * 1000)
            assert node.process is not None
            processor[kind].append(cpu_s(node.process.pid) * 1000)
            time.sleep(2)
            idle[kind].append(_resident(node.process.pid) / 1e6)
            node.kill()
    say(f"secured: starts {walls}, processor {processor}, idle {idle}")
    shown = (
        ("start to answering, the best", "ms", walls, min),
        ("processor of a start", "ms", processor, median),
        ("RSS, idle controller", "MB", idle, median),
    )
    return [
        Figure("secured", name, unit, ours=of(seen["secured"]), peer=of(seen["plain"]), peer_name="without security")
        for name, unit, seen, of in shown
    ]


def _resident(pid: int) -> int:
    """With what it has mapped of files, as `benchmarks quorum` counts."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


def _answers(node: NodeProcess) -> bool:
    """A connection is taken where requests are served."""
    try:
        socket.create_connection(("127.0.0.1", node.port), 1).close()
    except OSError:
        return False
    return True


# Logins.


def _logins(say: Callable[[str], None], work: Path, seconds: float) -> list[Figure]:
    work.mkdir()
    with SaslCluster(work, controllers=1, brokers=2) as cluster:
        ours, javas = cluster.broker_nodes
        (port,) = free_ports(1)
        javas.properties["listeners"] = javas.properties["listeners"].replace(f":{cluster.clients_port}", f":{port}")
        javas.properties["inter.broker.listener.name"] = "PLAINTEXT"
        ours.properties["inter.broker.listener.name"] = "PLAINTEXT"
        javas.properties.pop("quorate.http.listener")
        cluster.format()
        for node in (*cluster.controller_nodes, ours):
            node.start()
        javas.write_properties()
        java = JavaNode(javas.properties_file, work / "java.log")
        try:
            java.wait_for_log("Kafka Server started", 240)
            eventually("ours serves", lambda: ours.http("/readyz")[0] == 200, 120)
            ports = {"ours": cluster.clients_port, "kafka": port}
            for each in ports.values():
                eventually("users are known", lambda at=each: _logs_in(at), 60)  # type: ignore[misc]
            found: dict[str, list[float]] = {kind: [] for kind in ports}
            for _ in range(4):
                for kind, at in ports.items():
                    found[kind].append(_rate(at, seconds))
            say(f"secured: logins/s {found}")
        finally:
            java.kill()
    warm = {kind: rates[1:] for kind, rates in found.items()}
    return [
        Figure(
            "secured", f"logins by {MECHANISM}", "1/s", ours=median(warm["ours"]), peer=median(warm["kafka"]),
            peer_name="Apache Kafka", larger_is_better=True,
        )
    ]  # fmt: skip


def _rate(port: int, seconds: float) -> float:
    counts, end = [0] * LOGGING_IN, time.perf_counter() + seconds

    def log_in(thread: int) -> None:
        while time.perf_counter() < end:
            assert _logs_in(port)
            counts[thread] += 1

    threads = [threading.Thread(target=log_in, args=(number,)) for number in range(LOGGING_IN)]
    begun = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return sum(counts) / (time.perf_counter() - begun)


def _logs_in(port: int) -> bool:
    client = ScramClient(MECHANISM, SCRAM_USER, PASSWORD, os.urandom(12).hex())
    with socket.create_connection(("127.0.0.1", port), 10) as connection, connection.makefile("rb") as stream:

        def said(frame: bytes) -> bytes:
            connection.sendall(struct.pack(">i", len(frame)) + frame)
            head = stream.read(4)
            return head + stream.read(struct.unpack(">i", head)[0])

        assert read_handshake(said(handshake(MECHANISM))).error_code == 0
        first = read_authenticate(said(authenticate(client.first())))
        if first.error_code:
            return False
        proof = client.on_challenge(first.auth_bytes)
        assert proof is not None
        return read_authenticate(said(authenticate(proof))).error_code == 0


_REMEMBERED: dict[tuple[object, ...], bytes] = {}


def _remembering(salted: Callable[..., bytes]) -> Callable[..., bytes]:
    """A client's half of what a password costs, which it would pay on its own machine."""

    def remembered(*asked: object) -> bytes:
        if asked not in _REMEMBERED:
            _REMEMBERED[asked] = salted(*asked)
        return _REMEMBERED[asked]

    return remembered


vars(client_side)["salted_password"] = _remembering(salted_password)


# Certificates.


def _renewed(say: Callable[[str], None], work: Path) -> Figure:
    """The leader's certificate is renewed RENEWALS times under requests of one lasting connection and of new ones."""
    home = work / "renewed"
    home.mkdir()
    world = World(home, encrypted=True)
    try:
        world.start()
        leader = world.leader()
        node = next(each for each in world.cluster.controller_nodes if each.endpoint == leader)
        asked, lost = uvloop.run(_under_requests(world, node))
    finally:
        for node in world.cluster.nodes.values():
            node.kill()
    say(f"secured: {asked} requests while a certificate was renewed {RENEWALS} times, {lost} lost")
    name = f"requests lost of {asked:,} while a certificate is renewed {RENEWALS} times"
    return Figure("secured", name, "", ours=lost, peer=lost, peer_name="-")


async def _under_requests(world: World, node: NodeProcess) -> tuple[int, int]:
    pool, asked, lost, done = world.pool(), 0, 0, False

    async def ask(by: ClientPool, number: int) -> None:
        nonlocal asked, lost
        asked += 1
        try:
            await by.call("c", node.endpoint, quota(number), 20)
        except CallError as error:
            lost += 1
            print(f"secured: lost {error!r}", flush=True)

    async def lasting() -> None:
        while not done:
            await ask(pool, asked)

    async def anew() -> None:
        while not done:
            own = world.pool()
            await ask(own, asked)
            await own.close()

    working = [asyncio.create_task(lasting()), asyncio.create_task(anew())]
    for _ in range(RENEWALS):
        before = await asyncio.to_thread(_shown, node)
        world.authority.issue(f"node-{node.node_id}").write(node.directory)
        await asyncio.to_thread(eventually, "the new one is shown", partial(_shows_another, node, before), 60.0)
        await asyncio.sleep(2)
    done = True
    await asyncio.gather(*working)
    await pool.close()
    return asked, lost


def _shown(node: NodeProcess) -> str:
    return ssl.get_server_certificate(("127.0.0.1", node.port), timeout=20)


def _shows_another(node: NodeProcess, before: str) -> bool:
    return _shown(node) != before
