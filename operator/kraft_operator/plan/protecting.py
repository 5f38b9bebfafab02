"""ProtectClaims: the volumes of a cluster outlive their claims, and a claim that is being deleted is made anew on the
same disk.

First every volume is retained, which restarts nothing. Then one node at a time, in the order and behind the gates of a
restart: it is written into the ledger, its pod is let go (its set is held), the claim goes, a new one is made that can
be bound to this volume only, the ledger learns its UID, and the pod starts on its disk. The node stays the operation's
until its pod is ready, so the next one waits for it. Before the node is held its volumes were read and said Retain;
where that cannot be read nothing is let go. Claims of a broker's further volumes go with the same pod; `further` makes
them anew.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.actions import MakeClaim, RetainVolume
from kraft_operator.api import names
from kraft_operator.api.roles import controls
from kraft_operator.ephemeral import is_ephemeral
from kraft_operator.ledger import Entry, Ledger
from kraft_operator.manifests.nodes import claim_labels
from kraft_operator.observed import Claim, Pod
from kraft_operator.operations.operation import Operation, OperationType, Phase
from kraft_operator.operations.operation_report import OperationReport, StepReport, StepState
from kraft_operator.plan.rollout.rolling import restart_gate, restart_order
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called


def protect_claims(now: Situation) -> Verdict:
    ledger = now.ledger
    running = ledger.operation if ledger is not None else None
    if ledger is None or running is None or running.type != OperationType.PROTECT_CLAIMS.value:
        return NOTHING
    retain = tuple(_retain(each) for each in _unsafe(now, ledger))
    if running.node_id is not None:
        found = _make_anew(now, ledger, running.node_id)
        return replace(found, actions=(*retain, *found.actions))
    if retain or now.stepped:
        return Verdict(actions=retain)
    chosen = _next(now, ledger)
    if chosen is None or not restart_gate(now, chosen).open:
        return NOTHING
    return Verdict(ledger=replace(ledger, operation=replace(running, node_id=chosen.node_id)))


def report(asked: Operation, now: Situation) -> OperationReport:
    ledger = now.ledger
    assert ledger is not None
    node, left, unsafe = ledger.node_made_anew, _leaving(now, ledger), _unsafe(now, ledger)
    safe = len(ledger.every_entry) - len(unsafe)
    steps = [StepReport("Retain", StepState.RUNNING if unsafe else StepState.DONE, "every volume outlives its claim")]
    steps += [
        StepReport(f"MakeAnew {claim.name}", StepState.RUNNING if pod.node_id == node else StepState.WAITING)
        for pod in left
        for claim in _going(now, ledger, pod)
    ]
    if not (unsafe or left or node is not None):
        proof = f"{safe} volumes say Retain, and no claim of a known disk is being deleted"
        return OperationReport(
            asked,
            Phase.SUCCEEDED,
            "ClaimsProtected",
            message="the data outlives its claims",
            steps=tuple(steps),
            proof=proof,
        )
    if unsafe:
        text = f"the reclaim policy of {called('volume', sorted(each.volume for each in unsafe))} becomes Retain"
    elif node is not None:
        text = f"node {node}: {_doing(now, ledger, node)}"
    else:
        pod = min(left, key=lambda each: restart_order(each, now.observed.quorum.leader_id))
        text = f"{pod.name} is let go once it may be: {restart_gate(now, pod).text}"
    return OperationReport(asked, Phase.RUNNING, "ProtectingClaims", text, tuple(steps))


def _unsafe(now: Situation, ledger: Ledger) -> list[Claim]:
    """Claims of known disks whose volume was not seen to say Retain."""
    known = {each.pvc_uid for each in ledger.every_entry if each.directory_id is not None}
    found = (each for each in _every_claim(now) if each.uid in known and each.volume)
    return [each for each in found if each.volume not in now.observed.retained and not is_ephemeral(each.name)]


def _retain(claim: Claim) -> RetainVolume:
    return RetainVolume(claim.volume, claim.name, claim.uid, "its data has to outlive the claim")


def _leaving(now: Situation, ledger: Ledger) -> list[Pod]:
    """Pods that keep a claim of a known disk that is being deleted."""
    return [pod for pod in now.observed.pods if _going(now, ledger, pod)]


def _going(now: Situation, ledger: Ledger, pod: Pod) -> list[Claim]:
    """Of this pod's claims those that are being deleted and hold a known disk."""
    entries = (each for each in ledger.every_entry if each.node_id == pod.node_id)
    known = {each.pvc_uid for each in entries if each.directory_id is not None}
    used = {pod.claim, *pod.volumes.values()}
    return [each for each in _every_claim(now) if each.terminating and each.name in used and each.uid in known]


def _every_claim(now: Situation) -> tuple[Claim, ...]:
    return (*now.observed.claims, *now.observed.further_claims)


def _next(now: Situation, ledger: Ledger) -> Pod | None:
    """As a roll goes: controllers first, the leader last of them, then brokers."""
    able = [pod for pod in _leaving(now, ledger) if not pod.terminating]
    return min(able, key=lambda pod: restart_order(pod, now.observed.quorum.leader_id), default=None)


def _make_anew(now: Situation, ledger: Ledger, node_id: int) -> Verdict:
    """One look further on the way of this node."""
    entry = ledger.entry(node_id)
    claim = now.observed.claim(entry.pvc_name) if entry is not None and entry.pvc_name else None
    if entry is None or entry.pv_name is None:
        return Verdict(ledger=_left(ledger))
    if claim is not None and claim.uid != entry.pvc_uid and claim.volume == entry.pv_name:
        return Verdict(ledger=ledger.with_entry(replace(entry, pvc_uid=claim.uid)))
    if claim is not None and claim.uid == entry.pvc_uid and not claim.terminating:
        if _lacks_further(now, ledger, node_id):
            return _held(now, node_id)
        pod = now.observed.pod(node_id)
        return Verdict(ledger=_left(ledger)) if pod is not None and pod.ready else NOTHING
    if claim is not None and claim.volume not in ("", entry.pv_name):
        message = (
            f"delete claim {claim.name}, which somebody has made: it is bound to volume {claim.volume}, and the disk "
            f"of node {node_id} is on volume {entry.pv_name}"
        )
        return _held(now, node_id, Finding(Topic.STORAGE, "ClaimTerminating", message, claim.name, stalled=True))
    if claim is not None:
        return _held(now, node_id)
    if entry.pv_name not in now.observed.volumes or now.observed.pod(node_id) is not None:
        return _held(now, node_id)
    return replace(_held(now, node_id), actions=(_make(now, entry),))


def _lacks_further(now: Situation, ledger: Ledger, node_id: int) -> bool:
    """Whether a further volume of this node still lacks the claim that it is to have."""
    claims = {each.uid: each for each in now.observed.further_claims if not each.terminating}
    known = (each for _, each in ledger.volumes if each.node_id == node_id and each.directory_id is not None)
    return any(each.pvc_uid not in claims for each in known)


def _make(now: Situation, entry: Entry) -> MakeClaim:
    group = now.cluster.spec.controllers if controls(entry) else now.cluster.spec.group(entry.pool)
    assert group is not None
    assert entry.pv_name is not None
    name = names.claim_name(now.cluster.name, entry.pool, entry.node_id)
    labels = claim_labels(now.cluster, group, entry.node_id)
    reason = f"node {entry.node_id} keeps directory {entry.directory_id} on {entry.pv_name}"
    return MakeClaim(name, entry.pvc_uid or "", entry.pv_name, labels, reason)


def _held(now: Situation, node_id: int, *findings: Finding) -> Verdict:
    """Without a pod; a volume that was not seen to be retained keeps its pod."""
    claim = next((each for each in now.observed.claims if each.node_id == node_id), None)
    known = _unsafe(now, now.ledger) if now.ledger is not None else []
    unsafe = any(each.node_id == node_id for each in known)
    if unsafe or (claim is not None and claim.volume and claim.volume not in now.observed.retained):
        return Verdict(findings=findings)
    nodes = tuple(replace(node, held=True) if node.node_id == node_id else node for node in now.nodes)
    return Verdict(nodes=nodes, findings=findings)


def _left(ledger: Ledger) -> Ledger:
    assert ledger.operation is not None
    return replace(ledger, operation=replace(ledger.operation, node_id=None))


def _doing(now: Situation, ledger: Ledger, node_id: int) -> str:
    pod, entry = now.observed.pod(node_id), ledger.entry(node_id)
    if pod is not None and _going(now, ledger, pod):
        return "its pod is let go, and the claim with it"
    claim = now.observed.claim(entry.pvc_name) if entry is not None and entry.pvc_name else None
    if claim is None or _lacks_further(now, ledger, node_id):
        return "its claim is made anew"
    if claim.terminating:
        return "its pod is let go, and the claim with it"
    return "its pod starts on the same disk"
