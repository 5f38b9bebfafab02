"""`kafka-broker-api-versions`: the versions of each API that each broker serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.cli.admin_tools import (
    AdminError,
    ApiError,
    BadCommand,
    complain,
    exception_text,
    with_admin,
)
from controller_runtime.cli.options import BadOption, Option, Table
from controller_runtime.protocol.api_keys import Api, ListenerType, find_api, known_apis

OPTIONS: Final = Table(
    "This tool helps to retrieve broker version information.",
    [
        Option("bootstrap-server", "REQUIRED: brokers to ask.", "server(s) to use for bootstrapping"),
        Option("command-config", "Properties of the client.", "command config property file"),
    ],
)


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
        OPTIONS.require(given, "bootstrap-server")
        return with_admin(given.value("bootstrap-server"), None, given.value("command-config"), _print)
    except (BadOption, BadCommand) as error:
        return complain(error)
    except (ApiError, AdminError) as error:
        return complain(exception_text(error))


async def _print(admin: AdminClient) -> None:
    for node in (await admin.describe_cluster()).nodes:
        rack = "null" if node.rack is None else node.rack
        named = f"{node.endpoint} (id: {node.node_id} rack: {rack} isFenced: {str(node.is_fenced).lower()})"
        try:
            served = (await admin.describe_features(node.node_id)).api_versions
        except (ApiError, AdminError) as error:
            print(f"{named} -> ERROR: {exception_text(error)}")
        else:
            print(f"{named} -> (\n\t" + ",\n\t".join(lines(served)) + "\n)")


def lines(served: Mapping[int, tuple[int, int]]) -> Iterator[str]:
    """A line for each API that the node serves or that Kafka has for clients, by key."""
    for_clients = {int(one.key) for one in known_apis() if one.versions and one.served_by(ListenerType.BROKER)}
    for key in sorted(for_clients | set(served)):
        known = find_api(key)
        versions = "UNSUPPORTED" if key not in served else _range(*served[key])
        name = "UNKNOWN" if known is None else known.name
        usable = "" if key not in served or known is None else f" {_usable(known, *served[key])}"
        yield f"{name}({key}): {versions}{usable}"


def _range(lowest: int, highest: int) -> str:
    return f"{lowest}" if lowest == highest else f"{lowest} to {highest}"


def _usable(known: Api, lowest: int, highest: int) -> str:
    if known.highest < lowest:
        return "[unusable: node too new]"
    if highest < known.lowest:
        return "[unusable: node too old]"
    return f"[usable: {min(known.highest, highest)}]"
