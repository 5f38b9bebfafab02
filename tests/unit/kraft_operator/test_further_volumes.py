"""Brokers with several volumes: each directory is formatted once, and lost, refused and kept by itself."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kraft_operator.actions import AnnotateClaim, ApplyChild, DeliverGrant, GiveUpDisk, GrowClaim, MakeClaim
from kraft_operator.ledger_format import parse, render
from kraft_operator.plan.situation import Decision
from support.operator_model.compared import compared_pass
from support.operator_model.world import World, pool

pytestmark = pytest.mark.unit


def jbod(*volumes: str, size: str = "2Gi", **more: object) -> dict[str, object]:
    storage = {"size": "1Gi", "volumes": [{"name": name, "size": size} for name in volumes]}
    return {**pool("b", 2, 100), "storage": storage, **more}


@pytest.fixture
def world() -> World:
    made = World(brokerPools=[jbod("one")])
    made.settle()
    return made


def directories(world: World) -> dict[int, dict[str, str]]:
    """Of running brokers: the directory on each further volume."""
    found: dict[int, dict[str, str]] = {}
    for node_id, pod in world.pods.items():
        for volume, each in pod.further.items():
            identity = world.disks[world.claims[each.claim].volume].facts.identity
            if pod.runs and identity is not None and identity.directory_id is not None:
                found.setdefault(node_id, {})[volume] = identity.directory_id
    return found


def reasons(decision: Decision) -> set[str]:
    return {each.reason for each in decision.findings}


def message(decision: Decision, reason: str) -> str:
    return next(each.message for each in decision.findings if each.reason == reason)


def test_each_directory_is_formatted_once_and_known_to_ledger_and_claim(world: World) -> None:
    ledger = world.ledger
    assert ledger is not None
    known = {(volume, entry.node_id): entry.directory_id for volume, entry in ledger.volumes}
    there = directories(world)
    assert known == {("one", 100): there[100]["one"], ("one", 101): there[101]["one"]}
    assert world.claims["data-one-c-b-100-0"].marks["directory-id"] == there[100]["one"]
    assert len({directory for *_, directory in world.formats}) == len(world.formats) == 7
    assert not world.broken


def test_nothing_is_done_at_rest_and_the_ledger_is_read_as_it_was_written(world: World) -> None:
    assert world.plan().actions == ()
    assert world.ledger is not None
    assert parse(render(world.ledger)) == world.ledger


def test_a_volume_is_added_by_a_roll_one_broker_at_a_time(world: World) -> None:
    before = directories(world)
    world.writes.clear()
    world.edit(brokerPools=[jbod("one", "two")])
    world.settle()
    assert world.restarts == [100, 101]
    assert {node: each["one"] for node, each in directories(world).items()} == {
        node: each["one"] for node, each in before.items()
    }
    assert all(set(each) == {"one", "two"} for each in directories(world).values())
    granted = [each.volume for each in world.writes if isinstance(each, DeliverGrant)]
    assert granted == ["two", "two"]
    assert not world.broken


def test_what_is_published_of_adding_a_volume_is_what_is_done(world: World) -> None:
    world.edit(brokerPools=[jbod("one", "two")], changePolicy={"mode": "Plan"})
    world.settle()
    ids = [each.id for each in world.published.ahead]
    assert {"make-volume/100/two", "make-volume/101/two", "grant/100/two", "grant/101/two"} <= set(ids)
    name = world.published.hash
    world.approve()
    hashes = set()
    for _ in range(30):
        world.reconcile()
        world.kubelet()
        hashes.add(world.published.hash)
    assert hashes <= {name, ""}
    assert all(set(each) == {"one", "two"} for each in directories(world).values())


def test_a_lost_volume_costs_its_directory_and_no_other(world: World) -> None:
    before = directories(world)
    first = {node: world.copy_of(node).identity for node in (100, 101)}
    world.writes.clear()
    world.delete_volume(100, "one")
    world.settle()
    after = directories(world)
    assert after[100]["one"] != before[100]["one"]
    assert after[101] == before[101]
    assert {node: world.copy_of(node).identity for node in (100, 101)} == first
    assert [each.directory_id for each in world.writes if isinstance(each, GiveUpDisk)] == [before[100]["one"]]
    assert world.ledger is not None
    assert world.ledger.is_written_off(100, before[100]["one"])
    assert not world.broken


def test_a_lost_volume_waits_for_an_approval_where_nobody_else_is_in_sync(world: World) -> None:
    world.place("t", 100)
    world.settle()
    world.delete_volume(100, "one")
    held = world.settle()
    assert reasons(held) >= {"DataLossPending"}
    assert message(held, "DataLossPending").startswith("volume one: broker 100: put the volume back, or approve")
    assert 100 not in directories(world)
    world.approve()
    world.settle()
    assert "one" in directories(world)[100]


def test_an_emptied_volume_is_not_formatted_before_it_counts_as_lost(world: World) -> None:
    world.edit(brokerPools=[jbod("one")], recoveryPolicy={"lostDisk": "Report"})
    world.delete_volume(100, "one")
    held = world.settle()
    assert "DiskLost" in reasons(held)
    assert 100 not in directories(world)


def test_exchanged_volumes_of_a_broker_are_refused(world: World) -> None:
    world.edit(brokerPools=[jbod("one", "two")])
    world.settle()
    world.swap_volumes(100, "one", "two")
    held = world.settle()
    assert "ForeignVolume" in reasons(held)
    assert world.pods[100].hold == "OtherDirectory"
    assert 100 not in directories(world)


def test_a_claim_that_is_gone_is_made_again_on_the_volume_that_it_had(world: World) -> None:
    before = directories(world)
    world.release_volume(100, "one")
    world.writes.clear()
    world.settle()
    assert directories(world) == before
    assert [each.claim for each in world.writes if isinstance(each, MakeClaim)] == ["data-one-c-b-100-0"]
    assert world.ledger is not None
    known = next(entry for _, entry in world.ledger.volumes if entry.node_id == 100)
    assert known.pvc_uid == world.claims["data-one-c-b-100-0"].uid
    assert world.claims["data-one-c-b-100-0"].marks["pvc-uid"] == known.pvc_uid


def test_a_volume_that_the_resource_names_no_more_is_kept_with_the_remedy(world: World) -> None:
    before = directories(world)
    world.writes.clear()
    world.edit(brokerPools=[jbod()])
    held = world.settle()
    assert directories(world) == before
    assert world.restarts == []
    assert re.match("put volume one back into storage.volumes of pool b, .* or add a pool", message(held, "VolumeKept"))
    world.edit(brokerPools=[jbod("one")])
    assert not world.settle().findings
    assert world.restarts == []


def test_a_volume_that_no_broker_has_yet_may_be_taken_back() -> None:
    world = World(brokerPools=[{**jbod("one"), "replicas": 0}])
    world.settle()
    world.edit(brokerPools=[{**jbod(), "replicas": 2}])
    assert not world.settle().findings
    assert all(not pod.further for pod in world.pods.values())


def test_volumes_grow_each_by_its_own_size(world: World) -> None:
    world.writes.clear()
    world.edit(brokerPools=[jbod("one", size="3Gi")])
    held = world.settle()
    grown = [(each.claim, each.size) for each in world.writes if isinstance(each, GrowClaim)]
    assert grown == [("data-one-c-b-100-0", "3Gi"), ("data-one-c-b-101-0", "3Gi")]
    assert reasons(held) == {"ResizePending"}
    assert world.restarts == []


def test_claims_go_with_the_resource_if_its_volumes_do(world: World) -> None:
    world.writes.clear()
    world.edit(brokerPools=[jbod("one")], deletionPolicy={"volumes": "Delete"})
    world.settle()
    owned = [each for each in world.writes if isinstance(each, ApplyChild)]
    claims = [each.manifest for each in owned if each.manifest["kind"] == "PersistentVolumeClaim"]
    assert [len(each["metadata"]["ownerReferences"]) for each in claims] == [1, 1]
    assert world.plan().actions == ()


def test_a_lost_ledger_is_made_again_with_every_directory(world: World) -> None:
    before = directories(world)
    world.lose_ledger()
    world.settle()
    ledger = world.ledger
    assert ledger is not None
    assert {entry.node_id: entry.directory_id for _, entry in ledger.volumes} == {
        node: each["one"] for node, each in before.items()
    }
    world.delete_pod(100)
    world.settle()
    assert directories(world) == before


def test_a_volume_that_a_ledger_made_again_knows_nothing_of_is_formatted_with_an_approval_only(world: World) -> None:
    world.delete_volume(100, "one")
    world.lose_ledger()
    held = world.settle()
    told = message(held, "FormatNeedsApproval")
    named = re.search(r"format-empty-claims=(\S+);|=(data-one-c-b-100-0:\S+);", told)
    assert named, told
    assert 100 not in directories(world)
    claim = world.claims["data-one-c-b-100-0"]
    world.cluster = replace(world.cluster, approved_formats=frozenset({f"data-one-c-b-100-0:{claim.uid}"}))
    world.settle()
    assert "one" in directories(world)[100]


def test_a_claim_that_is_being_deleted_guards_its_pod(world: World) -> None:
    world.claims["data-one-c-b-100-0"].terminating = True
    world.edit(brokerPools=[jbod("one")], config={"common": {"log.cleaner.threads": "2"}})
    held = world.settle()
    assert "data-one-c-b-100-0" in message(held, "ClaimTerminating")
    assert 100 not in world.restarts
    assert not world.broken


def test_an_id_that_was_scaled_away_comes_back_to_its_directories(world: World) -> None:
    before = directories(world)
    world.edit(brokerPools=[{**jbod("one"), "replicas": 1}])
    world.settle()
    world.edit(brokerPools=[{**jbod("one"), "replicas": 2}])
    world.settle()
    assert directories(world) == before
    assert not world.broken


def test_the_operators_own_model_of_its_actions_is_that_of_the_world() -> None:
    world = World(brokerPools=[jbod("one")])
    seen: set[type] = set()
    for _ in range(12):
        seen |= compared_pass(world)
    world.edit(brokerPools=[jbod("one", "two", size="3Gi")])
    for _ in range(12):
        seen |= compared_pass(world)
    assert {ApplyChild, DeliverGrant, AnnotateClaim, GrowClaim} <= seen
