"""The single-machine Kubernetes itself: it starts, carries pods with volumes, names and logs, loses a node, and leaves
nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.devcluster import cluster, keeper, namespaces
from deploy.devcluster.instance import state_home
from deploy.images import oci
from support.kubernetes.devcluster import KERNEL_SETTINGS, Devcluster, own_devcluster, remains, why_not_here

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(bool(why_not_here()), reason=why_not_here())]

SECURITY = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "fsGroup": 65532,
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Devcluster]:
    with own_devcluster(nodes=2) as own:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "probe"}}
        namespace["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": "restricted"}  # type: ignore[index]
        own.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
        yield own


def pod(name: str, script: str, **spec: Any) -> dict[str, Any]:
    container = {
        "name": "main", "image": "localhost/busybox:1", "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", script], "securityContext": SECURITY, **spec.pop("container", {}),
    }  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "probe", "labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "securityContext": POD_SECURITY,
            "containers": [container], **spec,
        },
    }  # fmt: skip


def apply(own: Devcluster, *objects: dict[str, Any]) -> None:
    for each in objects:
        own.kubectl("apply", "-f", "-", stdin=json.dumps(each))


def finished(own: Devcluster, name: str) -> str:
    """The pod's log once it has succeeded."""
    own.kubectl("-n", "probe", "wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=90s")
    return own.kubectl("-n", "probe", "logs", name)


def ready(own: Devcluster, name: str) -> None:
    own.kubectl("-n", "probe", "wait", f"pod/{name}", "--for=condition=Ready", "--timeout=90s")


def test_up_of_a_running_cluster_changes_nothing(two_nodes: Devcluster) -> None:
    before = two_nodes.instance.pid_file.read_text()
    assert "was running already" in two_nodes.run("up", "--nodes", "3")
    assert two_nodes.instance.pid_file.read_text() == before
    assert len(two_nodes.instance.nodes) == 2


def test_the_nodes_are_ready_and_in_zones_of_their_own(two_nodes: Devcluster) -> None:
    nodes = json.loads(two_nodes.kubectl("get", "nodes", "-o", "json"))["items"]
    assert [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes] == ["zone-1", "zone-2"]
    assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes} == {"v1.36.3"}


def test_programs_on_this_machine_reach_the_api_without_entering(two_nodes: Devcluster) -> None:
    kubectl = two_nodes.instance.binaries / "kubectl"
    environment = {**os.environ, "KUBECONFIG": str(two_nodes.instance.kubeconfig)}
    done = subprocess.run(
        [kubectl, "get", "--raw", "/readyz"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "ok"


def test_a_pod_without_privileges_writes_its_volume_and_a_later_pod_reads_it(two_nodes: Devcluster) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "disk", "namespace": "probe"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    volume = {"volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}]}
    mount = {"container": {"volumeMounts": [{"name": "disk", "mountPath": "/disk"}]}}
    apply(two_nodes, claim, pod("writer", "cat /proc/self/cgroup > /disk/file && echo written", **volume, **mount))
    assert finished(two_nodes, "writer") == "written\n"
    apply(two_nodes, pod("reader", "cat /disk/file", **volume, **mount))
    assert "quorate-" in finished(two_nodes, "reader")


def test_names_of_pods_resolve_inside_pods_and_for_commands_on_this_machine(two_nodes: Devcluster) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "probe"},
        "spec": {
            "clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"app": "web-0"},
            "ports": [{"port": 80}],
        },
    }  # fmt: skip
    apply(two_nodes, service, pod("web-0", "sleep 1000", hostname="web-0", subdomain="web"))
    ready(two_nodes, "web-0")
    name = "web-0.web.probe.svc.cluster.local"
    address = two_nodes.kubectl("-n", "probe", "get", "pod", "web-0", "-o", "jsonpath={.status.podIP}")
    two_nodes.eventually(
        "the name resolves", lambda: address in two_nodes.run("in", "getent", "hosts", name, check=False)
    )
    assert address in two_nodes.kubectl("-n", "probe", "exec", "web-0", "--", "cat", "/etc/hosts")


def test_an_image_made_here_is_loaded_into_every_node_and_runs(two_nodes: Devcluster, tmp_path: Path) -> None:
    layer = oci.write_layer(tmp_path / "layer", [
        oci.Entry("bin/busybox", source=Path("/bin/busybox")), oci.Entry("bin/cat", link="busybox"),
        oci.Entry("words", 0o644, content=b"made by the test\n"),
    ])  # fmt: skip
    config = oci.Config(user="65532:65532", entrypoint=("/bin/cat", "/words"))
    oci.write_image(tmp_path / "words.tar", "localhost/words:1", (layer,), config)
    two_nodes.run("load", str(tmp_path / "words.tar"))
    for node in two_nodes.instance.nodes:
        words = pod(f"words-{node.name}", "", nodeName=node.name)
        words["spec"]["containers"][0] |= {"image": "localhost/words:1", "command": None}
        apply(two_nodes, words)
        assert finished(two_nodes, f"words-{node.name}") == "made by the test\n"


def test_a_component_that_is_killed_is_started_again(two_nodes: Devcluster) -> None:
    def manager() -> str:
        return two_nodes.run("in", "pgrep", "-f", "kube-controller-manager", check=False).strip()

    before = manager()
    two_nodes.run("in", "kill", "-9", before)
    two_nodes.eventually("the controller manager is back", lambda: manager() not in ("", before))


def node_condition(own: Devcluster, node: str) -> str:
    path = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    return own.kubectl("get", "node", node, "-o", path)


def test_a_node_that_loses_its_power_is_noticed_and_its_pod_returns_with_it(two_nodes: Devcluster) -> None:
    apply(two_nodes, pod("victim", "sleep 1000", nodeName="node2", restartPolicy="Always"))
    ready(two_nodes, "victim")
    two_nodes.run("stop-node", "node2")
    two_nodes.eventually("node2 is not ready", lambda: node_condition(two_nodes, "node2") != "True")
    assert node_condition(two_nodes, "node1") == "True"
    two_nodes.run("start-node", "node2")
    two_nodes.eventually("node2 is ready", lambda: node_condition(two_nodes, "node2") == "True")

    def runs_again() -> bool:
        status = json.loads(two_nodes.kubectl("-n", "probe", "get", "pod", "victim", "-o", "json"))["status"]
        (container,) = status["containerStatuses"]
        return container["restartCount"] >= 1 and container["ready"] is True

    two_nodes.eventually("the pod runs again", runs_again)


def test_down_leaves_no_process_mount_cgroup_or_folder_and_the_kernel_as_it_was() -> None:
    settings = {path: path.read_text() for path in KERNEL_SETTINGS if path.exists()}
    with own_devcluster(nodes=1) as own:
        instance = own.instance
        sleeper = pod("sleeper", "sleep 1000")
        sleeper["metadata"]["namespace"] = "default"
        apply(own, sleeper)
        own.kubectl("wait", "pod/sleeper", "--for=condition=Ready", "--timeout=90s")
        assert len(remains(instance)) > 5, "the search for remains must find a cluster that runs"
        own.run("down")
        assert remains(instance) == []
        assert cluster.find(own.name) is None
    assert {path: path.read_text() for path in settings} == settings


def test_a_start_that_is_interrupted_leaves_nothing() -> None:
    stages: list[str] = []

    def interrupt(line: str) -> None:
        stages.append(line)
        if "etcd" in line:
            raise KeyboardInterrupt

    name = "tinterrupted"
    with pytest.raises(KeyboardInterrupt):
        cluster.up(name, 1, interrupt)
    instance = keeper.load(state_home() / name / "instance.json")
    wait_until(lambda: namespaces.keeper_is_alive(instance) is None)
    cluster.down(name)
    assert remains(instance) == []
    assert len(stages) == 2


def wait_until(done: Callable[[], bool], patience_seconds: float = 60) -> None:
    deadline = time.monotonic() + patience_seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)
