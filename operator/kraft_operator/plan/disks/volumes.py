"""Volumes grow in place, one claim per node; they never shrink.

A StatefulSet's claim template cannot be changed. So the claim is asked for more first; once it asks for what the
resource wants, the set is deleted without its pod and made anew with the new template, and it adopts the pod, whose
revision knows nothing of claim templates. Until then the set is rendered with the size it has, so nothing else about it
has to wait. A class that cannot expand is never asked: the resource says so.

Class and selector are a claim's for its whole life. Where the resource asks for others, the set is made anew once its
claim goes, or before the operator itself takes the claim away: the node's next disk is of the new class, and whether
the old one may be lost is decided as for any other.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.actions import Action, GrowClaim, OrphanSet
from kraft_operator.api import names
from kraft_operator.api.reader import quantity
from kraft_operator.api.spec import Group
from kraft_operator.api.storage import Storage
from kraft_operator.manifests.context import NodePlan
from kraft_operator.observed import Claim, NodeSet
from kraft_operator.operations.operation import OperationType
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict


def grow_volumes(now: Situation) -> Verdict:
    if now.ledger is None or not now.nodes:
        return NOTHING
    nodes: list[NodePlan] = []
    orphaned: list[Action] = []
    actions: list[Action] = []
    findings: list[Finding] = []
    for node in now.nodes:
        group = now.cluster.spec.group(node.group)
        assert group is not None
        storage = group.storage_of(node.node_id)
        claim = now.observed.claim(names.claim_name(now.cluster.name, node.group, node.node_id))
        step, finding = claim_grows(now, claim, storage.size)
        actions += [step] if step is not None else []
        findings += [finding] if finding is not None else []
        node_set = now.observed.node_set(node.node_id)
        if node_set is None or not node_set.volume_size:  # nothing is known of a set without templates
            nodes.append(node)
            continue
        kept, why = _kept(node, node_set, storage, claim)
        nodes.append(kept)
        findings += _stays(node_set, group, claim)
        if why and not orphaned:
            orphaned.append(OrphanSet(node_set.name, node_set.uid, why))
    return Verdict(nodes=tuple(nodes), actions=(*actions, *orphaned), findings=tuple(findings))


def next_class_first(now: Situation, node_id: int, claim: Claim) -> Verdict | None:
    """None if this claim may be taken away: what its set makes next is of the class that the resource asks for. Once it
    is gone, Kubernetes makes the next one at once, by whatever template there is."""
    node_set = now.observed.node_set(node_id)
    node = next((each for each in now.nodes if each.node_id == node_id), None)
    group = now.cluster.spec.group(node.group) if node is not None else None
    if node_set is None or group is None or not node_set.volume_size:
        return None
    wanted = group.storage_of(node_id).kind
    if node_set.volume_kind == wanted:
        return None
    if node_set.terminating or _claim_goes(node_set, claim, wanted[0]):
        return NOTHING  # it is being made anew, or `grow_volumes` does it
    why = f"its next claim is of {_named(wanted)}; the set is made anew for that, its pod stays"
    return Verdict(actions=(OrphanSet(node_set.name, node_set.uid, why),))


def _kept(node: NodePlan, node_set: NodeSet, storage: Storage, claim: Claim | None) -> tuple[NodePlan, str]:
    """The node with the claim template that its set has, and why that set may be made anew; empty if it may not."""
    if not _same(node_set.volume_size, storage.size):
        node = replace(node, volume_size=node_set.volume_size)
    if node_set.volume_kind != storage.kind:
        node = replace(node, volume_kind=node_set.volume_kind)
    if node.volume_kind is not None and _claim_goes(node_set, claim, storage.kind[0]):
        return node, f"its claim is made anew of {_named(storage.kind)}; the set is made anew for that, its pod stays"
    if node.volume_size and node.volume_kind is None and _set_may_go(node_set, claim, storage.size):
        return node, f"its claim asks for {storage.size}; the set is made anew with that, its pod stays"
    return node, ""


def _claim_goes(node_set: NodeSet, claim: Claim | None, wanted: str) -> bool:
    """A claim is of one class for its whole life, only the next one can be of another; or it is that one already."""
    return not node_set.terminating and (claim is None or claim.terminating or claim.storage_class == wanted != "")


def _stays(node_set: NodeSet, group: Group, claim: Claim | None) -> list[Finding]:
    storage = group.storage_of(node_set.node_id)
    if node_set.volume_kind == storage.kind or _claim_goes(node_set, claim, storage.kind[0]) or claim is None:
        return []
    message = (
        f"{_way_out(node_set, group, claim)}, to have a disk of {_named(storage.kind)} that is filled from the others: "
        f"claim {claim.name} is of {_named(node_set.volume_kind)} for its whole life"
    )
    return [Finding(Topic.STORAGE, "VolumeOfAnotherClass", message, claim.name)]


def _way_out(node_set: NodeSet, group: Group, claim: Claim) -> str:
    """No operation takes the disk of a combined node (`operating.refusals`)."""
    if group.roles.controls and group.roles.serves:
        return f"delete claim {claim.name}"
    kind = OperationType.REPLACE_VOTER if group.roles.controls else OperationType.REPLACE_BROKER
    return f"create a KRaftOperation {kind.value} of node {node_set.node_id}"


def _named(kind: tuple[str, str]) -> str:
    class_name, selector = kind
    return (f"class {class_name}" if class_name else "the default class") + (f" with {selector}" if selector else "")


def claim_grows(now: Situation, claim: Claim | None, size: str) -> tuple[GrowClaim | None, Finding | None]:
    if claim is None or claim.terminating or not claim.volume or not claim.requested:
        return None, None
    wanted = quantity(size, "size")
    if claim.requested < wanted:
        if not now.observed.expandable.get(claim.storage_class, False):
            where = f"storage class {claim.storage_class}" if claim.storage_class else "their storage class"
            message = (
                f"set allowVolumeExpansion: true in {where} if its driver can expand volumes, or move the nodes to a "
                f"group with another class: the volumes of {claim.pool} cannot grow to {size}"
            )
            return None, Finding(Topic.STORAGE, "VolumeCannotGrow", message, claim.name, stalled=True)
        return GrowClaim(claim.name, claim.uid, size, f"the resource asks for {size}"), _pending(claim, size)
    if claim.capacity and claim.capacity < claim.requested:
        return None, _pending(claim, size)
    return None, None


def _pending(claim: Claim, size: str) -> Finding:
    said = f" ({claim.resizing})" if claim.resizing else ""
    return Finding(Topic.STORAGE, "ResizePending", f"{claim.name} grows to {size}{said}", claim.name)


def _set_may_go(node_set: NodeSet, claim: Claim | None, size: str) -> bool:
    """The claim that the new set will find has to ask for as much already, or there is none and the set's template is
    all there is.
    """
    if node_set.terminating or not node_set.volume_size:
        return False
    if quantity(node_set.volume_size, "size") > quantity(size, "size"):
        return False
    return claim is None or claim.requested >= quantity(size, "size")


def _same(one: str, other: str) -> bool:
    """Nothing is known of a set without templates: it is left as it is rendered."""
    return not one or quantity(one, "size") == quantity(other, "size")
