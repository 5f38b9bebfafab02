"""Mode Plan: what may be written although nobody has approved the plan, and what is said meanwhile.

Written are facts that were learned (whose disk is which), what a running pod has to be told to start again on the disk
it had, and the voters' disruption budget, which protects the quorum and follows its headroom. Everything else waits for
the annotation that names the plan's hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kraft_operator.actions import ApplyChild
from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.context import NodePlan
from kraft_operator.manifests.policies import disruption_budgets
from kraft_operator.operations.operation import Phase
from kraft_operator.operations.operation_report import OperationReport
from kraft_operator.plan.disks.claims import guarded_groups
from kraft_operator.plan.nodes.replacement import needs_approval
from kraft_operator.plan.rollout.children import contained, stamped, voters_needed
from kraft_operator.plan.situation import Finding, Situation, Topic, Verdict
from kraft_operator.plan.steps import Outline

UNDER_WAY: Final = frozenset(
    {"AddingVoter", "RemovingVoter", "RemovingBroker", "RemovingVolume", "ReplacingBroker", "ReplacingVoter",
        "RolloutInProgress", "RestartDeferred", "FallingAsleep",
     "Hibernated", "WaitingForFormation"}
)  # fmt: skip
"""Reasons that speak of what is being done; while a plan waits, nothing is."""


def keep_budget(now: Situation) -> Verdict:
    """Budgets that there are follow the headroom and the claims; one that protects a claim is made."""
    closed = guarded_groups(now)
    live = {
        each.name: each.live.get("spec") or {} for each in now.observed.children if each.kind == "PodDisruptionBudget"
    }
    actions = []
    for wanted in disruption_budgets(now.cluster, voters_needed(now), closed):
        there = live.get(wanted["metadata"]["name"])
        protects = wanted["metadata"]["labels"].get(names.LABEL_POOL) in closed
        if protects if there is None else not contained(wanted["spec"], there):
            reason = "a claim of the group is being deleted" if protects else "it follows the voters' headroom"
            actions.append(ApplyChild(stamped(wanted), reason))
    return Verdict(actions=tuple(actions))


def waiting(cluster: KRaftCluster, plan: Outline) -> Finding:
    count = len(plan.ahead)
    what = f"read the plan of {count} step{'' if count == 1 else 's'} and approve it"
    how = f"kubectl kraft approve {cluster.name} -n {cluster.namespace} --hash {plan.hash}"
    if cluster.approve and cluster.approve != plan.last:
        message = f"{what}: {how}. The approval of {cluster.approve} is stale, because another plan is needed now"
        return Finding(Topic.PLAN, "ApprovalStale", message, names.ANNOTATION_APPROVE)
    message = f"{what}: {how}. Nothing is changed before"
    return Finding(Topic.PLAN, "PlanPendingApproval", message, names.ANNOTATION_APPROVE)


def costs_data(cluster: KRaftCluster, plan: Outline) -> Finding:
    """In mode Apply, of a plan with a step that only a person may allow."""
    steps = "; ".join(f"{each.action} {each.target}" for each in plan.ahead if needs_approval([each]))
    how = f"kubectl kraft approve {cluster.name} -n {cluster.namespace} --hash {plan.hash}"
    message = f"read plan {plan.hash}, which gives data up ({steps}), then approve it: {how}; everything else goes on"
    return Finding(Topic.PLAN, "PlanPendingApproval", message, names.ANNOTATION_APPROVE)


def held_back(reports: Sequence[OperationReport], plan: Outline) -> tuple[OperationReport, ...]:
    """Operations that would be under way wait, too."""
    message = f"plan {plan.hash} of the cluster has to be approved first"
    return tuple(
        replace(each, phase=Phase.WAITING_APPROVAL, reason="PlanPendingApproval", message=message)
        if each.phase in (Phase.ADMITTED, Phase.RUNNING)
        else each
        for each in reports
    )


def nodes_that_are(now: Situation) -> tuple[NodePlan, ...]:
    groups = {group.name for group in now.cluster.spec.groups}
    found = (NodePlan(each.node_id, each.pool,
        held=each.replicas == 0) for each in now.observed.sets if each.pool in groups)  # fmt: skip
    return tuple(sorted(found))
