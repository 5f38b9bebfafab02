"""Which disks may be formatted, told as stories of the model world: real planner, real guards, modelled Kubernetes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraft_operator.actions import NudgePod, RestartPod, WriteLedger
from kraft_operator.ledger import Formation
from kraft_operator.plan.rules import plan
from kraft_operator.plan.situation import Situation
from storage_guard.facts import LedgerFacts, LogEnd
from support.operator_model.world import IMAGES, World, pool, refused

pytestmark = pytest.mark.unit


REPORT = {"recoveryPolicy": {"lostDisk": "Report"}}
"""A lost disk is told and left alone."""


def formed(**changes: object) -> World:
    world = World(**changes)
    world.settle()
    world.write_metadata()
    return world


def test_a_new_cluster_is_formatted_once_with_the_directory_ids_the_operator_chose() -> None:
    world = formed()
    assert world.ledger is not None
    assert world.ledger.formation is Formation.FORMED
    modes = sorted((node, mode) for mode, _, node, _ in world.formats)
    initial = [(node, "--initial-controllers") for node in (0, 1, 2)]
    assert modes == [*initial, (100, ""), (101, "")]
    assert world.voters == {entry.node_id: entry.chosen_directory_id for entry in world.ledger.entries[:3]}
    assert world.registered == {100, 101}


def test_no_quorum_is_formed_before_every_controller_disk_was_seen() -> None:
    world = World()
    world.reconcile()
    for node_id in (0, 1, 100, 101):
        for _ in range(3):
            world.kubelet(node_id)
            world.reconcile()
    assert world.formats == []
    assert all(pod.grant is None for pod in world.pods.values())


def test_a_quiet_cluster_gets_no_action_at_all() -> None:
    world = formed()
    assert world.plan().actions == ()


def test_a_deleted_pod_returns_with_its_directory_without_any_grant() -> None:
    world = formed()
    world.delete_pod(1)
    for _ in range(6):
        world.kubelet()  # no operator at all
    assert 1 in world.running_voters()
    assert world.pods[1].grant is None


def test_the_operator_writes_nothing_for_a_pod_that_returns_with_a_known_disk() -> None:
    world = formed()
    world.delete_pod(1)
    world.writes.clear()
    world.settle()
    assert [type(action).__name__ for action in world.writes] in (
        [],
        ["WriteLedger", "Remember"],
    )  # at most a grown minimum


@pytest.mark.parametrize("node_id", [0, 2, 100])
def test_a_lost_disk_is_refused_and_never_formatted_again(node_id: int) -> None:
    world = formed(**REPORT)
    before = list(world.formats)
    world.delete_claim(node_id)
    decision = world.settle()
    assert refused(decision) == ["DiskLost", "FormatRefused"]
    assert world.pods[node_id].stage == "gate"
    assert world.formats == before


def test_a_disk_emptied_in_place_is_refused() -> None:
    world = formed(**REPORT)
    world.wipe(1)
    assert refused(world.settle()) == ["DiskLost", "FormatRefused"]
    assert world.pods[1].hold == "FormatRefused"


def test_swapped_disks_are_foreign() -> None:
    world = formed()
    world.swap(0, 1)
    assert refused(world.settle()) == ["ForeignVolume", "ForeignVolume"]
    assert world.leader() == -1


def test_an_old_copy_is_regressed() -> None:
    world = formed(**REPORT)
    old = world.copy_of(2)
    for _ in range(5):
        world.write_metadata()
    world.delete_pod(2)
    world.settle()  # inspect tells how far the log had come, the ledger remembers
    world.restore(2, old)
    assert refused(world.settle()) == ["DiskLost", "RegressedVolume"]


@pytest.mark.parametrize("is_old", [True, False])
def test_a_disk_is_adopted_past_a_ledger_that_lags_in_its_pod_but_never_an_old_copy(
    is_old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = formed()
    old = world.copy_of(2)
    for _ in range(5):
        world.write_metadata()
    world.delete_pod(2)
    world.settle()
    current = world.copy_of(2)
    monkeypatch.setattr(world, "_mounted", lambda *_: LedgerFacts())
    world.restore(2, old if is_old else current)
    assert refused(world.settle()) == (["RegressedVolume"] if is_old else [])
    assert (2 in world.running_voters()) is not is_old


def test_deleting_the_resource_and_applying_it_again_adopts_everything() -> None:
    world = formed()
    before = (world.ledger, list(world.formats), world.voters)
    world.delete_cluster()
    decision = world.settle()
    assert refused(decision) == []
    assert world.ledger is not None
    assert (world.ledger.cluster_id, world.formats, world.voters) == (before[0].cluster_id, before[1], before[2])  # type: ignore[union-attr]
    assert world.leader() == 0


def test_a_lost_ledger_is_rebuilt_from_the_claims() -> None:
    world = formed()
    before = world.ledger
    world.delete_cluster()
    world.lose_ledger()
    world.settle()
    assert before is not None
    assert world.ledger is not None
    assert world.ledger.cluster_id == before.cluster_id
    assert world.ledger.formation is Formation.FORMED
    assert [entry.directory_id for entry in world.ledger.entries] == [entry.directory_id for entry in before.entries]
    assert world.leader() == 0


def test_a_claim_without_annotations_is_adopted_by_what_its_disk_says_once_others_prove_the_cluster() -> None:
    world = formed()
    formats = list(world.formats)
    world.claims["data-c-controller-2-0"].marks.clear()
    world.delete_cluster()
    world.lose_ledger()
    world.settle()
    assert world.formats == formats
    assert set(world.running_voters()) == {0, 1, 2}


def test_without_ledger_and_annotations_data_is_an_adoption_conflict() -> None:
    world = formed()
    formats = list(world.formats)
    for claim in world.claims.values():
        claim.marks.clear()
    world.delete_cluster()
    world.lose_ledger()
    assert set(refused(world.settle())) == {"AdoptionConflict"}
    assert world.formats == formats
    assert world.leader() == -1


def test_adopt_only_never_bootstraps() -> None:
    world = World(bootstrap={"policy": "AdoptOnly"})
    assert refused(world.settle()) == ["NothingToAdopt"]
    assert world.ledger is None
    assert world.sets == {}


def test_another_cluster_id_is_refused_and_the_running_cluster_left_alone() -> None:
    world = formed()
    world.edit(clusterID="QUJDREVGR0hJSktMTU5PUA")
    decision = world.settle()
    assert refused(decision) == ["ClusterIDMismatch"]
    assert world.leader() == 0


def test_a_claim_replaced_between_inspect_and_grant_gets_no_grant_of_the_old_one() -> None:
    world = World()
    world.reconcile()
    for _ in range(2):
        world.kubelet()
    world.reconcile(stop_after=1)  # journaled, not delivered
    world.delete_claim(1)
    world.settle()
    granted = world.pods[1]
    assert granted.grant is None or granted.grant.pvc_uid == world.claims[granted.claim].uid
    directories = [directory for _, _, _, directory in world.formats]
    assert len(set(directories)) == len(directories)


def test_a_directory_id_of_the_first_quorum_never_moves_to_another_claim() -> None:
    world = World()
    world.reconcile()
    world.kubelet()
    world.kubelet()
    world.reconcile()
    world.delete_claim(1)
    for _ in range(3):
        world.kubelet(1)
        world.reconcile()
    assert refused(world.plan()) == ["FormatRefused"]
    assert world.pods[1].grant is None


def test_a_pod_replaced_between_grant_and_format_is_granted_anew_on_the_same_disk() -> None:
    world = World()
    world.reconcile()
    world.kubelet()
    world.kubelet()
    world.reconcile()
    world.delete_pod(1)
    world.settle()
    assert world.voters.keys() == {0, 1, 2}
    assert set(world.running_voters()) == {0, 1, 2}


def test_a_format_killed_before_its_seal_is_resumed_with_the_same_directory_id() -> None:
    world = World()
    world.reconcile()
    world.kubelet()
    world.kubelet()
    world.reconcile()
    world.kubelet(1)
    world.kubelet(1)
    assert world.pods[1].stage == "seal"
    world.delete_pod(1)
    world.settle()
    assert [node for _, _, node, _ in world.formats].count(1) == 1
    assert set(world.running_voters()) == {0, 1, 2}


def test_after_formation_a_new_controller_disk_is_formatted_without_initial_controllers() -> None:
    """Node 2 never got its grant; the others formed the quorum without it."""
    world = World()
    world.reconcile()
    world.kubelet()
    world.kubelet()
    decision = world.plan()
    for action in decision.actions:
        if getattr(action, "pod", "") != "c-controller-2-0":
            world.perform(action)
    for _ in range(6):
        world.kubelet()
    world.delete_claim(2)
    world.settle()
    assert [(mode, node) for mode, _, node, _ in world.formats if node == 2] == [("--no-initial-controllers", 2)]


def test_the_broker_of_a_grown_pool_is_granted_a_disk() -> None:
    world = formed()
    world.edit(brokerPools=[pool("b", 3, 100)])
    world.settle()
    assert world.registered == {100, 101, 102}


def test_suspended_means_watching_only() -> None:
    world = formed()
    world.edit(lifecycle={"state": "Suspended"}, brokerPools=[pool("b", 3, 100)])
    decision = world.plan()
    assert refused(decision) == ["Suspended"]
    assert decision.actions == ()


def test_the_ledger_goes_with_the_resource_only_while_the_policy_says_so() -> None:
    world = formed()
    assert not world.ledger_owners
    world.edit(deletionPolicy={"volumes": "Delete"})
    world.settle()
    assert list(world.ledger_owners) == [world.cluster.uid]
    assert world.plan().actions == ()
    world.edit()
    world.settle()
    assert not world.ledger_owners


def test_a_cluster_made_anew_waits_until_the_old_one_and_its_ledger_are_gone() -> None:
    world = formed()
    world.ledger_owners = ("the uid of the resource before",)
    decision = world.plan()
    assert (refused(decision), decision.actions) == (["WaitingForDeletion"], ())


def test_a_gate_that_does_not_see_its_grant_is_nudged_a_bounded_number_of_times_and_then_made_anew() -> None:
    world = World()
    world.reconcile()
    world.kubelet()
    world.kubelet()
    world.reconcile()  # granted
    world.reconcile()  # and the journal settled
    pod = world.pods[0]
    seen = world.observed()
    situation = Situation(
        world.cluster, seen, world.ledger, world.fence, world.draw, IMAGES, overdue=frozenset({pod.uid, "gone"})
    )
    assert plan(situation).actions == (
        NudgePod("c-controller-0-0", pod.uid, 1, "its gate has not seen yet what was written on the pod"),
    )
    tired = replace(seen, pods=tuple(replace(each, nudges=20) for each in seen.pods))
    journal, restart = plan(replace(situation, observed=tired)).actions
    assert isinstance(journal, WriteLedger)
    assert isinstance(restart, RestartPod)
    assert restart.uid == pod.uid
    waits = replace(tired, pods=tuple(replace(each, grant_nonce=None) for each in seen.pods))
    assert not any(isinstance(each, NudgePod | RestartPod) for each in plan(replace(situation, observed=waits)).actions)
    waits = replace(waits, pods=tuple(replace(each, nudges=0) for each in waits.pods))
    assert not any(isinstance(each, NudgePod | RestartPod) for each in plan(replace(situation, observed=waits)).actions)


def test_an_uncommitted_tail_never_becomes_a_minimum() -> None:
    world = formed()
    for _ in range(3):
        world.write_metadata()
    disk = world.disks[world.claims[world.pods[2].claim].volume]
    disk.facts = replace(disk.facts, log_end=LogEnd(1, 50))
    world.delete_pod(2)
    world.settle()
    assert world.ledger is not None
    entry = world.ledger.entry(2)
    assert entry is not None
    assert (entry.min_epoch, entry.min_offset) == (1, 4)
