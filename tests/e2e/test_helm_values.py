"""The chart installed with every value set, and with rights in one namespace only: the operator forms a cluster there,
and may not look at anything that has no namespace.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from kraft_operator.kube import Kind
from support.kubernetes.cluster import CUSTOM_RESOURCE, ROOT, Kubernetes, Object
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, Story, default_spec

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

CHART = ROOT / "charts" / "kraft-operator"
DEPLOYMENT = Kind("Deployment", "apps/v1", "deployments")
MONITORS = ("PodMonitor", "PrometheusRule")
ONE = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}


def every_value(namespace: str, image: str) -> Object:
    """None as by default, but what a fresh Kubernetes of the tests cannot have otherwise (`UNTOUCHED`)."""
    repository, _, tag = image.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag, "digest": "", "pullPolicy": "Never"},
        "imagePullSecrets": [{"name": "pull"}],
        "replicas": 2,
        "watchNamespaces": [namespace],
        "clusterWideRights": "Disabled",
        "gatewayRoutes": "Enabled",
        "crds": {"install": False, "keep": False},
        "aggregateRoles": False,
        "serviceAccount": {"name": "quorate", "annotations": {"example.com/owner": "platform"}},
        "metricsService": False,
        "monitoring": {
            "rules": "Enabled",
            "dashboards": "Enabled",
            "podMonitor": "Enabled",
            "labels": {"team": "kafka"},
        },
        "podDisruptionBudget": True,
        "protectClaims": False,
        "maxReplacementsPerHour": 3,
        "verbose": True,
        "extraArgs": ["--workers=2", "--probe-seconds=3"],
        "env": [{"name": "PYTHONFAULTHANDLER", "value": "1"}],
        "resources": {"requests": {"cpu": "20m", "memory": "96Mi"}, "limits": {"memory": "384Mi"}},
        "podLabels": {"team": "kafka"},
        "podAnnotations": {"example.com/note": "x"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        "priorityClassName": "system-cluster-critical",
    }


UNTOUCHED = {
    ("image", "digest"): "images of tests are in no registry, so they have no digest to be pulled by",
    ("protectClaims",): "an admission policy has no namespace; test_claim_policy.py installs it",
}


def test_every_value_of_the_chart_is_set_to_something_else_here() -> None:
    defaults, ours = yaml.safe_load((CHART / "values.yaml").read_text()), every_value("a", "b:c")

    def differing(default: Any, own: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        nested = isinstance(default, dict) and default and path != ("resources",)
        if nested:
            for key in default:
                yield from differing(default[key], own[key], (*path, key))
        elif default == own:
            yield path

    assert ours.keys() == defaults.keys()
    assert set(differing(defaults, ours, ())) == set(UNTOUCHED)


@pytest.fixture(scope="module")
def namespace(kubernetes: Kubernetes, resource_definition: None) -> Iterator[str]:
    """With the two kinds of the Prometheus operator, as far as an API server needs them."""
    for kind in MONITORS:
        plural = f"{kind.lower()}s"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        body = {
            "apiVersion": CUSTOM_RESOURCE.api,
            "kind": CUSTOM_RESOURCE.kind,
            "metadata": {"name": f"{plural}.monitoring.coreos.com"},
            "spec": {
                "group": "monitoring.coreos.com",
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        }
        kubernetes.gateway.apply(CUSTOM_RESOURCE, body)
    with kubernetes.namespace("values") as name:
        try:
            yield name
        finally:
            for kind in MONITORS:
                kubernetes.kubectl("delete", "crd", f"{kind.lower()}s.monitoring.coreos.com", "--wait=false")


@pytest.fixture(scope="module")
def release(kubernetes: Kubernetes, namespace: str, images: Images, tmp_path_factory: pytest.TempPathFactory) -> str:
    name = f"v{secrets.token_hex(3)}"
    values = tmp_path_factory.mktemp("values") / "values.yaml"
    values.write_text(yaml.safe_dump(every_value(namespace, images("operator"))))
    where = ("--namespace", namespace, "--wait", "--timeout", "4m")
    kubernetes.helm("install", name, str(CHART), *where, "--values", str(values))
    return name


def test_what_was_asked_for_is_there_and_nothing_that_has_no_namespace(
    kubernetes: Kubernetes, namespace: str, release: str
) -> None:
    rendered = list(yaml.safe_load_all(kubernetes.helm("get", "manifest", release, "-n", namespace)))
    kinds = {each["kind"] for each in rendered if each}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "ValidatingAdmissionPolicy"}
    assert set(MONITORS) <= kinds
    (deployment,) = kubernetes.gateway.list(DEPLOYMENT, namespace, f"app.kubernetes.io/instance={release}")
    assert deployment["status"]["readyReplicas"] == 2
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == ["--verbose", "--workers=2", "--probe-seconds=3"]
    assert {"name": "PYTHONFAULTHANDLER", "value": "1"} in container["env"]
    assert pod["priorityClassName"] == "system-cluster-critical"
    account = f"system:serviceaccount:{namespace}:quorate"
    for verb, resource in (("list", "nodes"), ("get", "persistentvolumes"), ("list", "namespaces")):
        with pytest.raises(subprocess.CalledProcessError):
            kubernetes.kubectl("auth", "can-i", verb, resource, "--as", account)


def test_helm_test_finds_nothing_wrong(kubernetes: Kubernetes, namespace: str, release: str) -> None:
    command = [*kubernetes.helm_command, "test", release, "-n", namespace, "--logs", "--timeout", "3m"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert "selftest: all is well" in done.stdout


def test_a_cluster_is_formed_and_grows_by_an_operator_that_sees_nothing_without_a_namespace(
    kubernetes: Kubernetes, namespace: str, release: str, images: Images
) -> None:
    spec = {**default_spec(images("runtime")), "controllers": ONE, "brokerPools": []}
    story = Story(kubernetes, namespace, images("runtime"), "v", spec)
    story.apply()
    story.await_ready()
    pool = {"name": "b", "replicas": 1, "nodeIdRange": {"start": 100, "end": 109}, "storage": {"size": "1Gi"}}
    story.apply(brokerPools=[pool])
    story.await_ready()
    assert set(story.pods()) == {"v-controller-0-0", "v-b-100-0"}
