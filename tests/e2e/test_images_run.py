"""Our images as pods: restricted, read-only, without a shell; a node of ours formats its disk, serves, and ends when
told to.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deploy.images import spec
from support.kubernetes.cluster import Kubernetes

pytestmark = pytest.mark.e2e

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
SECURITY = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
COUNT = 2_000


@pytest.fixture(scope="module")
def namespace(kubernetes: Kubernetes) -> Iterator[str]:
    with kubernetes.namespace("images") as name:
        yield name


def properties(host: str) -> str:
    return f"""\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
advertised.listeners=PLAINTEXT://{host}:9092,CONTROLLER://{host}:9093
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers={host}:9093
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
offsets.topic.replication.factor=1
log.dirs=/data
quorate.insecure=true
"""


def node_objects(name: str, namespace: str, image: str) -> list[dict[str, Any]]:
    """One node that is controller and broker: its configuration, its name, its pod."""
    config = "/etc/kafka/server.properties"
    mounts = [{"name": "config", "mountPath": "/etc/kafka"}, {"name": "data", "mountPath": "/data"}]
    mounts.append({"name": "tmp", "mountPath": "/tmp"})
    common = {"image": image, "imagePullPolicy": "IfNotPresent", "securityContext": SECURITY, "volumeMounts": mounts}
    form = ["/opt/kafka/bin/kafka-storage.sh", "format", "--standalone", "-t", CLUSTER_ID, "-c", config]
    pod_spec = {
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [{**common, "name": "format", "command": form}],
        "containers": [{**common, "name": "kafka", "command": ["/opt/kafka/bin/kafka-server-start.sh", config]}],
        "volumes": [
            {"name": "config", "configMap": {"name": name}},
            {"name": "data", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }  # fmt: skip
    ports = [{"name": "client", "port": 9092}, {"name": "controller", "port": 9093}]
    service = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"app": name}, "ports": ports}
    data = {"server.properties": properties(f"{name}.{namespace}.svc.cluster.local")}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": service},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": pod_spec},
    ]


def tool_pod(name: str, image: str, arguments: list[str], command: list[str] | None = None) -> dict[str, Any]:
    container = {
        "name": "main", "image": image, "imagePullPolicy": "IfNotPresent", "args": arguments,
        "securityContext": SECURITY, **({"command": command} if command else {}),
    }  # fmt: skip
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    pod_spec = {"restartPolicy": "Never", "securityContext": security, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec}


def finished(kubernetes: Kubernetes, namespace: str, pod: dict[str, Any]) -> tuple[int, str]:
    """Exit status and log of a pod that runs to its end."""
    name = pod["metadata"]["name"]
    kubernetes.kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(pod))
    terminated = "jsonpath={.status.containerStatuses[0].state.terminated}"
    kubernetes.kubectl("-n", namespace, "wait", f"pod/{name}", f"--for={terminated}", "--timeout=180s")
    state = json.loads(kubernetes.kubectl("-n", namespace, "get", "pod", name, "-o", terminated))
    return state["exitCode"], kubernetes.kubectl("-n", namespace, "logs", name)


def await_log(kubernetes: Kubernetes, namespace: str, pod: str, words: str, patience_seconds: float = 120) -> None:
    deadline = time.monotonic() + patience_seconds
    while words not in (log := kubernetes.kubectl("-n", namespace, "logs", pod, "-c", "kafka")):
        assert time.monotonic() < deadline, log
        time.sleep(0.5)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("image", ["runtime", "apache-kafka"])
def test_a_client_reads_back_what_it_wrote_to_a_node_in_a_restricted_pod(
    kubernetes: Kubernetes, namespace: str, images: Callable[[str], str], image: str
) -> None:
    name = f"{image}-node"
    for each in node_objects(name, namespace, images(image)):
        kubernetes.kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(each))
    kubernetes.kubectl("-n", namespace, "wait", f"pod/{name}", "--for=condition=Ready", "--timeout=180s")
    servers = f"{name}.{namespace}.svc.cluster.local:9092"
    client = tool_pod(f"{image}-client", images("demo-client"), [servers, "--count", str(COUNT)])
    code, log = finished(kubernetes, namespace, client)
    node_log = kubernetes.kubectl("-n", namespace, "logs", name, "-c", "kafka")
    assert (code, log.splitlines()[-1]) == (0, "2,000 of 2,000"), f"{log}\n{node_log[-8000:]}"
    tool = ("exec", name, "-c", "kafka", "--", "/opt/kafka/bin/kafka-topics.sh")
    assert "demo" in kubernetes.kubectl("-n", namespace, *tool, "--bootstrap-server", servers, "--list").split()


@pytest.mark.timeout(300)
def test_a_node_of_ours_ends_under_control_when_its_pod_is_deleted(
    kubernetes: Kubernetes, namespace: str, images: Callable[[str], str]
) -> None:
    """A finalizer keeps the pod's object after its end, so that the exit status can be read: SIGKILL would be 137."""
    objects = node_objects("short", namespace, images("runtime"))
    objects[-1]["metadata"]["finalizers"] = ["kraft.quorate.dev/test"]
    for each in objects:
        kubernetes.kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(each))
    kubernetes.kubectl("-n", namespace, "wait", "pod/short", "--for=condition=Ready", "--timeout=120s")
    await_log(kubernetes, namespace, "short", "Kafka Server started")
    kubernetes.kubectl("-n", namespace, "delete", "pod", "short", "--wait=false")
    terminated = "jsonpath={.status.containerStatuses[0].state.terminated}"
    try:
        kubernetes.kubectl("-n", namespace, "wait", "pod/short", f"--for={terminated}", "--timeout=60s")
        state = json.loads(kubernetes.kubectl("-n", namespace, "get", "pod", "short", "-o", terminated))
    finally:
        no_finalizer = '{"metadata":{"finalizers":null}}'
        kubernetes.kubectl("-n", namespace, "patch", "pod", "short", "--type=merge", "-p", no_finalizer)
    assert (state["exitCode"], state["reason"]) == (0, "Completed")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("image", ["runtime", "operator"])
def test_our_images_hold_no_shell_and_compiled_modules_only_in_need_of_no_writing(
    kubernetes: Kubernetes, namespace: str, images: Callable[[str], str], image: str
) -> None:
    code = f"""
import os, pathlib, sys
sys.path.insert(0, {spec.LIBRARY!r})
found = [path for path in ("/bin/sh", "/usr/bin/sh", "/bin/bash", "/bin/busybox") if os.path.exists(path)]
import asyncio, ssl, controller_runtime.cli.main
fresh = [name for name, module in sys.modules.items()
         if (file := getattr(module, "__cached__", None)) and not os.path.exists(file)]
print(os.getuid(), found, fresh)
"""
    pod = tool_pod(f"{image}-look", images(image), ["-c", code], [spec.INTERPRETER])
    assert finished(kubernetes, namespace, pod) == (0, "65532 [] []\n")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("image", "command", "code", "words"),
    [
        ("runtime", ["kraft", "--version"], 0, "compatible with Apache Kafka 4.3.1"),
        ("runtime", ["/opt/kafka/bin/kafka-storage.sh", "random-uuid"], 0, ""),
        ("operator", ["kraft-operator", "--help"], 0, "usage: kraft-operator"),
        ("operator", ["storage-guard"], 2, "usage: storage-guard"),
    ],
)
def test_every_program_of_an_image_is_on_the_path_and_starts(
    kubernetes: Kubernetes,
    namespace: str,
    images: Callable[[str], str],
    image: str,
    command: list[str],
    code: int,
    words: str,
) -> None:
    name = "-".join(["run", image, *(part.strip("-") for part in command[-1:])]).replace("/", "-")
    exit_code, log = finished(kubernetes, namespace, tool_pod(name, images(image), command[1:], command[:1]))
    assert exit_code == code, log
    assert words in log
