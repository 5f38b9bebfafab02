"""What is decided of disks that go with their pod: whether one may go, and that a cluster keeps the kind it has.

A restart is the loss of the disk, by plan. A voter's may go while the others that are live are a majority (L4), and
never because its node does not run: its disk may be what a majority is made of. A broker's may go once of every
partition that it holds another replica is in sync. Then the loss is dealt with as any other, by `voters.loss`.
"""

from __future__ import annotations

from kraft_operator.api.roles import controls, serves
from kraft_operator.ephemeral import is_ephemeral
from kraft_operator.ledger import Entry
from kraft_operator.observed import Pod
from kraft_operator.plan import headroom
from kraft_operator.plan.giving_up import named, only_copies
from kraft_operator.plan.headroom import Gate
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict


def disk_may_go(now: Situation, pod: Pod) -> Gate | None:
    """A closed gate while the restart of a pod would cost more than its disk; None where it costs no more."""
    entry = now.ledger.entry(pod.node_id) if now.ledger is not None else None
    if not is_ephemeral(pod.claim) or entry is None or entry.directory_id is None or entry.pvc_uid != pod.uid:
        return None
    if others := sorted(now.replacing - {pod.node_id}):
        return Gate(False, f"its disk goes with it, and {', '.join(map(str, others))} without a disk come first")
    if controls(pod) and not (gate := headroom.restart(now.observed.quorum, pod.node_id)).open:
        return Gate(False, f"its disk goes with it: {gate.text}")
    if serves(pod) and (why := _held_alone(now, pod.node_id)):
        return Gate(False, f"its disk goes with it, and {why}")
    return None


def _held_alone(now: Situation, node_id: int) -> str:
    if now.observed.brokers.partitions is None:
        return "no broker answers what it holds"
    only = only_copies(now, node_id)
    return f"no other replica of {named(only)} is in sync" if only else ""


def refuse_another_storage(now: Situation) -> Verdict:
    """Whether disks go with their pods is decided when they are made, once."""
    for entry in now.ledger.entries if now.ledger is not None else ():
        group = now.cluster.spec.group(entry.pool)
        if group is None or entry.directory_id is None or entry.pvc_name is None:
            continue
        if group.storage.ephemeral != is_ephemeral(entry.pvc_name):
            return Verdict(findings=(_refusal(entry, entry.pvc_name),), stop=True)
    return NOTHING


def _refusal(entry: Entry, claim: str) -> Finding:
    has, asked, where = "Persistent", "Ephemeral", f"claim {claim}"
    if is_ephemeral(claim):
        has, asked, where = "Ephemeral", "Persistent", "a disk that goes with its pod"
    message = (
        f"set storage.type of {entry.pool} back to {has}; for disks that are {asked} make another cluster: node "
        f"{entry.node_id} has directory {entry.directory_id} on {where}, and a node keeps the kind of disk that it was "
        "formatted on; nothing was changed"
    )
    return Finding(Topic.SPEC, "StorageTypeFixed", message, f"node {entry.node_id}", stalled=True)


def lost_with_pods(now: Situation) -> str:
    """For whoever looks at the cluster; empty where every disk outlives its pod."""
    groups = [group.name for group in now.cluster.spec.groups if group.storage.ephemeral]
    if not groups:
        return ""
    return (
        f"use Ephemeral storage for tests only: a lost pod of {', '.join(groups)} is a lost disk, and when most "
        "controllers lose theirs at once the cluster is gone"
    )
