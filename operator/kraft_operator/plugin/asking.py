"""`kubectl kraft approve|restart|hibernate|wake`: patches of exactly the resource that was read, and what will come of
them.

An approval names the hash of the plan that is shown; one that names another is refused here already, and by the
operator in any case.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from kraft_operator.api import names
from kraft_operator.kube import CLUSTER, Gateway
from kraft_operator.plugin.view import plan_lines

Patch = dict[str, Any]


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    approve = commands.add_parser("approve", parents=[common], help="let the published plan be carried out")
    approve.add_argument("--hash", help="exactly this plan, or nothing")
    approve.add_argument("-y", "--yes", action="store_true", help="do not ask")
    approve.set_defaults(run=_approve)
    for name, help_text in (
        ("restart", "restart every pod, one at a time, as the quorum bears it"),
        ("hibernate", "stop every node; disks and ledger stay"),
        ("wake", "the reverse of hibernate"),
    ):
        commands.add_parser(name, parents=[common], help=help_text).set_defaults(run=_ask)


def _ask(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    found = kube.get(CLUSTER, given.namespace, given.cluster)
    change: Patch
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
    _patch(given, kube, found, change)
    tell(said if given.output == "text" else json.dumps({"cluster": given.cluster, "asked": change}, indent=1))
    return 0


def _approve(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    found = kube.get(CLUSTER, given.namespace, given.cluster)
    plan = (found.get("status") or {}).get("plan") or {}
    if (why := why_not(found, plan, given.hash)) is not None:
        print(why, file=sys.stderr)
        return 1
    if given.output == "text":
        tell("\n".join(plan_lines(plan)))
    if given.hash is None and not given.yes and not _agreed(plan["hash"]):
        print("nothing was approved", file=sys.stderr)
        return 1
    _patch(given, kube, found, {"metadata": {"annotations": {names.ANNOTATION_APPROVE: plan["hash"]}}})
    said = f"approved: {plan['hash']}; see kubectl kraft plan {given.cluster} --watch"
    tell(said if given.output == "text" else json.dumps({"cluster": given.cluster, "approved": plan["hash"]}, indent=1))
    return 0


def why_not(resource: Mapping[str, Any], plan: Mapping[str, Any], asked: str | None) -> str | None:
    """Why this plan cannot be approved."""
    status, generation = resource.get("status") or {}, resource["metadata"].get("generation", 0)
    if status.get("observedGeneration", -1) != generation:
        seen = status.get("observedGeneration", -1)
        return f"try again soon: the operator has seen generation {seen} of {generation}, and its plan is still to come"
    if not plan.get("steps"):
        return "there is nothing to approve: the plan has no steps"
    if asked is not None and asked != plan.get("hash"):
        return f"read the new plan with kubectl kraft plan: {asked} is stale, the plan is now {plan.get('hash')}"
    if plan.get("approved") != "No":
        return f"plan {plan.get('hash')} needs no approval{' any more' if plan.get('approved') == 'Yes' else ''}"
    return None


def _agreed(name: str) -> bool:
    if not sys.stdin.isatty():
        print(f"give --hash {name} or --yes: there is no terminal to ask on", file=sys.stderr)
        return False
    return input(f"approve plan {name}? [y/N] ").strip().lower() in ("y", "yes")


def _patch(given: argparse.Namespace, kube: Gateway, found: Mapping[str, Any], change: Patch) -> None:
    change.setdefault("metadata", {})["uid"] = found["metadata"]["uid"]
    kube.patch(CLUSTER, given.namespace, given.cluster, change)
