"""Claims that somebody deletes while a pod still uses them.

Kubernetes keeps such a claim only as long as the pod is there, and a deletion cannot be taken back: whoever removes the
pod removes the disk. So its pod is guarded: it is not restarted, held or deleted, and no eviction takes it, until the
volume is safe or the resource names the claim, as it is now (name and UID), as given up. Rules that would disturb the
pod look at `Situation.guarded`; `keep_guarded` has the last word before the children are applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.spec import VolumePolicy
from kraft_operator.ledger import Ledger
from kraft_operator.manifests.context import NodePlan
from kraft_operator.observed import Claim
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from storage_guard.formats import DiskVerdict as Disk

SHOWN: Final = 5
"""Volumes that are named; the others are counted."""


def guard_claims(now: Situation) -> Verdict:
    """Tell of claims that are going, and guard the pods that keep them."""
    if now.ledger is None:
        return NOTHING
    going = list(_going(now, now.ledger))
    if not going:
        return NOTHING
    safe = [each for each in going if _is_made_anew(now, now.ledger, each)]
    kept = [each for each in going if each not in safe and token(each) not in now.cluster.given_up_claims]
    let_go = [each for each in going if each not in kept and each not in safe]
    findings = [Finding(Topic.STORAGE, "ClaimTerminating", _kept(now, kept), "claims", stalled=True)] if kept else []
    findings += [Finding(Topic.STORAGE, "ClaimTerminating", _let_go(let_go), "claims")] if let_go else []
    findings += [Finding(Topic.STORAGE, "ClaimTerminating", _anew(safe), "claims")] if safe else []
    return Verdict(findings=tuple(findings), guarded=frozenset(each.node_id for each in kept))


def keep_guarded(now: Situation) -> Verdict:
    """No rule takes the pod of a guarded node away: it is not held, and its StatefulSet stays."""
    if not now.guarded:
        return NOTHING
    nodes = [replace(node, held=False) if node.node_id in now.guarded else node for node in now.nodes]
    planned, groups = {node.node_id for node in nodes}, {group.name for group in now.cluster.spec.groups}
    nodes += [
        NodePlan(each.node_id, each.pool)
        for each in now.observed.sets
        if each.node_id in now.guarded - planned and each.pool in groups
    ]
    return Verdict(nodes=tuple(nodes))


def guarded_groups(now: Situation) -> frozenset[str]:
    """Groups of which no pod may be evicted: an eviction does not say which pod it takes."""
    return frozenset(pod.pool for pod in now.observed.pods if pod.node_id in now.guarded)


def token(claim: Claim) -> str:
    """How an approval names a claim: another one under the same name is not meant."""
    return f"{claim.name}:{claim.uid}"


def _going(now: Situation, ledger: Ledger) -> Iterator[Claim]:
    """Claims that are being deleted, hold a disk that the ledger knows or has granted, and are kept by a pod."""
    for pod in now.observed.pods:
        claim, entry = now.observed.claim(pod.claim), ledger.entry(pod.node_id)
        if claim is None or entry is None or not claim.terminating or pod.terminating:
            continue
        if pod.gate_waits and pod.inspect is not None and pod.inspect.verdict is Disk.EMPTY:
            continue  # the guard has looked: there is nothing to keep
        known = entry.directory_id is not None and entry.pvc_uid == claim.uid
        granted = entry.grant is not None and entry.grant.pvc_uid == claim.uid
        if known or granted:
            yield claim


def _is_made_anew(now: Situation, ledger: Ledger, claim: Claim) -> bool:
    """A ProtectClaims has come to this node, and the volume outlives the claim."""
    return ledger.node_made_anew == claim.node_id and claim.volume in now.observed.retained


def _anew(claims: list[Claim]) -> str:
    return (
        f"{_named(claims)} being deleted and created again on the same volume, which "
        "is retained: ProtectClaims is under way"
    )


def _kept(now: Situation, claims: list[Claim]) -> str:
    what = _named(claims)
    tokens = ",".join(map(token, claims))
    cluster = f"{now.cluster.name} -n {now.cluster.namespace}"
    return (
        f"make the data outlive the claim: kubectl kraft protect {cluster}, or give it up: kubectl annotate krc "
        f"{cluster} --overwrite {names.ANNOTATION_GIVE_UP}={tokens}. {what[0].upper() + what[1:]} being "
        f"deleted, and only the running {'pod keeps its' if len(claims) == 1 else 'pods keep their'} data: no "
        "such pod is restarted, stopped or deleted"
    )


def at_risk(now: Situation) -> str:
    """Volumes that go with their claims, in one sentence; empty when there are none, or when their owner
    wants it so.
    """
    if now.ledger is None or now.cluster.spec.volume_policy is VolumePolicy.DELETE:
        return ""
    entries = now.ledger.every_entry
    known = {each.pv_name for each in entries if each.directory_id is not None and each.pv_name is not None}
    volumes = sorted(known & now.observed.reclaimed)
    if not volumes:
        return ""
    shown = ", ".join(volumes[:SHOWN]) + (f" and {len(volumes) - SHOWN} more" if len(volumes) > SHOWN else "")
    return (
        f"keep the data of deleted claims: kubectl kraft protect {now.cluster.name} -n {now.cluster.namespace}. The "
        f"reclaim policy of {shown} is Delete, so the data goes with the claim or the namespace"
    )


def _let_go(claims: list[Claim]) -> str:
    return (
        f"{_named(claims)} being deleted and given up by {names.ANNOTATION_GIVE_UP}: the "
        "data goes with the next restart of the pod"
    )


def _named(claims: list[Claim]) -> str:
    named = ", ".join(f"{each.name} of node {each.node_id}" for each in claims)
    return f"claim {named} is" if len(claims) == 1 else f"claims {named} are"
