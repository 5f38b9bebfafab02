"""`kafka-get-offsets`: the offsets of partitions at a time: latest, earliest, or of a timestamp."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import TopicDescription
from controller_runtime.cli.admin_tools import (
    AdminError,
    ApiError,
    BadCommand,
    Failed,
    complain,
    exception_text,
    with_admin,
)
from controller_runtime.cli.java_errors import java_text
from controller_runtime.cli.options import BadOption, Given, Option, Table

TIMES: Final = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
_RULE: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_EVERY: Final = 1 << 31

OPTIONS: Final = Table(
    "An interactive shell for getting topic-partition offsets.",
    [
        Option("bootstrap-server", "REQUIRED: brokers to ask.", "HOST1:PORT1,...,HOST3:PORT3"),
        Option("topic-partitions", "Patterns: TOPIC:NUMBER, TOPIC:FROM-BEFORE, TOPIC.", "topic1:1,topic2:0-3,topic3"),
        Option("topic", "A topic, or a regular expression; without it all topics.", "topic"),
        Option("partitions", "Partition ids with commas between them; without it all.", "partition ids"),
        Option("time", f"A timestamp, or -1 to -6: {', '.join(TIMES)} (default: latest).", "timestamp"),
        Option("command-config", "Properties of the client.", "config file"),
        Option("exclude-internal-topics", "Leave out internal topics."),
    ],
)

Wanted = Callable[[str, int], bool]


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
        OPTIONS.require(given, "bootstrap-server")
        at, wanted = time_of(given.value("time") or "latest"), filter_of(given)
        servers, config = given.value("bootstrap-server"), given.value("command-config")
        inner = not given.has("exclude-internal-topics")
        return with_admin(servers, None, config, lambda admin: _print(admin, at, wanted, include_internal=inner))
    except (BadOption, BadCommand, Failed) as error:
        return complain(f"Error occurred: {error}")
    except (ApiError, AdminError) as error:
        return complain(f"Error occurred: {exception_text(error)}")


async def _print(admin: AdminClient, at: int, wanted: Wanted, *, include_internal: bool) -> None:
    names = await admin.list_topics(include_internal=include_internal)
    described = await admin.describe_topics(names) if names else {}
    partitions = [
        (name, one.index)
        for name, topic in described.items()
        if isinstance(topic, TopicDescription)
        for one in topic.partitions
        if wanted(name, one.index)
    ]
    if not partitions:
        raise Failed("Could not match any topic-partitions with the specified filters")
    found = await admin.list_offsets(dict.fromkeys(partitions, at))
    for topic, index in sorted(partitions, key=lambda one: f"{one[0]}-{one[1]}"):
        answer = found[topic, index]
        if isinstance(answer, ApiError):
            why = f"due to error: {java_text(answer)}"
            print(f"Skip getting offsets for topic-partition {topic}-{index} {why}", file=sys.stderr)
        elif answer >= 0:
            print(f"{topic}:{index}:{answer}")


def time_of(text: str) -> int:
    """Raises Failed."""
    if text in TIMES:
        return TIMES[text]
    if re.fullmatch(r"[+-]?[0-9]{1,19}", text) and -(1 << 63) <= int(text) < 1 << 63:
        return int(text)
    named = " / ".join(f"{number} or {name}" for name, number in TIMES.items())
    raise Failed(f"Malformed time argument {text}. Please use {named}, or a specified long format timestamp")


def filter_of(given: Given) -> Wanted:
    """Raises Failed."""
    if given.has("topic-partitions"):
        if given.has("topic") or given.has("partitions"):
            raise Failed("--topic-partitions cannot be used with --topic or --partitions")
        rules = [_rule(one) for one in (given.value("topic-partitions") or "").split(",")]
        return lambda topic, index: any(rule(topic, index) for rule in rules)
    matches, listed = _topics(given.value("topic") or ".*"), given.value("partitions")
    ids = set() if not listed else _ids(listed)
    return lambda topic, index: matches(topic) and (not ids or index in ids)


def _ids(listed: str) -> set[int]:
    try:
        return {int(one) for one in listed.split(",")}
    except ValueError as error:
        expects = "a comma separated list of numeric partition ids"
        raise Failed(f"--partitions expects {expects}, but received: {listed}") from error


def _rule(text: str) -> Wanted:
    match = _RULE.fullmatch(text)
    if match is None:
        raise Failed(f"org.apache.kafka.tools.TerseException: Invalid rule specification: {text}")
    matches, only = _topics(match[1] or ".*"), match[2]
    if only:
        return lambda topic, index: matches(topic) and index == int(only)
    first, before = int(match[3] or 0), int(match[4] or _EVERY)
    return lambda topic, index: matches(topic) and first <= index < before


def _topics(pattern: str) -> Callable[[str], bool]:
    try:
        compiled = re.compile(pattern.strip().replace(",", "|").replace(" ", "").strip("\"'"))
    except re.error as error:
        raise Failed(f"{pattern} is an invalid regex.") from error
    return lambda topic: compiled.fullmatch(topic) is not None
