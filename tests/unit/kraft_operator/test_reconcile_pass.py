"""One pass of the real reconciler over a gateway and a quorum made of values: what is written, and what is not when the
fence is lost.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from controller_runtime.identifiers import Endpoint
from controller_runtime.security.listener_security import ListenerSecurity
from kraft_operator.events import Recorder
from kraft_operator.fence import FenceLost, Stale
from kraft_operator.keys import Key
from kraft_operator.kube import CLUSTER, CONFIG_MAP, OPERATION, POD, Conflict, Forbidden, Kind, NotFound, Object
from kraft_operator.lease import LeaseLost, Term
from kraft_operator.metrics import Metrics
from kraft_operator.observed import Brokers, Quorum
from kraft_operator.pools import Pools
from kraft_operator.proofs import Doubt
from kraft_operator.quorum import Addresses, KafkaChanges
from kraft_operator.reconcile import Reconciler
from kraft_operator.replacements import LeaseAccount
from kraft_operator.settings import Settings
from support.operator_model.world import resource

pytestmark = pytest.mark.unit

KEY = Key("n", "c")


class Store:
    """An API server as far as a pass needs one: objects by kind and name, every write counted. It merges nothing."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.writes: list[str] = []
        self.published: list[Object] = []
        self.lost_ledger = False
        self.forbidden: str | None = None
        """The kind that may not be listed."""

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        return copy.deepcopy(self.objects.get((kind.kind, name)))

    def list(self, kind: Kind, namespace: str | None, selector: str = "") -> tuple[Object, ...]:
        if kind.kind == self.forbidden:
            raise Forbidden(403, f"{kind.kind} is forbidden")
        return tuple(copy.deepcopy(each) for (found, _), each in self.objects.items() if found == kind.kind)

    def apply(self, kind: Kind, body: Object, sub: str = "", timeout: float | None = None) -> Object:
        name = body["metadata"]["name"]
        self.writes.append(f"apply {kind.kind}/{name}" + (f"/{sub}" if sub else ""))
        if sub:
            if (kind.kind, name) not in self.objects:
                raise NotFound(404, name)
            self.objects[kind.kind, name]["status"] = copy.deepcopy(body["status"])
            self.published.append(copy.deepcopy(body["status"]))
        else:
            meta = {"uid": f"uid-{name}", "resourceVersion": str(len(self.writes)), **body["metadata"]}
            self.objects[kind.kind, name] = copy.deepcopy({**body, "metadata": meta})
        return copy.deepcopy(self.objects[kind.kind, name])

    def rehearse(self, kind: Kind, namespace: str, body: Object) -> None:
        """Every pod is welcome."""

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str, timeout: float | None = None, orphan: bool = False
    ) -> None:
        assert self.objects[kind.kind, name]["metadata"]["uid"] == uid
        self.writes.append(f"delete {kind.kind}/{name}")
        del self.objects[kind.kind, name]

    def create(self, kind: Kind, namespace: str | None, body: Object, timeout: float | None = None) -> Object:
        if kind is CONFIG_MAP and self.lost_ledger:
            raise Conflict(409, "somebody was faster")
        return self.apply(kind, body)

    def replace(self, kind: Kind, body: Object, timeout: float | None = None) -> Object:
        return self.create(kind, None, body)


def first_write_of(store: Store, what: str) -> int:
    return store.writes.index(f"apply {what}")


class Silence:
    def look(self, addresses: Addresses) -> tuple[Quorum, Brokers]:
        return Quorum(), Brokers()

    def prove(self, asked: Collection[Doubt], security: ListenerSecurity) -> frozenset[str]:
        return frozenset()

    def sessions(self, pages: Mapping[int, str], listeners: Collection[str]) -> dict[int, int]:
        return {}

    def changes(self, controllers: Collection[Endpoint], security: ListenerSecurity) -> KafkaChanges:
        return KafkaChanges(tuple(controllers), Pools())


class Held:
    held = True
    deposed = False
    """Another process has taken the Lease, and this one does not know yet."""

    def require(self, seconds: float) -> Term:
        if not self.held:
            raise LeaseLost("gone")
        return Term("a", 1)

    def still_holds(self) -> bool:
        return self.held and not self.deposed


def reconciler(store: Store, holder: Held) -> Reconciler:
    drawn = iter(f"id-{number}" for number in range(100))
    any_store: Any = store
    account = LeaseAccount(any_store, "ops", "none", 0)
    return Reconciler(
        any_store, Silence(), holder, account, Settings("a", "ops"), Metrics(), lambda: next(drawn),
        Recorder(any_store, "a")
    )  # fmt: skip


@pytest.fixture
def store() -> Store:
    found = Store()
    found.objects[CLUSTER.kind, "c"] = {"apiVersion": CLUSTER.api, "kind": CLUSTER.kind, **copy.deepcopy(resource())}
    return found


def test_the_plan_is_published_first_then_the_ledger_is_written_and_the_outcome_last(store: Store) -> None:
    reconciler(store, Held()).reconcile(KEY)
    assert store.writes[0] == "apply KRaftCluster/c/status"
    assert first_write_of(store, "ConfigMap/c-ledger") < first_write_of(store, "ConfigMap/c-controller-0")
    assert store.writes[-1] == "apply KRaftCluster/c/status"
    assert store.writes.count("apply KRaftCluster/c/status") == 2
    assert store.published[0]["plan"]["hash"] == store.published[1]["plan"]["hash"]
    assert "clusterID" not in store.published[0]
    assert len([each for each in store.writes if "StatefulSet" in each]) == 5


def test_once_it_is_told_that_the_steps_are_done_passes_over_the_same_world_write_nothing(store: Store) -> None:
    found = reconciler(store, Held())
    found.reconcile(KEY)
    store.writes.clear()
    found.reconcile(KEY)
    assert store.writes == ["apply KRaftCluster/c/status"]
    states = {each["action"]: each["state"] for each in store.published[-1]["plan"]["steps"]}
    assert (states["ApplyNode"], states["FormatDisk"]) == ("Done", "Pending")
    store.writes.clear()
    found.reconcile(KEY)
    reconciler(store, Held()).reconcile(KEY)  # nor does a process that remembers nothing
    assert store.writes == []


def test_a_resource_that_is_gone_is_forgotten(store: Store) -> None:
    found = reconciler(store, Held())
    assert found.reconcile(KEY) is not None
    del store.objects[CLUSTER.kind, "c"]
    assert found.reconcile(KEY) is None


def ended(name: str, finished: str, **spec: object) -> Object:
    meta = {"name": name, "namespace": "n", "uid": f"uid-{name}", "generation": 1}
    asked = {"clusterName": "c", "type": "RollingRestart", **spec}
    status = {"phase": "Succeeded", "finishedAt": finished}
    return {"apiVersion": OPERATION.api, "kind": OPERATION.kind, "metadata": meta, "spec": asked, "status": status}


@pytest.mark.parametrize("there", [True, False])
def test_an_operation_that_ended_long_enough_ago_is_deleted_its_cluster_there_or_not(store: Store, there: bool) -> None:
    for each in (
        ended("old", "2026-01-01T00:00:00Z", ttlSecondsAfterFinished=60),
        ended("young", "2999-01-01T00:00:00Z", ttlSecondsAfterFinished=60),
        ended("kept", "2026-01-01T00:00:00Z"),
        ended("undated", "once", ttlSecondsAfterFinished=0),
        {**ended("running", "2026-01-01T00:00:00Z", ttlSecondsAfterFinished=0), "status": {"phase": "Running"}},
    ):
        store.objects[OPERATION.kind, each["metadata"]["name"]] = each
    if not there:
        del store.objects[CLUSTER.kind, "c"]
    reconciler(store, Held()).reconcile(KEY)
    assert [each for each in store.writes if each.startswith("delete")] == [f"delete {OPERATION.kind}/old"]


def test_who_loses_the_fence_has_published_a_plan_and_writes_nothing_more(store: Store) -> None:
    store.lost_ledger, holder = True, Held()
    holder.deposed = True
    with pytest.raises(FenceLost):
        reconciler(store, holder).reconcile(KEY)
    assert [each for each in store.writes if "Event" not in each] == ["apply KRaftCluster/c/status"]


def test_an_outsider_who_edits_the_ledger_costs_a_retry_and_not_the_process(store: Store) -> None:
    store.lost_ledger = True
    found = reconciler(store, Held())
    with pytest.raises(Stale, match="somebody else has edited it"):
        found.reconcile(KEY)
    assert not [each for each in store.writes if "StatefulSet" in each]
    store.lost_ledger = False
    found.reconcile(KEY)
    assert "apply ConfigMap/c-ledger" in store.writes


def conditions(store: Store) -> dict[str, tuple[str, str, str]]:
    return {
        each["type"]: (each["status"], each["reason"], each["message"]) for each in store.published[-1]["conditions"]
    }


def test_a_right_that_is_missing_is_a_condition_with_its_remedy_and_goes_with_it(store: Store) -> None:
    store.forbidden = POD.kind
    found = reconciler(store, Held())
    for _ in range(2):
        with pytest.raises(Forbidden):
            found.reconcile(KEY)
    assert len(store.published) == 1
    told = (
        "Forbidden",
        "give the operator's ServiceAccount the rights of this version's chart or kustomize base: Pod is forbidden",
    )
    assert conditions(store)["ManualInterventionRequired"] == ("True", *told)
    assert conditions(store)["Stalled"][:2] == ("True", "Forbidden")
    assert conditions(store)["Ready"][:2] == ("Unknown", "Forbidden")
    store.forbidden = None
    found.reconcile(KEY)
    assert conditions(store)["Stalled"][0] == conditions(store)["ManualInterventionRequired"][0] == "False"


def test_a_fault_in_planning_is_a_condition_and_not_only_a_line_in_a_log(store: Store) -> None:
    found = reconciler(store, Held())
    found.draw = lambda: str(1 // 0)
    with pytest.raises(ZeroDivisionError):
        found.reconcile(KEY)
    state, reason, message = conditions(store)["ManualInterventionRequired"]
    assert (state, reason) == ("True", "OperatorFault")
    assert message.startswith("report it") and message.endswith("ZeroDivisionError: integer division or modulo by zero")
    assert not [each for each in store.writes if "ledger" in each]


def test_who_has_lost_the_lease_tells_no_fault(store: Store) -> None:
    holder = Held()
    holder.held, store.forbidden = False, POD.kind
    with pytest.raises(LeaseLost):
        reconciler(store, holder).reconcile(KEY)
    assert store.published == []


def test_a_plan_that_waits_for_approval_is_published_once_and_nothing_else_is_written(store: Store) -> None:
    store.objects[CLUSTER.kind, "c"]["spec"]["changePolicy"] = {"mode": "Plan"}
    found = reconciler(store, Held())
    found.reconcile(KEY)
    assert [each for each in store.writes if "Event" not in each] == ["apply KRaftCluster/c/status"]
    store.writes.clear()
    found.reconcile(KEY)
    reconciler(store, Held()).reconcile(KEY)
    assert store.writes == []
    store.objects[CLUSTER.kind, "c"]["metadata"]["annotations"] = {
        "kraft.quorate.dev/approve": store.published[0]["plan"]["hash"]
    }
    found.reconcile(KEY)
    assert "apply ConfigMap/c-ledger" in store.writes
    assert store.published[-1]["plan"]["approved"] == "Yes"


def test_conditions_and_the_plan_are_told_as_numbers(store: Store) -> None:
    store.objects[CLUSTER.kind, "c"]["spec"]["changePolicy"] = {"mode": "Plan"}
    found = reconciler(store, Held())
    found.reconcile(KEY)
    assert found.metrics.total("kraft_operator_plan_waiting", namespace="n", name="c") == 1
    assert found.metrics.total("kraft_operator_plan_steps") == 16
    assert found.metrics.total("kraft_operator_condition", condition="Ready") == 0
    assert found.metrics.total("kraft_operator_condition", condition="Reconciling") == 1
    assert found.metrics.total("kraft_operator_condition", condition="QuorumAvailable") == -1
    store.objects.pop((CLUSTER.kind, "c"))
    found.reconcile(KEY)
    assert "kraft_operator_condition{" not in found.metrics.render()


def test_who_lost_the_lease_writes_nothing(store: Store) -> None:
    holder = Held()
    holder.held = False
    with pytest.raises(LeaseLost):
        reconciler(store, holder).reconcile(KEY)
    assert store.writes == []


def test_an_invalid_resource_is_told_so_once(store: Store) -> None:
    store.objects[CLUSTER.kind, "c"]["spec"]["controllers"]["replicas"] = 2
    found = reconciler(store, Held())
    found.reconcile(KEY)
    assert store.writes[0] == "apply KRaftCluster/c/status"
    status = store.objects[CLUSTER.kind, "c"]["status"]
    assert [each["reason"] for each in status["conditions"] if each["type"] == "Stalled"] == ["SpecInvalid"]
    assert "spec.controllers.replicas" in status["conditions"][0]["message"]
    store.writes.clear()
    found.reconcile(KEY)
    assert store.writes == []
