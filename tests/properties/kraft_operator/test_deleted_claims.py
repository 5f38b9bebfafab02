"""Histories of claims that are deleted under their pods, beside everything that restarts, holds or deletes pods: the
operator never does the rest.

The world itself tells: whatever the operator does is followed by a look whether a pod that kept such a claim is still
the same (`World.perform`).
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from support.operator_model.world import World, pool

pytestmark = pytest.mark.properties

EXAMPLES = 600 if os.environ.get("QUORATE_SOAK") else 6
FAULTS = (
    "terminate", "terminate", "give up", "roll", "sleep", "wake", "shrink brokers", "scale", "restart", "recover",
    "replace", "freeze", "thaw", "die", "take over", "approve",
)  # fmt: skip


class Owner:
    """Who edits the resource: each edit keeps those before it."""

    def __init__(self, mode: str) -> None:
        self.changes: dict[str, object] = {"changePolicy": {"mode": mode}}

    def edit(self, world: World, **changes: object) -> None:
        self.changes |= changes
        world.edit(**self.changes)


def strike(world: World, owner: Owner, fault: str, number: int) -> None:
    nodes = sorted(node for node, pod in world.pods.items() if pod.stage == "running")
    node_id = nodes[number % len(nodes)] if nodes else None
    match fault:
        case "terminate" if node_id is not None:
            world.terminate(node_id)
        case "give up" if node_id is not None:
            world.give_up(node_id)
        case "roll":
            owner.edit(world, image={"repository": "kafka", "tag": str(number)})
        case "sleep" | "wake":
            owner.edit(world, lifecycle={"state": "Hibernated" if fault == "sleep" else "Running"})
        case "shrink brokers":
            owner.edit(world, brokerPools=[pool("b", number % 3, 100)])
        case "scale":
            ids = {"start": 0, "end": 9}
            owner.edit(
                world, controllers={"replicas": (1, 3, 5)[number % 3], "nodeIdRange": ids, "storage": {"size": "1Gi"}}
            )
        case "restart" | "recover" | "replace":
            kind = {"restart": "RollingRestart", "recover": "RecoverQuorum", "replace": "ReplaceVoter"}[fault]
            world.ask(f"o{len(world.operations)}", kind, number % 3 if fault == "replace" else None)
        case "freeze" if node_id is not None and len(world.running_voters()) > 1:
            world.freeze(node_id)
        case "thaw":
            world.frozen.clear()
        case "die":
            world.reconcile(stop_after=number % 7)
        case "take over":
            world.take_over()
        case "approve":
            world.approve()
        case _:
            pass


@given(
    st.sampled_from(("Apply", "Plan")),
    st.lists(st.tuples(st.sampled_from(FAULTS), st.integers(0, 30), st.integers(0, 6)), max_size=14),
)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_history_gives_up_a_pod_that_keeps_its_claim(mode: str, history: list[tuple[str, int, int]]) -> None:
    world, owner = World(), Owner(mode)
    world.settle()
    owner.edit(world)
    for fault, number, moves in history:
        note(f"{fault} {number}")
        strike(world, owner, fault, number)
        for _ in range(moves):
            world.reconcile()
            world.kubelet()
            assert not world.broken, world.broken
    world.frozen.clear()
    for _ in range(30):
        world.reconcile()
        world.kubelet()
    assert not world.broken, world.broken
