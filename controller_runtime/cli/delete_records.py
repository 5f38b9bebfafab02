"""`kafka-delete-records`: delete what lies before given offsets of given partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.cli import json_files
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
from controller_runtime.cli.options import BadOption, Option, Table

OPTIONS: Final = Table(
    "This tool helps to delete records of the given partitions down to the specified offset.",
    [
        Option("bootstrap-server", "REQUIRED: brokers to ask.", "server(s) to use for bootstrapping"),
        Option(
            "offset-json-file",
            'REQUIRED: {"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}; '
            "offset -1 deletes everything.",
            "Offset json file path",
        ),
        Option("command-config", "Properties of the client.", "command config property file path"),
    ],
)


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
        OPTIONS.require(given, "bootstrap-server", "offset-json-file")
        wanted = offsets(
            json_files.read_object(given.value("offset-json-file") or "", "The input string is not a valid JSON")
        )
        servers, config = given.value("bootstrap-server"), given.value("command-config")
        return with_admin(servers, None, config, lambda admin: _delete(admin, wanted))
    except (BadOption, BadCommand, Failed) as error:
        return complain(error)
    except (ApiError, AdminError) as error:
        return complain(exception_text(error))


def offsets(found: dict[str, Any]) -> dict[tuple[str, int], int]:
    """Raises Failed."""
    json_files.version_of(found)
    if "partitions" not in found:
        raise Failed("Missing partitions field")
    wanted: dict[tuple[str, int], int] = {}
    twice = []
    for one in json_files.array(found["partitions"]):
        key = (json_files.text(one, "topic"), json_files.number(one, "partition"))
        if key in wanted:
            twice.append(f"{key[0]}-{key[1]}")
        wanted[key] = json_files.number(one, "offset")
    if twice:
        raise Failed(f"Offset json file contains duplicate topic partitions: {','.join(dict.fromkeys(twice))}")
    return wanted


async def _delete(admin: AdminClient, wanted: dict[tuple[str, int], int]) -> None:
    print("Executing records delete operation")
    found = await admin.delete_records(wanted)
    print("Records delete operation completed:")
    for topic, index in wanted:
        answer = found[topic, index]
        said = f"error: {java_text(answer)}" if isinstance(answer, ApiError) else f"low_watermark: {answer}"
        print(f"partition: {topic}-{index}\t{said}")
