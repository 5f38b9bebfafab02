"""Random histories of faults, edits and operator deaths around the real planner and guards: what must hold in every one
of them.

(i) A directory id whose disk was lost is never made again, and none is ever on two disks. (ii) The voters of the first
quorum are named once. (iii) A cluster keeps its id as long as its ledger or a marked claim exists. (iv) When faults
end, the operator comes to rest, and a cluster that lost nothing is whole again.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from kraft_operator.ledger import StepKind
from storage_guard.facts import VolumeFacts
from support.operator_model.world import World, pool

pytestmark = pytest.mark.properties

EXAMPLES = 1000 if os.environ.get("QUORATE_SOAK") else 8
FAULTS = (
    "delete pod", "delete claim", "wipe", "swap", "die", "take over", "delete cluster", "lose ledger", "shrink", "grow",
    "commit", "unmark",
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
    """The operator has seen this disk in use. A disk wiped whole, marker and all, before that cannot be told from a new
    one.
    """
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


VOTER_FAULTS = (
    "freeze",
    "thaw",
    "lose",
    "wipe",
    "restore",
    "give back",
    "scale",
    "roll",
    "delete pod",
    "die",
    "take over",
    "drift",
    "commit",
    "commit",
)


def strike_voters(world: World, fault: str, number: int, copies: dict[int, VolumeFacts]) -> None:
    """One fault to the controllers. A disk is lost only while the other voters that hold everything are a majority:
    what is lost beyond that is lost by the fault, not by the operator."""
    running = world.running_voters()
    node_id = running[number % len(running)] if running else -1
    whole = [each for each in running if each != node_id and world.end_of(each) >= world.acknowledged]
    bearable = len(whole) > len(world.voters) // 2 and node_id >= 0 and _known(world, node_id)
    match fault:
        case "freeze" if node_id >= 0:
            world.freeze(node_id)
        case "thaw":
            world.frozen.clear()
        case "lose" if bearable:
            world.delete_claim(node_id)
        case "wipe" if bearable:
            world.wipe(node_id)
        case "drift" if node_id in world.voters:
            world.drift(node_id)
        case "give back":
            world.give_back()
        case "restore" if bearable and _same_directory(world.copy_of(node_id), copies.get(node_id)):
            world.restore(node_id, copies[node_id])
        case "scale":
            counts = {
                "replicas": (1, 3, 5)[number % 3],
                "nodeIdRange": {"start": 0, "end": 9},
                "storage": {"size": "1Gi"},
            }
            world.edit(controllers=counts)
        case "roll":
            world.edit(image={"repository": "kafka", "tag": str(number)})
        case "delete pod" | "die" | "take over" | "commit":
            strike(world, fault, number)
        case _:
            pass
    if node_id in world.pods and world.pods[node_id].stage == "running":
        copies[node_id] = world.copy_of(node_id)


def _same_directory(one: VolumeFacts, other: VolumeFacts | None) -> bool:
    """An old copy of what is there now; one of a directory that was written off is refused for ever, and somebody has
    to take it away.
    """
    return other is not None and one.identity == other.identity


@given(st.lists(st.tuples(st.sampled_from(VOTER_FAULTS), st.integers(0, 30), st.integers(0, 6)), max_size=16))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_history_of_lost_voters_scaling_and_rolls_loses_what_was_acknowledged(
    history: list[tuple[str, int, int]],
) -> None:
    world, copies = World(), dict[int, VolumeFacts]()
    world.settle()
    world.write_metadata()
    for fault, number, moves in history:
        note(f"{fault} {number}: voters {world.voters}, running {world.running_voters()}")
        strike_voters(world, fault, number, copies)
        for _ in range(moves):
            world.reconcile()
            world.kubelet()
            assert not world.broken, world.broken
    world.frozen.clear()
    world.settle(200)
    assert not world.broken, world.broken
    wanted = set(world.cluster.spec.controllers.node_ids)
    assert set(world.voters) == wanted
    assert set(world.running_voters()) == wanted
    assert not (wanted - {world.leader()}) & set(world.drifted)


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
