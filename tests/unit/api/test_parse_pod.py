"""What a group adds to its pods: read as it is, refused by name where the operator owns it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.pod import Pod, PodProbes, RunAs, shadowed
from kraft_operator.api.reader import InvalidSpec
from support.kubernetes.wrong_fields import WRONG_FIELDS

pytestmark = pytest.mark.unit

BASE: dict[str, Any] = {
    "metadata": {"name": "demo", "namespace": "any", "uid": "u", "generation": 1},
    "spec": {
        "image": {"reference": "a:1"},
        "controllers": {"replicas": 3},
        "brokerPools": [{"name": "main", "replicas": 3, "nodeIdRange": {"start": 100, "end": 199}}],
    },
}


def resource(where: str, value: Any) -> dict[str, Any]:
    found = copy.deepcopy(BASE)
    target: Any = found
    *steps, last = where.split(".")
    for step in steps:
        target = target[int(step)] if isinstance(target, list) else target.setdefault(step, {})
    target[last] = value
    return found


def pod(**fields: Any) -> Pod:
    return parse_cluster(resource("spec.controllers.pod", fields)).spec.controllers.pod


@pytest.mark.parametrize(("where", "value"), [each[:2] for each in WRONG_FIELDS], ids=lambda each: str(each)[:60])
def test_what_the_rules_refuse_the_operator_refuses_and_names_the_field(where: str, value: Any) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_cluster(resource(where, value))
    assert str(refused.value).startswith("spec.")


def test_without_any_field_a_pod_is_what_it_was() -> None:
    assert pod() == Pod()


def test_what_kubernetes_alone_judges_stays_as_it_is() -> None:
    sidecar = {"name": "agent", "image": "a:1", "ports": [{"containerPort": 9405}], "anything": {"else": [1]}}
    volume = {"name": "plugins", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    found = pod(
        sidecars=[sidecar],
        volumes=[volume],
        volumeMounts=[{"name": "plugins", "mountPath": "/opt/kafka/libs/plugins"}],
        env=[{"name": "AN.ODD-name", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        securityContext={"fsGroup": 7},
        runAs="Assigned",
        probes={"startup": {"periodSeconds": 5, "failureThreshold": 1000}},
    )
    assert found.sidecars == (sidecar,)
    assert found.volumes == (volume,)
    assert (found.run_as, dict(found.security_context)) == (RunAs.ASSIGNED, {"fsGroup": 7})
    assert found.probes == PodProbes({"periodSeconds": 5, "failureThreshold": 1000})


@pytest.mark.parametrize("what", ["env", "volumes", "volumeMounts", "sidecars", "envFrom", "hostAliases"])
@pytest.mark.parametrize("value", ["text", [1], {"a": 1}])
def test_a_list_that_is_none_is_refused_by_name(what: str, value: Any) -> None:
    with pytest.raises(InvalidSpec, match=rf"spec\.controllers\.pod\.{what}"):
        pod(**{what: value})


def test_a_claim_that_is_no_nodes_disk_may_be_mounted() -> None:
    volume = {"name": "other", "persistentVolumeClaim": {"claimName": "data-of-others"}}
    assert pod(volumes=[volume]).volumes == (volume,)


def test_a_mount_shadows_what_lies_above_or_below_it_and_nothing_beside_it() -> None:
    assert [shadowed(path) for path in ("/etc", "/opt/kafka/bin/x", "/tmp")] == [
        "/etc/kafka/template",
        "/opt/kafka/bin",
        "/tmp",
    ]
    beside = ("/tmp/mine", "/opt/kafka/libs/mine", "/etc/kafka/nodes", "/etc/kafka-secrets", "/var/lib/kafka/data2")
    assert [shadowed(path) for path in beside] == [None] * len(beside)
