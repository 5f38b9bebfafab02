"""`kubectl kraft COMMAND CLUSTER`: put `kubectl-kraft` on the PATH and kubectl finds it.

Reads and edits nothing but the resource (and reads logs; `protect` edits volumes), with the rights of whoever calls it; the operator does the rest. A command is a function of
its arguments, the API and where to print, which its module registers with the parser.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from kraft_operator.kube import Gateway, KubeError, NotFound, connect
from kraft_operator.metrics import Metrics
from kraft_operator.plugin import asking, logs, looking, protecting, recover

Command = Callable[[argparse.Namespace, Gateway, Callable[[str], None]], int]
"""Returns the exit code."""


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="kubectl kraft", description="Looks at a KRaftCluster, and asks the operator for things."
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("cluster", help="name of the KRaftCluster")
    common.add_argument("-n", "--namespace", default="default")
    common.add_argument("--context", help="of the kubeconfig; the current one by default")
    common.add_argument("--kubeconfig", help="its file")
    common.add_argument("-o", "--output", choices=("text", "json"), default="text")
    commands: Any = found.add_subparsers(dest="command", required=True)
    for module in (looking, logs, asking, protecting, recover):
        module.register(commands, common)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
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
