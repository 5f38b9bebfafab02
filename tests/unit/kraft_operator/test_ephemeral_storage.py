"""Disks that go with their pods: a restart is the loss of a disk by plan, and all that holds of losses holds of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from kraft_operator.actions import AnnotateClaim, DeliverGrant, DiscardClaim, Remember, RestartPod
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.disk_writes import DiskWrites
from kraft_operator.ephemeral import PREFIX, disk_of, disks_of
from kraft_operator.fence import Stale
from kraft_operator.kube import POD, Gateway, Kind
from kraft_operator.lease import Term
from kraft_operator.ledger import JournaledStep, StepKind
from kraft_operator.observed import Claim, NodeSet
from kraft_operator.plan.situation import Decision, Finding
from kraft_operator.settings import Failpoints
from storage_guard.formats import GRANT_ANNOTATION, DiskVerdict, Grant, GrantMode, Seen
from support.operator_model.world import World

pytestmark = pytest.mark.unit

EPHEMERAL = {"type": "Ephemeral", "size": "1Gi"}
POOL = {"name": "b", "replicas": 2, "nodeIdRange": {"start": 100, "end": 199}, "storage": EPHEMERAL}
SPEC: dict[str, Any] = {
    "controllers": {"replicas": 3, "storage": EPHEMERAL},
    "brokerPools": [POOL],
    "deletionPolicy": {"volumes": "Delete"},
}


class Ephemeral(World):
    """A kubelet that makes every pod's disk with it, and takes it away with it."""

    def _create(self, node_id: int, node_set: NodeSet) -> None:
        self._collect()
        super()._create(node_id, replace(node_set, volume_size="1Gi"))
        pod = self.pods[node_id]
        claim = self.claims.pop(pod.claim)
        disk = self.disks.pop(claim.volume)
        pod.claim, claim.uid, claim.volume = disk_of(f"{node_set.name}-0"), pod.uid, f"{PREFIX}{pod.uid}"
        disk.name = claim.volume
        self.claims[pod.claim], self.disks[claim.volume] = claim, disk

    def _collect(self) -> bool:
        alive = {pod.uid for pod in self.pods.values()}
        gone = [name for name, claim in self.claims.items() if claim.uid not in alive]
        for name in gone:
            self.lost |= self.disks.pop(self.claims.pop(name).volume).ran
        return bool(gone)

    def _claims(self) -> Iterator[Claim]:
        yield from disks_of(self._pods())

    def directories(self) -> dict[int, str | None]:
        assert self.ledger is not None
        return {each.node_id: each.directory_id for each in self.ledger.entries}


def formed(**changes: Any) -> Ephemeral:
    world = Ephemeral(**SPEC | changes)
    world.settle()
    assert set(world.directories()) == {0, 1, 2, 100, 101}
    return world


def findings(decision: Decision, reason: str) -> list[Finding]:
    return [each for each in decision.findings if each.reason == reason]


def test_the_disk_is_an_empty_directory_of_the_pod_with_the_size_as_its_limit() -> None:
    live = formed().children["StatefulSet", "c-controller-0"].live["spec"]
    assert live["volumeClaimTemplates"] == []
    (data,) = (each for each in live["template"]["spec"]["volumes"] if each["name"] == "data")
    assert data == {"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}


def test_a_lost_pod_of_a_voter_is_replaced_as_a_lost_disk_and_the_ledger_knows_both() -> None:
    world = formed()
    before, pod = world.directories(), world.pods[1].uid
    world.delete_pod(1)
    world.settle()
    assert world.ledger is not None
    after, entry = world.directories(), world.ledger.entry(1)
    assert {node for node in before if before[node] != after[node]} == {1}
    assert entry is not None
    assert (entry.pvc_uid, entry.replaces) == (world.pods[1].uid, before[1])
    assert [(each.node_id, each.pvc_uid) for each in world.ledger.written_off] == [(1, pod)]
    assert world.voters == {node: after[node] for node in (0, 1, 2)}
    assert world.broken == []


def test_a_roll_takes_one_disk_after_the_other_and_writes_on_no_claim() -> None:
    world = formed()
    world.place("t", 100, 101)
    before = world.directories()
    world.edit(**SPEC, config={"common": {"num.io.threads": "4"}})
    world.settle(rounds=120)
    after = world.directories()
    assert sorted(world.restarts) == [0, 1, 2, 100, 101]
    assert not set(before.values()) & set(after.values())
    assert world.voters == {node: after[node] for node in (0, 1, 2)}
    assert world.begun_empty == []
    assert world.broken == []
    assert not [each for each in world.writes if isinstance(each, AnnotateClaim | Remember | DiscardClaim)]


def test_two_of_three_lost_at_once_are_a_lost_quorum_and_nothing_is_formatted() -> None:
    world = formed()
    formats = len(world.formats)
    for node_id in (0, 1):
        world.delete_pod(node_id)
    world.settle()
    (lost,) = findings(world.plan(), "QuorumLost")
    assert lost.message.startswith("delete the KRaftCluster and create it anew, its disks went with their pods")
    assert len(world.formats) == formats


def test_no_broker_is_restarted_that_has_the_only_copy_of_a_partition() -> None:
    world = formed()
    world.place("t", 100)
    world.edit(**SPEC, config={"broker": {"num.io.threads": "4"}})
    world.settle()
    assert world.restarts == []
    (waits,) = findings(world.plan(), "RestartDeferred")
    assert "its disk goes with it, and no other replica of t-0 is in sync" in waits.message


def test_no_voter_is_restarted_because_it_does_not_run_while_a_majority_needs_its_disk() -> None:
    world = formed()
    for node_id in (0, 1):
        world.freeze(node_id)
    world.edit(**SPEC, config={"common": {"num.io.threads": "4"}})
    for _ in range(30):
        world.reconcile()
    assert not [each for each in world.writes if isinstance(each, RestartPod)]


def test_a_lost_ledger_is_made_again_from_what_the_pods_reported() -> None:
    world = formed()
    before = world.directories()
    world.ledger_data = None
    world.settle()
    assert world.directories() == before
    assert world.restarts == []


def test_a_cluster_keeps_the_kind_of_disks_that_it_has() -> None:
    world = formed()
    world.edit(**SPEC | {"controllers": {"replicas": 3, "storage": {"size": "1Gi"}}})
    decision = world.plan()
    (fixed,) = (each for each in decision.findings if each.stalled)
    assert fixed.reason == "StorageTypeFixed"
    assert fixed.message == (
        "set storage.type of controller back to Ephemeral; for disks that are Persistent make another cluster: node 0 "
        f"has directory {world.directories()[0]} on a disk that goes with its pod, and a node keeps the kind of disk "
        "that it was formatted on; nothing was changed"
    )
    assert decision.actions == ()


class PodsOnly:
    """An API server with one pod and no claims: none may be asked for."""

    def __init__(self, uid: str, **volume: Any) -> None:
        self.pod = {"metadata": {"uid": uid, "resourceVersion": "7"}, "spec": {"volumes": [{"name": "data", **volume}]}}
        self.marked: list[tuple[str, str | None]] = []

    def get(self, kind: Kind, namespace: str | None, name: str) -> Any:
        assert (kind, name) == (POD, "c-controller-1-0")
        return self.pod

    def annotate(self, kind: Kind, namespace: str, name: str, marks: dict[str, str], **asked: Any) -> None:
        self.marked.append((*marks, asked["uid"]))


class Always:
    """Whoever asks holds the Lease."""

    def require(self, seconds: float) -> Term:
        return Term("me", 1)

    def still_holds(self) -> bool:
        return True


def delivered(kube: PodsOnly, *, disk: str = "pod-2") -> list[tuple[str, str | None]]:
    """A grant for pod-2 and its disk (or that of another), by the real writer."""
    name, seen = "c-controller-1-0", Seen(DiskVerdict.EMPTY)
    grant = Grant("pod-2", disk, f"{PREFIX}{disk}", 1, "id", GrantMode.NO_INITIAL_CONTROLLERS, "nonce", seen)
    step = JournaledStep(StepKind.GRANT, 1, "me", 1)
    action = DeliverGrant(name, disk_of(name), grant, None, step, "it is empty")
    DiskWrites("n", cast("Gateway", kube), Always(), Failpoints(), 5.0).deliver(action)
    return kube.marked


def test_a_grant_for_a_disk_that_goes_with_its_pod_asks_for_no_claim_and_is_for_this_pod() -> None:
    assert delivered(PodsOnly("pod-2", emptyDir={})) == [(GRANT_ANNOTATION, "pod-2")]


@pytest.mark.parametrize(
    ("kube", "disk", "message"),
    [
        (PodsOnly("pod-3", emptyDir={}), "pod-2", "the pod is pod-3, the grant is for pod-2"),
        (PodsOnly("pod-2", emptyDir={}), "pod-1", "the disk is pod-2, the grant is for pod-1"),
        (PodsOnly("pod-2", persistentVolumeClaim={}), "pod-2", "the disk is None, the grant is for pod-2"),
    ],
)
def test_a_grant_for_another_pods_disk_or_for_one_that_stays_is_stale(kube: PodsOnly, disk: str, message: str) -> None:
    with pytest.raises(Stale, match=message):
        delivered(kube, disk=disk)
    assert kube.marked == []


def test_whoever_looks_is_told_that_a_lost_pod_is_a_lost_disk() -> None:
    (risk,) = formed().plan().risks
    assert "a lost pod of controller, b is a lost disk" in risk


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"deletionPolicy": {"volumes": "Retain"}}, "spec.controllers.storage.type"),
        ({"lifecycle": {"state": "Hibernated"}}, "spec.lifecycle.state"),
        ({"controllers": {"replicas": 1, "storage": EPHEMERAL}}, "spec.controllers.storage.type"),
        (
            {"controllers": {"replicas": 3, "storage": {**EPHEMERAL, "storageClassName": "a"}}},
            "spec.controllers.storage.storageClassName",
        ),
    ],
)
def test_what_such_disks_cannot_do_is_refused_by_name(changes: dict[str, Any], path: str) -> None:
    resource = {"metadata": {"name": "c", "namespace": "n"}, "spec": {"image": {"reference": "a:1"}, **SPEC, **changes}}
    with pytest.raises(InvalidSpec) as refused:
        parse_cluster(resource)
    assert refused.value.path == path
