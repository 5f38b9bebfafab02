"""What values of several names say together: asked of Apache Kafka nodes whose files differ (recorded once), and of
ours.

Changes are only validated, those that `_now` makes aside: what they leave is what the next question finds.
Record anew: `PYTHONPATH=.:tests .venv/bin/python -m support.configs.rules DIRECTORY`.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from controller_runtime.values import dataclass
from support.configs.descriptions import described_nodes
from support.configs.questions import (
    BROKER,
    CLIENT,
    DELETE,
    GROUP,
    RECORDED,
    SET,
    THERE,
    TOPIC,
    Asker,
    Question,
    alter,
    answer_of,
    describe,
    java_node,
    make_topic,
    one,
    several,
    shown,
)

MINE, ALL = "1", ""
"""The node that is asked, and all brokers."""
DIRECTORY: Final = "/node"
"""Stands for the folder of the node that was asked."""
_FILE: Final = RECORDED / "rules.jsonl.gz"
_LEARNT_AFTER_S: Final = 1.0
_POOLS: Final = (
    "background.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size", "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size", "remote.log.reader.threads", "log.cleaner.threads",
)  # fmt: skip
_KINDS: Final = ("consumer", "share", "streams")


@dataclass(frozen=True, slots=True)
class Story:
    """A node with these lines in its file is asked these questions, in order."""

    name: str
    file: dict[str, str]
    questions: tuple[Question, ...]


def stories(node: str = DIRECTORY) -> Iterator[Story]:
    dirs = {"log.dirs": f"{node}/data"}
    yield Story("numbers", dirs, tuple(_numbers()))
    yield Story("texts", dirs, tuple(_texts()))
    yield Story("together", dirs, tuple(_together()))
    yield Story("connections", dirs, tuple(_connections()))
    yield Story("overrides", dirs | {"max.connections.per.ip.overrides": "127.0.0.1:50"}, tuple(_connections()))
    yield Story("layers", dirs, tuple(_layers()))
    yield Story("nonsense", dirs, tuple(_nonsense()))
    yield Story("listeners", dirs, tuple(_listeners()))
    yield Story("pools", dirs | dict.fromkeys(_POOLS, "5"), tuple(_pools()))
    yield Story("groups", dirs | _bounds(), tuple(_groups()))
    yield Story("tiers", dirs, (*_tiers(604_800_000), *_folders(node)))
    yield Story("milliseconds", {"log.dir": f"{node}/data"} | _MILLISECONDS, (*_tiers(60_000), *_folders(node)))
    two = {"log.dirs": f"{node}/data,{node}/more", "log.dir": f"{node}/nowhere"}
    yield Story("minutes", two | _MINUTES, (*_tiers(1_800_000), *_folders(node)))
    yield Story("hours", dirs | {"log.retention.hours": "2", "log.roll.hours": "3"}, tuple(_tiers(7_200_000)))
    for name, file, questions in described_nodes():
        yield Story(name, dirs | file, questions)
    yield Story("unlimited", dirs | {"log.retention.hours": "-1"}, tuple(_tiers(604_800_000)))


_MILLISECONDS: Final = {
    "log.retention.ms": "60000",
    "log.retention.minutes": "30",
    "log.retention.hours": "2",
    "log.retention.bytes": "5000",
    "log.local.retention.bytes": "4000",
    "log.roll.ms": "70000",
    "log.roll.hours": "2",
    "log.roll.jitter.ms": "5",
    "log.roll.jitter.hours": "1",
    "log.flush.interval.ms": "3000",
    "log.flush.scheduler.interval.ms": "4000",
}
_MINUTES: Final = {
    "log.retention.minutes": "30",
    "log.retention.hours": "2",
    "log.roll.jitter.hours": "1",
    "log.flush.scheduler.interval.ms": "4000",
}


def tried(resource: str, **values: str) -> Question:
    """Names with underscores instead of dots."""
    changes = ((name.replace("_", "."), value, SET) for name, value in values.items())
    return alter("b", several(BROKER, resource, *changes), only=True)


def _now(listener: str, resource: str, name: str, value: str | None) -> Question:
    return alter(listener, one(BROKER, resource, name, value, SET if value is not None else DELETE))


def _numbers() -> Iterator[Question]:
    """The least and the greatest of each size, and how a number may be written."""
    for bits, kind, resource, key in (
        (15, BROKER, MINE, "sasl.login.refresh.buffer.seconds"), (31, TOPIC, THERE, "index.interval.bytes"),
        (63, TOPIC, THERE, "retention.bytes"),
    ):  # fmt: skip
        for number in (-(2**bits) - 1, -(2**bits), 2**bits - 1, 2**bits):
            yield alter("b", one(kind, resource, key, str(number)), only=True)
    ratio = "min.cleanable.dirty.ratio"
    for text in (
        "0.5f",
        "0.5D",
        "0.5ff",
        "5e-1d",
        "1F",
        "Infinity",
        "-Infinity",
        "NaN",
        "+.5",
        "1.",
        ".",
        "f",
        "1e",
        "0,5",
        "1 f",
    ):
        yield alter("c", one(TOPIC, THERE, ratio, text), only=True)
    for least, most in (("5", "5"), ("6", "5"), ("0", "1"), ("1", "1"), ("2", "1")):
        lags = (("min.compaction.lag.ms", least, SET), ("max.compaction.lag.ms", most, SET))
        yield alter("c", several(TOPIC, THERE, *lags), only=True)
    for text in ("1:2", "delete", " compact , delete "):
        yield alter("c", one(TOPIC, THERE, "cleanup.policy", text), only=True)
    for text in ("true", " TRUE ", "false"):
        yield alter("c", one(TOPIC, THERE, "remote.storage.enable", text), only=True)


def _texts() -> Iterator[Question]:
    for pattern in (
        "(a", "a)", "(a)(b)", "((a))", ")(", "(a))((b)", "a\\", "a\\\\", "\\(", "\\)a", "[a", "a]", "[]a]", "[^]a]",
        "[(]", "[)]x", "(a|b)+", "*a", "+", "?a",
        "a*", ".*", "a{2}", "a{2", "a{x}", "a{}", "{2}", "a}", "a\\{", "[{]", "a{2}{3}", "(?i)a", "", " ", "a b",
        "[[a]", "\\[",
    ):  # fmt: skip
        yield alter("c", one(CLIENT, "s", "match", f"client_id={pattern}"), only=True)
    for length in (
        "P1D", "P", "PT", "P1DT", "PT1H", "pt1h", "+PT1H", "-PT1H", "PT1H2M3S", "PT1S2M", "PT1.5S", "PT1,5S", "PT.5S",
        "PT1.S", "P1DT1H", "PT-1H",
        "PT1.1234567890S", "P+1DT+1H", "PT9223372036854775807S", "PT9223372036854775808S", "PT9223372036854775807.9S",
        "P106751991167300D", "P106751991167301D", "PT2562047788015215H", "PT2562047788015216H", "PT153722867280912930M",
        "PT153722867280912931M", "P1DT9223372036854775807S",
    ):  # fmt: skip
        yield alter("c", one(GROUP, "g", "share.auto.offset.reset", f"by_duration:{length}"), only=True)
    for reset in ("BY_DURATION:PT1H", "by_duration", "Latest"):
        yield alter("c", one(GROUP, "g", "share.auto.offset.reset", reset), only=True)


def _together() -> Iterator[Question]:
    """A mebibyte of the buffer for each thread, and more than that."""
    for threads in ("1", "2"):
        for size in (1_048_576, 1_048_577, 2_097_151, 2_097_152, 2_097_153):
            yield tried(MINE, log_cleaner_threads=threads, log_cleaner_dedupe_buffer_size=str(size))
    yield tried(ALL, log_cleaner_threads="2", log_cleaner_dedupe_buffer_size="2097152")
    yield tried(MINE, log_cleaner_threads="0", log_cleaner_dedupe_buffer_size="0")
    for kind in _KINDS:
        for interval in ("15000", "15001"):
            yield alter("b", one(BROKER, MINE, f"group.{kind}.assignment.interval.ms", interval), only=True)
    for jitter in ("-1", "0", "1"):
        yield tried(MINE, log_roll_jitter_ms=jitter)
    for ms in ("-1", "0", "1"):
        yield tried(MINE, log_roll_ms=ms)
        yield tried(MINE, log_retention_ms=ms)


def _connections() -> Iterator[Question]:
    for limit in ("0", "1"):
        yield tried(MINE, max_connections_per_ip=limit)
        for overrides in ("127.0.0.1:5", ""):
            yield tried(MINE, max_connections_per_ip=limit, max_connections_per_ip_overrides=overrides)
    for overrides in (
        "127.0.0.1:0", "127.0.0.1:-1", "127.0.0.1:2147483647", "127.0.0.1:2147483648", "127.0.0.1:5,10.0.0.1:6",
        "127.0.0.1 : 5 , 10.0.0.1:6",
        "127.0.0.1:5,10.0.0.1:", "127.0.0.1:5,10.0.0.1", "127.0.0.1", ":5", ":", "127.0.0.1:5,", "::1:5", "[::1]:5",
        "fe80::1%eth0:5",
        "a.host-name:5", "a_host:5", "no such host:5", "a/host:5", "a:b:5", "host:+5", "host: 5", "h\u00e4:5",
        "127.0.0.1:5,no host:6",
    ):  # fmt: skip
        yield tried(MINE, max_connections_per_ip_overrides=overrides)


def _tiers(retention_ms: int) -> Iterator[Question]:
    """What is kept here is part of what is kept."""
    yield describe("b", (TOPIC, THERE))
    yield describe("c", (TOPIC, THERE))
    for local in (-2, -1, 0, 1, retention_ms - 1, retention_ms, retention_ms + 1):
        yield tried(MINE, log_local_retention_ms=str(local))
    for whole in (-1, 0, 1, 1000):
        for local in (-2, -1, 0, 1, 2, 999, 1000, 1001):
            yield tried(MINE, log_retention_ms=str(whole), log_local_retention_ms=str(local))
            yield tried(MINE, log_retention_bytes=str(whole), log_local_retention_bytes=str(local))
    for local in (-1, 1000, 5000, 5001):
        yield tried(ALL, log_local_retention_bytes=str(local))
    for whole in (1000, 3999, 4000):
        yield tried(ALL, log_retention_bytes=str(whole))
        yield tried(ALL, log_retention_ms=str(whole))


def _folders(node: str) -> Iterator[Question]:
    """Only what the node has can be cordoned."""
    for cordoned in (
        "*", "", f"{node}/data", f"{node}/more", f"{node}/nowhere", f"{node}/data,{node}/more", f"{node}/data,/x,/x,/y",
        "*,/x", f"*,{node}/data", "/x,*",
    ):  # fmt: skip
        yield tried(MINE, cordoned_log_dirs=cordoned)
    reporter = "org.apache.kafka.common.metrics.JmxReporter"
    for reporters in (reporter, "", f"{reporter},no.such.Reporter", "no.such.Reporter"):
        yield tried(MINE, metric_reporters=reporters)


def _layers() -> Iterator[Question]:
    """A node's own dynamic value goes before that of all brokers."""
    name = "log.cleaner.threads"
    yield _now("b", MINE, name, "2")
    for resource in (MINE, ALL):
        for threads in ("1", "4", "5"):
            yield tried(resource, log_cleaner_threads=threads)
    yield _now("b", ALL, name, "4")
    for resource in (MINE, ALL):
        for threads in ("1", "2", "4", "5", "8", "9"):
            yield tried(resource, log_cleaner_threads=threads)
    yield _now("b", MINE, name, None)
    for resource in (MINE, ALL):
        for threads in ("1", "2", "8", "9"):
            yield tried(resource, log_cleaner_threads=threads)
    yield alter("b", one(BROKER, MINE, "no.such", None, DELETE), one(BROKER, ALL, name, None, DELETE), only=True)
    yield alter("b", several(BROKER, ALL, (name, None, DELETE), ("log.retention.bytes", "1000", SET)), only=True)
    yield _now("b", ALL, "log.retention.bytes", "1000")
    for local in ("999", "1000", "1001"):
        yield tried(MINE, log_local_retention_bytes=local)
        yield tried(ALL, log_local_retention_bytes=local)
    yield describe("b", (TOPIC, THERE))


def _nonsense() -> Iterator[Question]:
    """A controller keeps what it does not know the meaning of; a broker takes it for nothing."""
    for resource in (MINE, ALL):
        for name in ("num.io.threads", "log.local.retention.ms", "max.connections.per.ip", "log.cleaner.threads"):
            yield _now("c", resource, name, "abc")
        for pool in ("4", "16", "17"):
            yield tried(MINE, num_io_threads=pool)
            yield tried(ALL, num_io_threads=pool)
        yield tried(MINE, background_threads="20")
        yield tried(MINE, log_cleaner_threads="2")
        yield tried(MINE, log_retention_ms="1000")
    yield _now("c", ALL, "num.io.threads", "5")
    for pool in ("2", "10", "11"):
        yield tried(MINE, num_io_threads=pool)
    yield _now("c", MINE, "log.segment.bytes", "1")
    yield _now("c", ALL, "log.segment.bytes", "2000000")
    yield describe("b", (TOPIC, THERE), keys=("segment.bytes", "local.retention.ms"))


def _listeners() -> Iterator[Question]:
    """What may stand after a listener's name, for one broker and for all. (How many threads it has is not compared:
    ours has none of its own.)
    """
    after = "listener.name.plaintext."
    for resource in (MINE, ALL):
        for name, value in (
            ("max.connections", "5"), ("max.connections", "abc"), ("num.network.threads", "4"),
            ("num.network.threads", "abc"),
            ("max.connection.creation.rate", "5"), ("num.io.threads", "8"), ("num.io.threads", "99"),
            ("ssl.keystore.location", "/tmp/x.jks"),
            ("ssl.client.auth", "x"), ("sasl.enabled.mechanisms", "a,,b"), ("no.such", "1"),
            ("log.cleaner.threads", "9"), ("node.id", "1"),
        ):  # fmt: skip
            yield alter("b", one(BROKER, resource, after + name, value), only=True)
            yield alter("b", several(BROKER, resource, (after + name, value, SET), (name, value, SET)), only=True)
        two = (("ssl.key.password", "x", SET), ("ssl.truststore.type", "PEM", SET))
        yield alter("b", several(BROKER, resource, *two), only=True)
        yield alter(
            "b", several(BROKER, resource, ("ssl.protocol", "x", SET), ("ssl.cipher.suites", "y", SET)), only=True
        )
        yield alter("b", several(BROKER, resource, ("node.id", "2", SET), ("broker.rack", "y", SET)), only=True)
        yield alter(
            "b", several(BROKER, resource, ("node.id", "2", SET), *two, ("num.io.threads", "x", SET)), only=True
        )


def _pools() -> Iterator[Question]:
    """Halved or doubled at once, but not more."""
    for pool in _POOLS:
        for threads in ("1", "2", "5", "10", "11"):
            yield alter("b", one(BROKER, MINE, pool, threads), only=True)


def _bounds() -> dict[str, str]:
    found = {}
    for number, kind in enumerate(_KINDS, 1):
        found[f"group.{kind}.min.assignment.interval.ms"] = str(500 * number)
        found[f"group.{kind}.max.assignment.interval.ms"] = str(2000 * number)
        found[f"group.{kind}.assignment.interval.ms"] = str(1000 * number)
        found[f"group.{kind}.min.session.timeout.ms"] = "20000"
        found[f"group.{kind}.max.session.timeout.ms"] = "50000"
        found[f"group.{kind}.min.heartbeat.interval.ms"] = "4000"
        found[f"group.{kind}.max.heartbeat.interval.ms"] = "30000"
    return found | {"group.streams.max.standby.replicas": "3"}


def _groups() -> Iterator[Question]:
    for number, kind in enumerate(_KINDS, 1):
        for interval in (0, 500 * number - 1, 500 * number, 2000 * number, 2000 * number + 1):
            for resource in (MINE, ALL):
                yield alter(
                    "b", one(BROKER, resource, f"group.{kind}.assignment.interval.ms", str(interval)), only=True
                )
            yield alter("c", one(GROUP, "g", f"{kind}.assignment.interval.ms", str(interval)), only=True)
        for timeout in (19_999, 20_000, 50_000, 50_001):
            yield alter("c", one(GROUP, "g", f"{kind}.session.timeout.ms", str(timeout)), only=True)
        for heartbeat in (3_999, 4_000, 20_999, 21_000, 21_001, 30_000, 30_001):
            session, beat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
            yield alter("c", several(GROUP, "g", (session, "21000", SET), (beat, str(heartbeat), SET)), only=True)
    for standbys in ("3", "4"):
        yield alter("c", one(GROUP, "g", "streams.num.standby.replicas", standbys), only=True)


# Recording.


@cache
def _recorded() -> list[str]:
    with gzip.open(_FILE, "rt") as lines:
        return lines.read().splitlines()


def recorded(story: Story) -> list[Any]:
    """The answers of Apache Kafka to this story."""
    mine = [row for row in map(json.loads, _recorded()) if row[0] == story.name]
    asked = [json.loads(json.dumps([question.listener, shown(question.body)])) for question in story.questions]
    assert [row[1:3] for row in mine] == asked, "record anew"
    return [row[3] for row in mine]


def _lines(story: Story, directory: Path) -> Iterator[str]:
    directory.mkdir()
    node, broker, controller = java_node(directory, "".join(f"{name}={value}\n" for name, value in story.file.items()))
    try:
        node.wait_for_log("Kafka Server started")
        asker = Asker(broker, controller)
        make_topic(asker)
        time.sleep(_LEARNT_AFTER_S)
        for question in story.questions:
            row = [story.name, question.listener, shown(question.body), answer_of(asker.ask(question))]
            yield json.dumps(row, separators=(",", ":")).replace(str(directory), DIRECTORY)
            if not getattr(question.body, "validate_only", True):
                time.sleep(_LEARNT_AFTER_S)
        asker.close()
    finally:
        node.stop()


def main() -> None:
    """Names of stories after the directory: only they are recorded anew."""
    root, wanted = Path(sys.argv[1]), sys.argv[2:]
    root.mkdir()
    names = [story.name for story in stories()]
    kept = [
        line for line in _recorded() if json.loads(line)[0] in names and json.loads(line)[0] not in (wanted or names)
    ]
    for name in wanted or names:
        (story,) = (each for each in stories(str(root / name)) if each.name == name)
        kept += _lines(story, root / name)
    kept.sort(key=lambda line: names.index(json.loads(line)[0]))
    with gzip.GzipFile(_FILE, "wb", mtime=0) as target:
        target.writelines(line.encode() + b"\n" for line in kept)


if __name__ == "__main__":
    main()
