"""A pod that mounts a node's volume beside the node and does to it what storage systems and people do.

It runs the operator's image (which has Python and no shell) on the node where the volume is, under the same restricted
rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kraft_operator.kube import POD
from support.kubernetes.cluster import Kubernetes

PYTHON = "/usr/bin/python3.11"
VOLUME = "/volume"

_EMPTY = """
import os, shutil, sys
for name in os.listdir(sys.argv[1]):
    path = os.path.join(sys.argv[1], name)
    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
"""
_TAKE = """
import base64, io, sys, tarfile
buffer = io.BytesIO()
with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
    tar.add(sys.argv[1], arcname=".")
print(base64.b64encode(buffer.getvalue()).decode())
"""
_PUT = """
import base64, io, os, sys, tarfile
data = base64.b64decode(sys.stdin.read())
with tarfile.open(fileobj=io.BytesIO(data)) as tar:
    for member in sorted(tar.getmembers(), key=lambda member: member.name.endswith("meta.properties")):
        if member.name != ".":
            tar.extract(member, sys.argv[1])
"""


@dataclass(frozen=True)
class Saboteur:
    kubernetes: Kubernetes
    namespace: str
    pod: str

    def empty(self) -> None:
        """Everything on the volume is gone, in place."""
        self._python(_EMPTY, None)

    def take(self) -> str:
        """A copy of the whole volume."""
        return self._python(_TAKE, None)

    def put(self, copy: str) -> None:
        """The volume is as it was when the copy was taken; the identity comes last, as docs/operations say."""
        self.empty()
        self._python(_PUT, copy)

    def _python(self, code: str, stdin: str | None) -> str:
        arguments = ("-n", self.namespace, "exec", "-i", self.pod, "--", PYTHON, "-c", code, VOLUME)
        return self.kubernetes.kubectl(*arguments, stdin=stdin)


@contextmanager
def saboteur(kubernetes: Kubernetes, namespace: str, claim: str, image: str) -> Iterator[Saboteur]:
    name = f"saboteur-{claim}"
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "runAsGroup": 65532,
                "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "saboteur",
                    "image": image,
                    "command": [PYTHON, "-c", "import time; time.sleep(86400)"],
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                    "volumeMounts": [{"name": "data", "mountPath": VOLUME}],
                }
            ],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    }
    made = kubernetes.gateway.create(POD, namespace, pod)
    try:
        kubernetes.kubectl("-n", namespace, "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=120s")
        yield Saboteur(kubernetes, namespace, name)
    finally:
        kubernetes.gateway.delete(POD, namespace, name, uid=made["metadata"]["uid"])
