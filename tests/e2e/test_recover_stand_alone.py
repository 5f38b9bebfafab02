"""`kubectl kraft recover --stand-alone` without an operator: claims of pods that nobody of ours made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import CONFIG_MAP, POD
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

CLAIM = "data-0-strangers-dual-role-0"
USER = 1001
SECURITY = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
PROPERTIES = """\
process.roles=broker,controller
node.id=0
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=localhost:9093
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
offsets.topic.replication.factor=1
quorate.insecure=true
log.dirs=/var/lib/kafka/data-0/kafka-log0
"""


@pytest.fixture(scope="module")
def namespace(kubernetes: Kubernetes) -> Iterator[str]:
    with kubernetes.namespace("strangers") as name:
        yield name


def node(namespace: str, image: str) -> list[dict[str, Any]]:
    """A controller and broker in a pod of its own, laid out as Strimzi's, as another user."""
    config = "/etc/kafka/server.properties"
    mounts = [
        {"name": "config", "mountPath": "/etc/kafka"},
        {"name": "data", "mountPath": "/var/lib/kafka/data-0"},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    common = {"image": image, "imagePullPolicy": "IfNotPresent", "securityContext": SECURITY, "volumeMounts": mounts}
    form = ["/opt/kafka/bin/kafka-storage.sh", "format", "--standalone", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", config]
    identity = {"runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER}
    pod = {
        "terminationGracePeriodSeconds": 30,
        "securityContext": {**identity, "seccompProfile": {"type": "RuntimeDefault"}},
        "initContainers": [{**common, "name": "format", "command": form}],
        "containers": [{**common, "name": "kafka", "command": ["/opt/kafka/bin/kafka-server-start.sh", config]}],
        "volumes": [
            {"name": "config", "configMap": {"name": "strangers"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": CLAIM}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM, "namespace": namespace},
            "spec": claim},
        {"apiVersion": "v1", "kind": CONFIG_MAP.kind, "metadata": {"name": "strangers", "namespace": namespace},
            "data": {"server.properties": PROPERTIES}},
        {"apiVersion": "v1", "kind": POD.kind, "metadata": {"name": "strangers-dual-role-0", "namespace": namespace},
            "spec": pod},
    ]  # fmt: skip


def plugin(kubernetes: Kubernetes, namespace: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "kraft_operator.plugin.main", "recover", "--stand-alone", "-n", namespace]
    environment = {**os.environ, "KUBECONFIG": str(kubernetes.kubeconfig)}
    done = subprocess.run(
        [*command, "-o", "json", "--timeout", "120", *arguments],
        check=False, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_copies_on_a_strangers_claim_are_judged_while_it_runs_and_after(
    kubernetes: Kubernetes, namespace: str, images: Images, tmp_path: Path
) -> None:
    for body in node(namespace, images("runtime")):
        kubernetes.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    kubernetes.kubectl("wait", "-n", namespace, "pod/strangers-dual-role-0", "--for=condition=Ready", "--timeout=180s")
    time.sleep(3)
    asked = ("--image", images("operator"), "--claim", CLAIM)
    alive = plugin(kubernetes, namespace, *asked)
    assert [each["nodeID"] for each in alive["copies"]] == [0] or "changed between two readings" in str(alive["failed"])
    kubernetes.kubectl("delete", "pod", "-n", namespace, "strangers-dual-role-0", "--timeout=90s")
    unreadable = plugin(kubernetes, namespace, *asked)
    dead = plugin(kubernetes, namespace, *asked, "--run-as", str(USER))
    assert dead["verdict"] == "ProvenComplete", dead
    assert dead["seed"] == CLAIM
    assert dead["copies"][0]["voter"]
    assert unreadable["verdict"] in {"KnownLoss", "ProvenComplete"}, "files that only their owner reads count as lost"
    label = "app.kubernetes.io/name=kraft-survey"
    eventually("the pods are gone", lambda: kubernetes.gateway.list(POD, namespace, label) == (), 60)
