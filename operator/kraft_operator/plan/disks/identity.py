"""Learning who a disk is, and writing it where it survives: the ledger first, then the claim.

A directory id enters the ledger from `seal`, or from `inspect` when the disk's marker carries the nonce of our own last
grant (the operator was away between format and seal). From then on the node's disk is this one and no other. A
controller's minimum only grows: a log that ends below what was once seen is an old copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kraft_operator.actions import AnnotateClaim, TellRack
from kraft_operator.api.roles import controls
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.ephemeral import is_ephemeral
from kraft_operator.ledger import Entry, Formation, Ledger, Origin, StepKind, WrittenOff
from kraft_operator.observed import Observed, Pod, Quorum, QuorumState
from kraft_operator.plan.situation import NOTHING, Progress, Situation, Verdict
from storage_guard.formats import DiskVerdict as Disk
from storage_guard.formats import GrantMode, Report

ENDPOINT: Final = "endpoint"
"""The annotation on a controller's claim, below our prefix: by which endpoint its voter is known."""


def voter_endpoint(cluster: KRaftCluster, node_id: int) -> str:
    return f"{cluster.voter_host(node_id)}:{cluster.spec.voter_listener.port}"


def learn_identities(now: Situation) -> Verdict:
    if now.ledger is None:
        return NOTHING
    ledger = now.ledger
    for pod in now.observed.pods:
        entry = ledger.entry(pod.node_id)
        if entry is None:
            continue
        if entry.grant is not None and entry.grant.pod_uid == pod.uid and pod.gate_passed:
            entry = replace(entry, grant_used=True)
        learned = _with_progress(
            _with_rack(_learned(entry, pod, ledger, now.observed), now.observed.racks), pod, now.progress
        )
        learned = replace(learned, host=now.observed.hosts.get(pod.node_id, learned.host))
        ledger = ledger if learned == ledger.entry(pod.node_id) else ledger.with_entry(learned)
        ledger = _without_a_place_never_taken(ledger, learned)
    known = {each.node_id for each in ledger.entries if each.directory_id is not None}
    return Verdict(ledger=replace(ledger, doubted=tuple(each for each in ledger.doubted if each not in known)))


def annotate_claims(now: Situation) -> Verdict:
    """Only the claim whose UID the ledger recorded, and only after the ledger knows."""
    if now.ledger is None:
        return NOTHING
    actions = []
    for entry in now.ledger.entries:
        claim = now.observed.claim(entry.pvc_name) if entry.pvc_name else None
        if claim is None or claim.uid != entry.pvc_uid or entry.directory_id is None or is_ephemeral(claim.name):
            continue
        wanted = {
            "cluster-id": now.ledger.cluster_id,
            "node-id": str(entry.node_id),
            "directory-id": entry.directory_id,
            "pvc-uid": claim.uid,
        } | ({"nonce": entry.nonce} if entry.nonce else {})
        if controls(entry):
            wanted[ENDPOINT] = voter_endpoint(now.cluster, entry.node_id)
        wanted |= {"generation": str(now.ledger.generation)} if now.ledger.generation > 1 else {}
        if any(claim.identity.get(key) != value for key, value in wanted.items()):
            reason = f"node {entry.node_id} keeps directory {entry.directory_id} on it"
            actions.append(AnnotateClaim(claim.name, claim.uid, wanted, reason))
    return Verdict(actions=tuple(actions))


def note_the_formed_quorum(now: Situation) -> Verdict:
    """Once a leader was seen the first quorum exists, and `--initial-controllers` is never used again."""
    if now.ledger is None or now.ledger.formation is not Formation.STARTED:
        return NOTHING
    if now.observed.quorum.state is not QuorumState.AVAILABLE:
        return NOTHING
    return Verdict(ledger=replace(now.ledger, formation=Formation.FORMED, unproven_claims=()))


def settle_the_journal(now: Situation) -> Verdict:
    """Strike out grants that arrived, or whose pod is gone and took them along; and every step about voters and pods:
    whether it happened is seen in the quorum and the pods, and a rule that still wants it writes it down again."""
    if now.ledger is None:
        return NOTHING
    alive = {pod.uid: pod for pod in now.observed.pods}
    done = []
    for step in now.ledger.journal:
        match step.kind:
            case StepKind.GRANT:
                pod_uid, nonce = step.preconditions[0], step.preconditions[-1]
                pod = alive.get(pod_uid)
                if pod is None or nonce in pod.nonces:
                    done.append(step)
            case StepKind.REMOVE_VOTER | StepKind.ADD_VOTER | StepKind.DISCARD_CLAIM | StepKind.RESTART:
                done.append(step)
            case StepKind.FINALIZE | StepKind.MOVE_REPLICAS | StepKind.UPDATE_VOTER:
                done.append(step)
            case StepKind.CORDON | StepKind.UNCORDON:
                done.append(step)
            case StepKind.UNREGISTER:
                pass
    return Verdict(ledger=now.ledger.without_steps(done)) if done else NOTHING


def tell_racks(now: Situation) -> Verdict:
    actions = tuple(
        TellRack(pod.name, pod.uid, now.observed.racks[pod.node_id], f"it runs on {pod.node}")
        for pod in now.observed.pods
        if pod.node_id in now.observed.racks and pod.rack is None and not pod.terminating
    )
    return Verdict(actions=actions)


def _learned(entry: Entry, pod: Pod, ledger: Ledger, observed: Observed) -> Entry:
    report, quorum = pod.seal or pod.inspect, observed.quorum
    if report is None or report.verdict is not Disk.FORMATTED or report.directory_id is None:
        return entry
    if report.cluster_id != ledger.cluster_id or report.disk_node_id != entry.node_id:
        return entry
    if entry.directory_id == report.directory_id:
        return _with_minimum(_with_volume(entry, observed), report, quorum)
    if entry.directory_id is None and _granted_before(entry, pod, report, ledger):
        claim = observed.claim(pod.claim)
        found = replace(
            entry, directory_id=report.directory_id, nonce=report.nonce, pvc_name=pod.claim,
            pvc_uid=claim.uid if claim else None, pv_name=claim.volume if claim else None,
        )  # fmt: skip
        return _with_minimum(found, report, quorum)
    if entry.directory_id is not None or not _ours(entry, report):
        return entry
    assert entry.grant is not None
    # Adopting marks nothing: a disk that another operator formatted has no nonce, and never will.
    nonce = report.nonce or (None if entry.grant.mode is GrantMode.ADOPT else entry.grant.nonce)
    known = replace(
        entry, directory_id=report.directory_id, nonce=nonce, pvc_name=pod.claim,
        pvc_uid=entry.grant.pvc_uid, pv_name=entry.grant.pv_name,
    )  # fmt: skip
    return _with_minimum(known, report, quorum)


def _with_volume(entry: Entry, observed: Observed) -> Entry:
    """A ledger that was made again while the claim waited for its volume learns of it now."""
    claim = observed.claim(entry.pvc_name) if entry.pv_name is None and entry.pvc_name else None
    if claim is None or claim.uid != entry.pvc_uid or not claim.volume:
        return entry
    return replace(entry, pv_name=claim.volume)


def _without_a_place_never_taken(ledger: Ledger, entry: Entry) -> Ledger:
    """The first quorum has a voter for this node whose directory never came to be: the node was formatted after the
    quorum was formed without it, under another id. That place is given up like a lost disk."""
    chosen = entry.chosen_directory_id
    if chosen is None or entry.directory_id in (None, chosen) or ledger.formation is not Formation.FORMED:
        return ledger
    return replace(
        ledger.with_entry(replace(entry, chosen_directory_id=None, replaces=chosen)),
        written_off=(*ledger.written_off, WrittenOff(entry.node_id, chosen)),
    )


def _granted_before(entry: Entry, pod: Pod, report: Report, ledger: Ledger) -> bool:
    """The grant that this pod carries was written into a ledger that is lost. It formatted this disk, and the marker
    says so.
    """
    if ledger.origin is not Origin.REBUILT or entry.grant is not None or pod.seal is None:
        return False
    sealed = pod.grant_nonce is not None and report.nonce == pod.grant_nonce
    return sealed and not ledger.is_written_off(entry.node_id, report.directory_id)


def _ours(entry: Entry, report: Report) -> bool:
    """The disk came out of our last grant: by the marker's nonce, or because the adopted directory is the
    one we named.
    """
    if entry.grant is None:
        return False
    return report.nonce == entry.grant.nonce or report.directory_id == entry.grant.directory_id


def _with_minimum(entry: Entry, report: Report, quorum: Quorum) -> Entry:
    """No further than the high watermark: what is not committed may be truncated, and is missed by nobody."""
    if not controls(entry) or quorum.state is not QuorumState.AVAILABLE:
        return entry
    reached = (report.last_epoch or 0, min(report.log_end_offset or 0, max(quorum.high_watermark, 0)))
    if reached <= (entry.min_epoch, entry.min_offset):
        return entry
    return replace(entry, min_epoch=reached[0], min_offset=reached[1])


def _with_progress(entry: Entry, pod: Pod, progress: Progress) -> Entry:
    """What the leader knew of a controller's log is written down when the pod goes: its next start must not be behind
    it.
    """
    if not pod.terminating and pod.main_started:
        return entry
    reached = progress.get((entry.node_id, entry.directory_id or ""))
    if not controls(entry) or reached is None or reached <= (entry.min_epoch, entry.min_offset):
        return entry
    return replace(entry, min_epoch=reached[0], min_offset=reached[1])


def _with_rack(entry: Entry, racks: Mapping[int, str]) -> Entry:
    rack = racks.get(entry.node_id)
    return entry if rack is None or rack == entry.rack else replace(entry, rack=rack)
