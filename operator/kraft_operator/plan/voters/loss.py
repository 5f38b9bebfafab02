"""Whether a node's disk is lost, a voter's or a broker's: evidence, never absence.

A pod that does not run, a node that is silent, a volume that cannot be reached prove nothing. What counts: the claim
that the ledger knows is gone and its volume too; or the guard in the pod looked into the volume and found it empty, or
an old copy of what it was, or one of a directory of this very node that was written off before; or the volume was on a
node that is gone for good, and the resource says that this is a loss. A volume that still exists anywhere may hold the
disk, and its owner is asked to put it back or to delete it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from kraft_operator.api.roles import controls, serves
from kraft_operator.api.spec import NodeGone
from kraft_operator.ledger import Entry, Ledger, WrittenOff
from kraft_operator.observed import Observed, Pod
from storage_guard.formats import DiskVerdict as Disk
from storage_guard.formats import Report

OF_BROKER: Final = "lost broker "
"""How a suspicion begins that a broker's disk is lost."""


def same_disk(suspicion: str) -> str:
    """What suspicions of a lost disk have in common that are about the same directory; empty for all others."""
    of_broker = suspicion.startswith(OF_BROKER)
    if not of_broker and not suspicion.startswith("lost "):
        return ""
    return " ".join(suspicion.split(" ")[: 4 if of_broker else 3])


@dataclass(frozen=True, slots=True)
class Loss:
    """`text` is the evidence. `blocked` names what has to go before it is proof."""

    text: str
    blocked: str | None = None
    may_end: bool = False
    """It may turn out to be none by itself."""
    asked: bool = False
    """Somebody asked for it by name: the disk may be whole and its node live."""

    def key(self, entry: Entry) -> str:
        """The same suspicion as long as it is about the same directory and the same evidence."""
        what = OF_BROKER if serves(entry) else "lost "
        return f"{what}{entry.node_id} {entry.directory_id} {self.text}"


def written_off(ledger: Ledger, entry: Entry) -> Ledger:
    """The node has no disk from here on; its next one gets another directory id."""
    assert entry.directory_id is not None
    gone = WrittenOff(entry.node_id, entry.directory_id, entry.pvc_uid, entry.nonce)
    fresh = Entry(entry.node_id, entry.role, entry.pool, rack=entry.rack, replaces=entry.directory_id, host=entry.host)
    return replace(ledger.with_entry(fresh), written_off=(*ledger.written_off, gone))


def loss_of(
    entry: Entry, observed: Observed, node_gone: NodeGone = NodeGone.WAIT, gone: Collection[WrittenOff] = ()
) -> Loss | None:
    """None as long as nothing speaks for a loss. `entry` has a directory; `gone` are those that were written off."""
    if (away := _out_of_reach(entry, observed, node_gone)) is not None:
        return away
    pod = observed.pod(entry.node_id)
    report = _report(pod)
    found = _found_in(entry, pod, report, observed, gone) if pod is not None and report is not None else None
    return found or _vanished(entry, pod, observed)


def _out_of_reach(entry: Entry, observed: Observed, node_gone: NodeGone) -> Loss | None:
    """The volume is bound to a Kubernetes node that is lost, or that is silent. Its claim must still be the one the
    ledger knows.
    """
    volume = entry.pv_name or ""
    claim = next((each for each in observed.claims if each.uid == entry.pvc_uid), None)
    if claim is None or claim.volume != volume:
        return None
    what = f"volume {volume} with directory {entry.directory_id} is on Kubernetes node"
    if volume in observed.stranded:
        text = f"{what} {observed.stranded[volume]}, which is gone or out of service"
        wait = f"set spec.recoveryPolicy.nodeGone to TreatAsLost to have the {_noun(entry)} replaced on another node"
        return Loss(text, None if node_gone is NodeGone.TREAT_AS_LOST else wait)
    if volume in observed.unready:
        text = f"{what} {observed.unready[volume]}, which is not Ready"
        return Loss(
            text,
            "if the Kubernetes node will not come back, delete its Node, or taint it "
            "with node.kubernetes.io/out-of-service",
            may_end=True,
        )
    return None


def _report(pod: Pod | None) -> Report | None:
    """What the guard saw on the volume of a pod that waits at its gate."""
    if pod is None or pod.terminating or not pod.gate_waits or pod.inspect is None:
        return None
    return pod.inspect if pod.inspect.pod_uid == pod.uid else None


def _found_in(entry: Entry, pod: Pod, report: Report, observed: Observed, gone: Collection[WrittenOff]) -> Loss | None:
    claim = observed.claim(pod.claim)
    if claim is None or not claim.volume:
        return None
    if report.verdict is Disk.REGRESSED:
        return Loss(f"claim {claim.name} holds an old copy of directory {entry.directory_id} ({report.message})")
    if report.verdict is Disk.FOREIGN and (report.disk_node_id, report.directory_id) in {
        (each.node_id, each.directory_id) for each in gone if each.node_id == entry.node_id
    }:
        text = (
            f"claim {claim.name} holds directory {report.directory_id}, which was written "
            f"off, instead of {entry.directory_id}"
        )
        return Loss(text, None if claim.uid == entry.pvc_uid else _still_there(entry, observed))
    if report.verdict is not Disk.EMPTY:
        return None  # a foreign disk belongs to another node, and where ours is cannot be known: the disk is refused
    if claim.uid == entry.pvc_uid:
        return Loss(f"claim {claim.name} is empty and held directory {entry.directory_id} before")
    text = (
        f"claim {claim.name} (UID {claim.uid}) is new and empty, and directory "
        f"{entry.directory_id} was on UID {entry.pvc_uid}"
    )
    return Loss(text, _still_there(entry, observed))


def _vanished(entry: Entry, pod: Pod | None, observed: Observed) -> Loss | None:
    """The claim is gone and no pod uses another one yet."""
    if entry.pvc_uid is None or any(claim.uid == entry.pvc_uid for claim in observed.claims):
        return None
    if pod is not None and (pod.main_started or pod.inspect is not None):
        return None
    text = f"claim {entry.pvc_name} (UID {entry.pvc_uid}) with directory {entry.directory_id} is gone"
    return Loss(text, _still_there(entry, observed))


def _still_there(entry: Entry, observed: Observed) -> str | None:
    if entry.pv_name is None or entry.pv_name not in observed.volumes:
        return None
    return (
        f"bind volume {entry.pv_name}, which may still hold the disk, to the claim again, or delete that "
        f"PersistentVolume to have the {_noun(entry)} replaced"
    )


def _noun(entry: Entry) -> str:
    if controls(entry) and serves(entry):
        return "node"
    return "broker" if serves(entry) else "voter"
