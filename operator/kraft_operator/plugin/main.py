"""`kubectl kraft status|restart|hibernate|wake`: put `kubectl-kraft` on the PATH and kubectl finds it.

Reads and edits nothing but the resource, with the rights of whoever calls it; the operator does the rest.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.kube import CLUSTER, Gateway, KubeError, NotFound, connect
from kraft_operator.metrics import Metrics
from kraft_operator.plugin.view import screen

WATCH_SECONDS: Final = 2.0
CLEAR: Final = "\x1b[H\x1b[2J"


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="kubectl kraft", description="Looks at a KRaftCluster, and asks the operator for things."
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("cluster", help="name of the KRaftCluster")
    common.add_argument("-n", "--namespace", default="default")
    common.add_argument("--context", help="of the kubeconfig; the current one by default")
    common.add_argument("--kubeconfig", help="its file")
    commands = found.add_subparsers(dest="command", required=True)
    look = commands.add_parser("status", parents=[common], help="quorum, voters, nodes, plan, and what needs attention")
    look.add_argument("-o", "--output", choices=("text", "json"), default="text")
    look.add_argument("-w", "--watch", action="store_true", help="again every two seconds, until interrupted")
    commands.add_parser("restart", parents=[common], help="restart every pod, one at a time, as the quorum bears it")
    commands.add_parser("hibernate", parents=[common], help="stop every node; disks and ledger stay")
    commands.add_parser("wake", parents=[common], help="the reverse of hibernate")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    try:
        return run(given, connect(Metrics(), given.kubeconfig, given.context), print)
    except KeyboardInterrupt:
        return 130


def run(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    try:
        if given.command == "status":
            return _status(given, kube, tell)
        tell(_asked(given, kube))
    except NotFound:
        print(f"there is no KRaftCluster {given.cluster} in namespace {given.namespace}", file=sys.stderr)
        return 1
    except KubeError as error:
        print(f"the API server refused: {error.message}", file=sys.stderr)
        return 1
    return 0


def _status(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    while True:
        found = kube.get(CLUSTER, given.namespace, given.cluster)
        text = screen(found) if given.output == "text" else json.dumps(found.get("status") or {}, indent=1)
        tell(f"{CLEAR}{text}" if given.watch and given.output == "text" else text)
        if not given.watch:
            return 0
        time.sleep(WATCH_SECONDS)


def _asked(given: argparse.Namespace, kube: Gateway) -> str:
    """Patch the resource, and say what will come of it."""
    found = kube.get(CLUSTER, given.namespace, given.cluster)
    change: dict[str, Any]
    match given.command:
        case "restart":
            at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            change = {"metadata": {"annotations": {names.ANNOTATION_RESTART: at}}}
            said = f"restart asked for at {at}: pods follow one at a time, see kubectl kraft status {given.cluster}"
        case "hibernate":
            change = {"spec": {"lifecycle": {"state": "Hibernated"}}}
            said = "nodes stop: brokers, then followers, then the leader; disks and ledger stay"
        case _:
            change = {"spec": {"lifecycle": {"state": "Running"}}}
            said = "nodes start again on the disks they had"
    change.setdefault("metadata", {})["uid"] = found["metadata"]["uid"]
    kube.patch(CLUSTER, given.namespace, given.cluster, change)
    return said


if __name__ == "__main__":
    sys.exit(main())
