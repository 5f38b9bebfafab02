"""The configuration files of every component, rendered from an instance. Pure: text in, text out.

Why each unusual setting is there stands beside it; most of them let Kubernetes run where a container would:
without CAP_SYS_RESOURCE, under cgroup v1, several kubelets in one network namespace.
"""

import json
from pathlib import Path

from deploy.devcluster.instance import (
    BRIDGE,
    DOMAIN,
    FIRST_POD_ADDRESS,
    POD_CIDR,
    RUN,
    Instance,
    Node,
)

PAUSE_IMAGE = "localhost/pause:1"
HELPER_IMAGE = "localhost/busybox:1"


def config_files(instance: Instance, *, cgroup_version: int, cni_binaries: Path) -> dict[str, str]:
    """Every file of the folder `config`, by name."""
    files = {
        "10-devcluster.conflist": cni(),
        "proxy.yaml": proxy(instance),
        "Corefile": corefile(instance),
        "local-path.json": local_path(instance),
        "helper-pod.yaml": HELPER_POD,
        "addons.yaml": ADDONS,
        "resolv.conf": resolv_conf(instance),
        "empty": "",
        "inside.kubeconfig": kubeconfig(instance, "admin", instance.api_url),
    }
    for user in ("controller-manager", "scheduler", "proxy", "coredns", *(node.name for node in instance.nodes)):
        files[f"{user}.kubeconfig"] = kubeconfig(instance, user, instance.api_url)
    for node in instance.nodes:
        files[f"containerd-{node.number}.toml"] = containerd(instance, node, cni_binaries)
        files[f"kubelet-{node.number}.yaml"] = kubelet(instance, node, cgroup_version)
    return files


def kubeconfig(instance: Instance, user: str, server: str) -> str:
    cluster = {"server": server, "certificate-authority": str(instance.pki / "ca.crt")}
    identity = {
        "client-certificate": str(instance.pki / f"{user}.crt"),
        "client-key": str(instance.pki / f"{user}.key"),
    }
    context = f"quorate-{instance.name}"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": cluster}],
        "users": [{"name": user, "user": identity}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": user}}],
        "current-context": context,
    }
    return json.dumps(document, indent=1) + "\n"  # JSON is YAML


def cni() -> str:
    """One bridge is node network, pod network and gateway at once, so that every node reaches every pod unrouted."""
    addresses = {"subnet": POD_CIDR, "rangeStart": FIRST_POD_ADDRESS}
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": f"{RUN}/ipam",
            "ranges": [[addresses]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    port_map = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
    document = {"cniVersion": "0.4.0", "name": "devcluster", "plugins": [bridge, port_map]}
    return json.dumps(document, indent=1) + "\n"


def containerd(instance: Instance, node: Node, cni_binaries: Path) -> str:
    """A kubelet takes every sandbox of its runtime for its own, so each node has a containerd of its own.

    Without `restrict_oom_score_adj` and without CAP_SYS_RESOURCE every sandbox ends in
    "can't get final child's PID from pipe: EOF".
    """
    return f"""\
version = 2
root = "{instance.state}/containerd-{node.number}"
state = "{RUN}/containerd-{node.number}"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]
[grpc]
  address = "{node.containerd_socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_binaries}"
    conf_dir = "{RUN}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


def kubelet(instance: Instance, node: Node, cgroup_version: int) -> str:
    document = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "healthzPort": node.healthz_port,
        "failCgroupV1": cgroup_version != 1,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{instance.cgroup(node)}",
        "enforceNodeAllocatable": ["pods"],
        "containerRuntimeEndpoint": f"unix://{node.containerd_socket}",
        "oomScoreAdj": 0,  # a negative score and a higher limit of files need CAP_SYS_RESOURCE
        "maxOpenFiles": 20000,
        "failSwapOn": False,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(instance.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(instance.pki / f"{node.name}.crt"),
        "tlsPrivateKeyFile": str(instance.pki / f"{node.name}.key"),
        "clusterDNS": [instance.first.address],
        "clusterDomain": DOMAIN,
        "resolvConf": str(instance.config / "empty"),
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,  # images are loaded by hand: none may vanish
        "nodeStatusUpdateFrequency": "4s",
        "podLogsDir": str(instance.pod_logs(node)),
    }
    return json.dumps(document, indent=1) + "\n"


def proxy(instance: Instance) -> str:
    document = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "oomScoreAdj": 0,
        "clusterCIDR": "10.244.0.0/16",
        "hostnameOverride": instance.first.name,
        "clientConnection": {"kubeconfig": str(instance.config / "proxy.kubeconfig")},
    }
    return json.dumps(document, indent=1) + "\n"


def corefile(instance: Instance) -> str:
    """Names of the cluster, and no others: nothing here may depend on the world outside."""
    address = instance.first.address
    return f"""\
{DOMAIN}:53 {{
  bind {address}
  errors
  kubernetes {DOMAIN} {{
    kubeconfig {instance.config}/coredns.kubeconfig
    ttl 1
  }}
}}
.:53 {{
  bind {address}
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"""


def resolv_conf(instance: Instance) -> str:
    """For programs run by `in`: they see the cluster's names as a pod of the namespace default does."""
    search = f"default.svc.{DOMAIN} svc.{DOMAIN} {DOMAIN}"
    return f"nameserver {instance.first.address}\nsearch {search}\noptions ndots:5\n"


def local_path(instance: Instance) -> str:
    paths = [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [str(instance.volumes)]}]
    return json.dumps({"nodePathMap": paths}) + "\n"


HELPER_POD = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: helper-pod}}
spec:
  priorityClassName: system-node-critical
  tolerations: [{{operator: Exists}}]
  containers: [{{name: helper-pod, image: "{HELPER_IMAGE}", imagePullPolicy: IfNotPresent}}]
"""

# Volumes of type "local" honour fsGroup and are bound to their node, so that losing a node means losing a disk.
# The API accepts that a claim grows; nothing resizes a folder, so a test may play the resizer.
ADDONS = """\
apiVersion: v1
kind: Namespace
metadata: {name: local-path-storage}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: local-path-provisioner-service-account, namespace: local-path-storage}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: local-path-config, namespace: local-path-storage}
data:
  setup: |-
    set -eu
    mkdir -m 0777 -p "$VOL_DIR"
  teardown: |-
    set -eu
    rm -rf "$VOL_DIR"
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
  annotations: {storageclass.kubernetes.io/is-default-class: "true", defaultVolumeType: local}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
reclaimPolicy: Delete
"""
