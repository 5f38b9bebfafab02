"""Pods that a real Kubernetes would refuse: named with the remedy before any pod is given up for them, and rolled once
they would be taken. A small cluster that runs, and a broker pool that is changed; told in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import POD, Kind, KubeError
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

RUNTIME_CLASS = Kind("RuntimeClass", "node.k8s.io/v1", "runtimeclasses", namespaced=False)
POLICY = Kind(
    "ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1", "validatingadmissionpolicies", namespaced=False
)
BINDING = Kind(
    "ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
ONE = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
LEFT = "Its pods are left as they are until then"


@pytest.fixture(scope="module")
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    with kubernetes.namespace("op-refused") as namespace:
        found = Story(kubernetes, namespace, images("runtime"), "r")
        with operator(namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19563):
            found.apply(controllers=ONE, brokerPools=[pool(1)])
            found.await_ready()
            yield found


@pytest.fixture(autouse=True)
def untouched(story: Story) -> Iterator[None]:
    """Every test ends with the pods that it left as it wants them; the resource asks for nothing of it any more."""
    yield
    story.apply(brokerPools=[pool(1)])
    story.await_ready()


def with_pod(**fields: Any) -> list[dict[str, Any]]:
    return [{**pool(1), "pod": fields}]


def uids(story: Story) -> dict[str, str]:
    return {name: each["metadata"]["uid"] for name, each in story.pods().items()}


def refused(story: Story, reason: str, **fields: Any) -> str:
    """What is said of the broker's new pod, while every pod stays what it was."""
    before = uids(story)
    story.apply(brokerPools=with_pod(**fields))
    found = story.await_condition("PodsHealthy", "False", reason, 60)
    waits = story.await_condition("RolloutComplete", "False", seconds=60)
    assert f"r-b-100-0 waits: Kubernetes would refuse the new pod ({reason})" in waits["message"]
    story.await_condition("Stalled", "True", reason, 60)
    assert uids(story) == before
    assert all(each["status"]["phase"] == "Running" for each in story.pods().values())
    return str(found["message"])


def taken_back(story: Story, before: dict[str, str]) -> None:
    story.apply(brokerPools=[pool(1)])
    story.await_condition("PodsHealthy", "True", seconds=60)
    story.await_ready()
    assert uids(story) == before


def test_a_priority_class_that_is_not_there(story: Story) -> None:
    before = uids(story)
    said = refused(story, "PriorityClassMissing", priorityClassName="quorate-absent")
    assert "create PriorityClass quorate-absent" in said
    assert said.endswith(f"or correct pod.priorityClassName of b. {LEFT}")
    taken_back(story, before)


def test_pod_security_that_a_sidecar_violates(story: Story) -> None:
    before = uids(story)
    tuner = {
        "name": "tuner",
        "image": story.image,
        "securityContext": {"capabilities": {"drop": ["ALL"], "add": ["SYS_NICE"]}},
    }
    said = refused(story, "PodSecurityViolated", sidecars=[tuner])
    assert 'violates PodSecurity "restricted:latest": unrestricted capabilities (container "tuner"' in said
    taken_back(story, before)


def test_an_admission_policy_that_wants_something_else(story: Story) -> None:
    before, name = uids(story), f"{story.namespace}-teams"
    api, gateway = "admissionregistration.k8s.io/v1", story.kubernetes.gateway
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ]
        },
        "validations": [
            {
                "expression": "!has(object.metadata.labels.team) || object.metadata.labels.team != 'nobody'",
                "message": "every pod names a team",
            }
        ],
    }
    place = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": story.namespace}}}
    binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": place}
    gateway.create(POLICY, None, {"apiVersion": api, "kind": POLICY.kind, "metadata": {"name": name}, "spec": policy})
    gateway.create(
        BINDING, None, {"apiVersion": api, "kind": BINDING.kind, "metadata": {"name": name}, "spec": binding}
    )
    try:
        eventually("the policy is in force", lambda: denied(story), 60)
        said = refused(story, "PodRefused", labels={"team": "nobody"})
        assert (
            f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: every pod names a team" in said
        )
        taken_back(story, before)
    finally:
        story.kubernetes.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name)


def denied(story: Story) -> bool:
    """A policy is not in force as soon as it is stored."""
    restricted = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True}
    container = {"name": "probe", "image": story.image, "securityContext": restricted}
    spec = {"containers": [container], "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}
    probe = {"metadata": {"name": "probe", "labels": {"team": "nobody"}}, "spec": spec}
    try:
        story.kubernetes.dry_run(POD, story.namespace, probe)
    except KubeError as error:
        return "every pod names a team" in error.message
    return False


def test_a_service_account_that_is_made_later(story: Story) -> None:
    before = uids(story)
    said = refused(story, "ServiceAccountMissing", serviceAccountName="kafka")
    assert "create ServiceAccount kafka" in said
    story.kubernetes.kubectl("-n", story.namespace, "create", "serviceaccount", "kafka")
    rolled(story, before)
    assert story.pods()["r-b-100-0"]["spec"]["serviceAccountName"] == "kafka"


def test_a_runtime_class_that_is_made_later(story: Story) -> None:
    before, name = uids(story), f"{story.namespace}-runc"
    said = refused(story, "RuntimeClassMissing", runtimeClassName=name)
    assert f"create RuntimeClass {name}" in said
    meta = {"name": name}
    body = {"apiVersion": RUNTIME_CLASS.api, "kind": RUNTIME_CLASS.kind, "metadata": meta, "handler": "runc"}
    story.kubernetes.gateway.create(RUNTIME_CLASS, None, body)
    try:
        rolled(story, before)
        assert story.pods()["r-b-100-0"]["spec"]["runtimeClassName"] == name
    finally:
        story.kubernetes.kubectl("delete", "runtimeclass", name)


def rolled(story: Story, before: dict[str, str]) -> None:
    """The broker alone, without anybody touching the resource."""
    story.await_condition("RolloutComplete", "True", seconds=240)
    story.await_ready()
    after = uids(story)
    assert {name for name in after if after[name] != before[name]} == {"r-b-100-0"}
