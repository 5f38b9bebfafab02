"""What the manifests are made of besides the resource, and the metadata that all children share.

Selectors use a cluster's name, its group and the node id only: they can never change. Labels of the resource are not
copied: Argo CD in its label mode would take our children for its own and prune them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kraft_operator.api import names
from kraft_operator.api.roles import Roles
from kraft_operator.api.spec import Group, KRaftCluster, PullPolicy

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Images:
    """Where the guards come from, and from which namespace controllers are reached."""

    operator: str
    operator_namespace: str
    pull_policy: PullPolicy = PullPolicy.IF_NOT_PRESENT


@dataclass(frozen=True, slots=True, order=True)
class NodePlan:
    """A node that shall have a StatefulSet: of which group, and whether it is held (replicas 0)."""

    node_id: int
    group: str
    held: bool = False
    volume_size: str = ""
    """What its claim template asks for, while that is not yet what the resource asks for."""
    volume_kind: tuple[str, str] | None = None
    """Class and selector of its claim template (`Storage.kind`), while they are not yet what the resource asks for."""
    addresses: tuple[tuple[str, str, int], ...] = ()
    """(Listener, host, port) that clients outside are given; a host that only the pod knows is `HOST_IP`."""
    pending: bool = False
    """An address is not known yet: what there is of the node stays as it is."""


@dataclass(frozen=True, slots=True)
class Context:
    cluster: KRaftCluster
    cluster_id: str
    controller_ids: tuple[int, ...]
    """Where nodes look for the quorum before they know a leader."""
    images: Images
    replication_factor: int = 0
    """As the ledger has it; 0 says nothing in the nodes' properties."""

    def group(self, node: NodePlan) -> Group:
        group = self.cluster.spec.group(node.group)
        assert group is not None, f"node {node.node_id} is planned in {node.group}, which the resource does not have"
        return group


def selector(cluster: KRaftCluster) -> dict[str, str]:
    """Every pod of the cluster."""
    return {"app.kubernetes.io/name": "kraft", "app.kubernetes.io/instance": cluster.name}


def role_selector(cluster: KRaftCluster, roles: Roles) -> dict[str, str]:
    return {**selector(cluster), names.LABEL_ROLE: roles.label}


def group_selector(cluster: KRaftCluster, group: Group) -> dict[str, str]:
    return {**role_selector(cluster, group.roles), names.LABEL_POOL: group.name}


def node_selector(cluster: KRaftCluster, group: Group, node_id: int) -> dict[str, str]:
    return {**group_selector(cluster, group), names.LABEL_NODE_ID: str(node_id)}


def labels(cluster: KRaftCluster, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Of every child; `names.LABEL_CLUSTER` is what the operator watches by."""
    return {
        **selector(cluster),
        "app.kubernetes.io/part-of": cluster.name,
        "app.kubernetes.io/managed-by": names.FIELD_MANAGER,
        names.LABEL_CLUSTER: cluster.name,
        **(extra or {}),
    }


def owner_reference(cluster: KRaftCluster) -> Manifest:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "name": cluster.name,
        "uid": cluster.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def metadata(cluster: KRaftCluster, name: str, extra_labels: Mapping[str, str] | None = None) -> Manifest:
    """Of a child that goes with the resource."""
    return {
        "name": name,
        "namespace": cluster.namespace,
        "labels": labels(cluster, extra_labels),
        "ownerReferences": [owner_reference(cluster)],
    }
