"""ProtectClaims: volumes outlive their claims, and a claim that is being deleted is made anew on the same disk, one
node at a time.
"""

from __future__ import annotations

import pytest

from kraft_operator.observe import addresses
from kraft_operator.operations.operation import parse_operation
from support.operator_model.world import World, pool

pytestmark = pytest.mark.unit

STORAGE = {"size": "1Gi", "volumes": [{"name": name, "size": "1Gi"} for name in ("one", "two")]}
FURTHER = [{**pool("b", 2, 100), "storage": STORAGE}]


def settled(**changes: object) -> World:
    world = World(**changes)
    world.settle(80)
    return world


def phase(world: World) -> str:
    return parse_operation(world.operations["p"]).phase.value


def disks(world: World) -> dict[str, str]:
    return {name: claim.volume for name, claim in world.claims.items()}


def test_every_claim_that_is_being_deleted_is_made_anew_on_its_volume_while_the_quorum_goes_on() -> None:
    world = settled()
    before, voters, formats = disks(world), dict(world.voters), list(world.formats)
    uids = {name: claim.uid for name, claim in world.claims.items()}
    for node_id in (0, 1, 2, 100, 101):
        world.terminate(node_id)
    world.ask("p", "ProtectClaims")
    for _ in range(120):
        world.reconcile()
        world.kubelet()
        world.write_metadata()
        assert world.leader() >= 0
        away = {0, 1, 2, 100, 101} - {node for node, pod in world.pods.items() if pod.runs}
        assert len(away) <= 1, f"{away} are away at once"
    assert phase(world) == "Succeeded"
    assert disks(world) == before
    assert not any(claim.terminating for claim in world.claims.values())
    assert all(world.claims[name].uid != uid for name, uid in uids.items())
    assert (world.voters, world.formats, world.broken) == (voters, formats, [])
    assert world.ledger is not None
    assert {each.pvc_uid for each in world.ledger.entries} == {claim.uid for claim in world.claims.values()}


def test_volumes_are_retained_before_any_pod_is_let_go() -> None:
    world = settled()
    world.terminate(1)
    world.ask("p", "ProtectClaims")
    while 1 in world.pods:
        world.reconcile()
        world.kubelet()
    assert world.retained >= set(disks(world).values())


def test_without_a_claim_that_is_being_deleted_nothing_is_restarted() -> None:
    world = settled()
    pods = {node: pod.uid for node, pod in world.pods.items()}
    world.ask("p", "ProtectClaims")
    world.settle()
    assert phase(world) == "Succeeded"
    assert {node: pod.uid for node, pod in world.pods.items()} == pods
    assert world.retained == set(disks(world).values())


@pytest.mark.parametrize(("struck", "mode"), [(("one",), "Apply"), (("", "two"), "Plan")])
def test_claims_of_further_volumes_are_made_anew_with_the_same_pod(struck: tuple[str, ...], mode: str) -> None:
    world = settled(brokerPools=FURTHER)
    before, formats = disks(world), list(world.formats)
    for node_id in (100, 101):
        for volume in struck:
            world.terminate(node_id, volume)
    going = {claim.uid for claim in world.claims.values() if claim.terminating}
    told = world.settle()
    assert {each.reason for each in told.findings} == {"ClaimTerminating"}
    world.edit(brokerPools=FURTHER, changePolicy={"mode": mode})
    world.ask("p", "ProtectClaims")
    for _ in range(60):
        world.reconcile()
        world.kubelet()
        away = {100, 101} - {node for node, pod in world.pods.items() if pod.runs}
        assert len(away) <= 1, f"{away} are away at once"
    assert phase(world) == "Succeeded"
    assert (disks(world), world.formats, world.broken) == (before, formats, [])
    assert not going & {claim.uid for claim in world.claims.values()}
    assert not any(claim.terminating for claim in world.claims.values())
    assert world.ledger is not None
    assert {each.pvc_uid for each in world.ledger.every_entry} == {claim.uid for claim in world.claims.values()}
    assert not world.settle().findings


def test_an_operator_that_dies_on_the_way_of_a_further_volume_is_followed_by_one_that_ends_it() -> None:
    world = settled(brokerPools=FURTHER)
    before, formats = disks(world), list(world.formats)
    world.terminate(100, "two")
    world.terminate(101, "one")
    world.ask("p", "ProtectClaims")
    for _ in range(60):
        world.reconcile(stop_after=1)
        world.take_over()
        world.kubelet()
    world.settle(80)
    assert phase(world) == "Succeeded"
    assert (disks(world), world.formats, world.broken) == (before, formats, [])


def test_it_waits_for_headroom() -> None:
    world = settled()
    world.freeze(0)
    world.terminate(1)
    world.ask("p", "ProtectClaims")
    for _ in range(10):
        world.reconcile()
        world.kubelet()
    assert 1 in world.pods
    assert phase(world) == "Running"
    world.thaw(0)
    world.settle()
    assert phase(world) == "Succeeded"


@pytest.mark.parametrize("stop", range(1, 5))
def test_an_operator_that_dies_on_the_way_is_followed_by_one_that_ends_it(stop: int) -> None:
    world = settled()
    before = disks(world)
    world.terminate(2)
    world.terminate(100)
    world.ask("p", "ProtectClaims")
    for _ in range(60):
        world.reconcile(stop_after=stop)
        world.take_over()
        world.kubelet()
    world.settle(80)
    assert phase(world) == "Succeeded"
    assert disks(world) == before
    assert not world.broken


def test_a_node_that_was_begun_is_brought_to_its_end_whoever_deletes_the_wish() -> None:
    world = settled()
    before = disks(world)
    world.terminate(1)
    world.ask("p", "ProtectClaims")
    while 1 in world.pods:
        world.reconcile()
        world.kubelet()
    world.operations.clear()
    world.settle(80)
    assert disks(world) == before
    assert world.pods[1].runs
    assert world.ledger is not None
    assert world.ledger.operation is None


def test_the_ledger_lost_on_the_way_changes_nothing() -> None:
    world = settled()
    before, formats = disks(world), list(world.formats)
    world.terminate(100)
    world.ask("p", "ProtectClaims")
    while 100 in world.pods:
        world.reconcile()
        world.kubelet()
    world.lose_ledger()
    world.settle(80)
    assert (disks(world), world.formats) == (before, formats)
    assert world.pods[100].runs


def test_in_mode_plan_it_needs_no_approval_of_its_own() -> None:
    world = settled(brokerPools=[pool("b", 2, 100)])
    world.edit(changePolicy={"mode": "Plan"})
    world.settle()
    world.terminate(2)
    world.ask("p", "ProtectClaims")
    world.settle(80)
    assert phase(world) == "Succeeded"


def test_brokers_are_asked_what_they_hold_while_it_is_under_way() -> None:
    world = settled()
    seen = world.observed()
    assert world.ledger is not None
    assert not addresses(world.cluster, world.ledger, seen.pods, seen.sets).with_replicas
    world.terminate(100)
    world.ask("p", "ProtectClaims")
    world.reconcile()
    assert addresses(world.cluster, world.ledger, seen.pods, seen.sets).with_replicas
