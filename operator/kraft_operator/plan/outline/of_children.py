"""The steps that applying and deleting children are: a node's StatefulSet, the ConfigMaps of all, or one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kraft_operator.actions import Action, ApplyChild, DeleteChild
from kraft_operator.api import names
from kraft_operator.plan.disks.claims import guarded_groups
from kraft_operator.plan.outline import words
from kraft_operator.plan.situation import Situation
from kraft_operator.plan.steps import PlanStep


def applied_sets(actions: Sequence[Action]) -> frozenset[str]:
    return frozenset(
        each.manifest["metadata"]["name"]
        for each in actions
        if isinstance(each, ApplyChild) and each.manifest["kind"] == "StatefulSet"
    )


def child_step(action: ApplyChild | DeleteChild, now: Situation, replaced: frozenset[str]) -> PlanStep | None:
    """`replaced` names the StatefulSets that are applied in the same pass: a node's file and set are one step. The
    disruption budget of the voters follows the headroom and is no step."""
    match action:
        case ApplyChild(manifest):
            return _applied(manifest, action.reason, now, replaced)
        case DeleteChild():
            return _deleted(action, now)


def _applied(manifest: Mapping[str, Any], reason: str, now: Situation, replaced: frozenset[str]) -> PlanStep | None:
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    node = (manifest["metadata"].get("labels") or {}).get(names.LABEL_NODE_ID)
    if node is not None and now.ledger is not None and int(node) == now.ledger.node_made_anew:
        return None  # ProtectClaims was asked for by name
    if kind == "PodDisruptionBudget" and _follows(manifest, now):
        return None
    if kind == "PersistentVolumeClaim":
        there = now.observed.node_set(int(node or -1)) is not None
        return (
            words.volume_made(int(node or -1), manifest["metadata"]["labels"][names.LABEL_VOLUME], name)
            if there
            else None
        )
    if node is None:
        return PlanStep(f"apply/{kind}/{name}", "ApplyChild", f"{kind}/{name}", reason)
    if kind == "StatefulSet" and manifest["spec"].get("replicas") == 0:
        return words.held(now, int(node), name)
    if kind == "StatefulSet":
        return words.node(now, int(node), name, reason)
    if name in replaced or now.observed.node_set(int(node)) is None:
        return None
    return words.configs(now)


def _follows(budget: Mapping[str, Any], now: Situation) -> bool:
    """The voters' budget follows the headroom; one that is there, or that protects a claim, follows the claims."""
    group = (budget["metadata"].get("labels") or {}).get(names.LABEL_POOL)
    there = any(
        (each.kind, each.name) == ("PodDisruptionBudget", budget["metadata"]["name"]) for each in now.observed.children
    )
    return there or group == now.cluster.spec.controllers.name or group in guarded_groups(now)


def _deleted(action: DeleteChild, now: Situation) -> PlanStep:
    live = next((each for each in now.observed.children if (each.kind, each.name) == (action.kind, action.name)), None)
    labels = (live.live["metadata"].get("labels") or {}) if live else {}
    node = labels.get(names.LABEL_NODE_ID)
    if node is not None and action.kind in ("StatefulSet", "ConfigMap"):
        return words.node_deleted(int(node), action.name)
    target = f"{action.kind}/{action.name}"
    return PlanStep(f"delete/{target}", "DeleteChild", target, action.reason)
