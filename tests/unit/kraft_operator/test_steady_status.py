"""A status that people can act on at three in the morning: it does not flicker, does not contradict itself, and says
QuorumLost when it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kraft_operator.events import Recorder, notes
from kraft_operator.kube import EVENT, Conflict, Kind
from kraft_operator.observed import Quorum, QuorumState, VoterState
from kraft_operator.operations.recovery import Stage
from kraft_operator.plan.situation import Decision, Finding, Topic
from kraft_operator.reconcile import hindrance
from kraft_operator.status import hindered, status
from kraft_operator.steadiness import DEFERRED_AFTER, GOOD_AFTER, STALLED_AFTER, Steadiness
from support.operator_model.world import PASS_SECONDS, World, resource

pytestmark = pytest.mark.unit

Status = dict[str, Any]
REFUSED = Finding(Topic.STORAGE, "FormatRefused", "put the volume back", "c-b-100-0", stalled=True)


def of(found: Status, kind: str) -> tuple[str, str]:
    each = next(each for each in found["conditions"] if each["type"] == kind)
    return each["status"], each["reason"]


def formed(**changes: object) -> World:
    world = World(**changes)
    world.settle()
    return world


class Watch:
    """Status after status of a world, as the shell writes them: with a clock of its own."""

    def __init__(self, world: World) -> None:
        self.world, self.steady, self.now = world, Steadiness(), 0.0
        self.old: Status = {}
        self.seen: list[Status] = []

    def look(self) -> Status:
        decision = self.world.reconcile()
        findings = self.steady.patient(decision.findings, self.old, self.now)
        written = status(self.world.cluster, self.world.observed(), replace(decision, findings=findings), self.old, "t")
        self.old = self.steady.held(written, self.old, self.now)
        self.seen.append(self.old)
        self.now += PASS_SECONDS
        self.world.kubelet()
        return self.old

    def turns(self, kind: str) -> list[str]:
        values = [of(each, kind)[0] for each in self.seen]
        return [value for before, value in zip([None, *values], values, strict=False) if value != before]


def wiped(world: World) -> None:
    world.wipe(1)
    world.wipe(2)


# QuorumLost


def test_a_lost_quorum_is_the_reason_of_ready_an_event_and_says_it_once() -> None:
    world = formed()
    before = status(world.cluster, world.observed(), world.plan(), {}, "t")
    wiped(world)
    world.settle()
    found = status(world.cluster, world.observed(), world.plan(), before, "t")
    assert of(found, "Ready") == ("False", "QuorumLost")
    assert of(found, "QuorumAvailable") == ("False", "QuorumLost")
    assert found["waitsFor"] == "a person (QuorumLost)"
    texts = {
        each["message"] for each in found["conditions"] if each["reason"] == "QuorumLost" and each["type"] != "Stalled"
    }
    assert len(texts) == 1
    posted = [each for each in notes(before, found, world.ledger, world.ledger, ()) if each.reason == "QuorumLost"]
    assert [each.type for each in posted] == ["Warning"]


def test_a_quorum_that_is_being_recovered_is_lost_until_its_copies_are_whole_again() -> None:
    world = formed()
    wiped(world)
    world.settle()
    world.ask("r", "RecoverQuorum")
    stages = set()
    for _ in range(5):
        decision = world.reconcile()
        assert world.ledger is not None
        assert world.ledger.recovery is not None
        stages.add(world.ledger.recovery.stage)
        found = status(world.cluster, world.observed(), replace(decision, ledger=world.ledger), {}, "t")
        assert of(found, "Ready") == ("False", "QuorumLost")
        world.kubelet()
        world.help()
    assert stages == {Stage.FENCE, Stage.COLLECT}


# nothing contradicts itself


def seen_as(quorum: Quorum) -> Status:
    world = formed()
    observed = replace(world.observed(), quorum=quorum)
    return status(world.cluster, observed, Decision(ledger=world.ledger), {}, "t")


def test_a_leader_that_no_majority_follows_is_not_shown_as_the_leader() -> None:
    found = seen_as(Quorum(QuorumState.UNAVAILABLE, "1 of 3 voters follow leader 0 in epoch 4", 0, 4))
    assert of(found, "QuorumAvailable") == ("False", "NoMajority")
    assert found["quorum"]["leaderID"] == -1


def test_voters_that_are_all_live_are_not_called_down() -> None:
    world = formed()
    quorum = world.observed().quorum
    found = seen_as(replace(quorum, voters=quorum.voters[:2]))
    assert of(found, "QuorumRedundant") == ("False", "VoterMissing")
    assert "none" not in next(each["message"] for each in found["conditions"] if each["type"] == "QuorumRedundant")


def test_what_is_ready_has_nothing_to_do_and_what_is_stalled_points_at_it() -> None:
    world = formed()
    found = status(world.cluster, world.observed(), world.plan(), {}, "t")
    assert of(found, "Reconciling") == ("False", "Idle")
    assert "waitsFor" not in found
    world.place("t", 100)
    world.settle()
    world.wipe(100)
    world.settle()
    found = status(world.cluster, world.observed(), world.plan(), {}, "t")
    assert of(found, "Reconciling") == ("False", "Stalled")
    assert found["waitsFor"] == "a person (DataLossPending)"
    world.edit(lifecycle={"state": "Suspended"})
    found = status(world.cluster, world.observed(), world.plan(), {}, "t")
    assert of(found, "Reconciling") == ("False", "Suspended")


@pytest.mark.parametrize(("node_id", "culprit"), [(1, "controller 1"), (101, "broker 101")])
def test_a_lost_disk_that_is_not_replaced_is_said_once_with_its_remedy_first(node_id: int, culprit: str) -> None:
    world = formed(recoveryPolicy={"lostDisk": "Report"})
    world.wipe(node_id)
    world.settle()
    found = status(world.cluster, world.observed(), world.plan(), {}, "t")
    message = next(each["message"] for each in found["conditions"] if each["type"] == "StorageHealthy")
    assert message.startswith(f"{culprit}: put its volume back")
    assert message.count("directory") == 1
    assert next(each["storage"] for each in found["nodes"] if each["nodeID"] == node_id) == "FormatRefused"


# Stalled is patient, and conditions do not flap within a repair


def test_what_heals_within_seconds_never_stalls() -> None:
    steady = Steadiness()
    for now in (0.0, STALLED_AFTER - 1):
        assert not any(each.stalled for each in steady.patient([REFUSED], {}, now))
    assert steady.patient([], {}, STALLED_AFTER) == ()
    assert not any(each.stalled for each in steady.patient([REFUSED], {}, STALLED_AFTER + 1)), "it began anew"
    assert all(each.stalled for each in steady.patient([REFUSED], {}, 2 * STALLED_AFTER + 1))


def test_an_invalid_resource_stalls_at_once_and_a_new_operator_goes_on_where_the_old_one_was() -> None:
    invalid = Finding(Topic.SPEC, "NodeIDTaken", "choose another range", stalled=True)
    assert Steadiness().patient([invalid], {}, 0.0) == (invalid,)
    old = {"conditions": [{"type": "Stalled", "status": "True", "reason": "FormatRefused"}]}
    assert Steadiness().patient([REFUSED], old, 0.0) == (REFUSED,)


def a_status(ready: str, storage: str, reason: str) -> Status:
    kinds = {"Ready": (ready, "r"), "StorageHealthy": (storage, reason), "QuorumAvailable": ("True", "LeaderKnown")}
    found = [{"type": kind, "status": value, "reason": why, "message": why} for kind, (value, why) in kinds.items()]
    return {"conditions": found, "observedGeneration": 1}


def test_good_news_in_the_middle_of_a_repair_has_to_stand() -> None:
    steady, lost = Steadiness(), a_status("False", "False", "DiskLost")
    well, whole = a_status("False", "True", "Healthy"), a_status("True", "True", "Healthy")
    assert of(steady.held(well, lost, 0.0), "StorageHealthy") == ("False", "DiskLost")
    assert of(steady.held(well, lost, GOOD_AFTER), "StorageHealthy") == ("True", "Healthy")
    assert steady.held(lost, well, 0.0) == lost, "bad news is told at once"
    assert steady.held(whole, lost, 0.0) == whole, "so is the end"


def delete_leaders_claim(world: World) -> None:
    world.delete_claim(0)


REPAIRS: dict[str, Callable[[World], None]] = {
    "a claim is deleted": lambda world: world.delete_claim(1),
    "the leader's claim is deleted": lambda world: world.delete_claim(0),
    "a disk is emptied": lambda world: world.wipe(1),
    "a pod is deleted": lambda world: world.delete_pod(1),
    "a roll": lambda world: world.edit(image={"repository": "kafka", "tag": "2"}),
}


@pytest.mark.parametrize("story", REPAIRS)
def test_within_a_repair_a_condition_turns_bad_once_and_good_once_and_nothing_stalls(story: str) -> None:
    watch = Watch(formed())
    watch.look()
    REPAIRS[story](watch.world)
    for _ in range(40):
        watch.look()
    assert of(watch.old, "Ready") == ("True", "Ready")
    assert watch.turns("Stalled") == ["False"]
    for kind in ("Ready", "StorageHealthy", "MembershipSynced", "RolloutComplete", "PodsHealthy", "QuorumRedundant"):
        assert len(watch.turns(kind)) <= 3, (kind, watch.turns(kind))


# Events


class Store:
    """Events as the API server keeps them."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}

    def create(self, kind: Kind, namespace: str, body: dict[str, Any]) -> None:
        name = body["metadata"]["name"]
        assert kind is EVENT
        if name in self.kept:
            raise Conflict(409, name)
        self.kept[name] = body

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        return self.kept[name]

    def patch(self, kind: Kind, namespace: str, name: str, change: dict[str, Any]) -> None:
        self.kept[name] |= change


def test_seventy_times_a_voter_that_is_down_is_one_event_with_a_count() -> None:
    world, store = formed(), Store()
    any_store: Any = store
    recorder = Recorder(any_store, "operator-a")
    sound = status(world.cluster, world.observed(), world.plan(), {}, "t")
    down, observed = sound, world.observed()
    for turn in range(70):
        state = (VoterState.DEAD, VoterState.UNKNOWN)[turn % 2]
        voters = [replace(each, state=state) if each.node_id == turn % 3 else each for each in observed.quorum.voters]
        seen = replace(observed, quorum=replace(observed.quorum, voters=tuple(voters)))
        down = status(world.cluster, seen, Decision(ledger=world.ledger), sound, "t")
        for note in notes(sound, down, None, None, ()):
            recorder.post({**resource(), "apiVersion": "v1", "kind": "KRaftCluster"}, note)
    downs = [each for each in store.kept.values() if each["reason"] == "VoterDown"]
    assert [each["series"]["count"] for each in downs] == [70]


def test_a_message_that_counts_on_is_no_new_event() -> None:
    world = formed()
    first, second = (
        status(
            world.cluster, world.observed(),
            Decision(findings=(Finding(Topic.MEMBERSHIP, "ScaleDownBlocked", f"{left} are left"),),
                ledger=world.ledger), {}, "t",
        )
        for left in (9, 8)
    )  # fmt: skip
    assert [each.reason for each in notes({}, first, None, None, ()) if each.reason == "ScaleDownBlocked"]
    assert not [each for each in notes(first, second, None, None, ()) if each.reason == "ScaleDownBlocked"]


def test_a_controller_that_left_is_told_once_and_is_no_fault() -> None:
    world = formed()
    ghosts = tuple(
        Finding(Topic.REGISTRATIONS, "GhostController", "nothing to do", f"controller {each}") for each in (7, 8)
    )
    found = status(world.cluster, world.observed(), Decision(findings=ghosts, ledger=world.ledger), {}, "t")
    assert of(found, "RegistrationsClean") == ("True", "GhostController")
    assert [each["nodeID"] for each in found["registrations"]["ghosts"]] == [7, 8]
    assert not [each for each in notes({}, found, None, None, ()) if each.reason == "GhostController"]


# the operator's own faults


def test_an_exception_says_its_remedy_once_and_no_secret() -> None:
    found = hindrance(ValueError("cannot parse sasl.jaas.config=org.x.Login required password=hunter2"))
    assert found is not None
    reason, message = found
    assert reason == "OperatorFault"
    assert "hunter2" not in message
    conditions = hindered(1, reason, message, {}, "t")["conditions"]
    assert [each["type"] for each in conditions if "report it" in each["message"]] == ["ManualInterventionRequired"]


# a roll


def test_the_reason_of_ready_does_not_change_while_a_roll_goes_on() -> None:
    """But for what comes before and after it."""
    world = formed()
    watch = Watch(world)
    world.edit(image={"repository": "kafka", "tag": "2"})
    reasons = []
    for _ in range(60):
        reasons.append(of(watch.look(), "Ready")[1])
    assert "RolloutInProgress" in reasons
    going = reasons[reasons.index("RolloutInProgress") :]
    ended = len(going) - going[::-1].index("RolloutInProgress")
    assert set(going[:ended]) == {"RolloutInProgress"}


def test_a_roll_that_waits_for_long_is_deferred() -> None:
    world = formed()
    watch = Watch(world)
    world.edit(image={"repository": "kafka", "tag": "2"})
    while of(watch.look(), "RolloutComplete")[1] != "RolloutInProgress":
        pass
    world.freeze(2)
    found = [of(watch.look(), "RolloutComplete")[1] for _ in range(int(DEFERRED_AFTER / PASS_SECONDS) + 20)]
    assert found[-1] == "RestartDeferred"
    assert "RolloutInProgress" not in found[found.index("RestartDeferred") :]
