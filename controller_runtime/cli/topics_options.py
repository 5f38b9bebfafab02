"""The command line of `kafka-topics`, as its option parser reads and refuses it.

Options are written `--name value` or `--name=value`. What does not go together is refused with Kafka's words and the
list of options, exit code 1.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from controller_runtime.values import dataclass

ACTIONS: Final = ("list", "describe", "create", "alter", "delete")

_WITH_VALUE: Final = {
    "bootstrap-server": "host:port,... of brokers",
    "command-config": "a properties file for the client",
    "config": "name=value for a new topic; may be repeated",
    "partition-size-limit-per-response": "how many partitions one answer may describe",
    "partitions": "how many partitions a new topic has",
    "replica-assignment": "brokers of each partition: 1:2,2:3",
    "replication-factor": "how many replicas each partition has",
    "topic": "the topic, or a regular expression (not with --create)",
    "topic-id": "the topic's id (with --describe)",
}
_FLAGS: Final = {
    "alter": "add partitions to a topic (not supported yet)",
    "at-min-isr-partitions": "describe only partitions with no in-sync replica to spare",
    "create": "make a topic",
    "delete": "delete topics",
    "describe": "show topics and their partitions",
    "exclude-internal": "leave out internal topics",
    "help": "this text",
    "if-exists": "no error when the topic does not exist",
    "if-not-exists": "no error when the topic exists",
    "list": "the names of all topics",
    "topics-with-overrides": "describe only topics with configs of their own",
    "unavailable-partitions": "describe only partitions without a leader",
    "under-min-isr-partitions": "describe only partitions with too few in-sync replicas",
    "under-replicated-partitions": "describe only partitions with a replica out of sync",
    "version": "the version of Kafka",
}
_REPORTS: Final = (
    "under-replicated-partitions", "under-min-isr-partitions", "at-min-isr-partitions", "unavailable-partitions",
    "topics-with-overrides",
)  # fmt: skip
_ONLY_WITH: Final = {
    "config": ("create", "alter"),
    "partitions": ("create", "alter"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    "if-not-exists": ("create",),
    "if-exists": ("alter", "delete", "describe"),
    "exclude-internal": ("list", "describe"),
    **dict.fromkeys(_REPORTS, ("describe",)),
}


@dataclass(frozen=True, slots=True)
class Options:
    action: str
    values: Mapping[str, tuple[str, ...]]

    def has(self, name: str) -> bool:
        return name in self.values

    def value(self, name: str) -> str | None:
        """The last one given."""
        return self.values[name][-1] if name in self.values else None

    @property
    def reports(self) -> tuple[str, ...]:
        """What describe is limited to."""
        return tuple(name for name in _REPORTS if name in self.values)


def parse(argv: Sequence[str]) -> Options:
    values = _read(argv)
    if not argv:
        refuse("Create, delete, describe, or change a topic.")
    if "help" in values:
        refuse("This tool helps to create, delete, describe, or change a topic.")
    if "version" in values:
        print("4.3.1")
        raise SystemExit(0)
    actions = [name for name in ACTIONS if name in values]
    if len(actions) != 1:
        refuse("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
    action = actions[0]
    if "bootstrap-server" not in values:
        print("--bootstrap-server must be specified", file=sys.stderr)
        raise SystemExit(1)
    _check(action, values)
    return Options(action, values)


def _read(argv: Sequence[str]) -> dict[str, tuple[str, ...]]:
    values: dict[str, tuple[str, ...]] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            continue
        name, separator, value = word.lstrip("-").partition("=")
        if name in _FLAGS:
            values[name] = ()
            continue
        if name not in _WITH_VALUE:
            refuse(f"{name} is not a recognized option")
        if not separator:
            if not words or words[0].startswith("--"):
                refuse(f"Option {name} requires an argument")
            value = words.pop(0)
        if (
            name in {"partitions", "replication-factor", "partition-size-limit-per-response"}
            and not value.lstrip("-").isdigit()
        ):
            print(f"Error while executing topic command : Cannot parse argument '{value}' of option {name}")
            raise SystemExit(1)
        values[name] = (*values.get(name, ()), value)
    return values


def _check(action: str, values: Mapping[str, object]) -> None:
    if action in {"create", "alter", "delete"} and "topic" not in values:
        refuse('Missing required argument "[topic]"')
    if action == "describe" and "if-exists" in values and not {"topic", "topic-id"} & set(values):
        refuse("--topic or --topic-id is required to describe a topic")
    for name, allowed in _ONLY_WITH.items():
        if name in values and action not in allowed:
            refuse(_clash(name, action))
    if action == "create" and "replica-assignment" in values:
        for name in ("partitions", "replication-factor"):
            if name in values:
                refuse(_clash("replica-assignment", name))
    reports = [name for name in _REPORTS if name in values]
    if len(reports) > 1:
        refuse(_clash(reports[0], reports[1]))


def _clash(one: str, other: str) -> str:
    return f'Option "[{one}]" can\'t be used with option "[{other}]"'


def refuse(why: str) -> NoReturn:
    rows = sorted([*((f"{name} <value>", text) for name, text in _WITH_VALUE.items()), *_FLAGS.items()])
    width = max(len(name) for name, _ in rows) + 4
    lines = [why, f"{'Option':{width}}Description", f"{'------':{width}}-----------"]
    print("\n".join([*lines, *(f"{'--' + name:{width}}{text}" for name, text in rows)]), file=sys.stderr)
    raise SystemExit(1)
