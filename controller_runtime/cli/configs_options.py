"""The command line of `kafka-configs`: which entities, and what does not go together.

An entity is named by `--entity-type` with `--entity-name` or `--entity-default`, or by a flag of its own (`--topic`,
`--user-defaults` ...). Names and defaults belong to the types in the order in which they are written.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from typing import Final

from controller_runtime.cli.admin_tools import Failed
from controller_runtime.cli.bootstrap import read_properties
from controller_runtime.cli.options import Given, Option, Table
from controller_runtime.values import dataclass

TYPES: Final = ("topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers")
_OWN_FLAGS: Final = {
    "topic": "topics", "client": "clients", "user": "users", "broker": "brokers", "broker-logger": "broker-loggers",
    "ip": "ips", "client-metrics": "client-metrics", "group": "groups",
}  # fmt: skip
_DEFAULT_FLAGS: Final = {
    "client-defaults": "clients", "user-defaults": "users", "broker-defaults": "brokers", "ip-defaults": "ips",
}  # fmt: skip
_WITH_DEFAULTS: Final = frozenset({"users", "clients", "brokers", "ips"})
_CHANGES: Final = ("add-config", "add-config-file", "delete-config")

OPTIONS: Final = Table(
    "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip, client-metrics or "
    "group",
    [
        Option("bootstrap-server", "Brokers to ask.", "server to connect to"),
        Option("bootstrap-controller", "Controllers to ask.", "controller to connect to"),
        Option("command-config", "Properties of the client.", "command config property file"),
        Option("alter", "Change the configuration of the entity."),
        Option("describe", "Show the configurations of the entity, or of all of this type."),
        Option("all", "Show all configurations, not only dynamic ones."),
        Option("entity-type", f"One of {', '.join(TYPES)}.", "String"),
        Option("entity-name", "Name of the entity.", "String"),
        Option("entity-default", "The default of users, clients, brokers or ips."),
        Option("add-config", "Pairs k1=v1,k2=[v1,v2] to set.", "String"),
        Option("add-config-file", "A properties file of what to set.", "String"),
        Option("delete-config", "Names k1,k2 to delete.", "String"),
        *(
            Option(name, f"The same as --entity-type {kind} --entity-name.", "String")
            for name, kind in _OWN_FLAGS.items()
        ),
        *(Option(name, f"The same as --entity-type {kind} --entity-default.") for name, kind in _DEFAULT_FLAGS.items()),
    ],
)


@dataclass(frozen=True, slots=True)
class Entities:
    """The types, and the names of the first so many; the default entity's name is empty."""

    types: tuple[str, ...]
    names: tuple[str, ...]


def entities_of(given: Given, argv: Sequence[str]) -> Entities:
    written = _names_in_order(argv)
    own = [(kind, name) for flag, kind in _OWN_FLAGS.items() for name in given.all(flag)]
    own += [(kind, "") for flag, kind in _DEFAULT_FLAGS.items() if given.has(flag)]
    types = (*given.all("entity-type"), *(kind for kind, _ in own))
    return Entities(types, (*written, *(name for _, name in own)))


def _names_in_order(argv: Sequence[str]) -> tuple[str, ...]:
    found, words = [], iter(argv)
    for word in words:
        if word == "--entity-name":
            found.append(next(words, ""))
        elif word.startswith("--entity-name="):
            found.append(word.partition("=")[2])
        elif word == "--entity-default":
            found.append("")
    return tuple(found)


def check(given: Given, entities: Entities) -> None:
    """Raises Failed, in Kafka's order of checks."""
    if len([name for name in ("alter", "describe") if given.has(name)]) != 1:
        OPTIONS.refuse("Command must include exactly one action: --describe, --alter")
    repeated = [one for one in entities.types if entities.types.count(one) > 1]
    if repeated:
        raise Failed(f"Duplicate entity type(s) specified: {','.join(dict.fromkeys(repeated))}")
    for one in entities.types:
        if one not in TYPES:
            among = f"one of {', '.join(TYPES)} with a --bootstrap-server or --bootstrap-controller argument"
            raise Failed(f"Invalid entity type {one}, the entity type must be {among}")
    if not entities.types:
        raise Failed("At least one entity type must be specified")
    if len(entities.types) > 1 and set(entities.types) != {"users", "clients"}:
        raise Failed("Only 'users' and 'clients' entity types may be specified together")
    own_flags = any(map(given.has, (*_OWN_FLAGS, *_DEFAULT_FLAGS)))
    if own_flags and any(map(given.has, ("entity-name", "entity-type", "entity-default"))):
        raise Failed("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
    _check_names(entities)
    if given.has("describe"):
        _check_describe(entities)
    else:
        _check_alter(given, entities)


def _check_names(entities: Entities) -> None:
    head = entities.types[0]
    for name in filter(None, entities.names):
        if head in {"brokers", "broker-loggers"} and not re.fullmatch(r"[+-]?[0-9]{1,10}", name):
            raise Failed(f"The entity name for {head} must be a valid integer broker id, but it is: {name}")
        if head == "ips" and not _is_address(name):
            raise Failed(f"The entity name for {head} must be a valid IP or resolvable host, but it is: {name}")


def _is_address(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def _check_describe(entities: Entities) -> None:
    kinds = ",".join(entities.types)
    if "" in entities.names and not _WITH_DEFAULTS.intersection(entities.types):
        raise Failed(f"--entity-default must not be specified with --describe of {kinds}")
    if "broker-loggers" in entities.types and not any(entities.names):
        raise Failed(f"An entity name must be specified with --describe of {kinds}")


def _check_alter(given: Given, entities: Entities) -> None:
    if _WITH_DEFAULTS.intersection(entities.types):
        if not entities.names:
            raise Failed(
                "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            )
    elif not any(entities.names):
        raise Failed(f"An entity name must be specified with --alter of {','.join(entities.types)}")
    if given.has("add-config") and given.has("add-config-file"):
        raise Failed("Only one of --add-config or --add-config-file must be specified")
    if not any(map(given.has, _CHANGES)):
        wanted = "At least one of --add-config, --add-config-file, or --delete-config"
        raise Failed(f"{wanted} must be specified with --alter")


_OUTSIDE_OF_BRACKETS: Final = r"(?=[^\]]*(?:\[|\Z))"


def added(given: Given) -> dict[str, str]:
    """Names and values to set. Raises Failed, BadCommand, FileNotFoundError."""
    path = given.value("add-config-file")
    found = {} if path is None else read_properties(path)
    text = given.value("add-config")
    for pair in [] if text is None else re.split("," + _OUTSIDE_OF_BRACKETS, text):
        parts = re.split(r"\s*=\s*" + _OUTSIDE_OF_BRACKETS, pair)
        if len(parts) != 2:
            how = 'in the format "key=val" or  "key=[val1,val2]" to group values which contain commas.'
            raise Failed(f"requirement failed: Invalid entity config: all configs to be added must be {how}")
        found[parts[0].strip()] = re.sub(r"\[?\]?", "", parts[1]).strip()
    for name in found:
        if not re.fullmatch(r"[a-zA-Z0-9._-]*", name):
            raise Failed(f"Invalid character found for config key: {name}")
    return found


def deleted(given: Given) -> list[str]:
    return [one.strip() for text in given.all("delete-config") for one in text.split(",")]
