"""Helm on a real Kubernetes: install, `helm test`, upgrade, rollback, uninstall; what users made and what nodes wrote outlives all of it."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterator

import pytest

from kraft_operator.kube import CLAIM, CONFIG_MAP, POD, Kind
from support.devcluster import why_not_here
from support.kubernetes import ROOT, Kubernetes
from support.operator_process import Images, Story, default_spec, eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

CHART = str(ROOT / "charts" / "kraft-operator")
DEPLOYMENT = Kind("Deployment", "apps/v1", "deployments")


@pytest.fixture(scope="module")
def namespace(kubernetes: Kubernetes, resource_definition: None) -> Iterator[str]:
    with kubernetes.namespace("helm") as name:
        yield name


@pytest.fixture(scope="module")
def release(kubernetes: Kubernetes, namespace: str, images: Images) -> Iterator[str]:
    """The definitions are there already: the other tests of the run need them. The operator keeps to this namespace."""
    name = f"h{secrets.token_hex(3)}"
    install(kubernetes, name, namespace, images)
    yield name
    subprocess.run([*kubernetes.helm_command, "uninstall", name, "-n", namespace], check=False, capture_output=True)


def install(kubernetes: Kubernetes, name: str, namespace: str, images: Images, *more: str) -> None:
    repository, _, tag = images("operator").rpartition(":")
    values = (f"image.repository={repository}", f"image.tag={tag}", "crds.install=false", "aggregateRoles=false", *more)
    options = [part for value in values for part in ("--set", value)]
    watched = ("--set", f"watchNamespaces={{{namespace}}}")
    where = ("--namespace", namespace, "--wait", "--timeout", "3m")
    kubernetes.helm("upgrade", "--install", name, CHART, *where, *options, *watched)


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, namespace: str, release: str, images: Images) -> Story:
    spec = default_spec(images("runtime"))
    one = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
    found = Story(kubernetes, namespace, images("runtime"), "h", {**spec, "controllers": one, "brokerPools": []})
    found.apply()
    found.await_ready()
    return found


def helm_test(kubernetes: Kubernetes, release: str, namespace: str) -> subprocess.CompletedProcess[str]:
    command = [*kubernetes.helm_command, "test", release, "-n", namespace, "--logs", "--timeout", "2m"]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_helm_test_says_that_all_is_well(kubernetes: Kubernetes, namespace: str, release: str, story: Story) -> None:
    done = helm_test(kubernetes, release, namespace)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_upgrade_and_rollback_leave_the_cluster_alone(
    kubernetes: Kubernetes, namespace: str, release: str, story: Story, images: Images
) -> None:
    before = of_the_cluster(story)
    install(kubernetes, release, namespace, images, "verbose=true")
    assert arguments(kubernetes, namespace, release) == ["--verbose"]
    kubernetes.helm("rollback", release, "1", "-n", namespace, "--wait", "--timeout", "3m")
    assert arguments(kubernetes, namespace, release) == []
    story.apply(config={"common": {"num.io.threads": "3"}})
    story.await_ready()
    after = of_the_cluster(story)
    assert {kind: names for kind, names in after.items() if kind != "Pod"} == {
        kind: names for kind, names in before.items() if kind != "Pod"
    }


def test_helm_test_fails_when_no_operator_acts_or_a_right_is_missing(
    kubernetes: Kubernetes, namespace: str, release: str, story: Story
) -> None:
    deployment = deployment_of(kubernetes, namespace, release)
    role = kubernetes.kubectl("-n", namespace, "get", "role", deployment, "-o", "json")
    without = '[{"op":"test","path":"/rules/6/resources/0","value":"statefulsets"},{"op":"remove","path":"/rules/6"}]'
    kubernetes.kubectl("-n", namespace, "patch", "role", deployment, "--type=json", "-p", without)
    kubernetes.kubectl("-n", namespace, "scale", "deployment", deployment, "--replicas=0")
    try:
        done = helm_test(kubernetes, release, namespace)
        told = done.stdout + done.stderr + kubernetes.kubectl("-n", namespace, "logs", f"{deployment}-selftest")
        assert done.returncode != 0
        assert "no operator acts" in told
        assert "may not create statefulsets.apps" in told
    finally:
        kubernetes.kubectl("-n", namespace, "replace", "-f", "-", stdin=without_version(role))
        kubernetes.kubectl("-n", namespace, "scale", "deployment", deployment, "--replicas=1")


def test_uninstall_leaves_the_resource_its_pods_its_volumes_and_the_ledger(
    kubernetes: Kubernetes, namespace: str, release: str, story: Story
) -> None:
    before = of_the_cluster(story)
    kubernetes.helm("uninstall", release, "-n", namespace, "--wait", "--timeout", "2m")
    eventually("the operator is gone", lambda: kubernetes.gateway.list(DEPLOYMENT, namespace) == (), 60)
    assert of_the_cluster(story) == before
    assert story.resource()["metadata"].get("deletionTimestamp") is None


def of_the_cluster(story: Story) -> dict[str, set[str]]:
    selector = f"kraft.quorate.dev/cluster={story.name}"
    found = {
        kind.kind: story.kubernetes.gateway.list(kind, story.namespace, selector) for kind in (CLAIM, CONFIG_MAP, POD)
    }
    return {kind: {each["metadata"]["uid"] for each in items} for kind, items in found.items()}


def deployment_of(kubernetes: Kubernetes, namespace: str, release: str) -> str:
    found = kubernetes.gateway.list(DEPLOYMENT, namespace, f"app.kubernetes.io/instance={release}")
    return str(found[0]["metadata"]["name"])


def arguments(kubernetes: Kubernetes, namespace: str, release: str) -> list[str]:
    found = kubernetes.gateway.get(DEPLOYMENT, namespace, deployment_of(kubernetes, namespace, release))
    return list(found["spec"]["template"]["spec"]["containers"][0].get("args", []))


def without_version(text: str) -> str:
    item = json.loads(text)
    for field in ("resourceVersion", "uid", "creationTimestamp", "managedFields"):
        item["metadata"].pop(field, None)
    return json.dumps(item)
