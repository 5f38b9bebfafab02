"""The Kubernetes that end-to-end tests run against: the single-machine one, or the context that QUORATE_E2E_CONTEXT
names.

One cluster serves a whole run, with a namespace per test module or test. A cluster that was up already is left up; one
that the run started is ended by it.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kraft_operator.kube import Gateway, Invalid, Kind, connect
from kraft_operator.metrics import Metrics

ROOT = Path(__file__).parents[3]
NAMESPACE = Kind("Namespace", "v1", "namespaces", namespaced=False)
CUSTOM_RESOURCE = Kind(
    "CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False
)
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kubernetes:
    kubeconfig: Path | None
    context: str | None
    gateway: Gateway
    kubectl_command: tuple[str, ...]
    helm_command: tuple[str, ...]

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Its standard output; raises CalledProcessError with both outputs in the note."""
        return _run([*self.kubectl_command, *arguments], stdin)

    def helm(self, *arguments: str) -> str:
        return _run([*self.helm_command, *arguments], None)

    def dry_run(self, kind: Kind, namespace: str, body: Mapping[str, Any], verb: str = "POST") -> Object:
        """What the API server would store, after defaults, rules and admission."""
        name = None if verb == "POST" else body["metadata"]["name"]
        query = {"dryRun": "All", "fieldManager": "test", "fieldValidation": "Strict"}
        content = "application/json"
        if verb == "PATCH":
            query["force"], content = "true", "application/apply-patch+yaml"
        return self.gateway._call(verb, kind.path(namespace, name), query, dict(body), content=content)

    def refusal(self, kind: Kind, namespace: str, body: Mapping[str, Any], verb: str = "POST") -> str:
        """The message with which the API server refuses this."""
        try:
            stored = self.dry_run(kind, namespace, body, verb)
        except Invalid as error:
            return error.message
        raise AssertionError(f"accepted: {json.dumps(stored.get('spec'))}")

    @contextmanager
    def namespace(self, prefix: str) -> Iterator[str]:
        """A namespace under restricted Pod Security, deleted afterwards (without waiting for its end)."""
        name = f"{prefix}-{secrets.token_hex(3)}"
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        made = self.gateway.create(NAMESPACE, None, {"metadata": {"name": name, "labels": labels}})
        try:
            yield name
        finally:
            self.gateway.delete(NAMESPACE, "", name, uid=made["metadata"]["uid"])


@contextmanager
def kubernetes_under_test() -> Iterator[Kubernetes]:
    context = os.environ.get("QUORATE_E2E_CONTEXT")
    if context:
        gateway = connect(Metrics(), None, context)
        commands = ("kubectl", "--context", context), ("helm", "--kube-context", context)
        yield Kubernetes(None, context, gateway, *commands)
        return
    devcluster = (sys.executable, str(ROOT / "deploy" / "devcluster"))
    mine = subprocess.run([*devcluster, "status"], capture_output=True, check=False).returncode != 0
    if mine:
        subprocess.run([*devcluster, "up"], check=True)
    try:
        kubeconfig = Path(_run([*devcluster, "kubeconfig"], None).strip())
        gateway = connect(Metrics(), str(kubeconfig))
        yield Kubernetes(kubeconfig, None, gateway, (*devcluster, "kubectl"), (*devcluster, "helm"))
    finally:
        if mine:
            subprocess.run([*devcluster, "down"], check=True)


def _run(command: list[str], stdin: str | None) -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        error = subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        error.add_note(f"{done.stdout}{done.stderr}")
        raise error
    return done.stdout
