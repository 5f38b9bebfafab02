"""An Apache Kafka and a node of ours in both roles, with the same ids and settings, for `differential`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from support.apache_kafka.differential import Pair, Side
from support.apache_kafka.java_kafka import JavaNode, run_tool
from support.nodes.processes import CLUSTER_ID, NodeProcess, eventually, free_ports

NODE_ID: Final = 1
DIRECTORY_ID: Final = Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0001)
TOPICS: Final = (("orders", 3), ("payments", 1), ("audit.log", 1), ("under_score", 2))
"""On both nodes from the start, with these numbers of partitions. Tests make others, under names of their own."""
SETTINGS: Final = {
    "broker.rack": "rack-a",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
}
_SECRET: Final = {"delegation.token.secret.key": "of the whole cluster", "delegation.token.expiry.time.ms": "60000"}
GUARDED: Final = {
    **_SECRET,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
ENFORCING: Final = {**GUARDED, "super.users": "User:admin; User:root", "allow.everyone.if.no.acl.found": "true"}
"""Whoever has no ACL against him may everything, so that the nodes come up; a test takes that away."""
KEEPING: Final = {**_SECRET, "quorate.acls": "kept"}


def _properties(home: Path, ports: Mapping[ListenerType, int], extra: Mapping[str, str]) -> dict[str, str]:
    """A value of `listeners` in `extra` that begins with a comma comes behind the two that each has."""
    own = f"PLAINTEXT://127.0.0.1:{ports[ListenerType.BROKER]},CONTROLLER://127.0.0.1:{ports[ListenerType.CONTROLLER]}"
    more = extra.get("listeners", "")
    return {
        "process.roles": "broker,controller",
        "node.id": str(NODE_ID),
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{ports[ListenerType.CONTROLLER]}",
        "log.dirs": str(home / "data"),
        **SETTINGS,
        **extra,
        "listeners": own + more,
    }


def _side(name: Literal["java", "ours"], ports: Mapping[ListenerType, int]) -> Side:
    made = Side(name, ports, CLUSTER_ID)
    made.named = {port: f"<{role} port>" for role, port in ports.items()}
    return made


@contextmanager
def pair_of_nodes(
    directory: Path, of_java: Mapping[str, str] | None = None, of_ours: Mapping[str, str] | None = None
) -> Iterator[Pair]:
    """Both running, with TOPICS; each with settings of its own beside SETTINGS."""
    java_broker, java_controller, our_broker, our_controller, http = free_ports(5)
    theirs = {ListenerType.BROKER: java_broker, ListenerType.CONTROLLER: java_controller}
    mine = {ListenerType.BROKER: our_broker, ListenerType.CONTROLLER: our_controller}
    home = directory / "ours"
    properties = {**_properties(home, mine, of_ours or {}), "quorate.http.listener": f"127.0.0.1:{http}"}
    ours = NodeProcess(NODE_ID, home, properties, our_controller, http)
    ours.format("--initial-controllers", _voter(our_controller))
    java = _start_java(directory, theirs, of_java or {})
    try:
        ours.start()
        java.wait_for_log("Kafka Server started", 180)
        eventually("our node is ready", lambda: ours.http("/readyz")[0] == 200)
        pair = Pair(_side("java", theirs), _side("ours", mine))
        for side in pair.sides:
            _make_topics(side)
        yield pair
        assert ours.is_running, ours.log()[-3000:]
        assert java.process.poll() is None, java.log.read_text(errors="replace")[-3000:]
        for side in pair.sides:
            side.close()
    finally:
        java.kill()
        ours.kill()


def _start_java(directory: Path, ports: Mapping[ListenerType, int], extra: Mapping[str, str]) -> JavaNode:
    home = directory / "java"
    home.mkdir(parents=True)
    file = home / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in _properties(home, ports, extra).items()))
    voter = _voter(ports[ListenerType.CONTROLLER])
    made = run_tool(
        "kafka-storage", "format", "-c", str(file), "-t", CLUSTER_ID, "--initial-controllers", voter, timeout_s=180
    )
    assert made.rc == 0, made.err
    return JavaNode(file, home / "java.log")


def _voter(port: int) -> str:
    return f"{NODE_ID}@127.0.0.1:{port}:{DIRECTORY_ID}"


def _make_topics(side: Side) -> None:
    topics = tuple(CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in TOPICS)
    made = side.call(ListenerType.BROKER, CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)
    assert [each.error_code for each in made.topics] == [0] * len(TOPICS), f"{side.name}: {made}"
    wait_for_topics(side, {name for name, _ in TOPICS})


def wait_for_topics(side: Side, names: set[str]) -> None:
    """Until the broker knows exactly these, and their ids are learnt."""
    eventually(f"{side.name}: {names}", lambda: names == side.learn_topics() or None)
