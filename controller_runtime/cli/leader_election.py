"""`kafka-leader-election`: have preferred replicas lead, or any replica where no clean one is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import Unreachable
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
from controller_runtime.cli.options import BadOption, Given, Option, Table
from controller_runtime.protocol.errors import ErrorCode

TYPES: Final = {"preferred": 0, "unclean": 1}
_PARTITIONS: Final = ("topic", "all-topic-partitions", "path-to-json-file")
_TIMEOUT_SECONDS: Final = 30.0

OPTIONS: Final = Table(
    "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported are "
    "preferred replicas and unclean replicas.",
    [
        Option("bootstrap-server", "REQUIRED: brokers to ask.", "host:port"),
        Option("admin.config", "Properties of the client.", "config file"),
        Option("command-config", "Properties of the client.", "config file"),
        Option("path-to-json-file", '{"partitions": [{"topic": "foo", "partition": 1}]}', "Path to JSON file"),
        Option("topic", "With --partition: the partition's topic.", "topic name"),
        Option("partition", "With --topic: the partition's id.", "partition id"),
        Option("all-topic-partitions", "All partitions."),
        Option("election-type", "REQUIRED: preferred or unclean.", "election type"),
    ],
)


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
        check(given)
        kind, wanted = election_type(given.value("election-type") or ""), partitions(given)
        config = given.value("command-config") or given.value("admin.config")
        servers = given.value("bootstrap-server")
        return with_admin(servers, None, config, lambda admin: _elect(admin, kind, wanted), _TIMEOUT_SECONDS)
    except (BadOption, BadCommand, Failed) as error:
        return complain(error)
    except (ApiError, AdminError) as error:
        return complain(exception_text(error))


def check(given: Given) -> None:
    """Raises Failed."""
    missing = [name for name in ("bootstrap-server", "election-type") if not given.has(name)]
    if missing:
        raise Failed(f"Missing required option(s): {', '.join(missing)}")
    if sum(map(given.has, _PARTITIONS)) != 1:
        raise Failed(f"One and only one of the following options is required: {', '.join(_PARTITIONS)}")
    if given.has("topic") and not given.has("partition"):
        raise Failed("Missing required option(s): partition")
    if given.has("partition") and not given.has("topic"):
        raise Failed("Option partition is only allowed if topic is used")


def election_type(text: str) -> str:
    if text.lower() not in TYPES:
        raise BadOption("OptionArgumentConversionException", f"Cannot parse argument '{text}' of option election-type")
    return text.lower()


def partitions(given: Given) -> list[tuple[str, int]] | None:
    """None: all. Raises Failed, BadOption."""
    path = given.value("path-to-json-file")
    if path is not None:
        try:
            return listed(json_files.read_object(path, "Replica election data is empty"))
        except Failed as failed:
            raise Failed(
                f"java.io.IOException: {failed}" if str(failed).startswith("Unable") else str(failed)
            ) from failed
    topic = given.value("topic")
    return None if topic is None else [(topic, given.number("partition", 0))]


def listed(found: dict[str, Any]) -> list[tuple[str, int]]:
    if "partitions" not in found:
        raise Failed('Replica election data is missing "partitions" field')
    wanted = [
        (json_files.text(one, "topic"), json_files.number(one, "partition"))
        for one in json_files.array(found["partitions"])
    ]
    twice = [f"{topic}-{index}" for topic, index in dict.fromkeys(wanted) if wanted.count((topic, index)) > 1]
    if twice:
        raise Failed(f"Replica election data contains duplicate partitions: [{', '.join(twice)}]")
    return wanted


async def _elect(admin: AdminClient, kind: str, wanted: list[tuple[str, int]] | None) -> None:
    try:
        found = await admin.elect_leaders(TYPES[kind], wanted)
    except Unreachable as error:
        raise _stopped("Timeout waiting for election results") from error
    except ApiError as error:
        if error.code is ErrorCode.REQUEST_TIMED_OUT:
            raise _stopped("Timeout waiting for election results") from error
        if error.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise _stopped("Not authorized to perform leader election") from error
        raise
    report(kind.upper(), {f"{topic}-{index}": error for (topic, index), error in found.items()})


def _stopped(why: str) -> Failed:
    print(why)
    return Failed(why)


def report(kind: str, found: dict[str, ApiError | None]) -> None:
    """Raises Failed when an election failed."""
    unneeded = [name for name, error in found.items() if error and error.code is ErrorCode.ELECTION_NOT_NEEDED]
    elected = [name for name, error in found.items() if error is None]
    if elected:
        print(f"Successfully completed leader election ({kind}) for partitions {', '.join(elected)}")
    if unneeded:
        print(f"Valid replica already elected for partitions {', '.join(unneeded)}")
    failed = {name: error for name, error in found.items() if error and name not in unneeded}
    for name, error in failed.items():
        print(f"Error completing leader election ({kind}) for partition: {name}: {java_text(error)}")
    if failed:
        raise Failed(f"{len(failed)} replica(s) could not be elected")
