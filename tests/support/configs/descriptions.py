"""What a node tells of its own configurations, with other files and other dynamic values: questions for `rules`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller_runtime.configuration.names import CONFIG_NAMES
from support.configs.questions import BROKER, DELETE, SET, Question, alter, describe, one

_OF_THE_PLACE: Final = {
    "node.id", "broker.id", "process.roles", "listeners", "controller.listener.names", "log.dir", "log.dirs",
    "controller.quorum.bootstrap.servers", "offsets.topic.replication.factor",
}  # fmt: skip
"""Every node has others."""
_NAMES: Final = tuple(sorted(row.name for row in CONFIG_NAMES if row.name not in _OF_THE_PLACE))
_LISTENERS: Final = ("listener.name.plaintext.ssl.keystore.type", "listener.name.plaintext.ssl.keystore.password",
    "listener.name.plaintext.scram-sha-256.sasl.jaas.config", "listener.name.plaintext.max.connections")  # fmt: skip
_OTHERS: Final = ("no.such.name", "my.plugin.password", "quorate.http.listener")
_FILE_ONLY: Final = {
    "num.partitions": "3 ",
    "auto.create.topics.enable": "FALSE",
    "log.cleanup.policy": "compact , delete",
    "log.cleaner.min.cleanable.ratio": "0.25",
    "broker.rack": "rack 1 ",
    "compression.type": "zstd",
    "log.retention.hours": "48",
    "log.roll.hours": "+7",
    "log.flush.scheduler.interval.ms": "4000",
    "ssl.keystore.password": "hidden",
    "listener.name.plaintext.ssl.keystore.type": "PKCS12",
    "listener.name.plaintext.ssl.keystore.password": "hidden",
    "listener.name.plaintext.scram-sha-256.sasl.jaas.config": "hidden",
    "no.such.name": "some value",
    "my.plugin.password": "hidden",
}
_DYNAMIC: Final = (
    ("", "log.retention.hours", "24"), ("", "log.retention.ms", "7200000"), ("1", "log.retention.ms", "3600000"),
    ("", "log.cleaner.threads", " 2 "), ("1", "log.cleaner.threads", "1"), ("1", "log.roll.ms", "70000"),
    ("", "message.max.bytes", "2000000"), ("", "min.insync.replicas", "2"), ("1", "log.cleanup.policy", " delete"),
    ("1", "listener.name.plaintext.max.connections", "7"), ("", "unknown.to.kafka", "x"), ("1", "unknown.here", "y"),
    ("1", "log.flush.interval.ms", "9000"), ("1", "log.cleaner.io.max.bytes.per.second", "1000.0"),
    ("", "num.partitions", "9"), ("1", "message.max.bytes", "nonsense"), ("", "ssl.keystore.type", "PKCS12"),
)  # fmt: skip
"""Some of them only a controller takes."""


def described_nodes() -> Iterator[tuple[str, dict[str, str], tuple[Question, ...]]]:
    """(name, file, questions)."""
    yield "defaults", {}, tuple(_told())
    yield "a file", _FILE_ONLY, tuple(_told())
    yield "dynamic values", _FILE_ONLY, tuple(_changed())


def _told() -> Iterator[Question]:
    names = (*_NAMES, *_LISTENERS, *_OTHERS, "unknown.to.kafka", "unknown.here")
    for listener in "bc":
        yield describe(listener, (BROKER, "1"), keys=names)
        yield describe(listener, (BROKER, ""))
    yield describe("b", (BROKER, "1"), keys=names, synonyms=False, version=1)
    yield describe("c", (BROKER, "+01"), (BROKER, "2"), (BROKER, "one"), (BROKER, "1"), keys=("num.io.threads",))


def _changed() -> Iterator[Question]:
    for resource, name, value in _DYNAMIC:
        yield alter("c", one(BROKER, resource, name, value, SET))
    yield from _told()
    for resource, name, _ in _DYNAMIC[1::2]:
        yield alter("c", one(BROKER, resource, name, None, DELETE))
    yield from _told()
