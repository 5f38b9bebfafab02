"""Mode Plan against a real API server: an edit is published and nothing else is written, a stale approval is refused,
the right one is acted upon.

No pod has to start for it: the reconciler runs here, and nobody answers for the quorum. About five seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pytest

from controller_runtime.identifiers import Endpoint
from controller_runtime.security.listener_security import ListenerSecurity
from kraft_operator.api import names
from kraft_operator.events import Recorder
from kraft_operator.keys import Key
from kraft_operator.kube import CHILDREN, CLUSTER, CONFIG_MAP, EVENT
from kraft_operator.lease import Term
from kraft_operator.metrics import Metrics
from kraft_operator.observed import Brokers, Quorum
from kraft_operator.plugin.main import parser, run
from kraft_operator.pools import Pools
from kraft_operator.proofs import Doubt
from kraft_operator.quorum import Addresses, KafkaChanges
from kraft_operator.reconcile import Reconciler
from kraft_operator.replacements import LeaseAccount
from kraft_operator.settings import Settings
from support.kubernetes.cluster import Kubernetes
from support.operator_model.world import resource

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


class Silence:
    def look(self, addresses: Addresses) -> tuple[Quorum, Brokers]:
        return Quorum(), Brokers()

    def prove(self, asked: Collection[Doubt], security: ListenerSecurity) -> frozenset[str]:
        return frozenset()

    def sessions(self, pages: Mapping[int, str], listeners: Collection[str]) -> dict[int, int]:
        return {}

    def changes(self, controllers: Collection[Endpoint], security: ListenerSecurity) -> KafkaChanges:
        return KafkaChanges(tuple(controllers), Pools())


class Holder:
    def require(self, seconds: float) -> Term:
        return Term("test", 1)

    def still_holds(self) -> bool:
        return True


@pytest.fixture
def namespace(kubernetes: Kubernetes, resource_definition: None) -> Iterator[str]:
    with kubernetes.namespace("plan") as name:
        yield name


def children(kubernetes: Kubernetes, namespace: str) -> list[str]:
    selector = f"{names.LABEL_CLUSTER}=c"
    found = [each for kind in (*CHILDREN, CONFIG_MAP) for each in kubernetes.gateway.list(kind, namespace, selector)]
    return sorted({f"{each['kind']}/{each['metadata']['name']}" for each in found})


def condition(kubernetes: Kubernetes, namespace: str, kind: str) -> tuple[str, str]:
    status = kubernetes.gateway.get(CLUSTER, namespace, "c")["status"]
    return next((each["status"], each["reason"]) for each in status["conditions"] if each["type"] == kind)


def test_nothing_is_made_before_the_published_plan_is_approved(
    kubernetes: Kubernetes, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = kubernetes.gateway
    spec: Any = resource(changePolicy={"mode": "Plan"})["spec"]
    body = {"apiVersion": CLUSTER.api, "kind": CLUSTER.kind, "metadata": {"name": "c", "namespace": namespace}}
    gateway.apply(CLUSTER, {**body, "spec": spec})
    drawn = iter(f"AAAAAAAAAAAAAAAAAAAA{number:02}" for number in range(10, 90))
    account = LeaseAccount(gateway, "ops", "none", 0)
    reconciler = Reconciler(
        gateway, Silence(), Holder(), account, Settings("test", "ops"), Metrics(), lambda: next(drawn),
        Recorder(gateway, "test")
    )  # fmt: skip

    def reconcile() -> dict[str, Any]:
        reconciler.reconcile(Key(namespace, "c"))
        return gateway.get(CLUSTER, namespace, "c")

    seen = reconcile()
    plan = seen["status"]["plan"]
    assert plan["approved"] == "No"
    assert {"ApplyNode", "FormatDisk", "FormQuorum"} <= {each["action"] for each in plan["steps"]}
    assert condition(kubernetes, namespace, "Ready") == ("False", "PlanPendingApproval")
    again = reconcile()
    assert again["metadata"]["resourceVersion"] == seen["metadata"]["resourceVersion"]
    assert children(kubernetes, namespace) == []

    def kubectl_kraft(*words: str) -> int:
        return run(parser().parse_args([*words, "-n", namespace]), gateway, print)

    gateway.patch(CLUSTER, namespace, "c", {"metadata": {"annotations": {names.ANNOTATION_APPROVE: "other"}}})
    reconcile()
    assert condition(kubernetes, namespace, "PlanApproved") == ("False", "ApprovalStale")
    assert children(kubernetes, namespace) == []
    assert kubectl_kraft("approve", "c", "--hash", "other") == 1
    assert "stale" in capsys.readouterr().err
    assert kubectl_kraft("approve", "c", "--hash", plan["hash"]) == 0

    seen = reconcile()
    assert seen["status"]["plan"]["hash"] == plan["hash"]
    assert seen["status"]["plan"]["approved"] == "Yes"
    made = children(kubernetes, namespace)
    assert "ConfigMap/c-ledger" in made
    assert len([each for each in made if each.startswith("StatefulSet/")]) == 5
    told = {each["reason"] for each in gateway.list(EVENT, namespace) if each["regarding"]["kind"] == CLUSTER.kind}
    assert {"PlanPublished", "ApprovalStale", "PlanApproved"} <= told
