"""What is asked about configurations, of Apache Kafka (once, recorded in `tests/golden/.../configs`) and of ours.

`VALUES`: each of the 340 names of Kafka 4.3.1 with good and bad values, only validated, so that no question depends on
another. `STORY`: requests of every shape, in an order that matters. Record anew: `PYTHONPATH=.:tests .venv/bin/python
-m support.configs.questions DIRECTORY`.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from controller_runtime.configuration.names import CONFIG_NAMES
from controller_runtime.metadata.topic_configs import TOPIC_CONFIGS
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import DescribeConfigsResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass
from support.apache_kafka.java_kafka import JavaNode, run_tool
from support.golden import GOLDEN
from support.nodes.processes import CLUSTER_ID, free_ports

_LEARNT_AFTER_S: Final = 0.5
"""A broker of Kafka's tells its older metadata for some milliseconds after a change was answered."""
RECORDED: Final = GOLDEN / "configs"
TOPIC, BROKER, LOGGER, CLIENT, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
NODE_ID: Final = 1
THERE: Final = "there"
"""A topic that exists."""
_RESOURCES: Final = {BROKER: (str(NODE_ID), ""), TOPIC: (THERE,), GROUP: ("group",), CLIENT: ("subscription",)}

_VALUES_OF: Final = {
    "boolean": ("true", " TRUE ", "maybe", ""),
    "double": ("0.5", "x", "-1", "", "1e400", "NaN"),
    "string": ("x", ""),
    "list": ("x", "", "a,a", "a,,b"),
    "class": ("java.lang.String", "no.such.Class", ""),
    "password": ("secret", ""),
}
_NUMBERS: Final = ("abc", "-5", "-1", "0", "1", "", "32768", "2147483648", "9223372036854775808", " 7 ", "1_0", "+3")
_MORE: Final = {
    "cleanup.policy": ("compact", "delete,compact", "none", "delete,none"),
    "log.cleanup.policy": ("compact", "delete,compact", "none", "delete,none"),
    "compression.type": ("zstd", "ZSTD", "brotli"),
    "message.timestamp.type": ("LogAppendTime", "logappendtime"),
    "log.message.timestamp.type": ("LogAppendTime", "logappendtime"),
    "leader.replication.throttled.replicas": ("*", "0:1,1:2", "0", "*,0:1"),
    "follower.replication.throttled.replicas": ("*", "0:1,1:2", "0", "*,0:1"),
    "min.cleanable.dirty.ratio": ("1", "1.1"),
    "log.cleaner.min.cleanable.ratio": ("1", "1.1"),
    "log.cleaner.io.buffer.load.factor": ("1", "1.1"),
    "compression.gzip.level": ("9", "10"),
    "compression.lz4.level": ("17", "18"),
    "compression.zstd.level": ("-131072", "22", "23"),
    "num.io.threads": ("3", "4", "16", "17"),
    "num.network.threads": ("2", "6", "7"),
    "background.threads": ("5", "20", "21", "4"),
    "num.recovery.threads.per.data.dir": ("4", "5"),
    "num.replica.fetchers": ("2", "3"),
    "remote.log.manager.copier.thread.pool.size": ("5", "20", "21", "4"),
    "remote.log.manager.expiration.thread.pool.size": ("5", "20", "21"),
    "remote.log.manager.follower.thread.pool.size": ("4", "5"),
    "remote.log.reader.threads": ("5", "20", "21"),
    "log.cleaner.threads": ("2", "3"),
    "log.cleaner.dedupe.buffer.size": ("1048576", "1048575", "67108864"),
    "log.segment.bytes": ("1048575", "1048576"),
    "segment.bytes": ("1048575", "1048576", "1000000000"),
    "log.retention.ms": ("86400000",),
    "log.local.retention.ms": ("1000", "-2", "-3"),
    "log.local.retention.bytes": ("1000", "-2", "-3"),
    "local.retention.ms": ("1000", "-2", "-3"),
    "local.retention.bytes": ("1000", "-2", "-3"),
    "min.insync.replicas": ("2", "3"),
    "max.connections.per.ip.overrides": ("127.0.0.1:5", "127.0.0.1:x", "nonsense", "no such host:5",
        "127.0.0.1:5,10.0.0.1:6"),
    "listeners": ("PLAINTEXT://127.0.0.1:19092", "SSL://127.0.0.1:19092", "nonsense", "PLAINTEXT://:19092,PLAINTEXT://:19093"),
    "advertised.listeners": ("PLAINTEXT://127.0.0.1:19092",),
    "listener.security.protocol.map": ("PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "PLAINTEXT:SSL",
        "PLAINTEXT:NONSENSE", "nonsense"),
    "cordoned.log.dirs": ("*", "/tmp/nowhere"),
    "metric.reporters": ("org.apache.kafka.common.metrics.JmxReporter", "java.lang.String"),
    "principal.builder.class": ("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",),
    "share.auto.offset.reset": ("earliest", "latest", "by_duration:PT1H", "by_duration:x", "none", "EARLIEST",
        "by_duration:-PT1H"),
    "share.isolation.level": ("read_committed", "READ_COMMITTED", "x"),
    "metrics": ("*", "org.apache.kafka.", "org.apache.kafka.*"),
    "match": ("client_id=x", "client_software_name=.*,client_source_port=9", "no_such=x", "client_id", "client_id=[",
        "client_id=a=b"),
    "interval.ms": ("100", "99", "3600000", "3600001"),
}  # fmt: skip
_GROUP_NAMES: Final = [
    "consumer.assignment.interval.ms",
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "share.assignment.interval.ms",
    "share.delivery.count.limit",
    "share.heartbeat.interval.ms",
    "share.partition.max.record.locks",
    "share.record.lock.duration.ms",
    "share.session.timeout.ms",
    "streams.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.initial.rebalance.delay.ms",
    "streams.num.standby.replicas",
    "streams.session.timeout.ms",
]
_GROUP_NUMBERS: Final = (
    *_NUMBERS, "2", "5", "10", "11", "99", "100", "999", "1000", "4000", "4001", "5000", "14999", "15000", "15001",
    "30000", "44999", "45000", "59999", "60000", "60001",
)  # fmt: skip
_UNLISTED: Final = (
    ("no.such", ("1", "")),
    ("", ("1",)),
    ("leader.replication.throttled.rate", ("1000", "-1", "abc")),
    ("follower.replication.throttled.rate", ("1000", "-1", "abc")),
    ("replica.alter.log.dirs.io.max.bytes.per.second", ("1000", "-1", "abc")),
    ("unstable.api.versions.enable", ("true",)),
    ("super.users", ("User:me",)),
    ("log.initial.task.delay.ms", ("1",)),
    ("listener.name.plaintext.max.connections", ("5", "abc")),
    ("listener.name.plaintext.num.network.threads", ("4", "abc")),
    ("listener.name.plaintext.max.connection.creation.rate", ("5", "abc")),
    ("listener.name.plaintext.ssl.keystore.location", ("/tmp/x.jks",)),
    ("listener.name.plaintext.ssl.keystore.password", ("secret",)),
    ("listener.name.plaintext.ssl.client.auth", ("required", "x")),
    ("listener.name.plaintext.scram-sha-256.sasl.jaas.config", ("x",)),
    ("listener.name.plaintext.no.such", ("1",)),
    ("listener.name.plaintext.num.io.threads", ("8",)),
    ("listener.name.plaintext.node.id", ("1",)),
    ("listener.name.nowhere.ssl.keystore.location", ("/tmp/x.jks",)),
    ("listener.name.", ("1",)),
)


Name = tuple[int, str, tuple[str, ...]]
"""Resource type, name, values to try."""


@dataclass(frozen=True, slots=True)
class Question:
    """`listener`: b, the broker's, or c, the controller's."""

    listener: str
    version: int
    body: Message


def one(kind: int, name: str, key: str, value: str | None, operation: int = SET) -> AlterConfigsResource:
    return several(kind, name, (key, value, operation))


def several(kind: int, name: str, *changes: tuple[str, str | None, int]) -> AlterConfigsResource:
    configs = tuple(AlterableConfig(name=key, value=value, config_operation=how) for key, value, how in changes)
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def names() -> Iterator[Name]:
    for row in sorted(CONFIG_NAMES):
        yield BROKER, row.name, (*tried(row.kind, row.default), *_MORE.get(row.name, ()))
    for key, values in _UNLISTED:
        yield BROKER, key, values
    for config in TOPIC_CONFIGS.values():
        yield TOPIC, config.name, (*tried(config.type.name.lower(), config.default), *_MORE.get(config.name, ()))
    for key in ("no.such", "", "internal.segment.bytes", "log.segment.bytes"):
        yield TOPIC, key, ("1",)
    for key in _GROUP_NAMES:
        yield GROUP, key, _GROUP_NUMBERS
    for key in ("share.auto.offset.reset", "share.isolation.level", "no.such", ""):
        yield GROUP, key, ("", *_MORE.get(key, ("1",)))
    yield GROUP, "share.renew.acknowledge.enable", _VALUES_OF["boolean"]
    for key, kind in (("interval.ms", "int"), ("match", "list"), ("metrics", "list"), ("no.such", "int"), ("", "int")):
        yield CLIENT, key, (*tried(kind, "null"), *_MORE.get(key, ()))


def tried(kind: str, default: str) -> tuple[str, ...]:
    values = _VALUES_OF.get(kind, _NUMBERS)
    return values if default in {"null", "REQUIRED", ""} else (default, *values)


def values() -> Iterator[Question]:
    for kind, key, tries in names():
        yield from values_of(kind, key, tries)


def values_of(kind: int, key: str, tries: tuple[str, ...]) -> Iterator[Question]:
    for resource in _RESOURCES[kind]:
        for value in dict.fromkeys(tries):
            request = IncrementalAlterConfigsRequest(resources=(one(kind, resource, key, value),), validate_only=True)
            for listener in "bc":
                yield Question(listener, 1, request)


def count_of(kind: int, tries: tuple[str, ...]) -> int:
    """How many questions `values_of` asks."""
    return len(_RESOURCES[kind]) * len(set(tries)) * len("bc")


# The story: requests of every shape, in an order that matters.

_LONG: Final = "x" * 32_000
_OTHER: Final = "other"
"""A topic that does not exist."""


def alter(listener: str, *resources: AlterConfigsResource, version: int = 1, only: bool = False) -> Question:
    return Question(listener, version, IncrementalAlterConfigsRequest(resources=resources, validate_only=only))


def describe(
    listener: str, *asked: tuple[int, str], version: int = 4, keys: tuple[str, ...] | None = None, synonyms: bool = True
) -> Question:
    resources = tuple(
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys) for kind, name in asked
    )
    return Question(listener, version, DescribeConfigsRequest(resources=resources, include_synonyms=synonyms))


def story() -> Iterator[Question]:
    for listener in "bc":
        yield from _shapes(listener)
        yield from _who(listener)
        yield from _sizes(listener)
        yield from _changes(listener)
    for listener in "bc":
        yield from _described_everywhere(listener)


def _shapes(listener: str) -> Iterator[Question]:
    """What is wrong with a request, whatever its names mean. An unknown operation, and nothing appended to a list, make
    Kafka's controller resign.
    """
    good, bad = one(TOPIC, THERE, "retention.ms", "1000"), one(TOPIC, _OTHER, "retention.ms", "1000")
    group, client = one(GROUP, "g", "consumer.session.timeout.ms", "50000"), one(CLIENT, "s", "interval.ms", "1000")
    yield alter(listener)
    yield alter(listener, several(TOPIC, THERE), several(BROKER, "1"), several(GROUP, "g"), several(CLIENT, "s"))
    yield alter(listener, good, good, only=True)
    yield alter(listener, good, group, good, client, only=True)
    yield alter(listener, several(TOPIC, THERE, ("retention.ms", "1", SET), ("retention.ms", "2", SET)))
    yield alter(listener, several(BROKER, "1", ("num.io.threads", "8", SET), ("num.io.threads", None, DELETE)))
    yield alter(listener, good, bad, group, client, only=True)
    yield alter(listener, good, bad, group, client, version=0, only=True)
    for kind, name, key in (
        (TOPIC, THERE, "retention.ms"), (TOPIC, THERE, "cleanup.policy"), (BROKER, "1", "log.cleaner.threads"),
        (BROKER, "", "log.cleanup.policy"), (GROUP, "g", "consumer.session.timeout.ms"), (CLIENT, "s", "match"),
    ):  # fmt: skip
        for operation in (SET, DELETE, APPEND, SUBTRACT)[: 4 if listener == "b" else 2]:
            yield alter(listener, one(kind, name, key, None, operation), only=True)
    for kind, name, key, value in (
        (TOPIC, THERE, "retention.ms", "5"), (TOPIC, THERE, "no.such", "5"),
        (TOPIC, THERE, "cleanup.policy", "compact"),
        (BROKER, "1", "log.cleaner.threads", "1"), (BROKER, "1", "no.such", "1"),
        (BROKER, "", "log.cleanup.policy", "compact"),
        (BROKER, "", "metric.reporters", "org.apache.kafka.common.metrics.JmxReporter"),
        (GROUP, "g", "consumer.session.timeout.ms", "50000"), (CLIENT, "s", "match", "client_id=x"),
        (CLIENT, "s", "metrics", "a,b"),
    ):  # fmt: skip
        for operation in (APPEND, SUBTRACT, *((4, -1, 127) if kind == BROKER and listener == "b" else ())):
            yield alter(listener, one(kind, name, key, value, operation), only=True)


def _who(listener: str) -> Iterator[Question]:
    """Resources that there are not."""
    for kind in (0, 1, 3, LOGGER, 64, 127, -1, -128):
        for name in ("1", "", "x"):
            yield alter(listener, one(kind, name, "log.cleaner.threads", "1"), only=True)
    for name in ("2", "-1", "+1", "01", " 1", "x", "99999999999", "1.0", "2147483647"):
        yield alter(listener, one(BROKER, name, "log.cleaner.threads", "1"), only=True)
    for name in ("", _OTHER, "a b", "..", "x" * 249, "x" * 250, "__cluster_metadata"):
        yield alter(listener, one(TOPIC, name, "retention.ms", "1000"), only=True)
    for kind, key, value in ((GROUP, "consumer.session.timeout.ms", "50000"), (CLIENT, "interval.ms", "1000")):
        for name in ("", " ", "with spaces and / slashes", "x" * 300):
            yield alter(listener, one(kind, name, key, value), only=True)


def _sizes(listener: str) -> Iterator[Question]:
    """Texts at and beyond the limits. What Kafka cannot encode (a refusal that repeats a longer name) is left out."""
    yield alter(listener, one(TOPIC, THERE, _LONG, "1"), only=True)
    yield alter(listener, one(TOPIC, THERE, "retention.ms", _LONG), only=True)
    yield alter(listener, one(BROKER, "1", "no.such", _LONG), only=True)
    yield alter(listener, one(BROKER, "1", "no.such", _LONG), version=0, only=True)
    yield alter(listener, one(BROKER, "", _LONG, "1"), only=True)
    for kind, name, key in ((GROUP, "g", "no.such"), (CLIENT, "s", "metrics"), (BROKER, "", "no.such")):
        yield alter(listener, one(kind, name, key, "x" * 32_767), only=True)


def _changes(listener: str) -> Iterator[Question]:
    """What is really changed, and what is told of it."""
    yield alter(listener, several(TOPIC, THERE, ("cleanup.policy", "compact", APPEND), ("retention.ms", "1000", SET)))
    yield describe(listener, (TOPIC, THERE))
    yield alter(listener, one(TOPIC, THERE, "cleanup.policy", "delete", SUBTRACT))
    yield alter(listener, one(TOPIC, THERE, "leader.replication.throttled.replicas", "0:1,1:1", APPEND))
    yield alter(listener, one(TOPIC, THERE, "leader.replication.throttled.replicas", "1:1,2:1,2:1", APPEND))
    yield describe(listener, (TOPIC, THERE), keys=("cleanup.policy", "leader.replication.throttled.replicas"))
    yield alter(
        listener, several(TOPIC, THERE, ("min.compaction.lag.ms", "10", SET), ("max.compaction.lag.ms", "5", SET))
    )
    yield alter(listener, one(TOPIC, THERE, "max.compaction.lag.ms", "5"))
    yield alter(listener, one(TOPIC, THERE, "min.compaction.lag.ms", "10"))
    yield alter(
        listener, one(GROUP, "g", "consumer.session.timeout.ms", "50000"), one(CLIENT, "s", "match", "client_id=x")
    )
    yield alter(
        listener,
        several(
            GROUP,
            "g",
            ("consumer.heartbeat.interval.ms", "6000", SET),
            ("share.isolation.level", "read_committed", SET),
        ),
    )
    yield alter(listener, several(CLIENT, "s", ("interval.ms", "1000", SET), ("metrics", "a.,b.", SET)))
    yield alter(listener, several(CLIENT, "s", ("match", "client_id=y", APPEND), ("metrics", "a.", SUBTRACT)))
    yield alter(listener, several(CLIENT, "s", ("match", "client_id=x,client_id=y", SUBTRACT)))
    yield describe(listener, (GROUP, "g"), (CLIENT, "s"))
    yield alter(listener, one(GROUP, "g", "consumer.session.timeout.ms", "10"), one(CLIENT, "s", "interval.ms", "5"))
    yield alter(listener, several(GROUP, "g", ("share.session.timeout.ms", "60000", SET), ("no.such", "1", SET)))
    yield describe(listener, (GROUP, "g"), (CLIENT, "s"), (TOPIC, THERE), synonyms=False, keys=())
    yield alter(listener, several(BROKER, "", ("log.cleaner.threads", "2", SET), ("no.such", "kept", SET)))
    yield alter(
        listener,
        several(BROKER, "1", ("log.cleaner.backoff.ms", "777", SET), ("producer.id.expiration.ms", "2000000", SET)),
    )
    yield alter(
        listener,
        several(BROKER, "1", ("log.cleaner.backoff.ms", None, DELETE), ("producer.id.expiration.ms", "", DELETE)),
    )
    yield alter(listener, several(BROKER, "", ("log.cleaner.threads", None, DELETE), ("no.such", None, DELETE)))
    keys = (
        "cleanup.policy",
        "retention.ms",
        "leader.replication.throttled.replicas",
        "max.compaction.lag.ms",
        "min.compaction.lag.ms",
    )
    yield alter(listener, several(TOPIC, THERE, *((key, None, DELETE) for key in keys)))
    yield alter(
        listener,
        several(GROUP, "g", ("consumer.session.timeout.ms", None, DELETE), ("share.isolation.level", None, DELETE)),
    )
    yield alter(listener, several(CLIENT, "s", *((key, None, DELETE) for key in ("match", "metrics", "interval.ms"))))
    yield alter(listener, one(GROUP, "never", "no.such", None, DELETE), one(CLIENT, "never", "no.such", None, DELETE))
    yield alter(listener, one(TOPIC, THERE, "no.such", None, DELETE), one(BROKER, "1", "node.id", None, DELETE))


def _described_everywhere(listener: str) -> Iterator[Question]:
    yield alter(
        listener, one(GROUP, "kept", "streams.num.standby.replicas", "1"), one(CLIENT, "kept", "interval.ms", "7000")
    )
    for version in (1, 2, 3, 4):
        everything = (TOPIC, THERE), (GROUP, "kept"), (CLIENT, "kept"), (GROUP, "none"), (CLIENT, "none")
        yield describe(listener, *everything, version=version)
        yield describe(listener, *everything, version=version, synonyms=False)
        yield describe(
            listener, (TOPIC, _OTHER), (TOPIC, ""), (TOPIC, "a b"), (GROUP, ""), (CLIENT, ""), version=version
        )
        yield describe(
            listener, (BROKER, "2"), (BROKER, "x"), (0, "x"), (1, ""), (LOGGER, "2"), (64, ""), version=version
        )
        yield describe(listener, (GROUP, "kept"), (CLIENT, "kept"), version=version, keys=("interval.ms", "no.such"))
    yield describe(listener)
    yield describe(listener, (GROUP, "kept"), (GROUP, "kept"), (TOPIC, THERE), (TOPIC, THERE), keys=("retention.ms",))
    yield alter(listener, one(GROUP, "kept", "streams.num.standby.replicas", None, DELETE))
    yield describe(listener, (GROUP, "kept"), (CLIENT, "kept"))


# Asking.


class Asker:
    """One connection for each listener, opened anew when it was closed."""

    def __init__(self, broker_port: int, controller_port: int) -> None:
        self._ports = {"b": broker_port, "c": controller_port}
        self._sockets: dict[str, socket.socket] = {}

    def ask(self, question: Question) -> Message | None:
        """The answer, or nothing when the connection was closed."""
        body, listener = question.body, question.listener
        assert body.KEY is not None
        if listener not in self._sockets:
            self._sockets[listener] = socket.create_connection(("127.0.0.1", self._ports[listener]), timeout=60)
        connection = self._sockets[listener]
        connection.sendall(encode_request(body, question.version, 7, "asks"))
        size = _exactly(connection, 4)
        frame = None if size is None else _exactly(connection, *struct.unpack(">i", size))
        if frame is None:
            self._sockets.pop(listener).close()
            return None
        return decode_response(frame, body.KEY, question.version).body

    def close(self) -> None:
        for connection in self._sockets.values():
            connection.close()


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            return None
        found += more
    return found


def answer_of(response: Message | None) -> list[Any] | None:
    """An answer in plain lists, without what differs from run to run."""
    match response:
        case None:
            return None
        case IncrementalAlterConfigsResponse():
            rows = (
                (r.resource_type, _short(r.resource_name), r.error_code, _short(r.error_message))
                for r in response.responses
            )
            return sorted(map(list, rows), key=json.dumps)
        case DescribeConfigsResponse():
            return [
                [
                    r.resource_type,
                    r.resource_name,
                    r.error_code,
                    _short(r.error_message),
                    sorted(map(_described, r.configs)),
                ]
                for r in response.results
            ]
        case _:
            return [type(response).__name__]


def _described(config: Any) -> list[Any]:
    synonyms = [[s.name, s.value, s.source] for s in config.synonyms]
    return [
        config.name, config.value, config.read_only, config.config_source, config.is_sensitive, synonyms,
        config.config_type, config.documentation is None,
    ]  # fmt: skip


def java_node(directory: Path, extra: str = "") -> tuple[JavaNode, int, int]:
    """A started Apache Kafka in both roles, and the ports of its broker and its controller."""
    controller, broker = free_ports(2)
    properties = directory / "server.properties"
    own_dirs = "" if "log.dir" in extra else f"log.dirs={directory / 'data'}\n"
    properties.write_text(
        f"process.roles=broker,controller\nnode.id={NODE_ID}\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=CONTROLLER://127.0.0.1:{controller},PLAINTEXT://127.0.0.1:{broker}\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{controller}\n{own_dirs}"
        f"offsets.topic.replication.factor=1\n{extra}"
    )
    made = run_tool("kafka-storage", "format", "-c", str(properties), "-t", CLUSTER_ID, "--standalone")
    assert made.rc == 0, made.err
    return JavaNode(properties, directory / "java.log"), broker, controller


def make_topic(asker: Asker) -> None:
    topic = CreatableTopic(name=THERE, num_partitions=1, replication_factor=1)
    asker.ask(Question("b", 7, CreateTopicsRequest(topics=(topic,), timeout_ms=30_000)))


def record(target: Path, name: str, questions: Iterable[Question], asker: Asker) -> None:
    """A line for each question: listener, what was asked (to see that nothing moved), what was answered."""
    target.mkdir(exist_ok=True)
    with gzip.GzipFile(target / name, "wb", mtime=0) as lines:
        changed = False
        for question in questions:
            if changed and isinstance(question.body, DescribeConfigsRequest):
                time.sleep(_LEARNT_AFTER_S)
            changed = isinstance(question.body, IncrementalAlterConfigsRequest)
            row = [question.listener, question.version, shown(question.body), answer_of(asker.ask(question))]
            lines.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")


def shown(body: Message) -> list[Any]:
    """What is asked, in plain lists; long texts by their length."""
    match body:
        case IncrementalAlterConfigsRequest():
            resources = [
                [
                    r.resource_type,
                    _short(r.resource_name),
                    [[_short(c.name), c.config_operation, _short(c.value)] for c in r.configs],
                ]
                for r in body.resources
            ]
            return ["alter", body.validate_only, resources]
        case DescribeConfigsRequest():
            asked = [[r.resource_type, r.resource_name, r.configuration_keys] for r in body.resources]
            return ["describe", body.include_synonyms, body.include_documentation, asked]
        case _:
            return [type(body).__name__]


def _short(text: str | None) -> str | int | None:
    return text if text is None or len(text) < 300 else len(text)


def main() -> None:
    directory = Path(sys.argv[1])
    directory.mkdir()
    node, broker, controller = java_node(directory)
    try:
        node.wait_for_log("Kafka Server started")
        asker = Asker(broker, controller)
        make_topic(asker)
        record(RECORDED, "values.jsonl.gz", values(), asker)
        record(RECORDED, "story.jsonl.gz", story(), asker)
        asker.close()
    finally:
        node.stop()


if __name__ == "__main__":
    main()
