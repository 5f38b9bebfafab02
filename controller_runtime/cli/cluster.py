"""`kafka-cluster`: the cluster's id, its nodes, and forgetting a broker."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from controller_runtime.admin.client import AdminError, ApiError
from controller_runtime.admin.results import NodeDescription
from controller_runtime.cli import progress
from controller_runtime.cli.arguments import Parser
from controller_runtime.cli.bootstrap import BadCommand, Bootstrap, choose
from controller_runtime.cli.java_errors import java_text, timeout_text
from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.errors import ErrorCode

_USAGE: Final = "usage: kafka-cluster [-h] {cluster-id,unregister,list-endpoints} ...\n"
_HELP: Final = """
  cluster-id      the cluster's id
  unregister      forget the broker with --id
  list-endpoints  the brokers, or the controllers
"""
_OPTIONS: Final = """\
usage: kafka-cluster {command} [-h] [--config CONFIG]
                     [--command-config COMMAND_CONFIG]{more}
                     (--bootstrap-server BOOTSTRAP_SERVER |
                     --bootstrap-controller BOOTSTRAP_CONTROLLER)
"""
_MORE: Final = {
    "cluster-id": "",
    "unregister": " --id ID",
    "list-endpoints": "\n                     [--include-fenced-brokers]",
}
_OPTIONS_HELP: Final = """
  -b, --bootstrap-server      host:port,... of brokers to ask
  -C, --bootstrap-controller  host:port,... of controllers to ask
  -c, --command-config        a properties file for the client (--config is its old name)
"""


def main(argv: Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    try:
        bootstrap = choose(arguments.bootstrap_server, arguments.bootstrap_controller, _command_config(arguments))
        if arguments.command == "list-endpoints" and arguments.include_fenced_brokers and bootstrap.servers is None:
            raise BadCommand("The option --include-fenced-brokers is only supported with --bootstrap-server option")
        progress.run(_RUN[arguments.command](bootstrap, arguments))
    except BadCommand as error:
        print(error, file=sys.stderr)
        return 1
    except ApiError as error:
        return _refused(arguments.command, error)
    except AdminError as error:
        print(timeout_text(str(error)), file=sys.stderr)
        return 1
    return 0


def _refused(command: str, error: ApiError) -> int:
    """Kafka's tool takes an unsupported version for an answer in two of its commands, and ends well."""
    if error.code is ErrorCode.UNSUPPORTED_VERSION and command == "list-endpoints":
        print(error.message)
        return 0
    if error.code is ErrorCode.UNSUPPORTED_VERSION and command == "unregister":
        print("The target cluster does not support the broker unregistration API.")
        return 0
    print(java_text(error), file=sys.stderr)
    return 1


async def _cluster_id(bootstrap: Bootstrap, arguments: argparse.Namespace) -> None:
    del arguments
    async with bootstrap.admin() as admin:
        found = await admin.describe_cluster()
    print(
        f"Cluster ID: {found.cluster_id}"
        if found.cluster_id
        else "No cluster ID found. The Kafka version is probably too old."
    )


async def _unregister(bootstrap: Bootstrap, arguments: argparse.Namespace) -> None:
    async with bootstrap.admin() as admin:
        await admin.unregister_broker(NodeId(arguments.id))
    print(f"Broker {arguments.id} is no longer registered.")


async def _list_endpoints(bootstrap: Bootstrap, arguments: argparse.Namespace) -> None:
    async with bootstrap.admin() as admin:
        found = await admin.describe_cluster(include_fenced=arguments.include_fenced_brokers)
    print("\n".join(endpoints(found.nodes, brokers=bootstrap.servers is not None)))


def endpoints(nodes: Sequence[NodeDescription], *, brokers: bool) -> Iterator[str]:
    host = max((len(node.endpoint.host) for node in nodes), default=100)
    rack = max((len(node.rack) for node in nodes if node.rack is not None), default=10)

    def line(node_id: object, where: str, port: object, place: str, state: str, kind: str) -> str:
        middle = f"{state:10} " if brokers else ""
        return f"{node_id:<10} {where:{host}} {port:<10} {place:{rack}} {middle}{kind:15}"

    yield line("ID", "HOST", "PORT", place="RACK", state="STATE", kind="ENDPOINT_TYPE")
    for node in sorted(nodes, key=lambda one: one.node_id):
        state = "fenced" if node.is_fenced else "unfenced"
        kind = "broker" if brokers else "controller"
        yield line(
            node.node_id, node.endpoint.host, node.endpoint.port, place=node.rack or "null", state=state, kind=kind
        )


_RUN: Final = {"cluster-id": _cluster_id, "unregister": _unregister, "list-endpoints": _list_endpoints}


def _command_config(arguments: argparse.Namespace) -> str | None:
    if arguments.config is not None:
        print(
            "Option --config has been deprecated and will be removed in a future version. Use --command-config instead."
        )
    chosen: str | None = arguments.command_config or arguments.config
    return chosen


def _parser() -> Parser:
    parser = Parser(_USAGE, _HELP, help_code=1, prog="kafka-cluster")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    for name, more in _MORE.items():
        usage = _OPTIONS.format(command=name, more=more)
        command = commands.add_parser(name, usage_text=usage, help_text=_OPTIONS_HELP, help_code=1)
        if name == "unregister":
            command.add_argument("--id", "-i", type=int, required=True)
        if name == "list-endpoints":
            command.add_argument("--include-fenced-brokers", action="store_true")
        addresses = command.add_mutually_exclusive_group(required=True)
        addresses.add_argument("--bootstrap-server", "-b")
        addresses.add_argument("--bootstrap-controller", "-C")
        command.add_argument("--command-config", "-c")
        command.add_argument("--config")
    return parser
