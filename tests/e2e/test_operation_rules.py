"""What a real API server says about right and wrong KRaftOperations: rules, defaults, that nothing asked can be
changed, the columns.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from kraft_operator.kube import OPERATION
from kraft_operator.operations.operation import Phase, parse_operation
from kraft_operator.operations.operation_report import OperationReport, StepReport, StepState, status_of
from support.kubernetes.cluster import ROOT, Kubernetes

pytestmark = pytest.mark.e2e

Object = dict[str, Any]

WRONG: list[tuple[Object, str]] = [
    ({"clusterName": "c", "type": "Explode"}, "Unsupported value"),
    ({"type": "RollingRestart"}, "spec.clusterName: Required value"),
    ({"clusterName": "c"}, "spec.type: Required value"),
    ({"clusterName": "", "type": "RollingRestart"}, "spec.clusterName in body should be at least 1 chars"),
    ({"clusterName": "c" * 37, "type": "RollingRestart"}, "may not be more than 36"),
    (
        {"clusterName": "c", "type": "ReplaceVoter"},
        "nodeID is needed for ReplaceVoter, ReplaceBroker and UnregisterNode",
    ),
    (
        {"clusterName": "c", "type": "ReplaceBroker"},
        "nodeID is needed for ReplaceVoter, ReplaceBroker and UnregisterNode",
    ),
    (
        {"clusterName": "c", "type": "UnregisterNode"},
        "nodeID is needed for ReplaceVoter, ReplaceBroker and UnregisterNode",
    ),
    ({"clusterName": "c", "type": "RollingRestart", "nodeID": 1}, "and for no other type"),
    ({"clusterName": "c", "type": "ReplaceVoter", "nodeID": -1}, "greater than or equal to 0"),
]


def asked(**spec: object) -> Object:
    return {"apiVersion": OPERATION.api, "kind": OPERATION.kind, "metadata": {"name": "o"}, "spec": spec}


@pytest.fixture(scope="module")
def namespace(kubernetes: Kubernetes, resource_definition: None) -> Iterator[str]:
    with kubernetes.namespace("operation-rules") as name:
        yield name


@pytest.mark.parametrize(("spec", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_operation_is_refused_with_the_reason(
    kubernetes: Kubernetes, namespace: str, spec: Object, message: str
) -> None:
    assert message in kubernetes.refusal(OPERATION, namespace, asked(**spec))


NAMES_A_CLUSTER = [case for case in WRONG if case[0].get("clusterName") == "c"]
"""Of one that names no cluster that there is, no operator hears."""


@pytest.mark.parametrize(("spec", "message"), NAMES_A_CLUSTER, ids=[message for _, message in NAMES_A_CLUSTER])
def test_what_a_rule_of_the_schema_refuses_the_operator_refuses_too(spec: Object, message: str) -> None:
    assert parse_operation(asked(**spec)).problem


def test_every_rule_of_the_schema_is_hit_by_a_case() -> None:
    definition = yaml.safe_load((ROOT / "crds" / "kraftoperations.yaml").read_text())
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    told = [rule["message"] for rule in spec["x-kubernetes-validations"]]
    assert [any(message in each for _, message in WRONG) for each in told] == [False, True]  # the first is a transition


def test_an_operation_never_changes_and_its_status_is_a_resource_of_its_own(
    kubernetes: Kubernetes, namespace: str
) -> None:
    gateway = kubernetes.gateway
    made = gateway.create(OPERATION, namespace, asked(clusterName="c", type="ReplaceVoter", nodeID=1))
    assert made["status"]["phase"] == "Pending"
    assert made["status"]["conditions"][0]["reason"] == "NotReconciled"
    for change in ({"nodeID": 2}, {"clusterName": "d"}, {"type": "UnregisterNode"}):
        other = copy.deepcopy(made)
        other["spec"] |= change
        refusal = kubernetes.refusal(OPERATION, namespace, other, verb="PUT")
        assert "an operation never changes: create another one" in refusal
    told = OperationReport(
        parse_operation(made),
        Phase.RUNNING,
        "Replacing",
        "under way",
        (StepReport("RemoveVoter", StepState.RUNNING),),
        "p",
    )
    meta = {"name": "o", "namespace": namespace, "uid": made["metadata"]["uid"]}
    status = status_of(told, "2026-01-01T00:00:00Z")
    body = {"apiVersion": OPERATION.api, "kind": OPERATION.kind, "metadata": meta, "status": status}
    stored = gateway.apply(OPERATION, body, "status")
    assert stored["status"] == status, "the schema knows every field that the operator writes"
    row = kubernetes.kubectl("-n", namespace, "get", "kro", "o").splitlines()[1].split()
    assert row[:5] == ["o", "ReplaceVoter", "c", "1", "Running"]
