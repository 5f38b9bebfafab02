"""A KRaftCluster's status as text for one screen: pure.

The first line is the headline: the phase and, when the cluster is not Ready, why. What is not as it should be comes
last, where the eye ends: each cause once, with the conditions that report it and its message, which says what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Object = Mapping[str, Any]
ABNORMAL: Final = frozenset({"Reconciling", "Stalled", "Suspended", "Hibernated", "ManualInterventionRequired"})
"""Conditions whose True is the fault; of all others it is False."""
SUMMARIES: Final = frozenset({"Ready", "Reconciling", "Stalled"})
"""They repeat what others say."""


def screen(resource: Object) -> str:
    status = resource.get("status") or {}
    return "\n".join([*_head(resource, status), *_quorum(status), *_nodes(status), *_plan(status), *_trouble(status)])


def _head(resource: Object, status: Object) -> Iterator[str]:
    meta = resource["metadata"]
    seen, asked = status.get("observedGeneration", -1), meta.get("generation", 0)
    late = "" if seen == asked else f"  (the operator has seen generation {seen} of {asked})"
    yield f"{meta['namespace']}/{meta['name']}  {_headline(status)}{late}"
    if status.get("clusterID"):
        yield f"cluster id {status['clusterID']}"


def _headline(status: Object) -> str:
    phase = str(status.get("phase", "not looked at yet"))
    ready = _condition(status, "Ready")
    if ready.get("status", "True") == "True" or ready["reason"] in (phase, "NotReconciled"):
        return phase
    return f"{phase}: {ready['reason']}"


def _condition(status: Object, kind: str) -> Object:
    return next((each for each in status.get("conditions") or () if each["type"] == kind), {})


def _quorum(status: Object) -> Iterator[str]:
    quorum = status.get("quorum") or {}
    if not quorum:
        return
    led = quorum.get("leaderID", -1) >= 0
    known = f"leader {quorum['leaderID']} in epoch {quorum['epoch']}" if led else "no leader is known"
    yield ""
    yield f"quorum  {quorum.get('state', 'Unknown')}, {known}{_redundancy(quorum) if led else ''}"
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
    yield from table(("voter", "directory", "state", "pod"), rows)
    for each in quorum.get("domains") or ():
        voters = ", ".join(map(str, each.get("voters") or ()))
        yield f"  in {each['name']}: {voters}{' (a majority)' if each.get('majority') == 'Held' else ''}"


def _redundancy(quorum: Object) -> str:
    if "headroom" not in quorum:
        return ""
    spare = quorum["headroom"]
    may = f"{spare} more may be lost" if spare > 0 else "none may be lost" if spare == 0 else "no majority"
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
    yield from table(("node", "pool", "state", "storage", "pod"), rows)


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
    risks = status.get("risks") or ()
    causes = _causes(status)
    if causes or risks:
        yield ""
        yield "to know"
        yield from (f"  risk: {each}" for each in risks)
        for message, names in causes.items():
            yield f"  {', '.join(names)}"
            yield f"    {message}"


def _causes(status: Object) -> dict[str, list[str]]:
    """Each message once, with the conditions that have it."""
    found: dict[str, list[str]] = {}
    hidden = _follows(status)
    for each in status.get("conditions") or ():
        if not _is_bad(each) or each["type"] in hidden:
            continue
        found.setdefault(each["message"], []).append(f"{each['type']}={each['status']} {each['reason']}")
    return found


def _follows(status: Object) -> set[str]:
    """Conditions of the quorum that are Unknown because of what is shown anyway: it has not formed yet, sleeps, or was
    not reached.
    """
    available = _condition(status, "QuorumAvailable").get("status")
    expected = available == "Unknown" and status.get("phase") in ("Forming", "Hibernated", "Suspended")
    unformed = _condition(status, "QuorumAvailable").get("reason") == "NotFormed"
    return (
        {"QuorumRedundant"} | ({"QuorumAvailable"} if expected or unformed else set()) if available != "True" else set()
    )


def _is_bad(condition: Object) -> bool:
    if condition["type"] in SUMMARIES or condition["reason"] == "Disabled":
        return False  # that a cluster is plaintext is its owner's choice
    return bool(condition["status"] != ("False" if condition["type"] in ABNORMAL else "True"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for row in (head, *rows) if rows else ():
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
