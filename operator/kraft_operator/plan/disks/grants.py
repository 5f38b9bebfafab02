"""Who may format (or start) which disk.

A grant names one pod, the claim and volume it was seen with, and the state its disk was found in; it is written into
the ledger before the pod hears of it. The first quorum gets directory ids that the operator chose, all in one string,
once: a node of it is granted again only on the very volume of its first grant, because the same directory id on a
second disk would be a voter that forgot its votes. After that every controller is formatted without initial
controllers. A disk the ledger knows is never formatted again; it is refused, and said so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kraft_operator.actions import DeliverGrant, NudgePod, RestartPod
from kraft_operator.api import names
from kraft_operator.api.roles import controls
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.ledger import MAX_NODES, Entry, Formation, JournaledStep, Ledger, Origin, StepKind
from kraft_operator.manifests.cluster import initial_controllers
from kraft_operator.observed import Claim, Pod
from kraft_operator.plan.disks.adoption import ADOPTION_CONFLICT
from kraft_operator.plan.disks.claims import token
from kraft_operator.plan.disks.ephemeral import disk_may_go
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import listed
from storage_guard.formats import STATIC_VOTERS, Grant, GrantMode, Report, format_argument
from storage_guard.formats import DiskVerdict as Disk

KNOWN: Final = "Known"
"""`inspect`'s reason for a directory that the ledger mounted in the pod knows."""

REFUSED: Final = {
    Disk.FOREIGN: ("ForeignVolume", "put the right volume back"),
    Disk.REGRESSED: ("RegressedVolume", "restore the newest copy of the volume"),
    Disk.UNREADABLE: ("UnreadableVolume", "repair or restore the volume"),
}
"""Reason and remedy."""
MAX_NUDGES: Final = 20


@dataclass(frozen=True, slots=True)
class _Asking:
    """A pod whose gate waits, with all that a grant must name."""

    pod: Pod
    claim: Claim
    report: Report


def start_formation(now: Situation) -> Verdict:
    """Fix the first quorum's voters, once every disk that could hold an older one was seen to be empty."""
    ledger = now.ledger
    if ledger is None or ledger.formation is not Formation.NOT_STARTED:
        return NOTHING
    conflict = _holding_data(now)
    if conflict:
        return Verdict(findings=conflict)
    wanted = now.cluster.spec.controllers.node_ids
    asking = {each.pod.node_id for each in _asking(now) if _blank(each.report)}
    unproven = _unproven(now, ledger)
    if not asking >= set(wanted) or unproven:
        return Verdict(findings=unproven)
    for node_id in wanted:
        group = now.cluster.spec.controllers
        entry = ledger.entry(node_id) or Entry(node_id, group.roles.label, group.name)
        ledger = ledger.with_entry(replace(entry, chosen_directory_id=now.draw()))
    return Verdict(ledger=replace(ledger, formation=Formation.STARTED, initial_controllers=wanted))


def grant_disks(now: Situation) -> Verdict:
    ledger = now.ledger
    if ledger is None or ledger.formation is Formation.NOT_STARTED:
        return NOTHING
    actions, findings = [], []
    planned = {node.node_id: node for node in now.nodes}
    for asking in _asking(now):
        if asking.pod.node_id not in planned:
            continue
        if asking.pod.node_id in now.replacing and _has_directory(ledger, asking.pod.node_id):
            continue  # the rule about losses speaks for it
        entry = ledger.entry(asking.pod.node_id) or Entry(asking.pod.node_id, asking.pod.role, asking.pod.pool)
        answer = _no_room(entry, asking, ledger) or _answer(entry, asking, ledger, now)
        if not isinstance(answer, Grant):
            findings += [answer] if answer else []
            continue
        if planned[entry.node_id].held:
            continue  # its pod shuts down
        step = JournaledStep(
            StepKind.GRANT, entry.node_id, now.fence.holder, now.fence.transitions,
            (answer.pod_uid, answer.pvc_uid, answer.nonce),
        )  # fmt: skip
        ledger = ledger.with_entry(replace(entry, grant=answer, grant_used=False)).with_step(step)
        argument = _argument(answer, now.cluster, ledger) if controls(entry) else None
        reason = f"its disk is {answer.seen.verdict.value}, the grant is {answer.mode.value}"
        actions.append(
            DeliverGrant(asking.pod.name, asking.claim.name, answer, format_argument=argument, step=step, reason=reason)
        )
    return Verdict(ledger=ledger, actions=tuple(actions), findings=tuple(findings))


def _no_room(entry: Entry, asking: _Asking, ledger: Ledger) -> Finding | None:
    """A ledger with more nodes could not be read again."""
    whole = ledger.kept_whole
    if len(whole) < MAX_NODES or any(each.node_id == entry.node_id for each in whole):
        return None
    message = (
        f"delete the volume claims of removed brokers that are not needed any more: the ledger has room for "
        f"{MAX_NODES} nodes that have a volume, and node {entry.node_id} would be one more"
    )
    return Finding(Topic.STORAGE, "LedgerFull", message, asking.pod.name, stalled=True)


def nudge_gates(now: Situation) -> Verdict:
    return Verdict(
        actions=tuple(
            NudgePod(pod.name, pod.uid, pod.nudges + 1, "its gate has not seen yet what was written on the pod")
            for pod in now.observed.pods
            if _is_stuck(now, pod) and pod.nudges < MAX_NUDGES
        )
    )


def restart_stuck_gates(now: Situation) -> Verdict:
    """A gate that was nudged in vain: its volume is not what `inspect` saw any more. A new pod looks again."""
    if now.ledger is None or now.stepped:
        return NOTHING
    for pod in now.observed.pods:
        if pod.node_id in now.guarded or disk_may_go(now, pod) is not None:
            continue
        if _is_stuck(now, pod) and pod.nudges >= MAX_NUDGES:
            step = JournaledStep(StepKind.RESTART, pod.node_id, now.fence.holder, now.fence.transitions, (pod.uid,))
            reason = "its gate did not open for its grant: the volume has changed since it was inspected"
            return Verdict(ledger=now.ledger.with_step(step), actions=(RestartPod(pod.name, pod.uid, step, reason),))
    return NOTHING


def _is_stuck(now: Situation, pod: Pod) -> bool:
    """Its gate has all that it waits for, and has not opened. One that waits for an approval is left alone."""
    return pod.uid in now.overdue and pod.gate_waits and not pod.terminating and _has_its_grants(pod)


def _has_its_grants(pod: Pod) -> bool:
    if pod.inspect is None:
        return True
    places = [(pod.inspect, pod.grant_nonce)]
    places += [(report, pod.grants.get(volume)) for volume, report in pod.inspect.volumes.items()]
    return all(report.reason == KNOWN or nonce is not None for report, nonce in places)


def _asking(now: Situation) -> tuple[_Asking, ...]:
    """Pods that wait at the gate without a grant of theirs, on a claim that is bound and here to stay."""
    found = []
    for pod in now.observed.pods:
        claim = now.observed.claim(pod.claim)
        if not pod.gate_waits or pod.terminating or pod.inspect is None or pod.inspect.pod_uid != pod.uid:
            continue
        if claim is None or claim.terminating or not claim.volume:
            continue
        found.append(_Asking(pod, claim, pod.inspect))
    return tuple(found)


def _answer(entry: Entry, asking: _Asking, ledger: Ledger, now: Situation) -> Grant | Finding | None:
    last = entry.grant
    if last is not None and (last.pod_uid, last.pvc_uid, last.seen) == (
        asking.pod.uid, asking.claim.uid, asking.report.seen(),
    ):  # fmt: skip
        if asking.pod.grant_nonce != last.nonce:
            return last  # journaled by us, or by a holder before us
        if entry.directory_id is None or last.mode is GrantMode.ADOPT:
            return None  # it is on its way
    mode = _mode(entry, asking, ledger, now)
    if not isinstance(mode, GrantMode):
        return mode
    chosen = {
        GrantMode.INITIAL_CONTROLLERS: entry.chosen_directory_id,
        GrantMode.ADOPT: asking.report.directory_id,
    }.get(mode)
    return Grant(
        asking.pod.uid, asking.claim.uid, pv_name=asking.claim.volume, node_id=entry.node_id,
        cluster_id=ledger.cluster_id, mode=mode, nonce=now.draw(), seen=asking.report.seen(), directory_id=chosen,
        replaces=entry.replaces if mode in (GrantMode.NO_INITIAL_CONTROLLERS, GrantMode.BROKER) else None,
    )  # fmt: skip


def _mode(entry: Entry, asking: _Asking, ledger: Ledger, now: Situation) -> GrantMode | Finding | None:
    match asking.report.verdict:
        case Disk.EMPTY | Disk.UNFINISHED:
            return _format_mode(entry, asking, ledger, now.cluster)
        case Disk.FORMATTED:
            return _adopt_mode(entry, asking, ledger)
        case Disk.FOREIGN | Disk.REGRESSED | Disk.UNREADABLE:
            return _refusal(asking, ledger, now)


def _format_mode(entry: Entry, asking: _Asking, ledger: Ledger, cluster: KRaftCluster) -> GrantMode | Finding:
    if entry.directory_id is not None:
        return _finding(
            asking, "FormatRefused",
            f"put the volume of node {entry.node_id} back. Its disk is {asking.report.verdict.value}, and directory "
            f"{entry.directory_id} was on claim {entry.pvc_name} (UID {entry.pvc_uid}); nothing is formatted",
        )  # fmt: skip
    emptied = asking.report.verdict is Disk.EMPTY and asking.report.nonce is not None
    if emptied and not _was_written_off(entry, asking, ledger):
        return _finding(
            asking, "FormatRefused",
            f"put the data of node {entry.node_id} back. Its disk is empty, but the marker says that a node ran on it "
            f"({asking.report.message}); nothing is formatted",
        )  # fmt: skip
    if (doubt := _doubt(entry, asking, ledger, cluster)) is not None:
        return doubt
    if not controls(entry):
        return GrantMode.BROKER
    if ledger.formation is Formation.FORMED or entry.node_id not in ledger.initial_controllers:
        return GrantMode.NO_INITIAL_CONTROLLERS
    return GrantMode.INITIAL_CONTROLLERS if _same_disk(entry, asking) else _finding(
        asking, "FormatRefused",
        f"nothing to do: node {entry.node_id} is formatted once the others have formed the quorum. Its place in the "
        f"first quorum was granted on another disk (claim UID {entry.grant.pvc_uid if entry.grant else '-'}, now "
        f"{asking.claim.uid}, {asking.report.verdict.value}), and a directory id cannot move", False,
    )  # fmt: skip


def _doubt(entry: Entry, asking: _Asking, ledger: Ledger, cluster: KRaftCluster) -> Finding | None:
    """The ledger was rebuilt and cannot know whether this node had another disk. A format that was begun was permitted
    before.
    """
    if entry.node_id not in ledger.doubted or asking.report.verdict is not Disk.EMPTY:
        return None
    if token(asking.claim) in cluster.approved_formats:
        return None
    return _finding(
        asking, "FormatNeedsApproval",
        f"put back the volume that node {entry.node_id} had, or approve that this empty one is formatted: kubectl "
        f"annotate krc {cluster.name} -n {cluster.namespace} --overwrite "
        f"{names.ANNOTATION_FORMAT}={token(asking.claim)}; the ledger was rebuilt and cannot know what the node had",
    )  # fmt: skip


def _has_directory(ledger: Ledger, node_id: int) -> bool:
    """Its old directory is still the one the ledger knows: it has to be no voter before anything may be formatted."""
    entry = ledger.entry(node_id)
    return entry is not None and entry.directory_id is not None


def _was_written_off(entry: Entry, asking: _Asking, ledger: Ledger) -> bool:
    """The marker is of a directory that is known to be lost and was replaced."""
    return any(
        (gone.node_id, gone.nonce) == (entry.node_id, asking.report.nonce) for gone in ledger.written_off if gone.nonce
    )


def _same_disk(entry: Entry, asking: _Asking) -> bool:
    """No grant before this one, or one that provably led to no node: an unfinished format, or a gate never
    seen open.
    """
    before = entry.grant
    if before is None:
        return True
    if (before.pvc_uid, before.pv_name) != (asking.claim.uid, asking.claim.volume):
        return False
    if asking.report.verdict is Disk.UNFINISHED:
        return asking.report.nonce == before.nonce
    return not entry.grant_used


def _adopt_mode(entry: Entry, asking: _Asking, ledger: Ledger) -> GrantMode | Finding | None:
    """A whole disk of this cluster and node. If the mounted ledger knows it, the gate opens without us."""
    if ledger.is_written_off(entry.node_id, asking.report.directory_id):
        return _finding(
            asking, "WrittenOffVolume",
            f"delete claim {asking.claim.name} to give node {entry.node_id} an empty volume. Its disk holds "
            f"directory {asking.report.directory_id}, which was lost and replaced, and is refused for ever",
            stalled=entry.directory_id is not None,
        )  # fmt: skip
    if asking.report.reason == KNOWN:
        return None
    if entry.directory_id == asking.report.directory_id:
        return _old_copy(entry, asking) or GrantMode.ADOPT
    if entry.directory_id is None and ledger.origin is Origin.REBUILT:
        return GrantMode.ADOPT
    return _finding(
        asking, "ForeignVolume",
        f"put the right volume of node {entry.node_id} back. Its disk holds directory {asking.report.directory_id}, "
        f"which this operator never granted (the ledger has {entry.directory_id or 'none'}); it is not started",
    )  # fmt: skip


def _old_copy(entry: Entry, asking: _Asking) -> Finding | None:
    """The guard compares too, but only with the ledger that is mounted in the pod, which may lag behind ours."""
    report = asking.report
    reached = (report.last_epoch or 0, report.log_end_offset or 0)
    if reached >= (entry.min_epoch, entry.min_offset) and report.nonce in (None, entry.nonce):
        return None
    return _finding(
        asking, "RegressedVolume",
        f"restore the newest copy of the volume of node {entry.node_id}. Its disk is an old copy of directory "
        f"{entry.directory_id}: the log ends at offset {reached[1]} of epoch {reached[0]} and had reached "
        f"{entry.min_offset} of epoch {entry.min_epoch}",
    )  # fmt: skip


def _refusal(asking: _Asking, ledger: Ledger, now: Situation) -> Finding:
    other = _swapped_with(asking, ledger, now)
    if other is not None:
        one, two = sorted((asking, other), key=lambda each: each.pod.node_id)
        claims, (here, there) = listed((one.claim.name, two.claim.name)), (one.pod.node_id, two.pod.node_id)
        message = (
            f"swap the volumes of claims {claims} back: node {here} has the disk of node {there}, "
            f"and node {there} that of node {here}"
        )
        return Finding(Topic.STORAGE, "ForeignVolume", message, asking.pod.name, stalled=True)
    if asking.report.reason == STATIC_VOTERS:
        remedy = "give the volume back to its old claim, and make the voters dynamic there first"
        return _finding(asking, "StaticVoters", f"{remedy}: {asking.report.message}")
    reason, remedy = REFUSED[asking.report.verdict]
    return _finding(asking, reason, f"{remedy}: {asking.report.message}")


def _swapped_with(asking: _Asking, ledger: Ledger, now: Situation) -> _Asking | None:
    """The node that has the disk of this one, whose disk is here."""
    for other in _asking(now):
        disks = (asking.report.disk_node_id, other.report.disk_node_id)
        clusters = {asking.report.cluster_id, other.report.cluster_id}
        if (
            disks == (other.pod.node_id, asking.pod.node_id)
            and clusters == {ledger.cluster_id}
            and other.pod != asking.pod
        ):
            return other
    return None


def _finding(asking: _Asking, reason: str, message: str, stalled: bool = True) -> Finding:
    return Finding(Topic.STORAGE, reason, f"{asking.pod.name}: {message}", asking.pod.name, stalled)


def _holding_data(now: Situation) -> tuple[Finding, ...]:
    """Disks with data where no quorum was ever formed by this ledger."""
    found = []
    for pod in now.observed.pods:
        if pod.inspect is None or _blank(pod.inspect):
            continue
        message = (
            f"{pod.name}: restore the ledger {now.cluster.name}-ledger or the claim's annotations, or give the cluster "
            f"empty volumes. The ledger is new, but claim {pod.claim} holds data ({pod.inspect.verdict.value}: "
            f"{pod.inspect.message}); nothing was formatted"
        )
        found.append(Finding(Topic.STORAGE, ADOPTION_CONFLICT, message, pod.name, stalled=True))
    return tuple(found)


def _blank(report: Report) -> bool:
    """Empty, and not even a marker tells of a directory that was here."""
    return report.verdict is Disk.EMPTY and report.nonce is None


def _unproven(now: Situation, ledger: Ledger) -> tuple[Finding, ...]:
    """Claims older than the ledger that are still there and were not seen to be empty."""
    looked_at = {pod.claim for pod in now.observed.pods if pod.inspect is not None}
    return tuple(
        Finding(
            Topic.STORAGE,
            "UnprovenVolume",
            f"delete claim {claim.name} if it belongs to no node of this cluster. It is older than the ledger, and no "
            "quorum is formed before its node has looked into it",
            claim.name,
        )
        for claim in now.observed.claims
        if claim.uid in ledger.unproven_claims and claim.name not in looked_at
    )


def _argument(grant: Grant, cluster: KRaftCluster, ledger: Ledger) -> str:
    if grant.mode is not GrantMode.INITIAL_CONTROLLERS:
        return format_argument(grant.mode)
    entries = (ledger.entry(node_id) for node_id in ledger.initial_controllers)
    chosen = {entry.node_id: entry.chosen_directory_id for entry in entries if entry and entry.chosen_directory_id}
    return format_argument(grant.mode, initial_controllers(cluster, chosen))
