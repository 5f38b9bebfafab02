"""What the demo applies besides its cluster: a KRaftUser, and pods that come with its login or without one."""

from __future__ import annotations

from typing import Any, Final

USER: Final = "demo"
"""It may use topics whose name begins with it, and its own group."""
LOGIN: Final = "/login"
CA: Final = "/ca"
SLEEP: Final = "import time; time.sleep(86400)"
_CONTAINER: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}

Manifest = dict[str, Any]


def user(cluster: str, namespace: str) -> Manifest:
    acls = [
        {"resource": {"type": "Topic", "name": USER, "patternType": "Prefixed"},
         "operations": ["Create", "Describe", "Read", "Write"]},
        {"resource": {"type": "Group", "name": USER, "patternType": "Prefixed"}, "operations": ["Read"]},
        {"resource": {"type": "Cluster"}, "operations": ["Describe"]},
    ]  # fmt: skip
    return {
        "apiVersion": "kraft.quorate.dev/v1alpha1",
        "kind": "KRaftUser",
        "metadata": {"name": USER, "namespace": namespace},
        "spec": {"clusterName": cluster, "acls": acls},
    }


def client_pod(name: str, image: str, arguments: list[str], cluster: str, *, login: bool) -> Manifest:
    """With the user's Secret, or with nothing but the certificate that everybody may have."""
    secret, path = (f"{USER}-credentials", LOGIN) if login else (f"{cluster}-ca-cert", CA)
    return _pod(name, {"image": image, "args": arguments}, secret, path)


def tools_pod(name: str, image: str) -> Manifest:
    """Waits, so that Kafka's tools can be run in it with the user's `client.properties`."""
    command = ["/usr/bin/python3.11", "-c", SLEEP]
    return _pod(name, {"image": image, "command": command}, f"{USER}-credentials", LOGIN)


def _pod(name: str, container: Manifest, secret: str, path: str) -> Manifest:
    found = {
        "name": "client",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": _CONTAINER,
        "volumeMounts": [{"name": "secret", "mountPath": path, "readOnly": True}],
        **container,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [found],
            "volumes": [{"name": "secret", "secret": {"secretName": secret}}],
        },
    }
