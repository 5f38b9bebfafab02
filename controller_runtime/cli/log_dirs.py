"""`kafka-log-dirs`: what lies in the log directories of brokers, as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import LogDirDescription
from controller_runtime.cli.admin_tools import (
    AdminError,
    ApiError,
    BadCommand,
    Failed,
    complain,
    exception_text,
    with_admin,
)
from controller_runtime.cli.java_errors import java_class
from controller_runtime.cli.options import BadOption, Option, Table
from controller_runtime.identifiers import NodeId

OPTIONS: Final = Table(
    "This tool helps to query log directory usage on the specified brokers.",
    [
        Option("bootstrap-server", "REQUIRED: brokers to ask.", "The server(s) to use for bootstrapping"),
        Option("command-config", "Properties of the client.", "Admin client property file"),
        Option("describe", "REQUIRED: describe the log directories."),
        Option("topic-list", "Only these topics, with commas between them.", "Topic list"),
        Option("broker-list", "Only these brokers, with commas between them.", "Broker list"),
    ],
)


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
        OPTIONS.require(given, "bootstrap-server", "describe")
        topics = {one for one in (given.value("topic-list") or "").split(",") if one}
        wanted = _ids(given.value("broker-list") or "")
        servers, config = given.value("bootstrap-server"), given.value("command-config")
        return with_admin(servers, None, config, lambda admin: _describe(admin, wanted, topics))
    except (BadOption, BadCommand, Failed) as error:
        return complain(error)
    except (ApiError, AdminError) as error:
        return complain(exception_text(error))


def _ids(text: str) -> set[int]:
    found = set()
    for one in filter(None, text.split(",")):
        if not one.lstrip("+-").isdigit():
            raise Failed(f'For input string: "{one}"')
        found.add(int(one))
    return found


async def _describe(admin: AdminClient, wanted: Collection[int], topics: Collection[str]) -> None:
    there = [int(one.node_id) for one in (await admin.describe_cluster()).nodes]
    strangers = [one for one in wanted if one not in there]
    if strangers:
        names = f"{','.join(map(str, strangers))}. Current existent brokers: {','.join(map(str, there))}"
        raise Failed(f"ERROR: The given brokers do not exist from --broker-list: {names}")
    asked = sorted(wanted or there)
    print("Querying brokers for log directories information")
    found = {broker: await admin.describe_log_dirs(NodeId(broker)) for broker in asked}
    print(f"Received log directory information from brokers {','.join(map(str, asked))}")
    print(as_json(found, topics))


def as_json(found: Mapping[int, Sequence[LogDirDescription]], topics: Collection[str]) -> str:
    brokers = [
        {"broker": broker, "logDirs": [_directory(one, topics) for one in directories]}
        for broker, directories in found.items()
    ]
    return json.dumps({"brokers": brokers, "version": 1}, separators=(",", ":"), ensure_ascii=False)


def _directory(one: LogDirDescription, topics: Collection[str]) -> dict[str, Any]:
    return {
        "partitions": [
            {
                "partition": f"{topic}-{index}",
                "size": replica.size_bytes,
                "offsetLag": replica.offset_lag,
                "isFuture": replica.is_future,
            }
            for (topic, index), replica in one.replicas.items()
            if not topics or topic in topics
        ],
        "error": None if one.error is None else java_class(one.error.code),
        "logDir": one.path,
    }
