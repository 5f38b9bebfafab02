"""Who may pass the gate, and what may be sealed: the two decisions, pure.

The gate holds a pod by waiting, never by failing: a container that exits meets the kubelet's back-off of minutes. It
opens in three ways: the directory is the one that the ledger knows; a grant on this very pod names this very state of
the volume; or this same pod sealed it before (its sandbox was made anew). The seal repeats the check on what the
formatting tool made, so that a volume that changed under the tool's hands cannot start a node.
"""

from __future__ import annotations

from dataclasses import dataclass

from storage_guard.facts import Journal, LedgerFacts, Passage, PodFacts, VolumeFacts, Way
from storage_guard.formats import (
    INITIAL_CONTROLLERS_PREFIX,
    NO_INITIAL_CONTROLLERS,
    DiskVerdict,
    Grant,
    GrantMode,
    Marker,
    MarkerState,
    Seen,
)
from storage_guard.judge import Judgement


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a pod waits."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """The directory is what was let through; this marker shall say so."""

    marker: Marker


def decide(
    found: Judgement, ledger: LedgerFacts, pod: PodFacts, journal: Journal, volume: VolumeFacts
) -> Passage | Hold:
    match found.verdict:
        case DiskVerdict.FOREIGN | DiskVerdict.REGRESSED | DiskVerdict.UNREADABLE:
            return Hold(found.reason, found.message)
        case DiskVerdict.FORMATTED:
            return _start(found, ledger, pod, volume.marker)
        case DiskVerdict.EMPTY | DiskVerdict.UNFINISHED:
            return _format(found, ledger, pod, journal)


def seal(volume: VolumeFacts, pod: PodFacts, journal: Journal) -> Sealed | Hold:
    passage, disk = journal.passage, volume.identity
    if volume.problem is not None:
        return Hold("CannotRead", volume.problem)
    if passage is None:
        return Hold("NotPassed", "the gate did not let this pod through")
    if disk is None or disk.directory_id is None:
        return Hold("NotFormatted", "the formatting tool left no directory with an id")
    if (disk.cluster_id, disk.node_id) != (pod.cluster_id, pod.node_id):
        return Hold("DirectoryOfAnother", f"the directory is of node {disk.node_id} of cluster {disk.cluster_id}")
    if passage.directory_id not in (None, disk.directory_id):
        return Hold("OtherDirectory", f"directory {disk.directory_id} is here, {passage.directory_id} was let through")
    if disk.directory_id == passage.not_directory_id:
        return Hold("OldDirectory", f"directory {disk.directory_id} was to be replaced")
    nonce = passage.nonce or (volume.marker.nonce if volume.marker else None)
    marker = Marker(
        MarkerState.SEALED, pod.cluster_id, pod.node_id, nonce=nonce, pod_uid=pod.uid, directory_id=disk.directory_id
    )
    return Sealed(marker)


def granted_marker(passage: Passage, pod: PodFacts) -> Marker:
    """What the gate writes on the volume before it lets a formatting through: from here on it is Unfinished, never
    Empty.
    """
    return Marker(MarkerState.GRANTED, pod.cluster_id, pod.node_id, passage.nonce, pod.uid)


def _start(found: Judgement, ledger: LedgerFacts, pod: PodFacts, marker: Marker | None) -> Passage | Hold:
    if ledger.identity is not None:
        return Passage(Way.START, found.nonce, found.directory_id)
    if pod.grant_problem is not None:
        return Hold("GrantUnreadable", pod.grant_problem)
    grant = pod.grant
    if grant is None:
        return Hold(found.reason, f"{found.message}; waiting for the operator to adopt it")
    if (problem := _void(grant, pod)) is not None:
        return Hold("GrantVoid", problem)
    if grant.mode is GrantMode.ADOPT:
        if grant.directory_id != found.directory_id or grant.seen.verdict is not DiskVerdict.FORMATTED:
            return Hold("GrantVoid", f"the grant adopts directory {grant.directory_id}, {found.directory_id} is here")
        return Passage(Way.ADOPT, found.nonce, found.directory_id)
    if marker is not None and marker.nonce == grant.nonce and marker.pod_uid == pod.uid:
        # Sealed by this very pod, whose sandbox was made anew before the operator could write the ledger.
        return Passage(Way.START, grant.nonce, found.directory_id)
    return Hold("VolumeChanged", f"the grant is for a volume that was {grant.seen.verdict}; now {found.message}")


def _format(found: Judgement, ledger: LedgerFacts, pod: PodFacts, journal: Journal) -> Passage | Hold:
    if pod.grant_problem is not None:
        return Hold("GrantUnreadable", pod.grant_problem)
    grant = pod.grant
    if grant is None:
        refused = ledger.identity is not None or found.reason == "DiskEmptied"
        return Hold("FormatRefused" if refused else "AwaitingGrant", found.message)
    if (problem := _void(grant, pod) or _wrong_mode(grant, pod) or _wrong_state(grant, found, ledger)) is not None:
        return Hold("GrantVoid", problem)
    if grant.nonce in journal.sealed:
        return Hold("FormatRefused", f"the volume was sealed by grant {grant.nonce} in this pod and emptied since")
    old = ledger.identity.directory_id if ledger.identity else None
    return Passage(Way.FORMAT, grant.nonce, grant.directory_id or found.directory_id, old)


def _void(grant: Grant, pod: PodFacts) -> str | None:
    if grant.pod_uid != pod.uid:
        return f"the grant is for pod {grant.pod_uid}, this is {pod.uid}"
    if grant.node_id != pod.node_id:
        return f"the grant is for node {grant.node_id}, this is {pod.node_id}"
    if grant.cluster_id != pod.cluster_id:
        return f"the grant is for cluster {grant.cluster_id}, this is {pod.cluster_id}"
    return None


def _wrong_mode(grant: Grant, pod: PodFacts) -> str | None:
    match grant.mode:
        case GrantMode.ADOPT:
            return "the grant adopts a directory, there is none"
        case GrantMode.BROKER:
            return None if not pod.is_controller else "the grant is for a broker"
        case GrantMode.NO_INITIAL_CONTROLLERS:
            wanted = pod.is_controller and pod.format_mode == NO_INITIAL_CONTROLLERS
            return None if wanted else f"the grant is for {NO_INITIAL_CONTROLLERS}, the pod for {pod.format_mode!r}"
        case GrantMode.INITIAL_CONTROLLERS:
            return _wrong_initial_controllers(grant, pod)


def _wrong_initial_controllers(grant: Grant, pod: PodFacts) -> str | None:
    if not pod.is_controller or not pod.format_mode.startswith(INITIAL_CONTROLLERS_PREFIX):
        return f"the grant is for {INITIAL_CONTROLLERS_PREFIX}…, the pod for {pod.format_mode!r}"
    if grant.directory_id is None:
        return "the grant names no directory id for an initial controller"
    for entry in pod.format_mode.removeprefix(INITIAL_CONTROLLERS_PREFIX).split(","):
        if entry.startswith(f"{grant.node_id}@") and entry.endswith(f":{grant.directory_id}"):
            return None
    return f"directory {grant.directory_id} of node {grant.node_id} is not among the initial controllers"


def _wrong_state(grant: Grant, found: Judgement, ledger: LedgerFacts) -> str | None:
    if ledger.identity is not None and grant.replaces != ledger.identity.directory_id:
        return f"the ledger knows directory {ledger.identity.directory_id}, the grant does not replace it"
    if grant.directory_id is not None and found.directory_id not in (None, grant.directory_id):
        return f"directory {found.directory_id} is here, the grant is for {grant.directory_id}"
    if grant.replaces is not None and grant.directory_id == grant.replaces:
        return f"directory id {grant.replaces} would be used for a second disk"
    resumed = found.verdict is DiskVerdict.UNFINISHED and found.nonce == grant.nonce
    if not resumed and grant.seen != found.seen:
        return f"the grant is for a volume that was {_words(grant.seen)}; now it is {_words(found.seen)}"
    return None


def _words(seen: Seen) -> str:
    directory = f" with directory {seen.directory_id}" if seen.directory_id else ""
    return f"{seen.verdict}{directory}{f' by grant {seen.nonce}' if seen.nonce else ''}"
