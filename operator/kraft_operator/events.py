"""Events in `events.k8s.io/v1`: one per transition, the same one again only counted.

Which events a pass calls for is pure (`notes`); the recorder posts them. They are for people, and lost after an
hour: conditions are the record. A failure to post is counted by the gateway and otherwise ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from kraft_operator.actions import (
    Action,
    AddVoter,
    CordonBroker,
    DeliverGrant,
    DiscardClaim,
    FinalizeFeature,
    MoveReplicas,
    RemoveVoter,
    RestartPod,
    UncordonBroker,
    UnregisterBroker,
    UpdateVoter,
)
from kraft_operator.api.metadata_versions import FEATURE
from kraft_operator.api.roles import controls, serves
from kraft_operator.audit_status import audit_changes
from kraft_operator.credentials import EnterStage
from kraft_operator.kube import EVENT, Conflict, Gateway, KubeError
from kraft_operator.ledger import Formation, Ledger
from kraft_operator.operations.from_archive import OPERATION_TYPE
from kraft_operator.operations.recovery import Stage
from kraft_operator.removals import DropVolume, EmptyDirectory
from kraft_operator.settings import REPORTING_CONTROLLER

MAX_NOTE: Final = 1000
WARNED: Final = (
    "SpecValid",
    "PlanApproved",
    "EndpointsConsistent",
    "FailureDomainsSatisfied",
    "StorageHealthy",
    "MembershipSynced",
    "PodsHealthy",
    "QuorumAvailable",
    "QuorumRedundant",
    "VersionFinalized",
    "RegistrationsClean",
    "ArchiveCurrent",
    "ArchiveCopyCurrent",
    "AuditCurrent",
)
EXPECTED: Final = frozenset(
    {"PlanPendingApproval", "AddingVoter", "RemovingVoter", "RemovingBroker", "WaitingForFormation"}
    | {"DrainingBroker", "Soaking", "Finalizing", "WaitingForRollout", "VersionsUnknown"}
)
"""Reasons of what the operator is doing by itself: a condition, no warning."""
COUNTED: Final = frozenset(
    {"QuorumAvailable", "QuorumRedundant", "MembershipSynced", "VersionFinalized", "RegistrationsClean"}
)
"""Conditions of which each reason is one Event with a count, whatever numbers the message has at the moment."""
COUNTED_TEXT: Final = {
    "VoterDown": "a voter is not live, and no further voter may be lost: kubectl kraft status names it",
    "VoterMissing": "all voters are needed for a majority: no voter may be lost before another one is added",
}
"""Texts of Events that are counted for different culprits."""


@dataclass(frozen=True, slots=True)
class Note:
    type: str
    reason: str
    action: str
    text: str
    about: str = ""
    """What makes it the same Event again, which is only counted; the text when empty."""


def notes(
    old: Mapping[str, Any], new: Mapping[str, Any], before: Ledger | None, after: Ledger | None, done: Sequence[Action]
) -> tuple[Note, ...]:
    """What happened between two statuses and two ledgers, by these actions."""
    recovered = _recovered(before, after, new)
    return (
        *_published(old, new),
        *_learned(before, after),
        *recovered,
        *_acted(done),
        *_warnings(old, new),
        *_audited(old, new),
    )


def _audited(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Note]:
    found, gone = audit_changes(old, new)
    told = [Note("Warning", "AuditFinding", "Audit", text) for text in found]
    return [*told, *(Note("Normal", "AuditFindingResolved", "Audit", text) for text in gone)]


def _published(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Note]:
    was, plan = old.get("plan") or {}, new.get("plan") or {}
    name, steps = plan.get("hash"), plan.get("steps") or ()
    if name is None:
        return []
    found = []
    if name != was.get("hash"):
        first = "; ".join(f"{each['action']} {each['target']}" for each in steps[:5])
        count = len(steps) + len(plan.get("more") or ())
        text = f"plan {name}, {count} step{'' if count == 1 else 's'}: {first}{', ...' if count > 5 else ''}"
        warnings = plan.get("warnings") or ()
        kind = "Warning" if warnings else "Normal"
        found.append(Note(kind, "PlanPublished", "Plan", "; ".join((text, *warnings))))
    if plan.get("approved") == "Yes" and (name, "Yes") != (was.get("hash"), was.get("approved")):
        found.append(Note("Normal", "PlanApproved", "Approve", f"plan {name} was approved"))
    return found


def _learned(before: Ledger | None, after: Ledger | None) -> list[Note]:
    if after is None:
        return []
    found = []
    known = {(entry.node_id, entry.directory_id) for entry in before.entries} if before else set()
    for entry in after.entries:
        if entry.directory_id and (entry.node_id, entry.directory_id) not in known:
            text = f"node {entry.node_id} has directory {entry.directory_id} on claim {entry.pvc_name}"
            found.append(Note("Normal", "StorageFormatted" if before else "StorageAdopted", "Learn", text))
    for gone in after.written_off[len(before.written_off) if before else 0 :]:
        now = after.entry(gone.node_id)
        role = "controller" if now is None else "combined node" if controls(now) and serves(now) else now.role
        text = f"directory {gone.directory_id} of {role} {gone.node_id} is lost; the node gets a new one"
        found.append(Note("Warning", "DiskWrittenOff", "WriteOff", text))
    for lost in after.given_up:
        if before is not None and lost not in before.given_up:
            only = ", ".join(lost.only) + (f" and {lost.more} more" if lost.more else "")
            what = f"without another replica in sync: {only}" if only else "every partition has another replica in sync"
            cause = (
                f"the disk of broker {lost.node_id} is lost"
                if lost.lost
                else f"broker {lost.node_id} is forced out with what it holds (scaleDown.drain: Force)"
            )
            text = f"{cause}: {what}"
            found.append(Note("Warning", "ReplicasGivenUp", "GiveUp", text))
    for bad in after.bad:
        if before is not None and bad not in before.bad:
            reason = "RolloutHalted" if bad.halted else "BadRevisionRolledBack"
            text = f"revision {bad.revision} of {bad.group} did not serve on node {bad.node_id}: {bad.detail}"
            found.append(Note("Warning", reason, "Judge", text))
    if after.formation is Formation.FORMED and before is not None and before.formation is not Formation.FORMED:
        found.append(
            Note("Normal", "QuorumFormed", "Form", f"the first quorum of cluster {after.cluster_id} has a leader")
        )
    return found


def _recovered(before: Ledger | None, after: Ledger | None, new: Mapping[str, Any]) -> list[Note]:
    """A RecoverQuorum comes from stage to stage, and to its end when every controller is a live voter again."""
    was, now = before.recovery if before is not None else None, after.recovery if after is not None else None
    if now is not None and (was is None or was.stage is not now.stage):
        asked = after.operation if after is not None else None
        what = "forming from the archive" if asked and asked.type == OPERATION_TYPE else "recovery of the quorum"
        done = f"{was.stage.value} is done, " if was is not None else ""
        return [Note("Normal", "RecoveryStepCompleted", "Recover", f"{what}: {done}{now.stage.value} begins")]
    live, wanted = (new.get("quorum") or {}).get("live", 0), (new.get("controllers") or {}).get("replicas")
    if was is not None and now is None and was.stage is Stage.REJOIN and live == wanted:
        return [Note("Normal", "QuorumRestored", "Recover", "every controller is a live voter of the new quorum")]
    return []


def _acted(done: Sequence[Action]) -> list[Note]:
    found = []
    for action in done:
        match action:
            case DeliverGrant():
                text = f"{action.pod} may use its disk: {action.reason}"
                found.append(Note("Normal", "StorageGranted", "Grant", text))
            case UnregisterBroker():
                text = f"broker {action.node_id} was unregistered: {action.reason}"
                ghost = action.step.preconditions == ("ghost",)
                reason = "GhostRegistrationRemoved" if ghost else "BrokerUnregistered"
                found.append(Note("Normal", reason, "Unregister", text))
            case FinalizeFeature():
                reason = "MetadataVersionFinalized" if action.feature == FEATURE else "FeatureFinalized"
                found.append(Note("Normal", reason, "Finalize", f"{action.name} is final: {action.reason}"))
            case CordonBroker():
                where = f" in {', '.join(action.directories)}" if action.directories else ""
                text = f"broker {action.node_id} takes no new replicas{where}: {action.reason}"
                found.append(Note("Normal", "BrokerCordoned", "Cordon", text))
            case UncordonBroker():
                text = f"broker {action.node_id} may take replicas again: {action.reason}"
                found.append(Note("Normal", "BrokerUncordoned", "Uncordon", text))
            case MoveReplicas():
                count = len(action.replicas)
                text = (
                    f"{count} partition{' leaves' if count == 1 else 's leave'} broker "
                    f"{action.node_id}, which has to go"
                )
                found.append(Note("Normal", "ReplicasMoved", "Move", text))
            case EmptyDirectory():
                text = f"of broker {action.node_id}: {action.reason}"
                found.append(Note("Normal", "VolumeEmptied", "Empty", text))
            case DropVolume():
                text = f"volume {action.volume} of pool {action.pool} is done without: {action.reason}"
                found.append(Note("Normal", "VolumeDropped", "Drop", text))
            case RemoveVoter():
                text = f"voter {action.node_id} with directory {action.directory_id} was removed: {action.reason}"
                found.append(Note("Normal", "VoterRemoved", "RemoveVoter", text))
            case AddVoter():
                text = f"voter {action.node_id} with directory {action.directory_id} was added: {action.reason}"
                found.append(Note("Normal", "VoterAdded", "AddVoter", text))
            case UpdateVoter():
                text = f"the endpoint of voter {action.node_id} was corrected: {action.reason}"
                found.append(Note("Normal", "EndpointCorrected", "UpdateVoter", text))
            case EnterStage():
                where = f"{'back to ' if action.back else ''}{action.stage}"
                text = f"on the way to a secure cluster {where} begins: {action.reason}"
                found.append(Note("Normal", "StageEntered", "EnterStage", text))
            case DiscardClaim():
                text = f"claim {action.claim} was discarded: {action.reason}"
                found.append(Note("Normal", "VolumeDiscarded", "Discard", text))
            case RestartPod():
                found.append(Note("Normal", "RestartStarted", "Restart", f"{action.pod}: {action.reason}"))
            case _:
                pass
    return found


def _warnings(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Note]:
    """One for each condition that turned bad, or is bad for another reason; of those that name their culprit also for
    another culprit.
    """
    before = {each.get("type"): each for each in old.get("conditions") or ()}
    found: dict[tuple[str, str], Note] = {}
    for each in new.get("conditions") or ():
        if not _is_warning(each):
            continue
        was = before.get(each["type"], {})
        parts = ("status", "reason") if each["type"] in COUNTED else ("status", "reason", "message")
        if any(was.get(part) != each[part] for part in parts):
            text = COUNTED_TEXT.get(each["reason"], each["message"])
            about = each["reason"] if each["type"] in COUNTED else ""
            found[each["reason"], text] = Note("Warning", each["reason"], "Reconcile", text, about)
    return list(found.values())


def _is_warning(condition: Mapping[str, Any]) -> bool:
    if condition["type"] == "ManualInterventionRequired":
        return bool(condition["status"] == "True")
    return condition["type"] in WARNED and condition["status"] == "False" and condition["reason"] not in EXPECTED


class Recorder:
    def __init__(self, kube: Gateway, instance: str) -> None:
        self._kube, self._instance = kube, instance

    def post(self, resource: Mapping[str, Any], note: Note) -> None:
        meta = resource["metadata"]
        text = note.text if len(note.text) <= MAX_NOTE else note.text[: MAX_NOTE - 1] + "…"
        digest = sha256(f"{meta['uid']}|{note.reason}|{note.about or text}".encode()).hexdigest()[:16]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        regarding = {"apiVersion": resource["apiVersion"], "kind": resource["kind"]} | {
            key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in meta
        }
        body = {
            "apiVersion": EVENT.api,
            "kind": EVENT.kind,
            "metadata": {"name": f"{meta['name']}.{digest}", "namespace": meta["namespace"]},
            "eventTime": now,
            "type": note.type,
            "reason": note.reason,
            "action": note.action,
            "note": text,
            "regarding": regarding,
            "reportingController": REPORTING_CONTROLLER,
            "reportingInstance": self._instance[:128],
        }
        try:
            self._post(body, now)
        except KubeError as error:
            print(f"event {note.reason} was not posted: {error}", flush=True)

    def _post(self, body: dict[str, Any], now: str) -> None:
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        try:
            self._kube.create(EVENT, namespace, body)
        except Conflict:
            live = self._kube.get(EVENT, namespace, name)
            count = int((live.get("series") or {}).get("count", 1)) + 1
            self._kube.patch(EVENT, namespace, name, {"series": {"count": count, "lastObservedTime": now}})
