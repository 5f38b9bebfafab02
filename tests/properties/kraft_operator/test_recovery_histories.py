"""A lost quorum is recovered whatever happens to the operators meanwhile: each may die after any of its writes, and
another one goes on.

(i) No helper touches a claim whose controller has a pod; nothing is dropped that is not empty. (ii) Nothing is changed
before the approval. (iii) No directory id is ever on two disks. (iv) In the end every controller is a live voter of the
next generation, and the seed's records are in it.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from kraft_operator.operations.operation import Phase, parse_operation
from kraft_operator.operations.recovery import Stage
from storage_guard.facts import VolumeFacts
from support.operator_model.world import Disk, LiveClaim, World

pytestmark = pytest.mark.properties

EXAMPLES = 1000 if os.environ.get("QUORATE_SOAK") else 5
TURN = st.tuples(st.sampled_from(("reconcile", "die", "kubelet", "take over")), st.integers(0, 6))


@given(st.sets(st.integers(0, 2), min_size=2), st.lists(TURN, max_size=20), st.lists(TURN, max_size=20))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_operators_that_die_anywhere_are_succeeded_by_one_that_finishes(
    lost: set[int], before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    world = World()
    world.settle()
    world.write_metadata()
    world.settle()
    held = world.acknowledged
    for node_id in lost:
        world.delete_claim(node_id)
    world.ask("r", "RecoverQuorum")
    turn(world, before)
    world.settle(80)
    assert phase(world) is Phase.WAITING_APPROVAL
    assert not [each for each in world.formats if each[0] == "recovered"]
    world.trust("r", str(parse_operation(world.operations["r"]).status["verdict"]["hash"]))
    turn(world, after)
    world.settle(120)
    assert not world.broken, world.broken
    assert phase(world) is Phase.SUCCEEDED
    assert set(world.running_voters()) == {0, 1, 2}
    assert len([each for each in world.formats if each[0] == "recovered"]) == 1
    assert world.acknowledged >= held
    assert world.ledger is not None
    assert world.ledger.generation == 2


def turn(world: World, turns: list[tuple[str, int]]) -> None:
    for what, number in turns:
        match what:
            case "reconcile":
                world.reconcile()
            case "die":
                world.reconcile(stop_after=number)
                world.take_over()
            case "kubelet":
                world.kubelet()
            case _:
                world.take_over()
        assert not world.broken, world.broken
        note(f"{what} {number}: {world.ledger.recovery if world.ledger else None}")


def phase(world: World) -> Phase:
    return parse_operation(world.operations["r"]).phase


@pytest.mark.parametrize("stage", [Stage.FENCE, Stage.COLLECT])
def test_a_wish_that_is_deleted_before_the_choice_leaves_everything_as_it_was(stage: Stage) -> None:
    world = World()
    world.settle()
    world.delete_claim(0)
    world.delete_claim(1)
    world.settle()
    before = dict(world.voters), [disk.facts.identity for disk in world.disks.values()]
    world.ask("r", "RecoverQuorum")
    for _ in range(20):
        world.reconcile()
        if world.ledger is not None and world.ledger.recovery is not None and world.ledger.recovery.stage is stage:
            break
        world.kubelet()
    del world.operations["r"]
    world.settle()
    assert world.ledger is not None
    assert world.ledger.recovery is None
    assert (dict(world.voters), [disk.facts.identity for disk in world.disks.values()]) == before
    assert world.running_voters() == [2]


def test_a_wish_that_is_deleted_after_the_choice_is_carried_to_its_end() -> None:
    world = World()
    world.settle()
    world.write_metadata()
    world.delete_claim(0)
    world.delete_claim(1)
    world.ask("r", "RecoverQuorum")
    world.settle(80)
    world.trust("r", str(parse_operation(world.operations["r"]).status["verdict"]["hash"]))
    world.reconcile()
    assert world.ledger is not None
    assert world.ledger.recovery is not None
    assert world.ledger.recovery.stage is Stage.FORCE
    del world.operations["r"]
    world.settle(120)
    assert set(world.running_voters()) == {0, 1, 2}
    assert world.ledger.generation == 2


@pytest.mark.parametrize(("node_id", "by"), [(2, -1), (2, 1), (100, -1)], ids=["cut", "written to", "a broker's cut"])
def test_a_copy_that_moves_between_its_two_readings_is_not_judged(node_id: int, by: int) -> None:
    world = World()
    world.settle()
    world.write_metadata()
    world.settle()
    world.delete_claim(0)
    world.delete_claim(1)
    world.ask("r", "RecoverQuorum")
    for _ in range(20):
        if any(each.report is not None for each in world.helpers.values()):
            break
        world.reconcile()
        world.kubelet()
    claim = f"data-c-controller-{node_id}-0" if node_id == 2 else f"data-c-b-{node_id}-0"
    disk = world.disks[world.claims[claim].volume]
    assert disk.facts.log_end is not None
    disk.facts = replace(disk.facts, log_end=replace(disk.facts.log_end, offset=disk.facts.log_end.offset + by))
    world.settle(80)
    told = parse_operation(world.operations["r"]).status
    assert f"could not be read: node {node_id}: its log changed" in told["message"]
    assert {2, 100, 101} - {each["nodeID"] for each in told["verdict"]["copies"]} == {node_id}


def all_lost_and_approved() -> tuple[World, VolumeFacts]:
    """Every controller's disk is lost, and a verdict is approved: a broker's copy is to be written to controller 0's
    empty volume. Also what controller 0's disk held."""
    world = World()
    world.settle()
    world.write_metadata()
    world.settle()
    held = world.copy_of(0)
    for node_id in (0, 1, 2):
        world.delete_claim(node_id)
    world.ask("r", "RecoverQuorum")
    world.settle(80)
    world.trust("r", str(parse_operation(world.operations["r"]).status["verdict"]["hash"]))
    world.reconcile()
    assert world.ledger is not None
    assert world.ledger.recovery is not None
    assert world.ledger.recovery.stage is Stage.FORCE
    return world, held


def put_back(world: World, facts: VolumeFacts, node_id: int = 0) -> None:
    """Somebody has found a volume after all, and binds it to the claim's name."""
    volume = world.fresh("pv")
    world.disks[volume] = Disk(volume, facts)
    world.claims[f"data-c-controller-{node_id}-0"] = LiveClaim(world.fresh("pvc"), volume)


@pytest.mark.parametrize("dropped", [False, True], ids=["before the empty one is dropped", "after"])
def test_a_claim_that_is_put_back_after_the_approval_is_looked_at_and_never_dropped(dropped: bool) -> None:
    world, held = all_lost_and_approved()
    name = "data-c-controller-0-0"
    if dropped:
        world.reconcile()
        assert name not in world.claims
    put_back(world, held)
    uid = world.claims[name].uid
    world.settle(80)
    assert not world.broken, world.broken
    assert world.claims[name].uid == uid
    told = parse_operation(world.operations["r"]).status
    assert phase(world) is Phase.WAITING_APPROVAL
    assert 0 in {each["nodeID"] for each in told["verdict"]["copies"]}
    world.trust("r", str(told["verdict"]["hash"]))
    world.settle(120)
    assert not world.broken, world.broken
    assert phase(world) is Phase.SUCCEEDED


def test_an_empty_claim_that_nobody_has_seen_is_looked_at_before_it_is_dropped() -> None:
    world, _ = all_lost_and_approved()
    put_back(world, VolumeFacts())
    uid = world.claims["data-c-controller-0-0"].uid
    world.settle(80)
    assert world.claims["data-c-controller-0-0"].uid == uid
    assert phase(world) is Phase.WAITING_APPROVAL


def test_the_seeds_claim_is_the_one_that_was_judged() -> None:
    world = World()
    world.settle()
    world.write_metadata()
    world.settle()
    held = world.copy_of(0)
    world.delete_claim(0)
    world.delete_claim(1)
    world.ask("r", "RecoverQuorum")
    world.settle(80)
    world.trust("r", str(parse_operation(world.operations["r"]).status["verdict"]["hash"]))
    world.reconcile()
    put_back(world, held, 2)  # it is node 0's disk, under node 2's name
    world.settle(80)
    assert not world.broken, world.broken
    assert phase(world) is Phase.WAITING_APPROVAL
    assert 2 not in {each["nodeID"] for each in parse_operation(world.operations["r"]).status["verdict"]["copies"]}
