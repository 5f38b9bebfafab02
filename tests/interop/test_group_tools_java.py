"""`kafka-consumer-groups` and `kafka-groups`, ours and Apache Kafka's, with the same arguments on the same cluster: the
same output and exit code. On a cluster of ours and on one of Apache Kafka's.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from support.apache_kafka.java_kafka import JavaNode, ToolResult, run_tool
from support.apache_kafka.kafka_python import KafkaAdminClient, KafkaProducer, NewTopic
from support.nodes.processes import CLUSTER_ID, Cluster, eventually, free_ports, kraft

pytestmark = [pytest.mark.interop, pytest.mark.slow]

READ, OTHER = "read", "other-topic-with-a-long-name"
TIME = re.compile(r"\b\d{13}\b")
OPTIONS = re.compile(r"\[(\[[a-z-]+\](?:, \[[a-z-]+\])+)\]")
"""Options that Java names in the order of a hash set of objects, which is another one on another machine."""
KINDS = ("java", "ours")


def _java_node(home: Path) -> tuple[JavaNode, str]:
    controller, broker = free_ports(2)
    properties = home / "server.properties"
    properties.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={home / "data"}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
group.initial.rebalance.delay.ms=0
"""
    )
    words = ("format", "-c", str(properties), "-t", CLUSTER_ID, "--standalone")
    formatted = run_tool("kafka-storage", *words, timeout_s=180)
    assert formatted.rc == 0, formatted.err
    node = JavaNode(properties, home / "log")
    node.wait_for_log("Kafka Server started", 180)
    return node, f"127.0.0.1:{broker}"


@pytest.fixture(scope="module", params=KINDS)
def server(java: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the brokers are reached: with two topics, a group with two members, an empty and a simple one."""
    assert java
    home = tmp_path_factory.mktemp(f"tools-{request.param}")
    if request.param == "java":
        node, at = _java_node(home)
        try:
            yield from _with_groups(at)
        finally:
            node.stop(120)
    else:
        extra = {"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "2"}
        with Cluster(home, controllers=1, brokers=1, extra=extra | {"group.initial.rebalance.delay.ms": "0"}) as made:
            made.start()
            made.wait_until_unfenced(90)
            yield from _with_groups(made.bootstrap_servers)


def _with_groups(at: str) -> Iterator[str]:
    admin = KafkaAdminClient(bootstrap_servers=at)
    kept = {"retention.ms": "-1"}  # the records are of 2023
    admin.create_topics([NewTopic(READ, 3, 1, topic_configs=kept), NewTopic(OTHER, 1, 1, topic_configs=kept)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=at)
    for number in range(30):
        producer.send(READ, b"%d" % number, partition=number % 3, timestamp_ms=1_700_000_000_000 + number)
    producer.send(OTHER, b"one", partition=0)
    producer.flush(60)
    producer.close()
    _read(at, "empty", 30)
    _read(at, "to-delete", 30)
    members = [_consumer(at, "living", instance) for instance in ("one", None)]
    over = threading.Event()

    def poll() -> None:
        while not over.is_set():
            for each in members:
                each.poll(0.1)

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        eventually("two members", lambda: sorted(len(each.assignment()) for each in members) == [1, 3], 60)
        yield at
    finally:
        over.set()
        thread.join(30)
        for each in members:
            each.close()


def _consumer(at: str, group: str, instance: str | None = None) -> Consumer:
    settings: dict[str, str | bool | int] = {
        "bootstrap.servers": at, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False,
        "session.timeout.ms": 30_000,
    }  # fmt: skip
    made = Consumer(settings | ({"group.instance.id": instance} if instance else {}))
    made.subscribe([READ, OTHER])
    return made


def _read(at: str, group: str, count: int) -> None:
    made = _consumer(at, group)
    seen = 0
    while seen < count:
        message = made.poll(1.0)
        seen += message is not None and message.error() is None
    made.commit(asynchronous=False)
    made.close()


def ours(tool: str, *arguments: str) -> ToolResult:
    done = kraft(tool.removeprefix("kafka-"), *arguments, timeout=240)
    return ToolResult(done.returncode, done.stdout, done.stderr)


def told(found: ToolResult) -> tuple[int, list[str], str]:
    """Java's order is that of its hash maps; of a trace only the first line has words for people."""
    said = found.err.lstrip("\n").split("\n", 1)[0]
    said = "" if "WARN" in said or "INFO" in said else said
    said = OPTIONS.sub(lambda names: f"[{', '.join(sorted(names[1].split(', ')))}]", said)
    return found.rc, sorted(line.rstrip() for line in found.out.splitlines()), said


def alike(server: str, *calls: str, tool: str = "kafka-consumer-groups") -> list[ToolResult]:
    """Calls that change nothing: both tools say the same."""
    lines = [("--bootstrap-server", server, *call.split()) for call in calls]
    with ThreadPoolExecutor(2) as pool:
        java = list(pool.map(lambda line: run_tool(tool, *line, timeout_s=240), lines))
    own = [ours(tool, *line) for line in lines]
    assert {call: told(each) for call, each in zip(calls, own, strict=True)} == {
        call: told(each) for call, each in zip(calls, java, strict=True)
    }
    return own


def test_groups_are_listed_and_described_alike(server: str) -> None:
    """GRP-21, CGP-19: of members, of nobody, of who is not there."""
    found = alike(
        server,
        "--list",
        "--list --state",
        "--list --state stable --type",
        "--list --type consumer",
        "--describe --group living",
        "--describe --group living --verbose",
        "--describe --group living --members",
        "--describe --group living --members --verbose",
        "--describe --group living --state --verbose",
        "--describe --group empty",
        "--describe --group empty --members",
        "--describe --group empty --state",
        "--describe --all-groups --offsets",
        "--describe --group nobodys",
        "--describe --group nobodys --group empty --members",
    )
    assert "living" in found[0].out
    alike(server, "--list", "--list --consumer", "--list --group-type consumer", "--list --protocol x",
          tool="kafka-groups")  # fmt: skip


def test_resets_are_planned_alike(server: str, tmp_path: Path) -> None:
    """OFF-01: every scenario, and what it cannot be asked for."""
    known = tmp_path / "plan.csv"
    known.write_text(f"{READ},0,3\n{READ},1,999\n")
    grouped = tmp_path / "grouped.csv"
    grouped.write_text(f"empty,{READ},0,3\nto-delete,{READ},1,4\n")
    empty = "--reset-offsets --group empty --dry-run"
    found = alike(
        server,
        f"{empty} --topic {READ} --to-earliest",
        f"{empty} --topic {READ}:0,2 --topic {OTHER} --to-latest",
        f"{empty} --all-topics --to-current",
        f"{empty} --all-topics --shift-by -3",
        f"{empty} --all-topics --shift-by 999",
        f"{empty} --topic {READ} --to-offset 4",
        f"{empty} --topic {READ} --to-datetime 2023-11-14T22:13:20.010",
        f"{empty} --topic {READ} --to-datetime 2023-11-15T01:13:20.004+03:00",
        f"{empty} --topic {READ} --to-datetime 2023-11-14",
        f"{empty} --topic {OTHER} --to-datetime 2099-11-14T22:13:20.010",
        f"{empty} --topic {READ} --by-duration P1D",
        f"{empty} --topic {READ} --by-duration 1D",
        f"{empty} --from-file {known}",
        f"{empty} --topic {READ} --to-earliest --export",
        f"{empty} --topic none-such --to-earliest",
        f"{empty} --topic none-such:0 --to-earliest",
        f"{empty} --topic {READ}:7 --to-earliest",
        f"{empty} --topic {READ}:x --to-earliest",
        f"{empty} --topic {READ}",
        f"{empty} --to-earliest",
        "--reset-offsets --group living --all-topics --to-earliest --dry-run",
        f"--reset-offsets --group nobodys --topic {READ} --to-earliest --dry-run",
        f"--reset-offsets --group nobodys --topic {READ} --shift-by 1 --dry-run",
        f"--reset-offsets --group empty --topic {READ} --to-latest",
    )
    assert "NEW-OFFSET" in found[0].out
    both = "--reset-offsets --group empty --group to-delete --dry-run"
    own = ours("kafka-consumer-groups", "--bootstrap-server", server, *f"{both} --from-file {grouped}".split())
    java = run_tool("kafka-consumer-groups", "--bootstrap-server", server, *f"{both} --from-file {grouped}".split())
    assert told(own)[:2] == told(java)[:2], "Java says on standard error that the lines are longer than it thought"


def test_changes_are_made_and_refused_alike(server: str) -> None:
    """GRP-22, OFF-11: one tool after the other, each on a group of its own."""
    at = ("--bootstrap-server", server)
    said: dict[str, list[tuple[int, list[str], str]]] = {}
    for who, run in (("java", run_tool), ("ours", ours)):
        group = f"changed-by-{who}"
        _read(server, group, 30)
        said[who] = [
            told(ToolResult(found.rc, found.out.replace(group, "GROUP"), found.err.replace(group, "GROUP")))
            for found in (
                run("kafka-consumer-groups", *at, *call.replace("GROUP", group).split())
                for call in (
                    f"--reset-offsets --group GROUP --topic {READ}:0,1 --to-offset 2 --execute",
                    f"--delete-offsets --group GROUP --topic {OTHER}",
                    f"--delete-offsets --group GROUP --topic {READ}:1 --topic none-such",
                    f"--delete-offsets --group GROUP --topic {READ}:99",
                    "--describe --group GROUP",
                    f"--delete-offsets --group living --topic {READ}",
                    f"--delete-offsets --group nobodys --topic {READ}",
                    "--delete --group living",
                    "--delete --group GROUP --group nobodys",
                    "--delete --group GROUP",
                )
            )
        ]
    assert said["ours"] == said["java"]
