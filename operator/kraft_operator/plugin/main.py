"""`kubectl kraft COMMAND CLUSTER`: put `kubectl-kraft` on the PATH and kubectl finds it.

Reads and edits nothing but the resource, with the rights of the caller; the operator does the rest. (`logs` reads logs,
`status` and `plan` the operator's Lease, `protect` edits volumes, `convert` reads files only.) A command is a function
of its arguments, the API and where to print, which its module registers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from kraft_operator.kube import Gateway, KubeError, NotFound, connect
from kraft_operator.metrics import Metrics
from kraft_operator.plugin import archive, asking, convert, logs, looking, protecting, recover

Command = Callable[[argparse.Namespace, Gateway, Callable[[str], None]], int]
"""Returns the exit code."""


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="kubectl kraft", description="Looks at a KRaftCluster, and asks the operator for things."
    )
    commands: Any = found.add_subparsers(dest="command", required=True)
    convert.register(commands)
    looking.register(commands, _common(named=False))
    recover.register(commands, _common(named=False))
    for module in (logs, asking, protecting, archive):
        module.register(commands, _common(named=True))
    return found


def _common(*, named: bool) -> argparse.ArgumentParser:
    """What every command takes. Only one that changes nothing may be called without a name."""
    common = argparse.ArgumentParser(add_help=False)
    if named:
        common.add_argument("cluster", help="name of the KRaftCluster")
    else:
        common.add_argument("cluster", nargs="?", help="name of the KRaftCluster; absent, the only one there is")
    common.add_argument("-n", "--namespace", default="default" if named else None)
    common.add_argument("--context", help="context of the kubeconfig; the current one by default")
    common.add_argument("--kubeconfig", help="file of the kubeconfig")
    common.add_argument("-o", "--output", choices=("text", "json"), default="text")
    return common


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    if given.command == convert.COMMAND:
        return convert.run(given, print)
    try:
        return run(given, connect(Metrics(), given.kubeconfig, given.context), print)
    except KeyboardInterrupt:
        return 130


def run(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    command: Command = given.run
    try:
        return command(given, kube, tell)
    except NotFound:
        print(f"there is no KRaftCluster {given.cluster} in namespace {given.namespace}", file=sys.stderr)
    except KubeError as error:
        print(f"the API server refused: {error.message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
