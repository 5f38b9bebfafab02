"""Of the way ahead, what is beside voters and pods: volumes that grow, replicas that move, versions that are made
final.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraft_operator.api import names
from kraft_operator.api.reader import quantity
from kraft_operator.api.spec import Group
from kraft_operator.ledger import Formation
from kraft_operator.plan.nodes.drain import some
from kraft_operator.plan.rollout.versions import wishes
from kraft_operator.plan.situation import Situation
from kraft_operator.plan.steps import PlanStep, Risk


def volumes(now: Situation) -> Iterator[PlanStep]:
    """A claim is asked for more, then its set is made anew around the pod."""
    for node in now.nodes:
        group = now.cluster.spec.group(node.group)
        node_set = now.observed.node_set(node.node_id)
        if group is None or node_set is None or not node_set.volume_size:
            continue
        if quantity(node_set.volume_size, "size") < quantity(group.storage.size, "size"):
            yield from _grown(now, group, node.node_id, node_set.name)


def _grown(now: Situation, group: Group, node_id: int, name: str) -> Iterator[PlanStep]:
    claim = now.observed.claim(names.claim_name(now.cluster.name, group.name, node_id))
    size = group.storage.size
    if claim is not None and claim.requested and claim.requested < quantity(size, "size"):
        yield grow(node_id, claim.name, size)
    yield remake(node_id, name)
    reason = "its StatefulSet is missing; it adopts the pod"
    yield PlanStep(f"apply-node/{node_id}", "ApplyNode", name, reason, "the set with the old template is gone")


def grow(node_id: int, claim: str, size: str) -> PlanStep:
    target = f"PersistentVolumeClaim/{claim}"
    return PlanStep(
        f"grow/{node_id}", "GrowClaim", target, f"the resource asks for {size}", "its class allows it to expand"
    )


def remake(node_id: int, name: str) -> PlanStep:
    reason = "its claim template cannot be changed; it is deleted without its pod"
    return PlanStep(
        f"remake-set/{node_id}", "OrphanSet", f"StatefulSet/{name}", reason, "its claim asks for the new size"
    )


def moved(node_id: int, topics: tuple[str, ...]) -> PlanStep:
    reason = f"it holds replicas of {some(topics)}"
    return PlanStep(f"move/{node_id}", "MoveReplicas", f"broker {node_id}", reason, "other brokers can take them")


def versions(now: Situation) -> Iterator[PlanStep]:
    """Raised last, and never taken back."""
    asked, registry = now.cluster.spec.versions, now.observed.brokers.registry
    if now.ledger is None or now.ledger.formation is not Formation.FORMED or not asked.wants_anything:
        return
    for wish in wishes(asked, registry):
        if registry.finalized is not None and registry.finalized.get(wish.feature, 0) < wish.level:
            yield final(wish.feature, wish.level, wish.name)


def final(feature: str, level: int, name: str) -> PlanStep:
    gate = "every node runs its newest revision and supports it, no other node is registered, and the soak time is over"
    reason = "the resource asks for it; it cannot be taken back"
    return PlanStep(f"finalize/{feature}/{level}", "FinalizeFeature", name, reason, gate, risk=Risk.AVAILABILITY)
