"""Random histories of faults, edits and operator deaths around the real planner and guards: what must hold in every one of them.

(i) A directory id whose disk was lost is never made again, and none is ever on two disks. (ii) The voters of the first quorum are named once.
(iii) A cluster keeps its id as long as its ledger or a marked claim exists. (iv) When faults end, the operator comes to rest, and a cluster
that lost nothing is whole again.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from kraft_operator.ledger import StepKind
from support.operator_world import World, pool

pytestmark = pytest.mark.properties

EXAMPLES = 1000 if os.environ.get("QUORATE_SOAK") else 40
FAULTS = (
    "delete pod", "delete claim", "wipe", "swap", "die", "take over", "delete cluster", "lose ledger", "shrink", "grow", "commit", "unmark",
)  # fmt: skip
HARMLESS = frozenset({"delete pod", "die", "take over", "delete cluster", "shrink", "grow", "commit"})


def strike(world: World, fault: str, number: int) -> None:
    """One fault, if the world is in a state where it can happen."""
    nodes = sorted(world.pods)
    node_id = nodes[number % len(nodes)] if nodes else None
    match fault:
        case "delete pod" if node_id is not None:
            world.delete_pod(node_id)
        case "delete claim" if node_id is not None:
            world.delete_claim(node_id)
        case "wipe" if node_id is not None and _known(world, node_id):
            world.wipe(node_id)
        case "swap" if len(nodes) > 1 and node_id is not None:
            world.swap(node_id, nodes[(number + 1) % len(nodes)])
        case "die":
            world.reconcile(stop_after=number % 7)
        case "take over":
            world.take_over()
        case "delete cluster":
            world.delete_cluster()
        case "lose ledger" if all(claim.marks for claim in world.claims.values()):
            world.delete_cluster()
            world.lose_ledger()
        case "shrink":
            world.edit(brokerPools=[pool("b", 1, 100)])
        case "grow":
            world.edit(brokerPools=[pool("b", 2, 100)])
        case "commit":
            world.write_metadata()
        case "unmark" if world.ledger_data is not None:
            for claim in world.claims.values():
                claim.marks.clear()
        case _:
            pass


def _known(world: World, node_id: int) -> bool:
    """The operator has seen this disk in use. A disk wiped whole, marker and all, before that cannot be told from a new one."""
    ledger = world.ledger
    entry = ledger.entry(node_id) if ledger else None
    return entry is not None and (entry.grant_used or entry.directory_id is not None)


def check(world: World, cluster_ids: set[str]) -> None:
    assert not world.broken, world.broken
    first = {tuple(sorted(world.voters.items()))} if world.voters else set()
    assert len(first) <= 1
    if world.ledger is not None:
        cluster_ids.add(world.ledger.cluster_id)
    assert len(cluster_ids) <= 1, f"the cluster's id changed: {cluster_ids}"


steps = st.lists(st.tuples(st.sampled_from(FAULTS), st.integers(0, 30), st.integers(0, 4)), max_size=14)


@given(steps)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_history_makes_a_lost_directory_again_or_a_second_cluster(history: list[tuple[str, int, int]]) -> None:
    world, cluster_ids = World(), set[str]()
    for fault, number, moves in history:
        for _ in range(moves):
            world.reconcile()
            world.kubelet()
            check(world, cluster_ids)
        note(f"{fault} {number}")
        strike(world, fault, number)
    world.settle(80)
    check(world, cluster_ids)
    if {fault for fault, _, _ in history} <= HARMLESS:
        assert set(world.running_voters()) == {0, 1, 2}
        assert {broker for broker in world.registered if broker != 101} == {100}
        assert world.ledger is not None
        assert not [step for step in world.ledger.journal if step.kind is StepKind.GRANT]


@given(st.integers(0, 40), st.integers(0, 6))
@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))
def test_an_operator_that_dies_after_any_of_its_writes_is_succeeded_by_one_that_finishes(
    kill: int, rounds: int
) -> None:
    world = World()
    for _ in range(rounds):
        world.reconcile()
        world.kubelet()
    world.reconcile(stop_after=kill)
    world.take_over()
    world.settle(80)
    assert not world.broken
    assert set(world.running_voters()) == {0, 1, 2}
    assert world.registered == {100, 101}
