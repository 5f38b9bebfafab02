"""`kafka-groups`: groups of all types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from controller_runtime.admin import groups
from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.group_results import GroupListing
from controller_runtime.cli.admin_tools import BadCommand, complain, with_admin
from controller_runtime.cli.group_calls import unpacked
from controller_runtime.cli.group_words import columns
from controller_runtime.cli.options import BadOption, Given, Option, Table

TYPES: Final = ("Classic", "Consumer", "Share", "Streams")
_PATIENCE_S: Final = 30.0
_SHORTEST: Final = 20
_ALONE: Final = ("consumer", "share", "streams")
OPTIONS: Final = Table(
    "This tool helps to list groups of all types.",
    [
        Option("bootstrap-server", "REQUIRED: brokers to ask.", "server to connect to"),
        Option("command-config", "Properties of the client.", "command config property file"),
        Option("list", "List the groups."),
        Option("group-type", "Only groups of this type: classic, consumer, share or streams.", "type"),
        Option("protocol", "Only groups of this type of protocol.", "protocol"),
        Option("consumer", "Only groups of consumers: of type consumer, and classic ones of consumers or of nobody."),
        Option("share", "Only share groups."),
        Option("streams", "Only streams groups."),
    ],
)


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv) if argv else Given({})
        if not given.has("bootstrap-server"):
            raise BadOption("MissingRequiredOptionsException", "Missing required option(s) [bootstrap-server]")
    except BadOption as bad:
        OPTIONS.refuse(str(bad))
    OPTIONS.exactly_one(given, ("list",), "Command must include exactly one action: --list.")
    try:
        if given.has("group-type") and _type(given) is None:
            return complain("--group-type must be a valid group type.")
        _exclude(given)
        return with_admin(
            given.value("bootstrap-server"),
            None,
            given.value("command-config"),
            lambda one: _list(one, given),
            _PATIENCE_S,
        )
    except (BadOption, BadCommand) as bad:
        return complain(str(bad))
    except (ApiError, AdminError) as error:
        print(f"Error while executing groups command : {unpacked(error)}")
        return 1


def _exclude(given: Given) -> None:
    for used in _ALONE:
        others = [name for name in _ALONE if name != used]
        OPTIONS.exclude(given, used, "group-type", "protocol", *others)


def _type(given: Given) -> str | None:
    return _as_java(given.value("group-type"))


def _as_java(name: str | None) -> str | None:
    return next((known for known in TYPES if name is not None and known.lower() == name.strip().lower()), None)


async def _list(admin: AdminClient, given: Given) -> None:
    wanted = chosen(given)
    lines = [
        (each.group_id, _as_java(each.type) or "", each.protocol_type)
        for each in await groups.list_groups(admin)
        if wanted(each)
    ]
    width = max((_SHORTEST, *(len(cell) for line in lines for cell in line)))
    print(columns([width] * 3, ("GROUP", "TYPE", "PROTOCOL")))
    for line in lines:
        print(columns([width] * 3, line) + " ")


def chosen(given: Given) -> Callable[[GroupListing], bool]:
    """Type and protocol go together; the others are alone."""
    wanted, protocol = _type(given), given.value("protocol")

    def is_chosen(group: GroupListing) -> bool:
        kind = _as_java(group.type)
        if wanted is not None or protocol is not None:
            return wanted in (None, kind) and protocol in (None, group.protocol_type)
        if given.has("consumer"):
            return group.protocol_type in ("consumer", "") or kind == "Consumer"
        if given.has("share"):
            return kind == "Share"
        return not given.has("streams") or kind == "Streams"

    return is_chosen
