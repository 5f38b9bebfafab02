"""Going to sleep and waking up: nodes are held (their StatefulSets keep no pod), disks and ledger stay.

Brokers go first, under their own controlled shutdown, which needs the quorum; then the followers, then the leader.
Combined nodes go one by one: each hands its partitions over while a majority is left, as long as there is one.
Waking holds nobody, so all voters start together and the brokers find them. Nothing is formatted, added or removed
meanwhile.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.api.roles import controls, serves
from kraft_operator.api.spec import LifecycleState
from kraft_operator.manifests.context import NodePlan
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict


def put_to_sleep(now: Situation) -> Verdict:
    if now.cluster.spec.lifecycle is not LifecycleState.HIBERNATED:
        return NOTHING
    awake = {pod.node_id for pod in now.observed.pods}
    awake |= {each.node_id for each in now.observed.sets if each.replicas}  # its pod is gone for a moment only
    brokers = {pod.node_id for pod in now.observed.pods if serves(pod) and not controls(pod)}
    leader = now.observed.quorum.leader_id
    followers = {pod.node_id for pod in now.observed.pods} - brokers - {leader}
    nodes = tuple(replace(node, held=_may_sleep(node, now, brokers, followers)) for node in now.nodes)
    running = "1 pod still runs" if len(awake) == 1 else f"{len(awake)} pods still run"
    message = (
        running
        if awake
        else "every node is stopped, disks and ledger are kept, and spec.lifecycle.state Running starts them again"
    )
    reason = "FallingAsleep" if awake else "Hibernated"
    return Verdict(nodes=nodes, findings=(Finding(Topic.HIBERNATED, reason, message),))


def _may_sleep(node: NodePlan, now: Situation, brokers: set[int], followers: set[int]) -> bool:
    """Once held, a node stays held: a look that missed a pod must not wake the others."""
    node_set = now.observed.node_set(node.node_id)
    if node_set is not None and node_set.replicas == 0:
        return True
    if node.group != now.cluster.spec.controllers.name:
        return True
    if brokers:
        return False
    if now.cluster.spec.controllers.roles.serves and node.node_id in followers:
        return node.node_id == min(followers)
    return node.node_id != now.observed.quorum.leader_id or not followers
