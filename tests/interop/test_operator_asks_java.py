"""What the operator asks of nodes and what it has them do, against Apache Kafka's own: from 4.2 to 4.3.1, and a broker
emptied.

One controller and two brokers without any Kubernetes: the operator's probe, its changes, and its rules about levels and
moves on what was seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from controller_runtime.identifiers import Endpoint
from kraft_operator.observed import Brokers, Quorum, QuorumState
from kraft_operator.pools import Pools
from kraft_operator.quorum import Addresses, AdminFailed, KafkaChanges, KafkaProbe
from support.apache_kafka.java_kafka import VERSION, JavaNode, require_java, run_tool
from support.nodes.processes import free_ports

POOLS = Pools()
pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(600)]

OLD = "4.2.0"
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
LEVEL_42, LEVEL_43 = 29, 30
RAISE = ("metadata.version", LEVEL_43)
RECORDS = 200


@dataclass(slots=True)
class Trio:
    """Controller 1, brokers 11 and 12."""

    folder: Path
    ports: dict[int, int]
    nodes: dict[int, JavaNode] = field(default_factory=dict)

    def properties(self, node_id: int) -> Path:
        path = self.folder / f"{node_id}.properties"
        at, controller = f"127.0.0.1:{self.ports[node_id]}", f"127.0.0.1:{self.ports[1]}"
        lines = [f"node.id={node_id}", f"log.dirs={self.folder / str(node_id)}", "controller.listener.names=CONTROLLER",
                 f"controller.quorum.bootstrap.servers={controller}", "broker.session.timeout.ms=6000",
                 "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"]  # fmt: skip
        if node_id == 1:
            lines += ["process.roles=controller", f"listeners=CONTROLLER://{at}"]
        else:
            lines += ["process.roles=broker", f"listeners=PLAINTEXT://{at}", "inter.broker.listener.name=PLAINTEXT"]
        path.write_text("\n".join(lines) + "\n")
        return path

    def format(self, node_id: int) -> None:
        mode = ["--standalone"] if node_id == 1 else []
        ran = run_tool(
            "kafka-storage", "format", "-c", str(self.properties(node_id)), "-t", CLUSTER, *mode, version=OLD
        )
        assert ran.rc == 0, ran.err

    def start(self, node_id: int, version: str) -> None:
        log = self.folder / f"{node_id}-{version}.log"
        self.nodes[node_id] = JavaNode(self.properties(node_id), log, version=version)

    def restart(self, node_id: int, version: str) -> None:
        self.nodes[node_id].stop(60)
        self.start(node_id, version)

    def look(self, *, trials: tuple[tuple[str, int], ...] = ()) -> tuple[Quorum, Brokers]:
        at = {node_id: Endpoint("127.0.0.1", port) for node_id, port in self.ports.items()}
        brokers = {node_id: each for node_id, each in at.items() if node_id in self.nodes and node_id != 1}
        asked = Addresses(
            {1: at[1]}, {1: None}, brokers, with_replicas=True, leaving=frozenset({12}), with_versions=True
        )
        with KafkaProbe() as probe:
            return probe.look(replace(asked, trials=trials))

    def changes(self) -> KafkaChanges:
        return KafkaChanges((Endpoint("127.0.0.1", self.ports[1]),), POOLS)

    def until(self, what: str, holds: Callable[[Quorum, Brokers], bool], *trials: tuple[str, int]) -> Brokers:
        deadline, seen = time.monotonic() + 120, None
        while time.monotonic() < deadline:
            quorum, brokers = seen = self.look(trials=trials)
            if quorum.state is QuorumState.AVAILABLE and holds(quorum, brokers):
                return brokers
            time.sleep(0.3)
        raise AssertionError(f"{what}: {seen}")


@pytest.fixture(scope="module")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trio]:
    require_java()
    ports = free_ports(3)
    found = Trio(tmp_path_factory.mktemp("trio"), dict(zip((1, 11, 12), ports, strict=True)))
    try:
        for node_id in found.ports:
            found.format(node_id)
            found.start(node_id, OLD)
        found.until("all are there", lambda _, seen: serving(seen) == {11, 12})
        yield found
    finally:
        for node in found.nodes.values():
            with suppress(Exception):
                node.kill()


def serving(seen: Brokers) -> frozenset[int]:
    return (seen.registered or frozenset()) - (seen.fenced or frozenset())


def highest(seen: Brokers) -> dict[int, int]:
    return {node: levels["metadata.version"][1] for node, levels in seen.registry.supported.items()}


def bootstrap(trio: Trio) -> str:
    return ",".join(f"127.0.0.1:{trio.ports[each]}" for each in (11, 12))


def test_what_nodes_of_4_2_say_is_understood_and_a_level_they_do_not_know_is_refused_before_it_is_tried(
    trio: Trio,
) -> None:
    _, seen = trio.look(trials=(RAISE,))
    assert seen.registry.controllers == frozenset({1})
    assert seen.registry.apis is not None
    assert {45, 46} <= seen.registry.apis
    assert seen.registry.finalized is not None
    assert (seen.registry.finalized["metadata.version"], seen.registry.finalized["kraft.version"]) == (LEVEL_42, 1)
    assert highest(seen) == {1: LEVEL_42, 11: LEVEL_42, 12: LEVEL_42}
    assert seen.registry.granted[RAISE]
    assert seen.moving == frozenset()
    assert seen.cordoned == {12: None}, "4.2 knows no cordons"
    with pytest.raises(AdminFailed, match=r"metadata\.version was not raised"):
        trio.changes().finalize(*RAISE, 10)


def test_the_level_rises_once_the_last_node_runs_the_new_release_and_not_before(trio: Trio) -> None:
    """Records written with acks=all to a partition whose only replica is on broker 12, before, between and after."""
    producer = Producer({"bootstrap.servers": bootstrap(trio), "acks": "all"})
    made = run_tool(
        "kafka-topics",
        "--bootstrap-server",
        bootstrap(trio),
        "--create",
        "--topic",
        "kept",
        "--replica-assignment",
        "12",
    )
    assert made.rc == 0, made.err
    send(producer, 0)
    trio.restart(1, VERSION)
    seen = trio.until("a new controller", lambda _, seen: highest(seen).get(1) == LEVEL_43, RAISE)
    assert highest(seen)[11] == LEVEL_42
    assert "11" in seen.registry.granted[RAISE] or "12" in seen.registry.granted[RAISE]
    for broker in (11, 12):
        trio.restart(broker, VERSION)
        trio.until(f"broker {broker} serves", lambda _, seen: serving(seen) == {11, 12})
    send(producer, 1)
    seen = trio.until("nobody is too old", lambda _, seen: seen.registry.granted.get(RAISE) == "", RAISE)
    assert highest(seen) == {1: LEVEL_43, 11: LEVEL_43, 12: LEVEL_43}
    assert (seen.registry.finalized or {})["metadata.version"] == LEVEL_42, "a trial changes nothing"
    trio.changes().finalize(*RAISE, 10)
    trio.until("it is final", lambda _, seen: (seen.registry.finalized or {})["metadata.version"] == LEVEL_43)
    trio.changes().finalize(*RAISE, 10)  # an operator that died before it saw the answer asks again
    send(producer, 2)


def send(producer: Producer, round_: int) -> None:
    failed: list[object] = []
    for number in range(RECORDS):
        producer.produce(
            "kept", f"{round_}-{number}", on_delivery=lambda error, _: failed.append(error) if error else None
        )
    assert producer.flush(120) == 0
    assert not failed


def place_of(trio: Trio, topic: str) -> set[int]:
    """Of a new topic with a replica on as many brokers as take one."""
    made = run_tool(
        "kafka-topics", "--bootstrap-server", bootstrap(trio), "--create", "--topic", topic, "--partitions", "8"
    )
    assert made.rc == 0, made.err
    _, seen = trio.look()
    return {broker for each in seen.partitions or () if each.topic == topic for broker in each.replicas}


def test_a_cordoned_broker_takes_no_new_replicas_until_it_is_opened_whether_it_runs_or_not(trio: Trio) -> None:
    assert trio.look()[1].cordoned == {12: False}
    assert place_of(trio, "before") == {11, 12}
    at = Endpoint("127.0.0.1", trio.ports[12])
    trio.changes().cordon(12, at, 10)
    trio.until("broker 12 says so", lambda _, seen: seen.cordoned == {12: True})
    time.sleep(3)  # the broker's next heartbeat tells the controller
    assert place_of(trio, "meanwhile") == {11}
    trio.changes().cordon(12, at, 10)  # an operator that died before it saw the answer asks again
    trio.changes().uncordon(12, 10)
    trio.until("broker 12 is open", lambda _, seen: seen.cordoned == {12: False})
    trio.changes().uncordon(12, 10)
    trio.changes().cordon(12, at, 10)
    trio.nodes[12].stop(60)
    trio.changes().uncordon(12, 10)
    trio.restart(12, VERSION)
    trio.until("broker 12 is back and open", lambda _, seen: serving(seen) == {11, 12} and seen.cordoned == {12: False})
    for topic in ("before", "meanwhile"):
        ran = run_tool("kafka-topics", "--bootstrap-server", bootstrap(trio), "--delete", "--topic", topic)
        assert ran.rc == 0, ran.err


def test_replicas_move_to_another_broker_and_the_empty_one_is_unregistered(trio: Trio) -> None:
    moves = {("kept", 0): (11,)}
    trio.changes().move(moves, 10)
    with suppress(AdminFailed):  # it may be over already
        trio.changes().move(moves, 10)

    def moved(_: Quorum, seen: Brokers) -> bool:
        placed = {each.key: each.replicas for each in seen.partitions or ()}
        return placed.get(("kept", 0)) == (11,) and seen.moving == frozenset()

    seen = trio.until("the replica is on broker 11", moved)
    assert 12 not in (seen.replicas or {})
    trio.nodes.pop(12).stop(60)
    trio.until("broker 12 is fenced", lambda _, seen: seen.fenced == frozenset({12}))
    trio.changes().unregister(12, 10)
    trio.until("nobody knows broker 12", lambda _, seen: seen.registered == frozenset({11}))
    trio.changes().unregister(12, 10)
    assert len(everything(trio)) == 3 * RECORDS


def everything(trio: Trio) -> set[str]:
    reader = Consumer({"bootstrap.servers": f"127.0.0.1:{trio.ports[11]}", "group.id": "all"})
    reader.assign([TopicPartition("kept", 0, 0)])
    found: set[str] = set()
    while len(found) < 3 * RECORDS:
        message = reader.poll(30)
        assert message is not None, f"{len(found)} records"
        assert message.error() is None, message.error()
        found.add((message.value() or b"").decode())
    reader.close()
    return found
