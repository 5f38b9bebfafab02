"""`kafka-client-metrics`: which metrics clients push, to whom they apply, how often (KIP-714, KIP-1000)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.cli import config_resources
from controller_runtime.cli.admin_tools import (
    AdminError,
    ApiError,
    BadCommand,
    Failed,
    complain,
    exception_text,
    with_admin,
)
from controller_runtime.cli.options import BadOption, Given, Option, Table
from controller_runtime.identifiers import Uuid

_KIND: Final = "client-metrics"
_ACTIONS: Final = ("alter", "delete", "describe", "list")
_VALUES: Final = {"interval": "interval.ms", "metrics": "metrics", "match": "match"}

OPTIONS: Final = Table(
    "This tool helps to manipulate and describe client metrics configurations.",
    [
        Option("bootstrap-server", "REQUIRED: brokers to ask.", "server to connect to"),
        Option("command-config", "Properties of the client.", "command config property file"),
        Option("alter", "Change a configuration, or make one."),
        Option("delete", "Delete a configuration."),
        Option("describe", "Show configurations."),
        Option("list", "Names of all configurations."),
        Option("name", "Name of the configuration.", "name"),
        Option("generate-name", "Make a name of random letters."),
        Option("interval", "Milliseconds between pushes; empty deletes it.", "push interval"),
        Option("match", "Which clients: k1=v1,k2=v2; empty deletes it.", "k1=v1,k2=v2"),
        Option("metrics", "Prefixes of names of metrics; * for all, empty deletes them.", "m1,m2"),
    ],
)


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
        action = _check(given)
    except (BadOption, Failed) as error:
        return complain(error)
    try:
        return with_admin(
            given.value("bootstrap-server"),
            None,
            given.value("command-config"),
            lambda admin: _act(admin, action, given),
        )
    except (BadOption, BadCommand, Failed) as error:
        return _failed(str(error))
    except ApiError as error:
        return _failed(error.message)
    except AdminError as error:
        return _failed(exception_text(error))


def _failed(why: str) -> int:
    print(f"Error while executing client metrics command : {why}")
    return 1


def _check(given: Given) -> str:
    """Raises Failed."""
    if not given.has("bootstrap-server"):
        raise Failed("--bootstrap-server must be specified.")
    why = "Command must include exactly one action: --alter, --delete, --describe or --list."
    action = OPTIONS.exactly_one(given, _ACTIONS, why)
    OPTIONS.exclude(given, "describe", "generate-name", *_VALUES)
    OPTIONS.exclude(given, "list", "name", "generate-name", *_VALUES)
    OPTIONS.exclude(given, "delete", "generate-name", *_VALUES)
    if action == "alter" and given.has("name") == given.has("generate-name"):
        raise Failed("One of --name or --generate-name must be specified with --alter.")
    interval = given.value("interval") or ""
    if action == "alter" and interval and not re.fullmatch(r"[+-]?[0-9]{1,10}", interval):
        raise Failed("Invalid interval value. Enter an integer, or leave empty to reset.")
    if action == "delete" and not given.has("name"):
        raise Failed("A client metrics resource name must be specified with --delete.")
    return action


async def _act(admin: AdminClient, action: str, given: Given) -> None:
    match action:
        case "alter":
            name = given.value("name") or str(Uuid(secrets.token_bytes(16)))
            values = {_VALUES[flag]: given.value(flag) or "" for flag in _VALUES if given.has(flag)}
            wanted = {key: value for key, value in values.items() if value}
            await config_resources.alter(admin, _KIND, name, wanted, [key for key in values if key not in wanted])
            print(f"Altered client metrics config for {name}.")
        case "delete":
            name = given.value("name") or ""
            before = await config_resources.describe(admin, _KIND, name, everything=True)
            await config_resources.alter(admin, _KIND, name, {}, [one.name for one in before])
            print(f"Deleted client metrics config for {name}.")
        case "describe":
            own, known = given.value("name"), await config_resources.names(admin, _KIND)
            if own is not None and own not in known:
                print(f"The client metric resource {own} doesn't exist and doesn't have dynamic config.")
                return
            for name in known if own is None else [own]:
                print(f"Client metrics configs for {name} are:")
                for one in await config_resources.describe(admin, _KIND, name, everything=True):
                    print(f"  {one.name}={'null' if one.value is None else one.value}")
        case _:
            print("\n".join(await config_resources.names(admin, _KIND)))
