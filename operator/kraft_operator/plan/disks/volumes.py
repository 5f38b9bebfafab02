"""Volumes grow in place, one claim per node; they never shrink.

A StatefulSet's claim template cannot be changed. So the claim is asked for more first; once it asks for what the
resource wants, the set is deleted without its pod and made anew with the new template, and it adopts the pod, whose
revision knows nothing of claim templates. Until then the set is rendered with the size it has, so nothing else about it
has to wait. A class that cannot expand is never asked: the resource says so.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.actions import Action, GrowClaim, OrphanSet
from kraft_operator.api import names
from kraft_operator.api.reader import quantity
from kraft_operator.manifests.context import NodePlan
from kraft_operator.observed import Claim, NodeSet
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict


def grow_volumes(now: Situation) -> Verdict:
    if now.ledger is None or not now.nodes:
        return NOTHING
    nodes: list[NodePlan] = []
    actions: list[Action] = []
    findings: list[Finding] = []
    for node in now.nodes:
        group = now.cluster.spec.group(node.group)
        assert group is not None
        claim = now.observed.claim(names.claim_name(now.cluster.name, node.group, node.node_id))
        step, finding = _claim_grows(now, claim, group.storage.size)
        actions += [step] if step is not None else []
        findings += [finding] if finding is not None else []
        node_set = now.observed.node_set(node.node_id)
        if node_set is None or _same(node_set.volume_size, group.storage.size):
            nodes.append(node)
            continue
        nodes.append(replace(node, volume_size=node_set.volume_size))
        if _set_may_go(node_set, claim, group.storage.size) and not any(
            isinstance(each, OrphanSet) for each in actions
        ):
            reason = f"its claim asks for {group.storage.size}; the set is made anew with that, its pod stays"
            actions.append(OrphanSet(node_set.name, node_set.uid, reason))
    return Verdict(nodes=tuple(nodes), actions=tuple(actions), findings=tuple(findings))


def _claim_grows(now: Situation, claim: Claim | None, size: str) -> tuple[GrowClaim | None, Finding | None]:
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
