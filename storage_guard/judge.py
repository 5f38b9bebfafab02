"""What a volume is, in the light of the ledger: the verdict that `inspect` reports and `gate` acts upon.

The order of the cases is the argument: first what cannot be trusted at all, then whose it is, then whether it is whole,
then whether it is as new as the ledger remembers. A case that is not foreseen ends in Unreadable or Foreign, which
nobody may format.
"""

from __future__ import annotations

from dataclasses import dataclass

from storage_guard.facts import DirectoryIdentity, LedgerFacts, LogEnd, PodFacts, VolumeFacts
from storage_guard.formats import STATIC_VOTERS, DiskVerdict, GuardStep, Identity, Marker, MarkerState, Report, Seen


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: DiskVerdict
    reason: str
    """CamelCase, stable: it reaches conditions and Events."""
    message: str
    identity: DirectoryIdentity | None = None
    nonce: str | None = None
    log_end: LogEnd | None = None

    @property
    def directory_id(self) -> str | None:
        return self.identity.directory_id if self.identity else None

    @property
    def seen(self) -> Seen:
        return Seen(self.verdict, self.directory_id, self.nonce)

    def report(self, step: GuardStep, pod: PodFacts, way: str | None = None, config_hash: str | None = None) -> Report:
        identity, end = self.identity, self.log_end
        return Report(
            step=step,
            verdict=self.verdict,
            reason=way or self.reason,
            message=self.message,
            pod_uid=pod.uid,
            node_id=pod.node_id,
            cluster_id=identity.cluster_id if identity else None,
            disk_node_id=identity.node_id if identity else None,
            directory_id=self.directory_id,
            last_epoch=end.epoch if end else None,
            log_end_offset=end.offset if end else None,
            nonce=self.nonce,
            config_hash=config_hash,
        )


def judge(volume: VolumeFacts, ledger: LedgerFacts, pod: PodFacts) -> Judgement:
    verdict, reason, message = _verdict(volume, ledger, pod)
    nonce = volume.marker.nonce if volume.marker else None
    return Judgement(verdict, reason, message, identity=volume.identity, nonce=nonce, log_end=volume.log_end)


def _verdict(volume: VolumeFacts, ledger: LedgerFacts, pod: PodFacts) -> tuple[DiskVerdict, str, str]:
    if volume.problem is not None:
        return DiskVerdict.UNREADABLE, "CannotRead", volume.problem
    if ledger.problem is not None:
        return DiskVerdict.UNREADABLE, "LedgerUnreadable", ledger.problem
    if ledger.identity is not None and (stale := _not_for_us("the ledger", ledger.identity, pod)):
        return DiskVerdict.UNREADABLE, "LedgerForAnother", stale
    if volume.identity is None:
        return _without_identity(volume, ledger.identity, pod)
    return _with_identity(volume, volume.identity, ledger.identity, pod)


def _without_identity(volume: VolumeFacts, known: Identity | None, pod: PodFacts) -> tuple[DiskVerdict, str, str]:
    marker = volume.marker
    if volume.log_end is not None:
        return DiskVerdict.UNREADABLE, "IdentityLost", f"meta.properties is gone, the log ends at {volume.log_end}"
    if marker is not None and (stale := _not_for_us("the marker", marker, pod)):
        return DiskVerdict.FOREIGN, "MarkerOfAnother", stale
    if marker is not None and marker.state is MarkerState.GRANTED:
        return DiskVerdict.UNFINISHED, "FormatInterrupted", f"formatting by grant {marker.nonce} was not finished"
    if volume.leftovers:
        return DiskVerdict.FOREIGN, "UnknownData", f"no meta.properties, but {_some(volume.leftovers)}"
    if volume.strangers:
        return DiskVerdict.FOREIGN, "UnknownData", f"the volume holds {_some(volume.strangers)}"
    if known is not None:
        return (
            DiskVerdict.EMPTY,
            "DiskLost",
            f"the ledger knows directory {known.directory_id} here, the volume is empty",
        )
    if marker is not None:
        return DiskVerdict.EMPTY, "DiskEmptied", f"directory {marker.directory_id} was here and is gone"
    return DiskVerdict.EMPTY, "NeverFormatted", "the volume is empty"


def _with_identity(
    volume: VolumeFacts, disk: DirectoryIdentity, known: Identity | None, pod: PodFacts
) -> tuple[DiskVerdict, str, str]:
    marker = volume.marker
    if stale := _not_for_us("the directory", disk, pod):
        return DiskVerdict.FOREIGN, "DirectoryOfAnother", stale
    if disk.directory_id is None:
        return DiskVerdict.FOREIGN, "NoDirectoryID", "meta.properties has no directory.id: made before Kafka 3.7"
    if volume.static_voters:
        problem = "kraft.version is 0, and the voters are in the configuration of the nodes that ran until now"
        return DiskVerdict.FOREIGN, STATIC_VOTERS, f"{problem}; nothing was changed"
    if marker is not None and (stale := _not_for_us("the marker", marker, pod)):
        return DiskVerdict.FOREIGN, "MarkerOfAnother", stale
    if marker is not None and marker.state is MarkerState.SEALED and marker.directory_id != disk.directory_id:
        problem = f"the volume was sealed with directory {marker.directory_id}, now holds {disk.directory_id}"
        return DiskVerdict.FOREIGN, "OtherDirectory", problem
    unsealed = marker is not None and marker.state is MarkerState.GRANTED
    if known is not None and not (unsealed and known.directory_id != disk.directory_id):
        return _as_known(disk, known, volume)
    if marker is None or marker.state is MarkerState.SEALED:
        return DiskVerdict.FORMATTED, "NotInLedger", f"directory {disk.directory_id}, unknown to the ledger"
    if volume.log_end is not None:
        problem = f"grant {marker.nonce} was never sealed, yet a node wrote: the log ends at {volume.log_end}"
        return DiskVerdict.UNREADABLE, "RanUnsealed", problem
    return (
        DiskVerdict.UNFINISHED,
        "FormatNotSealed",
        f"directory {disk.directory_id} by grant {marker.nonce} was not sealed",
    )


def _as_known(disk: DirectoryIdentity, known: Identity, volume: VolumeFacts) -> tuple[DiskVerdict, str, str]:
    end, marker = volume.log_end, volume.marker
    if disk.directory_id != known.directory_id:
        problem = f"directory {disk.directory_id} is here, the ledger knows {known.directory_id}"
        return DiskVerdict.FOREIGN, "OtherDirectory", problem
    # The ledger learns an identity from a seal, so a copy that is not sealed, or by another grant, is not the one it
    # knows.
    if marker is not None and (marker.state is MarkerState.GRANTED or known.nonce not in (None, marker.nonce)):
        problem = f"directory {disk.directory_id} was sealed by grant {known.nonce}; this copy is of {marker.nonce}"
        return DiskVerdict.REGRESSED, "OldCopy", problem
    minimum = LogEnd(known.min_epoch, known.min_offset)
    if minimum.key > (end.key if end else (0, 0)):
        return DiskVerdict.REGRESSED, "OldCopy", f"the log ends at {end or 'nothing'}, it had reached {minimum} before"
    return DiskVerdict.FORMATTED, "Known", f"directory {disk.directory_id}, as the ledger knows it"


def _not_for_us(what: str, found: DirectoryIdentity | Identity | Marker, pod: PodFacts) -> str | None:
    if found.cluster_id != pod.cluster_id:
        return f"{what} is of cluster {found.cluster_id}, not {pod.cluster_id}"
    if found.node_id != pod.node_id:
        return f"{what} is of node {found.node_id}, not {pod.node_id}"
    return None


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
