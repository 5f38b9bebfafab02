"""Where one cluster keeps its things, and how its nodes are addressed: names and paths only, no acting.

Everything a cluster owns is under `Instance.state` (outside its namespaces), under `RUN` (a tmpfs in its private
mount namespace, hence short and the same for all instances) and in cgroups whose names begin with
`Instance.cgroup_prefix`. So several instances live side by side, and `down` knows what is whose.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

RUN = Path("/run/quorate")
BRIDGE = "cni0"
POD_CIDR = "10.244.0.0/24"
FIRST_POD_ADDRESS = "10.244.0.20"
SERVICE_CIDR = "10.96.0.0/16"
KUBERNETES_SERVICE = "10.96.0.1"
DOMAIN = "cluster.local"
MAX_NODES = 9


def cache_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quorate" / "devcluster"


def state_home() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "quorate" / "devcluster"


@dataclass(frozen=True, slots=True)
class Node:
    number: int

    @property
    def name(self) -> str:
        return f"node{self.number}"

    @property
    def address(self) -> str:
        return f"10.244.0.{self.number}"

    @property
    def healthz_port(self) -> int:
        return 10248 + 100 * self.number

    @property
    def zone(self) -> str:
        return f"zone-{self.number}"

    @property
    def containerd_socket(self) -> Path:
        return RUN / f"containerd-{self.number}.sock"


@dataclass(frozen=True, slots=True)
class Instance:
    """One cluster: its name, its folder, the binaries it runs, its number of nodes and its port on the host."""

    name: str
    state: Path
    binaries: Path
    node_count: int = 3
    api_port: int = 0

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", self.name):
            message = f"a cluster's name is 1 to 22 of a-z, 0-9 and '-': {self.name!r}"
            raise ValueError(message)
        if not 1 <= self.node_count <= MAX_NODES:
            message = f"a cluster has 1 to {MAX_NODES} nodes, not {self.node_count}"
            raise ValueError(message)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(Node(number) for number in range(1, self.node_count + 1))

    @property
    def first(self) -> Node:
        return self.nodes[0]

    @property
    def api_url(self) -> str:
        return f"https://{self.first.address}:6443"

    @property
    def host_api_url(self) -> str:
        return f"https://127.0.0.1:{self.api_port}"

    @property
    def cgroup_prefix(self) -> str:
        return f"quorate-{self.name}-"

    def cgroup(self, node: Node) -> str:
        return f"{self.cgroup_prefix}{node.name}"

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def logs(self) -> Path:
        return self.state / "log"

    @property
    def config(self) -> Path:
        return self.state / "config"

    @property
    def volumes(self) -> Path:
        return self.state / "volumes"

    @property
    def kubeconfig(self) -> Path:
        """For programs on the host: reaches the API server through the relay."""
        return self.state / "kubeconfig"

    @property
    def pid_file(self) -> Path:
        return self.state / "keeper.pid"

    @property
    def settings_file(self) -> Path:
        return self.state / "instance.json"

    def pod_logs(self, node: Node) -> Path:
        return self.state / f"podlogs-{node.number}"
