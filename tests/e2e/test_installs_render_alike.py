"""Helm's chart and the kustomize base are two ways to the same objects, and a real API server takes both."""

from __future__ import annotations

import copy
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.kubernetes.cluster import ROOT, Kubernetes

pytestmark = pytest.mark.e2e

CHART = str(ROOT / "charts" / "kraft-operator")
KUSTOMIZE = ROOT / "deploy" / "kustomize"
# Who manages an object is the one thing in which the two may differ.
MANAGEMENT = {"app.kubernetes.io/managed-by", "helm.sh/chart", "helm.sh/resource-policy"}

CLUSTER_WIDE = (
    "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Namespace", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)  # fmt: skip

Objects = dict[tuple[str, str, str], dict[str, Any]]


def by_key(text: str) -> Objects:
    found = {}
    for manifest in filter(None, yaml.safe_load_all(text)):
        neutral = without_management(manifest)
        if neutral["kind"] in CLUSTER_WIDE:
            neutral["metadata"].pop("namespace", None)
        if neutral["kind"] == "CustomResourceDefinition":
            # kustomize labels it as everything else; the copies are compared in a unit test.
            neutral["metadata"] = {"name": neutral["metadata"]["name"]}
        found[neutral["kind"], neutral["metadata"].get("namespace", ""), neutral["metadata"]["name"]] = neutral
    return found


def without_management(part: Any) -> Any:
    if isinstance(part, dict):
        kept = {key: without_management(value) for key, value in part.items() if key not in MANAGEMENT}
        return {key: value for key, value in kept.items() if not (key == "annotations" and not value)}
    if isinstance(part, list):
        return [without_management(each) for each in part]
    return part


def helm(kubernetes: Kubernetes, *options: str) -> Objects:
    """Without `helm test`'s pod, which kustomize has no word for."""
    arguments = ("kraft-operator", CHART, "--namespace", "kraft-operator", "--skip-tests")
    return by_key(kubernetes.helm("template", *arguments, *options))


def kustomize(kubernetes: Kubernetes, folder: str) -> Objects:
    return by_key(kubernetes.kubectl("kustomize", str(KUSTOMIZE / folder)))


def but_namespace(objects: Objects) -> Objects:
    """Helm makes the namespace itself (--create-namespace)."""
    return {key: value for key, value in objects.items() if key[0] != "Namespace"}


@pytest.mark.parametrize(
    ("folder", "options"),
    [
        ("base", ()),
        ("overlays/ha", ("--set", "replicas=2", "--set", "podDisruptionBudget=true")),
        ("overlays/protect-claims", ("--set", "protectClaims=true")),
        ("overlays/gateway", ("--set", "gatewayRoutes=Enabled")),
        ("overlays/namespaced", ("--set", "watchNamespaces={kafka}")),
    ],
)
def test_chart_and_kustomize_render_the_same_objects(
    kubernetes: Kubernetes, folder: str, options: tuple[str, ...]
) -> None:
    from_helm, from_kustomize = helm(kubernetes, *options), but_namespace(kustomize(kubernetes, folder))
    assert sorted(from_helm) == sorted(from_kustomize)
    for key, manifest in from_helm.items():
        assert manifest == from_kustomize[key], key


def test_the_api_server_takes_every_object_of_the_base(kubernetes: Kubernetes, tmp_path: Path) -> None:
    objects = but_namespace(kustomize(kubernetes, "base"))
    with kubernetes.namespace("install") as namespace:
        for manifest in objects.values():
            body = copy.deepcopy(manifest)
            if body["metadata"].get("namespace"):
                body["metadata"]["namespace"] = namespace
            kubernetes.kubectl(
                "apply", "--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts",
                "--field-manager=test", "-f", "-", stdin=yaml.safe_dump(body),
            )  # fmt: skip


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("nonsense=1", "nonsense"),
        ("image.nonsense=x", "nonsense"),
        ("replicas=0", "replicas"),
        ("monitoring.rules=true", "rules"),
        ("watchNamespaces={Not_A_Name}", "watchNamespaces"),
        ("image.digest=sha256:12", "digest"),
    ],
)
def test_a_wrong_value_is_refused_by_name(kubernetes: Kubernetes, option: str, complaint: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        helm(kubernetes, "--set", option)
    assert complaint in refused.value.stderr


def test_the_resource_definition_is_upgraded_and_survives_an_uninstall_unless_told_otherwise(
    kubernetes: Kubernetes,
) -> None:
    text = kubernetes.helm("template", "kraft-operator", CHART, "--show-only", "templates/crd.yaml")
    kept = [each["metadata"].get("annotations") for each in yaml.safe_load_all(text) if each]
    assert kept == [{"helm.sh/resource-policy": "keep"}] * 3, "clusters, operations, users"
    text = kubernetes.helm(
        "template", "kraft-operator", CHART, "--set", "crds.keep=false", "--show-only", "templates/crd.yaml"
    )
    assert [each["metadata"].get("annotations") for each in yaml.safe_load_all(text) if each] == [None] * 3
    assert not [key for key in helm(kubernetes, "--set", "crds.install=false") if key[0] == "CustomResourceDefinition"]


def test_monitoring_is_rendered_when_asked_for_and_only_then(kubernetes: Kubernetes) -> None:
    asked = ("--set", "monitoring.rules=Enabled,monitoring.dashboards=Enabled,monitoring.podMonitor=Enabled", "--set",
        "monitoring.labels.team=kafka")  # fmt: skip
    objects = helm(kubernetes, *asked)
    added = set(objects) - set(helm(kubernetes))
    assert sorted((kind, name) for kind, _, name in added) == [
        ("ConfigMap", "kraft-operator-dashboard-operator"),
        ("ConfigMap", "kraft-operator-dashboard-quorum"),
        ("PodMonitor", "kraft-operator"),
        ("PodMonitor", "kraft-operator-nodes"),
        ("PrometheusRule", "kraft-operator-operator"),
        ("PrometheusRule", "kraft-operator-quorum"),
    ]
    for part, file in (("quorum", "rules.yaml"), ("operator", "operator-rules.yaml")):
        rule = objects["PrometheusRule", "kraft-operator", f"kraft-operator-{part}"]
        assert rule["spec"] == yaml.safe_load((ROOT / "deploy" / "monitoring" / file).read_text())
        assert rule["metadata"]["labels"]["team"] == "kafka"
    here = helm(kubernetes, *asked, "--set", "watchNamespaces={kafka}")
    monitor = here["PodMonitor", "kraft-operator", "kraft-operator-nodes"]
    assert monitor["spec"]["namespaceSelector"] == {"matchNames": ["kafka"]}


def test_the_guards_in_the_pods_run_the_operators_own_image(kubernetes: Kubernetes) -> None:
    options = ("--set", "image.repository=example.com/op", "--set", "image.tag=2.0")
    deployment = helm(kubernetes, *options)["Deployment", "kraft-operator", "kraft-operator"]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert container["image"] == environment["OPERATOR_IMAGE"] == "example.com/op:2.0"
