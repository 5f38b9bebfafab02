"""Where hostile clients are let loose: a node of ours, and an Apache Kafka that is started anew when it ended, with the
same ids and settings.

A case passes when what came is right and the node lives and serves: the canary writes, reads, and makes a topic through
the quorum. A node that ended, or that serves nobody within the canary's patience, fails the case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

from controller_runtime.protocol.api_keys import ListenerType
from support.apache_kafka.java_kafka import JavaNode, run_tool
from support.fuzz.canary import DESCRIBE_QUORUM, BrokerCanary, Client, Wrong
from support.hostile.asking import seen_by
from support.hostile.case import MAX_REQUEST_BYTES, VICTIM, Case
from support.nodes.processes import CLUSTER_ID, NodeProcess, eventually, free_ports

NODE_ID: Final = 1
SETTINGS: Final = {
    "process.roles": "broker,controller",
    "node.id": str(NODE_ID),
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "socket.request.max.bytes": str(MAX_REQUEST_BYTES),
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "controller.quorum.fetch.timeout.ms": "20000",
    "broker.session.timeout.ms": "60000",
}
START_SECONDS: Final = 180.0


class Process(Protocol):
    """A node of either kind."""

    def start(self) -> None:
        """On a disk that is new each time: what ended a node may keep it from starting anew, too."""
        ...

    def wait_until_ready(self) -> None: ...

    @property
    def is_running(self) -> bool: ...

    def kill(self) -> None: ...

    def log(self) -> str: ...


def _properties(home: Path, ports: Mapping[ListenerType, int]) -> dict[str, str]:
    return {
        **SETTINGS,
        "listeners": f"PLAINTEXT://127.0.0.1:{ports[ListenerType.BROKER]},CONTROLLER://127.0.0.1:{ports[ListenerType.CONTROLLER]}",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{ports[ListenerType.CONTROLLER]}",
        "log.dirs": str(home / "data"),
    }


class Ours:
    def __init__(self, home: Path, ports: Mapping[ListenerType, int]) -> None:
        self._home, self._ports = home, ports
        self._starts = 0

    def start(self) -> None:
        self._starts += 1
        home, (http,) = self._home / f"life-{self._starts}", free_ports(1)
        properties = {**_properties(home, self._ports), "quorate.http.listener": f"127.0.0.1:{http}"}
        self._node = NodeProcess(NODE_ID, home, properties, self._ports[ListenerType.BROKER], http)
        self._node.format("--standalone")
        self._node.start()

    def wait_until_ready(self) -> None:
        eventually("our node is ready", lambda: self._node.http("/readyz")[0] == 200, START_SECONDS)

    @property
    def is_running(self) -> bool:
        return self._node.is_running

    def kill(self) -> None:
        self._node.kill()

    def log(self) -> str:
        return self._node.log()[-3000:]


class Javas:
    def __init__(self, home: Path, ports: Mapping[ListenerType, int]) -> None:
        self._home, self._ports = home, ports
        self._starts = 0
        self._node: JavaNode | None = None

    def start(self) -> None:
        self._starts += 1
        home = self._home / f"life-{self._starts}"
        home.mkdir(parents=True)
        file = home / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in _properties(home, self._ports).items()))
        made = run_tool(
            "kafka-storage", "format", "-c", str(file), "-t", CLUSTER_ID, "--standalone", timeout_s=START_SECONDS
        )
        assert made.rc == 0, made.err
        self._node = JavaNode(file, home / "java.log")

    def wait_until_ready(self) -> None:
        assert self._node is not None
        self._node.wait_for_log("Kafka Server started", START_SECONDS)

    @property
    def is_running(self) -> bool:
        return self._node is not None and self._node.process.poll() is None

    def kill(self) -> None:
        if self._node is not None:
            self._node.kill()

    def log(self) -> str:
        return "" if self._node is None else self._node.log.read_text(errors="replace")[-3000:]


class Field:
    """One node, a canary at it, and what came of each case."""

    def __init__(self, node: Process, ports: Mapping[ListenerType, int]) -> None:
        self.node = node
        self.ports = ports
        self._loop = asyncio.new_event_loop()
        self._canary: BrokerCanary | None = None
        self._epoch = 0
        self._lives = 0

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self._loop.close()

    def _begin(self) -> None:
        self._lives += 1
        self.node.start()
        self.node.wait_until_ready()
        self._canary = BrokerCanary(self.ports[ListenerType.BROKER], NODE_ID, f"canary-{self._lives}")
        self._controller = Client(self.ports[ListenerType.CONTROLLER])
        self._loop.run_until_complete(self._prepare(self._canary))

    async def _prepare(self, canary: BrokerCanary) -> None:
        await canary.begin()
        await canary.create(VICTIM)
        await canary.sing()
        self._epoch = await self._leader_epoch()

    async def _leader_epoch(self) -> int:
        told = (await self._controller.ask(DESCRIBE_QUORUM, 2)).topics[0].partitions[0]
        return int(told.leader_epoch)

    def _end(self) -> None:
        self.node.kill()
        if self._canary is not None:
            self._canary.client.close()
            self._controller.close()
            self._loop.run_until_complete(asyncio.sleep(0.01))

    def ask(self, case: Case, role: ListenerType) -> str:
        """`passes`, or why not."""
        seen = seen_by(case, self.ports[role])
        harm = self._loop.run_until_complete(self._harm())
        if harm:
            self._end()
            self._begin()
            return f"fails: {harm}"
        return "passes" if case.is_right(seen) else f"fails: {seen}"

    async def _harm(self) -> str:
        """What the case did to others."""
        assert self._canary is not None
        try:
            await self._canary.sing()
            if await self._leader_epoch() != self._epoch:
                return "another leader's epoch"
        except Wrong as wrong:
            await asyncio.sleep(1.0)
            return str(wrong) if self.node.is_running else "the process ended"
        return "" if self.node.is_running else "the process ended"


def ports_of(count: int = 1) -> list[dict[ListenerType, int]]:
    """For so many nodes."""
    found = free_ports(2 * count)
    return [{ListenerType.BROKER: found[2 * n], ListenerType.CONTROLLER: found[2 * n + 1]} for n in range(count)]
