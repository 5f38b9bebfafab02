"""The gateway, the Lease and the fenced steps against a real API server: preconditions are enforced there, not here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kraft_operator import kube
from kraft_operator.actions import DeliverGrant, WriteLedger
from kraft_operator.api.parse import parse_cluster
from kraft_operator.events import Note, Recorder
from kraft_operator.execute import Execution
from kraft_operator.fence import FenceLost, Stale
from kraft_operator.kube import CLAIM, CONFIG_MAP, LEASE, POD, VOLUME, Conflict, Gateway, Invalid, NotFound, Unreachable
from kraft_operator.lease import Keeper, LeaseLost, LeaseRunsOut, Term
from kraft_operator.ledger import JournaledStep, Ledger, StepKind
from kraft_operator.pools import Pools
from kraft_operator.quorum import KafkaChanges
from kraft_operator.replacements import LeaseAccount
from kraft_operator.settings import Failpoints, LeaseTimes
from storage_guard.formats import GRANT_ANNOTATION, DiskVerdict, Grant, GrantMode, Seen
from support.kubernetes.cluster import Kubernetes
from support.operator_model.world import resource

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

SHORT = LeaseTimes(5.0, 3.5, 0.3)


@pytest.fixture(scope="module")
def namespace(kubernetes: Kubernetes) -> Iterator[str]:
    with kubernetes.namespace("op-gateway") as name:
        yield name


@pytest.fixture
def gateway(kubernetes: Kubernetes) -> Gateway:
    return kubernetes.gateway


def config_map(namespace: str, name: str | None = None, **data: str) -> dict[str, Any]:
    name = name or f"m-{secrets.token_hex(4)}"
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def test_an_apply_that_changes_nothing_changes_no_version(gateway: Gateway, namespace: str) -> None:
    body = config_map(namespace, a="1")
    first = gateway.apply(CONFIG_MAP, body)
    assert gateway.apply(CONFIG_MAP, body)["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    body["data"] = {"b": "2"}
    assert gateway.apply(CONFIG_MAP, body)["data"] == {"b": "2"}


def test_a_field_that_does_not_exist_is_refused_by_name(gateway: Gateway, namespace: str) -> None:
    with pytest.raises(Invalid, match="dta"):
        gateway.apply(CONFIG_MAP, config_map(namespace) | {"dta": {}})


def test_an_annotation_for_another_uid_or_an_older_version_is_refused(gateway: Gateway, namespace: str) -> None:
    made = gateway.create(CONFIG_MAP, namespace, config_map(namespace))
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    with pytest.raises(Conflict):
        gateway.annotate(CONFIG_MAP, namespace, name, {"a": "1"}, uid="00000000-0000-0000-0000-000000000000")
    changed = gateway.annotate(CONFIG_MAP, namespace, name, {"a": "1"}, uid=uid)
    assert changed["metadata"]["annotations"] == {"a": "1"}
    old = made["metadata"]["resourceVersion"]
    with pytest.raises(Conflict):
        gateway.annotate(CONFIG_MAP, namespace, name, {"a": "2"}, uid=uid, resource_version=old)
    assert gateway.get(CONFIG_MAP, namespace, name)["metadata"]["annotations"] == {"a": "1"}


def test_a_delete_hits_the_object_that_was_read_and_no_other(gateway: Gateway, namespace: str) -> None:
    made = gateway.create(CONFIG_MAP, namespace, config_map(namespace))
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    with pytest.raises(Conflict):
        gateway.delete(CONFIG_MAP, namespace, name, uid="00000000-0000-0000-0000-000000000000")
    gateway.delete(CONFIG_MAP, namespace, name, uid=uid)
    gateway.delete(CONFIG_MAP, namespace, name, uid=uid)
    assert gateway.find(CONFIG_MAP, namespace, name) is None
    with pytest.raises(NotFound):
        gateway.get(CONFIG_MAP, namespace, name)


def test_a_list_is_read_to_its_last_page(gateway: Gateway, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube, "PAGE", 2)
    for number in range(5):
        body = config_map(namespace, n=str(number))
        body["metadata"]["labels"] = {"of": "pages"}
        gateway.create(CONFIG_MAP, namespace, body)
    found = gateway.list(CONFIG_MAP, namespace, "of=pages")
    assert sorted(each["data"]["n"] for each in found) == list("01234")
    assert {each["kind"] for each in found} == {"ConfigMap"}


def test_a_server_that_is_not_there_is_unreachable(
    gateway: Gateway, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway._configuration, "host", "https://127.0.0.1:1")
    with pytest.raises(Unreachable):
        gateway.get(CONFIG_MAP, namespace, "x")


def test_an_event_that_repeats_is_counted_in_its_series(
    gateway: Gateway, kubernetes: Kubernetes, namespace: str
) -> None:
    about = gateway.create(CONFIG_MAP, namespace, config_map(namespace))
    recorder = Recorder(gateway, "test")
    for _ in range(3):
        recorder.post(about, Note("Warning", "FormatRefused", "Reconcile", "the disk is empty"))
    found = [
        each for each in gateway.list(kube.EVENT, namespace) if each["regarding"]["uid"] == about["metadata"]["uid"]
    ]
    assert [(each["reason"], each["series"]["count"]) for each in found] == [("FormatRefused", 3)]


# the Lease


def keeper(gateway: Gateway, namespace: str, name: str, who: str, lost: list[str], times: LeaseTimes = SHORT) -> Keeper:
    return Keeper(gateway, (namespace, name), who, times, lost.append)


def test_one_holds_the_lease_and_the_next_gets_it_at_once_when_it_is_released(gateway: Gateway, namespace: str) -> None:
    lost: list[str] = []
    first, second = (keeper(gateway, namespace, "released", who, lost) for who in "ab")
    term = first.acquire()
    assert not second._try()
    assert first.require(1.0) == term == Term("a", 0)
    with pytest.raises(LeaseRunsOut):
        first.require(SHORT.duration)
    first.release()
    started = time.monotonic()
    assert second.acquire() == Term("b", 1)
    assert time.monotonic() - started < SHORT.duration
    assert first.remaining() < 0
    second.release()
    assert lost == []


def test_a_dead_holder_is_followed_after_the_lease_ran_out_and_not_before(gateway: Gateway, namespace: str) -> None:
    lost: list[str] = []
    dead = keeper(gateway, namespace, "dead", "a", lost)
    assert dead._try()  # acquired, and never renewed
    second = keeper(gateway, namespace, "dead", "b", lost)
    started = time.monotonic()
    assert second.acquire() == Term("b", 1)
    assert time.monotonic() - started >= SHORT.duration
    assert dead.remaining() < 0
    assert second.still_holds()
    assert not dead.still_holds()
    with pytest.raises(LeaseLost):
        dead.require(0.1)
    second.release()


def test_who_finds_another_holder_in_the_record_is_told_so(gateway: Gateway, namespace: str) -> None:
    lost: list[str] = []
    first = keeper(gateway, namespace, "stolen", "a", lost)
    first.acquire()
    for _ in range(20):  # a renewal may come in between
        live = gateway.get(LEASE, namespace, "stolen")
        live["spec"] |= {"holderIdentity": "thief", "leaseTransitions": 7}
        try:
            gateway.replace(LEASE, live)
            break
        except Conflict:
            continue
    for _ in range(300):
        if lost:
            break
        time.sleep(0.1)
    assert lost == ["another holder"]
    assert first.term is None


# fenced steps


class Held:
    """A Lease that is held; what a step asks of it."""

    def __init__(self, transitions: int = 1, *, deposed: bool = False) -> None:
        self.transitions = transitions
        self.deposed = deposed

    def still_holds(self) -> bool:
        return self.transitions >= 0 and not self.deposed

    def require(self, seconds: float) -> Term:
        if self.transitions < 0:
            raise LeaseLost("gone")
        return Term("a", self.transitions)


def execution(gateway: Gateway, namespace: str, ledger: Any = None, held: Held | None = None) -> Execution:
    body = resource()
    body["metadata"]["namespace"] = namespace  # type: ignore[index]
    cluster = parse_cluster(body)
    account = LeaseAccount(gateway, namespace, "none", 0)
    return Execution(
        cluster, gateway, held or Held(), account, KafkaChanges((), Pools()), Failpoints(), 5.0, ledger, {}
    )


def test_the_second_writer_of_a_ledger_loses_the_fence(gateway: Gateway, namespace: str) -> None:
    first = execution(gateway, namespace)
    first.run((WriteLedger(Ledger("C"), ""),))
    deposed = Held(deposed=True)
    with pytest.raises(FenceLost):
        execution(gateway, namespace, held=deposed).run((WriteLedger(Ledger("D"), ""),))
    with pytest.raises(Stale):  # An outsider's edit: the Lease is still ours.
        execution(gateway, namespace).run((WriteLedger(Ledger("D"), ""),))
    slow = execution(gateway, namespace, gateway.get(CONFIG_MAP, namespace, "c-ledger"), deposed)
    first.run((WriteLedger(Ledger("C", generation=2), ""),))
    with pytest.raises(FenceLost):
        slow.run((WriteLedger(Ledger("C", generation=3), ""),))
    found = gateway.get(CONFIG_MAP, namespace, "c-ledger")
    assert '"generation": 2' in found["data"]["ledger.json"]
    assert not found["metadata"].get("ownerReferences")


class Bench:
    """A pod that no node ever takes, on a claim bound to a volume."""

    def __init__(self, gateway: Gateway, namespace: str) -> None:
        self.gateway, self.namespace, self.name = gateway, namespace, f"p-{secrets.token_hex(4)}"
        self.claim = self.make_claim()
        source = {
            "local": {"path": "/nowhere"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["none"]}]}
                    ]
                }
            },
        }
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "none", **source,
                "claimRef": {"kind": "PersistentVolumeClaim", "name": self.name, "namespace": namespace,
                             "uid": self.claim["metadata"]["uid"]}}  # fmt: skip
        gateway.create(VOLUME, None, {"metadata": {"name": self.name}, "spec": spec})
        self.pod = self.make_pod()

    def make_claim(self) -> dict[str, Any]:
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "volumeName": self.name,
                "resources": {"requests": {"storage": "1Gi"}}}  # fmt: skip
        return self.gateway.create(CLAIM, self.namespace, {"metadata": {"name": self.name}, "spec": spec})

    def make_pod(self) -> dict[str, Any]:
        security = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
        own = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        spec = {"schedulingGates": [{"name": "test/never"}], "securityContext": security,
                "containers": [{"name": "c", "image": "none:1", "securityContext": own}]}  # fmt: skip
        return self.gateway.create(POD, self.namespace, {"metadata": {"name": self.name}, "spec": spec})

    def deliver(self, held: Held | None = None) -> None:
        pod, claim = self.pod["metadata"]["uid"], self.claim["metadata"]["uid"]
        grant = Grant(pod, claim, self.name, 0, "C", GrantMode.BROKER, "N", Seen(DiskVerdict.EMPTY))
        step = JournaledStep(StepKind.GRANT, 0, "a", 1, (pod, claim, "N"))
        execution(self.gateway, self.namespace, held=held).run(
            (DeliverGrant(self.name, self.name, grant, None, step, ""),)
        )

    def granted(self) -> bool:
        found = self.gateway.get(POD, self.namespace, self.name)
        return GRANT_ANNOTATION in (found["metadata"].get("annotations") or {})

    def end(self) -> None:
        for kind, namespace in ((POD, self.namespace), (CLAIM, self.namespace), (VOLUME, None)):
            found = self.gateway.find(kind, namespace, self.name)
            if found is not None:
                self.gateway.delete(kind, namespace or "", self.name, uid=found["metadata"]["uid"])


@pytest.fixture
def bench(gateway: Gateway, namespace: str) -> Iterator[Bench]:
    found = Bench(gateway, namespace)
    yield found
    found.end()


def replaced(bench: Bench, kind: kube.Kind, uid: str) -> None:
    bench.gateway.delete(kind, bench.namespace, bench.name, uid=uid)
    while bench.gateway.find(kind, bench.namespace, bench.name) is not None:
        time.sleep(0.1)


def test_a_grant_reaches_the_pod_it_was_made_for(bench: Bench) -> None:
    bench.deliver()
    assert bench.granted()


def test_a_claim_replaced_between_inspect_and_grant_gets_no_grant(bench: Bench) -> None:
    replaced(bench, CLAIM, bench.claim["metadata"]["uid"])
    bench.make_claim()
    with pytest.raises(Stale, match="claim"):
        bench.deliver()
    assert not bench.granted()


def test_a_pod_replaced_between_journal_and_delivery_gets_no_grant(bench: Bench) -> None:
    replaced(bench, POD, bench.pod["metadata"]["uid"])
    bench.make_pod()
    with pytest.raises(Stale, match="pod"):
        bench.deliver()
    assert not bench.granted()


def test_a_step_of_an_earlier_term_or_without_the_lease_is_not_taken(bench: Bench) -> None:
    for held in (Held(2), Held(-1)):
        with pytest.raises(LeaseLost):
            bench.deliver(held)
    assert not bench.granted()
