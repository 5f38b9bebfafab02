"""The command line of `kafka-consumer-groups`: which action, and what does not go together.

What is wrong is refused with Kafka's words, exit code 1, before anybody is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from controller_runtime.cli.options import BadOption, Given, Option, Table

ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
SCENARIOS: Final = (
    "to-offset", "shift-by", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "from-file",
)  # fmt: skip
_ONLY_WITH: Final = {
    "members": ("describe",),
    "verbose": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "type": ("list",),
}
DEFAULT_TIMEOUT_MS: Final = 30_000
_WARNING: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require "
    "either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are "
    "scripting this command and want to keep the current default behavior without prompting."
)

OPTIONS: Final = Table(
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or reset "
    "consumer group offsets.",
    [
        Option("bootstrap-server", "REQUIRED (but for --validate-regex): brokers to ask.", "server to connect to"),
        Option("command-config", "Properties of the client.", "command config property file"),
        Option("timeout", f"Milliseconds that each question may take (default: {DEFAULT_TIMEOUT_MS}).", "timeout (ms)"),
        Option("group", "A group; may be repeated.", "consumer group"),
        Option("all-groups", "All groups of consumers."),
        Option("topic", "topic, or topic:0,1,2 with partitions; may be repeated.", "topic"),
        Option("all-topics", "With --reset-offsets: every topic that the group has committed for."),
        Option("list", "The names of all groups of consumers."),
        Option("describe", "Show groups: what they read, their members or their states."),
        Option("offsets", "With --describe: partitions, and how far the group is behind (the default)."),
        Option("members", "With --describe: the members of the group."),
        Option("state", "With --describe: the state of the group. With --list: also states, or only these.", "String",
               optional=True),
        Option("type", "With --list: also types, or only groups of these.", "String", optional=True),
        Option("verbose", "With --describe: more columns."),
        Option("delete", "Delete groups without members, with all that they have committed."),
        Option("delete-offsets", "Forget what a group has committed for topics."),
        Option("reset-offsets", "Move what a group without members has committed."),
        Option("dry-run", "With --reset-offsets: show what would be done."),
        Option("execute", "With --reset-offsets: do it."),
        Option("export", "With --reset-offsets: show it as CSV, for --from-file."),
        Option("to-offset", "To this offset.", "offset"),
        Option("to-earliest", "To the beginning."),
        Option("to-latest", "To the end."),
        Option("to-current", "To what is committed."),
        Option("shift-by", "Forward, or backward when negative, by so many.", "number-of-offsets"),
        Option("to-datetime", "To a time: YYYY-MM-DDThh:mm:ss.sss, UTC unless it says otherwise.", "datetime"),
        Option("by-duration", "To so long ago: PnDTnHnMnS.", "duration"),
        Option("from-file", "To what a file says: (group,)topic,partition,offset.", "path to CSV file"),
        Option("validate-regex", "Say whether a regular expression is one of RE2.", "regex"),
    ],
)  # fmt: skip


def parse(argv: Sequence[str]) -> Given:
    """Help, and what is refused, end the tool. Raises BadOption."""
    given = OPTIONS.parse(argv)
    late = [name for name, actions in _ONLY_WITH.items() if given.has(name) and not any(map(given.has, actions))]
    if late:
        why = f"Option(s) [{', '.join(late)}] are unavailable given other options on the command line"
        raise BadOption("UnavailableOptionException", why)
    return given


def check(given: Given) -> str:
    """The action."""
    if not given.has("validate-regex"):
        OPTIONS.require(given, "bootstrap-server")
    if given.has("describe"):
        _check_description(given)
    if given.has("delete"):
        _needs_groups(given, "delete")
        if given.has("topic"):
            OPTIONS.refuse("The consumer does not support topic-specific offset deletion from a consumer group.")
    if given.has("delete-offsets") and not (given.has("group") and given.has("topic")):
        OPTIONS.refuse("Option [delete-offsets] takes the following options: [group], [topic]")
    if given.has("reset-offsets"):
        _check_reset(given)
    OPTIONS.exclude(given, "group", "all-groups", "list")
    OPTIONS.exclude(given, "topic", "list", "describe")
    words = ", ".join(f"--{name}" for name in ACTIONS)
    return OPTIONS.exactly_one(given, ACTIONS, f"Command must include exactly one action: {words}")


def _needs_groups(given: Given, action: str) -> None:
    if not given.has("group") and not given.has("all-groups"):
        OPTIONS.refuse(f"Option [{action}] takes one of these options: [group], [all-groups]")


def _check_description(given: Given) -> None:
    _needs_groups(given, "describe")
    if sum(map(given.has, ("members", "offsets", "state"))) > 1:
        OPTIONS.refuse("Option [describe] takes at most one of these options: [members], [offsets], [state]")
    if given.value("state") is not None:
        OPTIONS.refuse("Option [describe] does not take a value for [state]")


def _check_reset(given: Given) -> None:
    if given.has("dry-run") and given.has("execute"):
        OPTIONS.refuse("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("dry-run") and not given.has("execute"):
        print(_WARNING, file=sys.stderr)
    _needs_groups(given, "reset-offsets")
    for used in SCENARIOS:
        OPTIONS.exclude(given, used, *(other for other in SCENARIOS if other != used))
