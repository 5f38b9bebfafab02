"""`kafka-metadata-quorum`: who leads, who votes, how far everybody is; and changing who votes (`cli.voter_changes`)."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.results import QuorumDescription, ReplicaDescription
from controller_runtime.cli import progress
from controller_runtime.cli.arguments import Parser
from controller_runtime.cli.bootstrap import BadCommand, Bootstrap, choose
from controller_runtime.cli.java_errors import java_text, timeout_text
from controller_runtime.identifiers import NO_DIRECTORY, Endpoint

_USAGE: Final = """\
usage: kafka-metadata-quorum [-h] [--command-config COMMAND_CONFIG]
                             (--bootstrap-server BOOTSTRAP_SERVER |
                             --bootstrap-controller BOOTSTRAP_CONTROLLER)
                             {describe,add-controller,remove-controller}
                             ...
"""
_HELP: Final = """
Tells about the quorum of controllers, and changes who belongs to it.

  --bootstrap-server      host:port,... of brokers to ask
  --bootstrap-controller  host:port,... of controllers to ask
  --command-config        a properties file for the client; for add-controller that of the controller to add
  describe                --status: a summary; --replication: every replica
  add-controller          make a controller that follows already a voter
  remove-controller       take a controller out of the voter set
"""
_DESCRIBE_USAGE: Final = """\
usage: kafka-metadata-quorum (--bootstrap-server BOOTSTRAP_SERVER |
                             --bootstrap-controller BOOTSTRAP_CONTROLLER)
                             describe [-h] [--status] [--replication]
                             [--human-readable]
"""
_DESCRIBE_HELP: Final = """
  --status          leader, high watermark, voters and observers
  --replication     one line for each replica, with its lag
  --human-readable  times as "... ms ago" (with --replication)
"""
_ADD_USAGE: Final = """\
usage: kafka-metadata-quorum (--bootstrap-server BOOTSTRAP_SERVER |
                             --bootstrap-controller BOOTSTRAP_CONTROLLER)
                             add-controller [-h] [--dry-run]
"""
_ADD_HELP: Final = """
  --dry-run  say what would be added, but do not add it
"""
_REMOVE_USAGE: Final = """\
usage: kafka-metadata-quorum (--bootstrap-server BOOTSTRAP_SERVER |
                             --bootstrap-controller BOOTSTRAP_CONTROLLER)
                             remove-controller [-h]
                             --controller-id CONTROLLER_ID
                             --controller-directory-id CONTROLLER_DIRECTORY_ID
                             [--dry-run]
"""
_REMOVE_HELP: Final = """
  -i, --controller-id            the node id of the voter to remove
  -d, --controller-directory-id  the directory id of that voter, as `describe --status` tells it
  --dry-run                      say what would be removed, but do not remove it
"""
_COLUMNS: Final = (
    "NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status",
)  # fmt: skip


def main(argv: Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    try:
        bootstrap = choose(arguments.bootstrap_server, arguments.bootstrap_controller, arguments.command_config)
        match arguments.command:
            case "describe":
                print("\n".join(_describe(bootstrap, arguments)))
            case "add-controller":
                print(_add(bootstrap, arguments))
            case _:
                print(_remove(bootstrap, arguments))
    except BadCommand as error:
        print(error, file=sys.stderr)
        return 1
    except ApiError as error:
        print(java_text(error), file=sys.stderr)
        return 1
    except AdminError as error:
        print(timeout_text(str(error)), file=sys.stderr)
        return 1
    return 0


def _describe(bootstrap: Bootstrap, arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.status == arguments.replication:
        few, many = "One of --status or --replication must", "Only one of --status or --replication should"
        raise BadCommand(f"{many if arguments.status else few} be specified with describe sub-command")
    if arguments.human_readable and arguments.status:
        raise BadCommand("The option --human-readable is only supported along with --replication")
    cluster_id, quorum = progress.run(_ask(bootstrap))
    if arguments.status:
        return status(cluster_id, quorum)
    return replication(quorum, time.time_ns() // 1_000_000 if arguments.human_readable else None)


def _add(bootstrap: Bootstrap, arguments: argparse.Namespace) -> str:
    if arguments.command_config is None:
        raise BadCommand(
            "You must supply the configuration file of the controller you are adding when using add-controller."
        )
    from controller_runtime.cli import voter_changes

    return progress.run(voter_changes.add(bootstrap, dry_run=arguments.dry_run))


def _remove(bootstrap: Bootstrap, arguments: argparse.Namespace) -> str:
    from controller_runtime.cli import voter_changes

    node_id, directory_id = arguments.controller_id, arguments.controller_directory_id
    return progress.run(voter_changes.remove(bootstrap, node_id, directory_id, dry_run=arguments.dry_run))


async def _ask(bootstrap: Bootstrap) -> tuple[str, QuorumDescription]:
    async with bootstrap.admin() as admin:
        return await _cluster_id(admin), await admin.describe_quorum()


async def _cluster_id(admin: AdminClient) -> str:
    return (await admin.describe_cluster()).cluster_id


def status(cluster_id: str, quorum: QuorumDescription) -> Iterator[str]:
    leader = quorum.leader()
    slowest = min(quorum.voters, key=lambda one: one.log_end_offset)
    lag = 0 if leader is None else leader.log_end_offset - slowest.log_end_offset
    rows = (
        ("ClusterId", cluster_id),
        ("LeaderId", quorum.leader_id),
        ("LeaderEpoch", quorum.leader_epoch),
        ("HighWatermark", quorum.high_watermark),
        ("MaxFollowerLag", lag),
        ("MaxFollowerLagTimeMs", _lag_ms(leader, slowest)),
        ("CurrentVoters", _members(quorum, quorum.voters)),
        ("CurrentObservers", _members(quorum, quorum.observers)),
    )
    for label, value in rows:
        yield f"{label + ':':24}{value}"


def _lag_ms(leader: ReplicaDescription | None, slowest: ReplicaDescription) -> int:
    if leader is slowest:
        return 0
    if leader is None or leader.last_caught_up_timestamp < 0 or slowest.last_caught_up_timestamp < 0:
        return -1
    return leader.last_caught_up_timestamp - slowest.last_caught_up_timestamp


def _members(quorum: QuorumDescription, replicas: Sequence[ReplicaDescription]) -> str:
    return f"[{', '.join(_member(quorum, replica) for replica in replicas)}]"


def _member(quorum: QuorumDescription, replica: ReplicaDescription) -> str:
    parts = [f'"id": {replica.replica_id}']
    if replica.directory_id != NO_DIRECTORY:
        parts.append(f'"directoryId": "{replica.directory_id}"')
    endpoints = quorum.endpoints.get(replica.replica_id, {})
    if endpoints:
        shown = ", ".join(f'"{name}://{_address(endpoint)}"' for name, endpoint in endpoints.items())
        parts.append(f'"endpoints": [{shown}]')
    return f"{{{', '.join(parts)}}}"


def _address(endpoint: Endpoint) -> str:
    return f"{endpoint.host}:{endpoint.port}"


def replication(quorum: QuorumDescription, now_ms: int | None) -> Iterator[str]:
    """One line per replica: the leader, the other voters, the observers. Times are relative when `now_ms` is given."""
    leader = quorum.leader()
    end = leader.log_end_offset if leader is not None else quorum.high_watermark
    followers = [one for one in quorum.voters if one is not leader]
    observers = [one for one in quorum.observers if one is not leader]
    rows: list[tuple[str, ...]] = [_COLUMNS]
    rows += [_row(one, end, "Leader", now_ms) for one in ([leader] if leader else [])]
    rows += [_row(one, end, "Follower", now_ms) for one in followers]
    rows += [_row(one, end, "Observer", now_ms) for one in observers]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    for row in rows:
        yield "".join(f"{cell:{width}}\t" for cell, width in zip(row, widths, strict=True))


def _row(one: ReplicaDescription, end: int, standing: str, now_ms: int | None) -> tuple[str, ...]:
    return (
        str(one.replica_id), str(one.directory_id), str(one.log_end_offset), str(end - one.log_end_offset),
        _time(one.last_fetch_timestamp, now_ms), _time(one.last_caught_up_timestamp, now_ms), standing,
    )  # fmt: skip


def _time(timestamp: int, now_ms: int | None) -> str:
    if timestamp < 0:
        return "-1"
    return str(timestamp) if now_ms is None else f"{max(now_ms - timestamp, 0)} ms ago"


def _parser() -> Parser:
    parser = Parser(_USAGE, _HELP, prog="kafka-metadata-quorum")
    addresses = parser.add_mutually_exclusive_group(required=True)
    addresses.add_argument("--bootstrap-server")
    addresses.add_argument("--bootstrap-controller")
    parser.add_argument("--command-config")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    describe = commands.add_parser("describe", usage_text=_DESCRIBE_USAGE, help_text=_DESCRIBE_HELP)
    describe.add_argument("--status", action="store_true")
    describe.add_argument("--replication", action="store_true")
    describe.add_argument("--human-readable", action="store_true")
    add = commands.add_parser("add-controller", usage_text=_ADD_USAGE, help_text=_ADD_HELP)
    add.add_argument("--dry-run", action="store_true")
    remove = commands.add_parser("remove-controller", usage_text=_REMOVE_USAGE, help_text=_REMOVE_HELP)
    remove.add_argument("--controller-directory-id", "-d", required=True)
    remove.add_argument("--controller-id", "-i", type=int, required=True)
    remove.add_argument("--dry-run", action="store_true")
    return parser
