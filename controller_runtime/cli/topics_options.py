"""The command line of `kafka-topics`: which action, and what does not go together.

What is wrong is refused with Kafka's words and the list of options, exit code 1, before anybody is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from controller_runtime.cli.options import BadOption, Given, Option, Table
from controller_runtime.values import dataclass

ACTIONS: Final = ("list", "describe", "create", "alter", "delete")
OVERRIDES: Final = "topics-with-overrides"
REPORTS: Final = (
    "under-replicated-partitions", "under-min-isr-partitions", "at-min-isr-partitions", "unavailable-partitions",
)  # fmt: skip

OPTIONS: Final = Table(
    "This tool helps to create, delete, describe, or change a topic.",
    [
        Option("bootstrap-server", "host:port,... of brokers", "server to connect to"),
        Option("command-config", "a properties file for the client", "file"),
        Option("config", "a setting of a new topic; may be repeated", "name=value"),
        Option("delete-config", "no longer supported, ignored", "name"),
        Option("partition-size-limit-per-response", "how many partitions one answer may describe", "number"),
        Option("partitions", "how many partitions a topic has", "number"),
        Option("replica-assignment", "brokers of each partition: 1:2,2:3", "brokers"),
        Option("replication-factor", "how many replicas each partition has", "number"),
        Option("topic", "the topic, or a regular expression (not with --create)", "topic"),
        Option("topic-id", "the topic's id (with --describe)", "id"),
        Option("alter", "add partitions to topics"),
        Option("create", "make a topic"),
        Option("delete", "delete topics"),
        Option("describe", "show topics and their partitions"),
        Option("list", "the names of all topics"),
        Option("if-exists", "no error when the topic does not exist"),
        Option("if-not-exists", "no error when the topic exists"),
        Option("exclude-internal", "leave out internal topics"),
        Option("at-min-isr-partitions", "describe only partitions with no in-sync replica to spare"),
        Option("under-min-isr-partitions", "describe only partitions with too few in-sync replicas"),
        Option("under-replicated-partitions", "describe only partitions with a replica out of sync"),
        Option("unavailable-partitions", "describe only partitions without a leader"),
        Option(OVERRIDES, "describe only topics with configs of their own"),
    ],
)
_ONLY_WITH: Final = {
    "config": ("create", "alter"),
    "partitions": ("create", "alter"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    **dict.fromkeys((*REPORTS, OVERRIDES), ("describe",)),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}


@dataclass(frozen=True, slots=True)
class Options:
    action: str
    given: Given

    def has(self, name: str) -> bool:
        return self.given.has(name)

    def value(self, name: str) -> str | None:
        """Raises BadOption when there are several."""
        return self.given.value(name)

    @property
    def reports(self) -> tuple[str, ...]:
        """What describe is limited to."""
        return tuple(name for name in (*REPORTS, OVERRIDES) if self.given.has(name))


def parse(argv: Sequence[str]) -> Options:
    if not argv:
        OPTIONS.refuse("Create, delete, describe, or change a topic.")
    try:
        given = OPTIONS.parse(argv)
    except BadOption as bad:
        OPTIONS.refuse(str(bad))
    if given.has("delete-config"):
        print(
            "delete-config option is no longer supported and deprecated since version 4.0. "
            "The config will be fully removed in future releases.",
            file=sys.stderr,
        )
    why = "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
    action = OPTIONS.exactly_one(given, ACTIONS, why)
    if not given.has("bootstrap-server"):
        print("--bootstrap-server must be specified", file=sys.stderr)
        raise SystemExit(1)
    _check(action, given)
    return Options(action, given)


def _check(action: str, given: Given) -> None:
    if action == "describe" and given.has("if-exists"):
        if not given.has("topic") and not given.has("topic-id"):
            OPTIONS.refuse("--topic or --topic-id is required to describe a topic")
        if given.has("topic") and given.has("topic-id"):
            print(
                "Only topic id will be used when both --topic and --topic-id are specified and topicId is not "
                "Uuid.ZERO_UUID"
            )
    if action not in {"list", "describe"}:
        OPTIONS.require(given, "topic")
    if action == "alter":
        if given.has("config"):
            OPTIONS.refuse(
                'Option combination "[[bootstrap-server], [config]]" can\'t be used with option "[alter]" '
                "(To alter topic configurations, the kafka-configs tool can be used.)"
            )
        OPTIONS.require(given, "partitions")
    for name, allowed in _ONLY_WITH.items():
        OPTIONS.exclude(given, name, *(() if action in allowed else (action,)))
        if name == "replica-assignment" and action == "create":
            OPTIONS.exclude(given, name, "partitions", "replication-factor")
        if name in REPORTS:
            OPTIONS.exclude(given, name, OVERRIDES)
