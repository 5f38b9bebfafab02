"""Clients of a secure cluster on the single-machine Kubernetes: what its Secrets hold, its users, and tools in the
network of the pods or in a pod.
"""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kraft_operator.kube import POD, SECRET, USER
from support.kubernetes.cluster import ROOT
from support.kubernetes.operator_process import DEVCLUSTER, Story, eventually

Text = dict[str, str]


@dataclass(frozen=True)
class Client:
    """One of our tools, in the network of the pods, with a client's properties."""

    story: Story
    folder: Path

    def run(self, tool: str, properties: Text, *arguments: str, seconds: float = 60) -> str:
        path = self.folder / "client.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        command = [*DEVCLUSTER, "in", sys.executable, "-m", "controller_runtime.cli.main", tool]
        done = subprocess.run(
            [*command, "--command-config", str(path), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            timeout=seconds,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def as_operator(self) -> Text:
        """With the operator's own certificate."""
        for key in ("keystore.pem", "ca.crt"):
            (self.folder / key).write_text(secret(self.story, f"{self.story.name}-operator-tls", key))
        return {
            "security.protocol": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.folder / "keystore.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.folder / "ca.crt"),
        }

    def by_librdkafka(self, settings: dict[str, Any], *arguments: str) -> dict[str, Any]:
        """What `listener_client.py` says."""
        path = self.folder / "settings.json"
        path.write_text(json.dumps(settings))
        script = str(ROOT / "tests/support/kubernetes/listener_client.py")
        command = [*DEVCLUSTER, "in", sys.executable, script, str(path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return dict(json.loads(done.stdout.splitlines()[-1]))

    def at(self, port: int) -> dict[str, str]:
        """A broker's listener, in librdkafka's words."""
        trusted = self.folder / "trusted.crt"
        trusted.write_text(secret(self.story, f"{self.story.name}-ca-cert", "ca.crt"))
        server = f"{self.own[1].removesuffix(':9091')}:{port}"
        return {"bootstrap.servers": server, "security.protocol": "SSL", "ssl.ca.location": str(trusted)}

    @property
    def own(self) -> tuple[str, str]:
        """The brokers' own listener."""
        host = f"{self.story.name}-b-100-0.{self.story.name}-nodes.{self.story.namespace}.svc"
        return "--bootstrap-server", f"{host}:9091"

    @property
    def clients(self) -> tuple[str, str]:
        """The clients' listener. Addresses of Services are known in pods only."""
        return "--bootstrap-server", f"{self.own[1].removesuffix(':9091')}:9092"

    @property
    def controllers(self) -> tuple[str, str]:
        host = f"{self.story.name}-controller-1-0.{self.story.name}-nodes.{self.story.namespace}.svc"
        return "--bootstrap-controller", f"{host}:9093"


def secret(story: Story, name: str, key: str) -> str:
    found = story.kubernetes.gateway.get(SECRET, story.namespace, name)
    return b64decode(found["data"][key]).decode()


def user(story: Story, name: str, acls: list[dict[str, object]], by: str = "Scram") -> None:
    meta = {"name": name, "namespace": story.namespace}
    spec = {"clusterName": story.name, "authentication": {"type": by}, "acls": acls}
    body = {"apiVersion": USER.api, "kind": USER.kind, "metadata": meta, "spec": spec}
    story.kubernetes.gateway.create(USER, story.namespace, body)


def is_ready(story: Story, name: str) -> bool:
    status = story.kubernetes.gateway.get(USER, story.namespace, name).get("status") or {}
    return [(each["type"], each["status"]) for each in status.get("conditions") or ()] == [("Ready", "True")]


def of_user(story: Story, name: str) -> Text:
    text = secret(story, f"{name}-credentials", "client.properties")
    return dict(line.split("=", 1) for line in text.splitlines())


def in_a_pod(story: Story, name: str, *arguments: str, image: str = "") -> str:
    """Kafka's tool in a pod that mounts the user's Secret and knows nothing else; of `image`, or of the nodes'."""
    with_tools = {"image": image or story.image, "imagePullPolicy": "IfNotPresent"}
    server = {"secretKeyRef": {"name": f"{name}-credentials", "key": "bootstrap.servers"}}
    command = ["/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", "$(SERVERS)", "--command-config"]
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
    container = {
        **with_tools, "name": "client", "securityContext": safe,
        "command": [*command, "/login/client.properties", *arguments],
        "env": [{"name": "SERVERS", "valueFrom": server}, {"name": "LOG_DIR", "value": "/tmp"}],
        "volumeMounts": [{"name": "login", "mountPath": "/login"}, {"name": "tmp", "mountPath": "/tmp"}],
    }  # fmt: skip
    spec = {
        "restartPolicy": "Never", "containers": [container], "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": [
            {"name": "login", "secret": {"secretName": f"{name}-credentials"}}, {"name": "tmp", "emptyDir": {}},
        ],
    }  # fmt: skip
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"client-of-{name}"}, "spec": spec}
    gateway = story.kubernetes.gateway
    gateway.create(POD, story.namespace, body)

    def phase() -> str:
        return str(gateway.get(POD, story.namespace, f"client-of-{name}")["status"].get("phase"))

    eventually("the client ends", lambda: phase() in ("Succeeded", "Failed"), 120)
    log = story.kubernetes.kubectl("-n", story.namespace, "logs", f"client-of-{name}")
    assert phase() == "Succeeded", log
    return log
