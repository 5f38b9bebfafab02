"""A KRaftCluster's status as text for one screen: pure.

What is not as it should be comes last, where the eye ends: every condition that speaks of a fault, with its message, which says what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Object = Mapping[str, Any]
ABNORMAL: Final = frozenset({"Reconciling", "Stalled", "Suspended", "Hibernated", "ManualInterventionRequired"})
"""Conditions whose True is the fault; of all others it is False."""
UNTOLD: Final = frozenset({"Ready", "Reconciling"})
"""They summarize what others say."""


def screen(resource: Object) -> str:
    status = resource.get("status") or {}
    return "\n".join([*_head(resource, status), *_quorum(status), *_nodes(status), *_plan(status), *_trouble(status)])


def _head(resource: Object, status: Object) -> Iterator[str]:
    meta = resource["metadata"]
    seen, asked = status.get("observedGeneration", -1), meta.get("generation", 0)
    late = "" if seen == asked else f"  (the operator has seen generation {seen} of {asked})"
    yield f"{meta['namespace']}/{meta['name']}  {status.get('phase', 'not looked at yet')}{late}"
    if status.get("clusterID"):
        yield f"cluster id {status['clusterID']}"


def _quorum(status: Object) -> Iterator[str]:
    quorum = status.get("quorum") or {}
    if not quorum:
        return
    known = (
        f"leader {quorum['leaderID']} in epoch {quorum['epoch']}"
        if quorum.get("leaderID", -1) >= 0
        else "no leader known"
    )
    yield ""
    yield f"quorum  {quorum.get('state', 'Unknown')}, {known}{_redundancy(quorum)}"
    where = {each["nodeID"]: each for each in status.get("nodes") or ()}
    rows = [
        (
            str(voter["nodeID"]),
            voter["directoryID"],
            voter.get("state", "Unknown"),
            where.get(voter["nodeID"], {}).get("pod", "-"),
        )
        for voter in quorum.get("voters") or ()
    ]
    yield from _table(("voter", "directory", "state", "pod"), rows)
    for each in quorum.get("domains") or ():
        voters = ", ".join(map(str, each.get("voters") or ()))
        yield f"  in {each['name']}: {voters}{' (a majority)' if each.get('majority') == 'Held' else ''}"


def _redundancy(quorum: Object) -> str:
    if "headroom" not in quorum:
        return ""
    may = {0: "none may be lost"}.get(quorum["headroom"], f"{quorum['headroom']} may be lost")
    if quorum["headroom"] < 0:
        may = "no majority"
    return f"; {quorum['live']} of {quorum['size']} voters live, {may}"


def _nodes(status: Object) -> Iterator[str]:
    nodes = status.get("nodes") or ()
    if not nodes:
        return
    counts = ", ".join(
        f"{what} {status[what].get('ready', 0)}/{status[what].get('replicas', 0)} ready"
        for what in ("controllers", "brokers")
        if what in status
    )
    yield ""
    yield f"nodes   {counts}"
    rows = [
        (
            str(each["nodeID"]),
            each.get("pool", ""),
            each.get("state", ""),
            each.get("storage", ""),
            each.get("pod", "-"),
        )
        for each in nodes
    ]
    yield from _table(("node", "pool", "state", "storage", "pod"), rows)


def _plan(status: Object) -> Iterator[str]:
    plan = status.get("plan") or {}
    if plan.get("steps"):
        yield ""
        yield from plan_lines(plan)


def plan_lines(plan: Object) -> Iterator[str]:
    """Every step that the status tells of, and what keeps the one that waits."""
    steps = plan.get("steps") or ()
    more = len(plan.get("more") or ())
    done = sum(step.get("state") == "Done" for step in steps)
    asked = {"No": ", waits for approval", "Yes": ", approved"}.get(plan.get("approved", ""), "")
    risk = "" if plan.get("risk", "None") == "None" else f"; risk: {plan['risk']}"
    yield f"plan    {plan.get('hash')}: {done} of {len(steps) + more} steps done{asked}{risk}"
    for warning in plan.get("warnings") or ():
        yield f"  warning: {warning}"
    for step in steps:
        risk = "" if step.get("risk", "None") == "None" else f"  (risk: {step['risk']})"
        yield f"  {step.get('state', ''):8}{step.get('action')} {step.get('target')}: {step.get('reason')}{risk}"
        if step.get("gate") and step.get("state") in ("Waiting", "Pending"):
            yield f"          {'waits' if step['state'] == 'Waiting' else 'once'}: {step['gate']}"
    if more:
        yield f"  ... and {more} more"


def _trouble(status: Object) -> Iterator[str]:
    bad = [each for each in status.get("conditions") or () if _is_bad(each)]
    risks = status.get("risks") or ()
    if bad or risks:
        yield ""
        yield "to know"
        yield from (f"  risk: {each}" for each in risks)
        for each in bad:
            yield f"  {each['type']}={each['status']} {each['reason']}"
            yield f"    {each['message']}"


def _is_bad(condition: Object) -> bool:
    if condition["type"] in UNTOLD:
        return False
    return bool(condition["status"] != ("False" if condition["type"] in ABNORMAL else "True"))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for row in (head, *rows) if rows else ():
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
