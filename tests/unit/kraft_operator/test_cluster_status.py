"""What the resource says: classes that people and GitOps tools read, dated only when they change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kraft_operator.events import notes
from kraft_operator.observed import Brokers, Quorum, QuorumState, Trouble
from kraft_operator.plan.situation import Decision
from kraft_operator.status import refused, status
from support.operator_model.world import World, pool

pytestmark = pytest.mark.unit


def written(world: World, old: dict[str, Any] | None = None, now: str = "t1") -> dict[str, Any]:
    decision = world.plan()
    return status(world.cluster, world.observed(), decision, old or {}, now)


def condition(found: dict[str, Any], kind: str) -> tuple[str, str]:
    each = next(each for each in found["conditions"] if each["type"] == kind)
    return each["status"], each["reason"]


def formed(**changes: object) -> World:
    world = World(**changes)
    world.settle()
    return world


def test_a_whole_cluster_is_ready_and_kstatus_current() -> None:
    found = written(formed())
    assert found["phase"] == "Ready"
    assert condition(found, "Ready") == ("True", "Ready")
    assert condition(found, "Reconciling") == ("False", "Idle")
    assert condition(found, "Stalled") == ("False", "Progressing")
    assert (found["quorum"]["state"], found["quorum"]["leaderID"]) == ("Available", 0)
    assert [node["storage"] for node in found["nodes"]] == ["Match"] * 5
    assert found["plan"]["steps"] == []


def test_pods_that_outlive_their_sets_for_a_moment_make_no_cluster_ready() -> None:
    """The resource was deleted and is applied again: its new sets are there before Kubernetes collects the old pods."""
    world = formed()
    seen = world.observed()
    owned = {each.node_id: each.uid for each in seen.sets}
    for owners, ready in ((owned, "True"), (dict.fromkeys(owned, "uid-of-an-old-set"), "False"), ({}, "True")):
        pods = tuple(replace(pod, owner=owners.get(pod.node_id, "")) for pod in seen.pods)
        found = status(world.cluster, replace(seen, pods=pods), world.plan(), {}, "t1")
        assert condition(found, "Ready")[0] == ready


def test_the_same_world_gives_the_same_status_whatever_the_time() -> None:
    world = formed()
    first = written(world, now="t1")
    assert written(world, first, now="t2") == first


def test_growing_numbers_of_the_log_do_not_change_the_status() -> None:
    world = formed()
    first = written(world)
    for _ in range(5):
        world.write_metadata()
    assert written(world, first, now="t2") == first


def test_only_a_condition_that_changed_gets_a_new_date() -> None:
    world = formed(recoveryPolicy={"lostDisk": "Report"})
    first = written(world)
    world.wipe(1)
    world.settle()
    found = written(world, first, now="t2")
    dates = {each["type"]: each["lastTransitionTime"] for each in found["conditions"]}
    assert (dates["StorageHealthy"], dates["Stalled"], dates["Ready"]) == ("t2", "t2", "t2")
    assert (dates["SpecValid"], dates["QuorumAvailable"]) == ("t1", "t1")
    assert found["phase"] == "Stalled"
    assert next(node for node in found["nodes"] if node["nodeID"] == 1)["storage"] == "FormatRefused"


def test_a_cluster_being_formed_is_in_progress() -> None:
    world = World()
    found = written(world)
    assert condition(found, "Ready") == ("False", "Forming")
    assert condition(found, "Reconciling") == ("True", "Forming")
    assert condition(found, "QuorumAvailable") == ("Unknown", "NotFormed")
    assert found["phase"] == "Forming"
    assert len(found["plan"]["steps"]) > 5


@pytest.mark.parametrize(
    ("state", "value", "reason"),
    [(QuorumState.UNAVAILABLE, "False", "NoLeader"), (QuorumState.UNKNOWN, "Unknown", "NotReached")],
)
def test_a_lost_quorum_is_told_from_an_unknown_one(state: QuorumState, value: str, reason: str) -> None:
    world = formed()
    observed = replace(world.observed(), quorum=Quorum(state, "why"))
    found = status(world.cluster, observed, Decision(ledger=world.ledger), {}, "t")
    assert condition(found, "QuorumAvailable") == (value, reason)
    assert condition(found, "Ready") == ("False", reason)


@pytest.mark.parametrize(
    "brokers", [Brokers(frozenset({100}), frozenset()), Brokers(frozenset({100, 101}), frozenset({101}))]
)
def test_a_broker_that_is_not_registered_or_fenced_keeps_the_cluster_from_being_ready(brokers: Brokers) -> None:
    world = formed()
    observed = replace(world.observed(), brokers=brokers)
    found = status(world.cluster, observed, Decision(ledger=world.ledger), {}, "t")
    assert condition(found, "Ready") == ("False", "BrokersNotRegistered")


def first_ready(world: World) -> dict[str, Any]:
    """Pass by pass, until the resource says Ready for the first time."""
    found: dict[str, Any] = {}
    for _ in range(40):
        decision = world.reconcile()
        found = status(world.cluster, world.observed(), replace(decision, ledger=world.ledger), {}, "t")
        if condition(found, "Ready")[0] == "True":
            return found
        world.kubelet()
    raise AssertionError(found)


@pytest.mark.parametrize("changes", [{}, {"brokerPools": [pool("b", 0, 100)]}])
def test_what_a_cluster_runs_well_with_is_known_when_it_is_ready_for_the_first_time(changes: dict[str, Any]) -> None:
    """Whoever edits at once gets the bad pod back, as later on."""
    world = World(**changes)
    first_ready(world)
    world.break_image(9)
    world.edit(image={"repository": "kafka", "tag": "9"}, rollout={"readyTimeout": "12s"}, **changes)
    world.settle()
    assert world.restarts == [1, 1]
    assert {pod.image for pod in world.pods.values()} == {"kafka:1"}
    assert condition(written(world), "Ready") == ("False", "BadRevision")


def test_a_cluster_of_which_one_look_was_taken_is_not_ready_yet() -> None:
    world = formed()
    assert world.ledger is not None
    observed, young = world.observed(), replace(world.ledger, good=())
    found = status(world.cluster, observed, Decision(ledger=young), {}, "t")
    assert condition(found, "Ready") == ("False", "RevisionUnproven")
    assert condition(found, "Reconciling") == ("True", "RevisionUnproven")


def test_a_node_whose_pod_is_away_for_a_moment_is_not_asleep() -> None:
    world = formed()
    world.edit(lifecycle={"state": "Hibernated"})
    for node_id in (100, 101, 0, 1, 2):
        world.delete_pod(node_id)
    assert not world.observed().pods
    assert condition(written(world), "Hibernated") == ("True", "FallingAsleep")
    world.settle()
    assert condition(written(world), "Hibernated") == ("True", "Hibernated")


def test_an_image_that_does_not_start_is_told_with_its_remedy() -> None:
    world = World()
    world.reconcile()
    world.kubelet()
    world.pods[0].trouble = Trouble("ImagePullBackOff", "no such image", "format")
    found = written(world)
    assert condition(found, "PodsHealthy") == ("False", "ImagePullBackOff")
    message = next(each["message"] for each in found["conditions"] if each["type"] == "PodsHealthy")
    assert message == (
        "c-controller-0-0/format: check spec.image (repository, tag, digest) and spec.image.pullSecrets: no such image"
    )


def test_an_invalid_resource_keeps_what_was_known_and_says_what_to_correct() -> None:
    first = written(formed())
    found = refused(2, "SpecInvalid", "spec.controllers.replicas: must be odd", first, "t2")
    assert found["phase"] == "Stalled"
    assert found["observedGeneration"] == 2
    assert condition(found, "Stalled") == ("True", "SpecInvalid")
    assert condition(found, "QuorumAvailable") == ("True", "LeaderKnown")
    assert found["clusterID"] == first["clusterID"]


def test_events_are_told_once_per_transition() -> None:
    world = formed(recoveryPolicy={"lostDisk": "Report"})
    first, before = written(world), world.ledger
    assert notes(first, first, before, before, ()) == ()
    world.wipe(1)
    world.settle()
    second = written(world, first, "t2")
    assert [(note.type, note.reason) for note in notes(first, second, before, world.ledger, ())] == [
        ("Warning", "VoterDown"),
        ("Warning", "DiskLost"),
    ]
    assert notes(second, second, world.ledger, world.ledger, ()) == ()


def test_a_broker_that_cannot_leave_is_named_in_the_condition() -> None:
    world = formed()
    world.replicas = {101: ("payments",)}
    world.edit(brokerPools=[pool("b", 1, 100)])
    found = written(world)
    assert condition(found, "MembershipSynced") == ("False", "ScaleDownBlocked")
    assert found["brokers"]["replicas"] == 1
