"""`kraft <tool> ...`: one command for all tools, each imported on first use.

Every tool is a module with `main(argv) -> exit code`, and is also installed under Apache Kafka's name (`kafka-topics`
is `kraft topics`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Final

TOOLS: Final = {
    "quickstart": "start controllers and brokers on this machine, without Kubernetes",
    "server-start": "run one node from its server.properties",
    "storage": "format log directories, look at them, make ids",
    "metadata-quorum": "describe the quorum of controllers; add and remove voters",
    "features": "describe, raise and lower feature levels",
    "cluster": "cluster id, endpoints, unregister a broker",
    "topics": "create, delete, alter, list and describe topics",
    "configs": "describe and change configurations, quotas and SCRAM credentials",
    "acls": "add, remove and list access control lists",
    "delegation-tokens": "create, renew, expire and describe delegation tokens",
    "client-metrics": "which metrics clients push",
    "reassign-partitions": "move replicas between brokers and directories",
    "leader-election": "have preferred replicas lead, or unclean ones where nothing else is left",
    "log-dirs": "what lies in the log directories of brokers",
    "consumer-groups": "list, describe and delete groups of consumers, move and delete what they have committed",
    "groups": "list groups of all types",
    "transactions": "list, describe and end transactions, find those that nobody ends",
    "get-offsets": "offsets of partitions: latest, earliest, or by timestamp",
    "delete-records": "delete the beginning of partitions",
    "broker-api-versions": "versions of each API that brokers serve",
    "metadata-shell": "walk through the metadata of a snapshot, a directory or a living quorum",
    "dump-log": "print log segments and snapshots",
}


def main(argv: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(usage())
        return 0 if arguments else 1
    if arguments[0] == "--version":
        from importlib.metadata import version

        print(f"quorate {version('quorate')}, compatible with Apache Kafka 4.3.1")
        return 0
    if arguments[0] not in TOOLS:
        print(f"kraft: there is no tool {arguments[0]!r}\n\n{usage()}", file=sys.stderr)
        return 1
    return run(arguments[0], arguments[1:])


def usage() -> str:
    width = max(map(len, TOOLS))
    return "usage: kraft TOOL ...\n\n" + "\n".join(f"  {name:{width}}  {what}" for name, what in TOOLS.items())


def run(tool: str, arguments: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name in another encoding is shown, not raised
            stream.reconfigure(errors="backslashreplace")
    module = import_module(f"controller_runtime.cli.{tool.replace('-', '_')}")
    try:
        code: int = module.main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return code


def kafka_tool() -> int:
    """The entry point behind every `kafka-*` name: the name that was called says which tool is meant."""
    name = os.path.basename(sys.argv[0]).removesuffix(".sh").removesuffix(".py")
    return run(name.removeprefix("kafka-"), sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
