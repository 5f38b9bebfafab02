"""The command line of every process of a cluster, in the order of starting. Pure.

`Phase` says what a process waits for: nothing, or an API server that answers.
"""

import enum
from dataclasses import dataclass
from pathlib import Path

from deploy.devcluster.instance import RUN, SERVICE_CIDR, Instance, Node
from deploy.devcluster.render import HELPER_IMAGE

ETCD = "http://127.0.0.1:2379"


class Phase(enum.Enum):
    FIRST = "first"
    WITH_API = "with the API server"


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    command: tuple[str, ...]
    phase: Phase
    node: Node | None = None


def components(instance: Instance) -> tuple[Component, ...]:
    return (
        _etcd(instance),
        _api_server(instance),
        *(_containerd(instance, node) for node in instance.nodes),
        _controller_manager(instance),
        _scheduler(instance),
        *(_kubelet(instance, node) for node in instance.nodes),
        _proxy(instance),
        _dns(instance),
        _volumes(instance),
    )


def of_node(instance: Instance, node: Node) -> tuple[Component, ...]:
    """What a node's loss takes away: its container runtime and its kubelet, in the order of starting."""
    return _containerd(instance, node), _kubelet(instance, node)


def _kube(instance: Instance, component: str) -> tuple[str, str]:
    return str(instance.binaries / "kube"), component


def _etcd(instance: Instance) -> Component:
    # Without fsync: the cluster is thrown away with its machine, and disks of test machines are slow.
    command = (
        *_kube(instance, "etcd"),
        f"--listen-client-urls={ETCD}",
        f"--advertise-client-urls={ETCD}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--unsafe-no-fsync",
        f"--data-dir={instance.state}/etcd",
        "--log-level=warn",
    )
    return Component("etcd", command, Phase.FIRST)


def _api_server(instance: Instance) -> Component:
    pki = instance.pki
    command = (
        *_kube(instance, "kube-apiserver"),
        f"--etcd-servers={ETCD}",
        "--bind-address=0.0.0.0",
        f"--advertise-address={instance.first.address}",
        "--secure-port=6443",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--client-ca-file={pki}/ca.crt",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--kubelet-client-certificate={pki}/kubelet-client.crt",
        f"--kubelet-client-key={pki}/kubelet-client.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",  # else logs and exec try to resolve the node's name
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki}/sa.pub",
        f"--service-account-signing-key-file={pki}/sa.key",
        "--allow-privileged=true",
        "--profiling=false",
    )
    return Component("apiserver", command, Phase.FIRST)


def _containerd(instance: Instance, node: Node) -> Component:
    command = ("containerd", "--config", str(instance.config / f"containerd-{node.number}.toml"))
    return Component(f"containerd-{node.number}", command, Phase.FIRST, node)


def _controller_manager(instance: Instance) -> Component:
    kubeconfig = instance.config / "controller-manager.kubeconfig"
    command = (
        *_kube(instance, "kube-controller-manager"),
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--authentication-skip-lookup",
        f"--service-account-private-key-file={instance.pki}/sa.key",
        f"--root-ca-file={instance.pki}/ca.crt",
        f"--cluster-signing-cert-file={instance.pki}/ca.crt",
        f"--cluster-signing-key-file={instance.pki}/ca.key",
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--node-monitor-grace-period=20s",
    )
    return Component("controller-manager", command, Phase.WITH_API)


def _scheduler(instance: Instance) -> Component:
    kubeconfig = instance.config / "scheduler.kubeconfig"
    command = (
        *_kube(instance, "kube-scheduler"),
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--authentication-skip-lookup",
        "--leader-elect=false",
    )
    return Component("scheduler", command, Phase.WITH_API)


def _kubelet(instance: Instance, node: Node) -> Component:
    labels = f"topology.kubernetes.io/zone={node.zone},topology.kubernetes.io/region=local"
    command = (
        *_kube(instance, "kubelet"),
        f"--config={instance.config}/kubelet-{node.number}.yaml",
        f"--kubeconfig={instance.config}/{node.name}.kubeconfig",
        f"--hostname-override={node.name}",
        f"--node-ip={node.address}",
        f"--node-labels={labels}",
        f"--root-dir={RUN}/kubelet-{node.number}",
    )
    return Component(f"kubelet-{node.number}", command, Phase.WITH_API, node)


def _proxy(instance: Instance) -> Component:
    command = (*_kube(instance, "kube-proxy"), f"--config={instance.config}/proxy.yaml")
    return Component("proxy", command, Phase.WITH_API)


def _dns(instance: Instance) -> Component:
    command = (str(instance.binaries / "coredns"), "-conf", str(instance.config / "Corefile"))
    return Component("coredns", command, Phase.WITH_API)


def _volumes(instance: Instance) -> Component:
    command = (
        str(instance.binaries / "local-path-provisioner"),
        "start",
        f"--config={instance.config}/local-path.json",
        f"--kubeconfig={instance.config}/inside.kubeconfig",
        "--namespace=local-path-storage",
        f"--helper-image={HELPER_IMAGE}",
        f"--helper-pod-file={instance.config}/helper-pod.yaml",
    )
    return Component("volumes", command, Phase.WITH_API)


def search_path(binaries: Path) -> str:
    return f"{binaries}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
