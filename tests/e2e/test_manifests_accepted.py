"""Every manifest that we render is one that a real API server takes: strict fields, restricted Pod Security, no silent
change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from kraft_operator.kube import BY_KIND, CLUSTER, POD
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.rendering import golden_specs, render_golden

pytestmark = pytest.mark.e2e

EXAMPLES = sorted((ROOT / "deploy" / "examples").glob("*.yaml"))


@pytest.fixture(scope="module")
def namespace(kubernetes: Kubernetes) -> Iterator[str]:
    """With what the goldens' pods refer to and admission looks for."""
    with kubernetes.namespace("manifests") as name, runtime_class(kubernetes, "gvisor"):
        kubernetes.kubectl("-n", name, "create", "serviceaccount", "kafka")
        yield name


@contextmanager
def runtime_class(kubernetes: Kubernetes, name: str) -> Iterator[None]:
    kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": "runc"}
    kubernetes.kubectl("apply", "-f", "-", stdin=json.dumps(kind))
    yield
    kubernetes.kubectl("delete", "runtimeclass", name)


@pytest.mark.parametrize("spec", golden_specs(), ids=lambda spec: spec.parent.name)
def test_the_api_server_takes_every_manifest_and_keeps_every_field(
    kubernetes: Kubernetes, namespace: str, spec: Path
) -> None:
    for manifest in render_golden(spec, namespace):
        kind = BY_KIND[manifest["apiVersion"], manifest["kind"]]
        stored = kubernetes.dry_run(kind, namespace, manifest, "PATCH")
        assert missing(manifest, stored) == []


@pytest.mark.parametrize("spec", golden_specs(), ids=lambda spec: spec.parent.name)
def test_every_pod_satisfies_restricted_pod_security(kubernetes: Kubernetes, namespace: str, spec: Path) -> None:
    templates = [each["spec"]["template"] for each in render_golden(spec, namespace) if each["kind"] == "StatefulSet"]
    assert templates
    for template in templates:
        metadata = {**template["metadata"], "name": "probe"}
        # The claim is made by the StatefulSet; a pod alone needs the volume to be named.
        volumes = [*template["spec"]["volumes"], {"name": "data", "emptyDir": {}}]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {**template["spec"], "volumes": volumes},
        }
        kubernetes.dry_run(POD, namespace, pod)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_api_server_takes_every_example(
    kubernetes: Kubernetes, resource_definition: None, namespace: str, example: Path
) -> None:
    resource = yaml.safe_load(example.read_text())
    assert missing(resource["spec"], kubernetes.dry_run(CLUSTER, namespace, resource)["spec"]) == []


def missing(intent: Any, stored: Any, path: str = "") -> list[str]:
    """Paths that were written and are not stored, or stored otherwise."""
    if isinstance(intent, dict):
        if not isinstance(stored, dict):
            return [path]
        return [hole for key, value in intent.items() for hole in missing(value, stored.get(key), f"{path}.{key}")]
    if isinstance(intent, list):
        if not isinstance(stored, list) or len(intent) != len(stored):
            return [path]
        return [
            hole
            for index, (left, right) in enumerate(zip(intent, stored, strict=True))
            for hole in missing(left, right, f"{path}[{index}]")
        ]
    return [] if intent == stored else [path]
