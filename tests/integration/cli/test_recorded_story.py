"""The story in which Apache Kafka 4.3.1's tools were recorded, told again by our tools at our nodes.

`cluster/tools.jsonl.gz` of the golden data has every call in order, what the tool said, and its exit status. The same
calls are made here of three controllers and two brokers of ours, configured as Kafka's were. What chance or the machine
decides reads as a name: ids, ports, times, offsets, and where a topic's replicas were put. Lines are compared without
their order, because Kafka prints topics in the order of a hash map. What Kafka's tools log besides (the same errors
once more, with the names of Java's classes) is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from controller_runtime.cli.main import main
from support.golden import json_lines
from support.nodes.processes import Cluster, NodeProcess, free_ports

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

RECORDED: Final[list[dict[str, Any]]] = json_lines("cluster/tools.jsonl.gz")
LAST: Final = 109
"""What follows is about controllers and brokers that stop and change, which other tests do."""
RIGHT_PASSWORD_FROM: Final = 87
THEIR_HOME: Final = "/tmp/kafka/golden"
NOT_ASKED: Final = {
    11: "the words of a parser: tests/unit/cli/test_tool_refusals.py",
    75: "told with 74",
    20: "which APIs there are is not what chance decides: tests/unit/cli/test_admin_tool_output.py",
    62: "340 names with the values of one machine: tests/interop/test_configs_tool_java.py",
    63: "340 names with the values of one machine: tests/interop/test_configs_tool_java.py",
    79: "where replicas lie is chance; tests/unit/cli/test_admin_tool_output.py",
    90: "the move between directories of a broker: tests/interop/test_tools_ours_on_java.py",
    91: "as above",
    93: "which leaders are not the preferred ones depends on what stopped before",
    94: "no transaction was begun",
    95: "there is no broker 13",
    96: "there is no broker 13",
    97: "there is no broker 13",
    98: "there is no broker 13",
    99: "there is no broker 13",
    100: "there is no broker 13",
}
JAAS: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
EXTRA: Final = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "delegation.token.secret.key": "golden-secret",
    "num.partitions": "2",
    "default.replication.factor": "2",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "2",
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}
FILES: Final = {
    "t.json": {"topics": [{"topic": "stock-64"}], "version": 1},
}
HMAC: Final = re.compile(r"[A-Za-z0-9+/]{86}==")
MASKS: Final = (
    (re.compile(r"127\.0\.0\.1:(\d+)|127\.0\.0\.1 (\d+)"), "<address>"),
    (HMAC, "<hmac>"),
    (re.compile(r"(?<![\w-])[\w-]{21}[AQgw](?![\w-])"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d"), "<date>"),
    (re.compile(r"\b1\d{12}\b|\d+ ms ago"), "<time>"),
    (re.compile(r"(Leader|Replicas|Isr): [\d,]+"), r"\1: <placed>"),
    (re.compile(r'"(replicas|log_dirs)":\[[^]]*\]'), r'"\1":<placed>'),
    (re.compile(r"(Epoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|LeaderId|LeaderEpoch): +-?\d+"), r"\1: <n>"),
    (re.compile(r"the broker \d+|broker-\d+/d\d|with broker \d+"), "<broker>"),
    (re.compile(r"^\[20[^\n]* WARN [^\n]*\norg\.apache[^\n]*\n", re.MULTILINE), ""),
    (re.compile(r" +"), " "),
)
LISTS: Final = re.compile(
    r"(?<=Configs: ).*|(?<=on topics ).*|(?<=CurrentObservers: \[).*(?=\])|(?<=^\{\"brokers\":).*"
)
"""What Kafka prints in the order of a hash map within a line."""
LOGGED: Final = re.compile(r"^(\[20|java\.|joptsimple|Caused by:| \(org|\s*$|The consumer rebalance protocol)")
ROW: Final = re.compile(r"^\d+\s+<id>\s")
"""Of kafka-metadata-quorum: who leads, and how far each one is."""


class Story:
    """The nodes, and the recorded calls made of them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cluster = Cluster(home, controllers=3, brokers=2, extra=EXTRA)
        sasl = free_ports(2)
        for broker, port in zip(self.cluster.broker_nodes, sasl, strict=True):
            self._as_theirs(broker, port)
        own = [*(node.port for node in self.cluster.nodes.values()), *sasl]
        theirs = [21001, 21002, 21003, 21011, 21012, 21111, 21112]
        self.ports = dict(zip(map(str, theirs), map(str, own), strict=True))
        self.hmacs: dict[str, str] = {}
        """Theirs, in the order of the recording, and ours."""

    def _as_theirs(self, broker: NodeProcess, sasl_port: int) -> None:
        broker.properties |= {
            "broker.rack": {11: "rack-1", 12: "rack-0"}[broker.node_id],
            "listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SASL://127.0.0.1:{sasl_port}",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": ",".join(str(self.home / f"broker-{broker.node_id}" / name) for name in ("d0", "d1")),
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
            "log.segment.bytes": "1048576",
            "log.index.size.max.bytes": "102400",
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{JAAS};",
            "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{JAAS};",
        }

    def begin(self) -> None:
        credential = "SCRAM-SHA-256=[name=admin,iterations=4096,password=admin-secret]"
        voters = ["--release-version", "4.1", "--add-scram", credential]
        self.cluster.format(*voters)
        for node in self.cluster.nodes.values():
            node.start()
        self.cluster.wait_until_unfenced()
        self.log_in_as("admin.conf", "admin", "admin-secret")
        self.log_in_as("bob.conf", "s7-bob", "a password that is wrong")
        for name, content in FILES.items():
            (self.home / name).write_text(json.dumps(content))

    def log_in_as(self, file: str, user: str, password: str) -> None:
        lines = [
            "security.protocol=SASL_PLAINTEXT",
            "sasl.mechanism=SCRAM-SHA-256",
            f'sasl.jaas.config={JAAS} username="{user}" password="{password}";',
        ]
        (self.home / file).write_text("\n".join(lines) + "\n")

    def call(self, number: int) -> tuple[int, str]:
        """Exit status, and all that was said."""
        recorded = RECORDED[number]
        arguments = [recorded["tool"].removeprefix("kafka-"), *map(self._ours, recorded["args"])]
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = main(arguments)
        said = text.getvalue()
        self.hmacs |= dict(zip(HMAC.findall(recorded["out"]), HMAC.findall(said), strict=False))
        return code, said

    def _ours(self, word: str) -> str:
        for theirs, own in (self.ports | self.hmacs).items():
            word = word.replace(theirs, own)
        return word.replace(THEIR_HOME, str(self.home))


def words(text: str) -> list[str]:
    """The lines that are no log, with names where chance decided, each once, sorted."""
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    lines = set()
    for line in text.splitlines():
        if LOGGED.match(line):
            continue
        named = LISTS.sub(lambda found: "".join(sorted(re.split(r"([,{}\[\]])", found[0]))), line.strip())
        lines.add("<row>" if ROW.match(line) else named)
    return sorted(lines)


async def written_and_read(servers: str, lines: list[str]) -> None:
    """What the console tools did: into one partition, and out of it as a member of a group."""
    async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
        for line in lines:
            await producer.send_and_wait("stock-64", line.encode(), partition=3)
    consumer = AIOKafkaConsumer(
        "stock-64", bootstrap_servers=servers, group_id="s7-console", auto_offset_reset="earliest"
    )
    async with consumer:
        read = [await consumer.getone() for _ in lines]
        await consumer.commit()
    assert [one.value.decode() for one in read if one.value] == lines


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    found = Story(tmp_path_factory.mktemp("story"))
    with found.cluster:
        found.begin()
        yield found


TOLD: Final = [
    number
    for number, one in enumerate(RECORDED[: LAST + 1])
    if one["tool"] != "kafka-storage" and number not in NOT_ASKED
]


@pytest.mark.parametrize("number", TOLD, ids=lambda number: f"{number}-{RECORDED[number]['tool']}")
def test_a_recorded_call_is_answered_as_by_kafka(story: Story, number: int) -> None:
    recorded = RECORDED[number]
    if recorded["tool"] == "kafka-console-producer":
        asyncio.run(written_and_read(story.cluster.bootstrap_servers, recorded["stdin"].splitlines()))
        return
    if number == RIGHT_PASSWORD_FROM:
        story.log_in_as("bob.conf", "s7-bob", "s7-bob")
    code, said = story.call(number)
    assert words(said) == words(recorded["out"])
    assert code == recorded["rc"]
