"""Helm on a real Kubernetes: install, `helm test`, upgrade with the definitions, rollback, uninstall, and a new
installation that takes over.

What users made and what nodes wrote outlives all of it: the resource, its pods, its volumes and the ledger are the same
from the first test to the last. The first installation is of an older chart, whose definition lacks a field.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from kraft_operator.kube import CLAIM, CLUSTER, CONFIG_MAP, POD, Kind
from support.kubernetes.cluster import CUSTOM_RESOURCE, ROOT, Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, Story, default_spec, eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

CHART = ROOT / "charts" / "kraft-operator"
DEPLOYMENT = Kind("Deployment", "apps/v1", "deployments")
DEFINITION = "kraftclusters.kraft.quorate.dev"
NEW_FIELD = "deletionPolicy"
"""What the older chart's definition does not have."""


@dataclass(frozen=True, slots=True)
class Release:
    kubernetes: Kubernetes
    namespace: str
    name: str
    image: str

    def install(self, chart: Path, *more: str) -> None:
        """Or upgrade. The run's Kubernetes has the definitions already, from other tests: they are taken over, with
        their fields.
        """
        repository, _, tag = self.image.rpartition(":")
        values = (f"image.repository={repository}", f"image.tag={tag}", "aggregateRoles=false", *more)
        options = [part for value in values for part in ("--set", value)]
        watched = ("--set", f"watchNamespaces={{{self.namespace}}}")
        where = ("--namespace", self.namespace, "--take-ownership", "--force-conflicts", "--wait", "--timeout", "3m")
        self.kubernetes.helm("upgrade", "--install", self.name, str(chart), *where, *options, *watched)

    def helm(self, *arguments: str) -> None:
        verb, *more = arguments
        self.kubernetes.helm(verb, self.name, *more, "-n", self.namespace, "--wait", "--timeout", "3m")

    def test(self) -> subprocess.CompletedProcess[str]:
        command = [*self.kubernetes.helm_command, "test", self.name, "-n", self.namespace, "--logs", "--timeout", "3m"]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    def deployment(self) -> dict[str, Any]:
        chosen = f"app.kubernetes.io/instance={self.name}"
        (found,) = self.kubernetes.gateway.list(DEPLOYMENT, self.namespace, chosen)
        return found

    @property
    def arguments(self) -> list[str]:
        return list(self.deployment()["spec"]["template"]["spec"]["containers"][0].get("args", []))


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart, one version ago."""
    folder = tmp_path_factory.mktemp("older") / "kraft-operator"
    shutil.copytree(CHART, folder)
    described = yaml.safe_load((folder / "Chart.yaml").read_text())
    (folder / "Chart.yaml").write_text(yaml.safe_dump({**described, "version": "0.0.1"}))
    file = folder / "files" / "kraftclusters.yaml"
    definition = yaml.safe_load(file.read_text())
    for version in definition["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][NEW_FIELD]
    file.write_text(yaml.safe_dump(definition))
    return folder


@pytest.fixture(scope="module")
def release(kubernetes: Kubernetes, resource_definition: None, older: Path, images: Images) -> Iterator[Release]:
    """The operator keeps to one namespace. At the end the definitions are again those of this work tree."""
    with kubernetes.namespace("helm") as namespace:
        found = Release(kubernetes, namespace, f"h{secrets.token_hex(3)}", images("operator"))
        try:
            found.install(older)
            yield found
        finally:
            command = [*kubernetes.helm_command, "uninstall", found.name, "-n", namespace]
            subprocess.run(command, check=False, capture_output=True)
            kubernetes.gateway.apply(
                CUSTOM_RESOURCE, yaml.safe_load((ROOT / "crds" / "kraftclusters.yaml").read_text())
            )


@pytest.fixture(scope="module")
def story(release: Release, images: Images) -> Story:
    spec = default_spec(images("runtime"))
    one = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
    found = Story(
        release.kubernetes, release.namespace, images("runtime"), "h", {**spec, "controllers": one, "brokerPools": []}
    )
    found.apply()
    found.await_ready()
    return found


def test_helm_test_says_that_all_is_well(release: Release, story: Story) -> None:
    done = release.test()
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert "selftest: all is well" in done.stdout


def test_an_upgrade_brings_the_new_definition_and_leaves_the_cluster_alone(release: Release, story: Story) -> None:
    before = of_the_cluster(story)
    assert NEW_FIELD not in fields(release.kubernetes), "the older definition has to lack it, or this proves nothing"
    release.install(CHART, "verbose=true")
    assert release.arguments == ["--verbose"]
    eventually("the new field is served", lambda: stored(story, {"volumes": "Retain"}), 60)
    story.apply(deletionPolicy={"volumes": "Retain"})
    story.await_ready()
    assert of_the_cluster(story) == before


def test_a_rollback_goes_back_and_leaves_the_cluster_alone(release: Release, story: Story) -> None:
    before = of_the_cluster(story)
    release.helm("rollback", "1")
    assert release.arguments == []
    assert NEW_FIELD not in fields(release.kubernetes)
    story.apply(deletionPolicy=None)
    story.await_ready()
    assert of_the_cluster(story) == before


def test_helm_test_fails_when_no_operator_acts_and_a_right_is_missing(release: Release, story: Story) -> None:
    kubernetes, namespace = release.kubernetes, release.namespace
    name = release.deployment()["metadata"]["name"]
    role = kubernetes.kubectl("-n", namespace, "get", "role", name, "-o", "json")
    number = next(n for n, rule in enumerate(json.loads(role)["rules"]) if "statefulsets" in rule["resources"])
    without = json.dumps([{"op": "remove", "path": f"/rules/{number}"}])
    kubernetes.kubectl("-n", namespace, "patch", "role", name, "--type=json", "-p", without)
    kubernetes.kubectl("-n", namespace, "scale", "deployment", name, "--replicas=0")
    done = release.test()
    assert done.returncode != 0, done.stdout
    said = done.stdout + done.stderr + kubernetes.kubectl("-n", namespace, "logs", f"{name}-selftest")
    assert "the Lease " in said, said
    assert "allow the operator's ServiceAccount to create statefulsets.apps" in said, said
    # The next upgrade mends what was changed by hand.
    release.install(CHART, "replicas=1")
    kubernetes.kubectl("-n", namespace, "scale", "deployment", name, "--replicas=1")
    kubernetes.kubectl("-n", namespace, "rollout", "status", "deployment", name, "--timeout=120s")
    assert "statefulsets" in kubernetes.kubectl("-n", namespace, "get", "role", name, "-o", "json")


def test_uninstalled_and_installed_again_the_operator_takes_over_what_is_there(release: Release, story: Story) -> None:
    before, gateway = of_the_cluster(story), release.kubernetes.gateway
    kept = {each: gateway.get(CUSTOM_RESOURCE, None, each)["metadata"]["uid"] for each in (DEFINITION,)}
    release.helm("uninstall")
    eventually("the operator is gone", lambda: gateway.list(DEPLOYMENT, release.namespace) == (), 60)
    assert {each: gateway.get(CUSTOM_RESOURCE, None, each)["metadata"]["uid"] for each in kept} == kept
    assert of_the_cluster(story) == before
    resource = story.resource()["metadata"]
    assert resource.get("deletionTimestamp") is None
    assert not resource.get("finalizers"), "nobody is there who would take it away"
    release.install(CHART)
    story.apply(config={"common": {"num.io.threads": "3"}})
    story.await_ready()
    after = of_the_cluster(story)
    assert after.pop("Pod") != before.pop("Pod"), "the new operator has to act, or this proves nothing"
    assert after == before


def of_the_cluster(story: Story) -> dict[str, set[str]]:
    """UIDs of what has to outlive Helm."""
    selector = f"kraft.quorate.dev/cluster={story.name}"
    gateway = story.kubernetes.gateway
    found = {kind.kind: gateway.list(kind, story.namespace, selector) for kind in (CLAIM, CONFIG_MAP, POD)}
    uids = {kind: {each["metadata"]["uid"] for each in items} for kind, items in found.items()}
    assert uids["Pod"], "there are no pods"
    assert uids["PersistentVolumeClaim"], "there are no claims"
    return {**uids, "KRaftCluster": {story.resource()["metadata"]["uid"]}}


def fields(kubernetes: Kubernetes) -> set[str]:
    """Of the definition as it is stored."""
    (version,) = kubernetes.gateway.get(CUSTOM_RESOURCE, None, DEFINITION)["spec"]["versions"]
    return set(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])


def stored(story: Story, policy: dict[str, str]) -> bool:
    """What the API server would keep of the new field; it drops what its definition does not know."""
    resource = story.resource()
    body = {
        "apiVersion": CLUSTER.api, "kind": CLUSTER.kind,
        "metadata": {"name": story.name, "namespace": story.namespace,
            "resourceVersion": resource["metadata"]["resourceVersion"]},
        "spec": {**resource["spec"], NEW_FIELD: policy},
    }  # fmt: skip
    query = {"dryRun": "All", "fieldManager": "test"}
    path = CLUSTER.path(story.namespace, story.name)
    found = story.kubernetes.gateway._call("PUT", path, query, body)
    return bool(found["spec"].get(NEW_FIELD) == policy)
