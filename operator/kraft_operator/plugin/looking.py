"""`kubectl kraft status|plan`: what the resource says, as one screen or as JSON, once or again and again.

Without a name it is the only cluster there is, in the given namespace or, if none is given, in all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from kraft_operator.kube import CLUSTER, Forbidden, Gateway
from kraft_operator.plugin.heartbeat import silence
from kraft_operator.plugin.view import plan_lines, screen

WATCH_SECONDS: Final = 2.0
CLEAR: Final = "\x1b[H\x1b[2J"
DEFAULT_NAMESPACE: Final = "default"
Resource = Mapping[str, Any]


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    status = commands.add_parser(
        "status", parents=[common], help="quorum, voters, nodes, plan, and what needs attention"
    )
    status.set_defaults(run=_status)
    plan = commands.add_parser("plan", parents=[common], help="every step to come, what it waits for and what it risks")
    plan.set_defaults(run=_plan)
    for each in (status, plan):
        each.add_argument("-w", "--watch", action="store_true", help="again every two seconds, until interrupted")


def _status(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    return _shown(given, kube, tell, screen, lambda found: found.get("status") or {})


def _plan(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    return _shown(given, kube, tell, plan_screen, lambda found: (found.get("status") or {}).get("plan") or {})


def plan_screen(resource: Resource) -> str:
    status = resource.get("status") or {}
    seen, asked = status.get("observedGeneration", -1), resource["metadata"].get("generation", 0)
    late = (
        []
        if seen == asked
        else [f"the operator has seen generation {seen} of {asked}; the plan for that one is still to come"]
    )
    plan = status.get("plan") or {}
    return "\n".join([*late, *(plan_lines(plan) if plan.get("steps") else ["there is nothing to do"])])


def _shown(
    given: argparse.Namespace,
    kube: Gateway,
    tell: Callable[[str], None],
    text: Callable[[Resource], str],
    value: Callable[[Resource], object],
) -> int:
    if not _chosen(given, kube):
        return 1
    while True:
        found = kube.get(CLUSTER, given.namespace, given.cluster)
        if given.output == "text":
            silent = silence(kube, datetime.now(UTC))
            shown = "\n".join([*([silent] if silent else []), text(found)])
        else:
            shown = json.dumps(value(found), indent=1)
        tell(f"{CLEAR}{shown}" if given.watch and given.output == "text" else shown)
        if not given.watch:
            return 0
        time.sleep(WATCH_SECONDS)


def _chosen(given: argparse.Namespace, kube: Gateway) -> bool:
    """Fill in the cluster and the namespace that were not given."""
    if given.cluster is not None:
        given.namespace = given.namespace or DEFAULT_NAMESPACE
        return True
    try:
        there = kube.list(CLUSTER, given.namespace)
    except Forbidden:
        there = kube.list(CLUSTER, DEFAULT_NAMESPACE)
    if len(there) == 1:
        given.namespace, given.cluster = (there[0]["metadata"][key] for key in ("namespace", "name"))
        return True
    where = f"namespace {given.namespace}" if given.namespace else "any namespace"
    names = ", ".join(sorted(f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in there))
    print(f"name one of: {names}" if there else f"there is no KRaftCluster in {where}", file=sys.stderr)
    return False
