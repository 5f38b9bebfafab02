"""Helper pods of a recovery: one container of the operator's own image, one claim (or two), one task, no restart.

They bear the cluster's label, so that the operator hears of them, but none of those that Services, budgets and policies
select by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.spec import Group, KRaftCluster
from kraft_operator.manifests.context import Images, Manifest, owner_reference
from kraft_operator.manifests.guards import container_security
from kraft_operator.manifests.pods import pod_security
from kraft_operator.manifests.properties import DATA_PATH, LOG_PATH

SOURCE_PATH: Final = "/var/lib/kafka/source"
LABEL_HELPER: Final = f"{names.GROUP}/helper"
LABEL_HELPER_NODE: Final = f"{names.GROUP}/helper-node"
LABEL_OPERATION: Final = f"{names.GROUP}/operation"
OF_ARCHIVE: Final = "archive"
"""In the place of a node's id, of a helper that reads the archive: a label's value cannot be negative."""
CONTAINER: Final = "helper"


@dataclass(frozen=True, slots=True)
class Task:
    what: str
    """A subcommand of storage-guard."""
    node_id: int
    claim: str
    operation: str
    """UID of the KRaftOperation."""
    environment: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = True
    source: str | None = None
    """Another claim to read the copy from."""
    on: str = ""
    """The Kubernetes node where the claims are in use."""

    def name(self, cluster: str) -> str:
        """Another task is another pod, the same one the same: asking twice runs it once."""
        digest = sha256(repr((self.operation, sorted(self.environment.items()))).encode()).hexdigest()[:8]
        return f"{cluster}-{self.what}-{self.about}-{digest}"

    @property
    def about(self) -> str:
        return OF_ARCHIVE if self.node_id == names.ARCHIVE_NODE else str(self.node_id)


def helper_pod(cluster: KRaftCluster, images: Images, task: Task, asked_by: tuple[str, str] | None = None) -> Manifest:
    """`asked_by`: name and UID of the KRaftOperation, with which the pod goes; without one it goes with the cluster."""
    source = SOURCE_PATH if task.source is not None else DATA_PATH
    environment = {"LOG_DIRECTORY": LOG_PATH, "SOURCE": LOG_PATH.replace(DATA_PATH, source), **task.environment}
    spec: Manifest = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(_group(cluster, task.node_id).pod),
        "tolerations": [dict(each) for each in cluster.spec.controllers.pod.tolerations],
        "containers": [
            {
                "name": CONTAINER,
                "image": images.operator,
                "imagePullPolicy": images.pull_policy.value,
                "command": ["storage-guard", task.what],
                "env": [*_plain(environment), _own_uid()],
                "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
                "securityContext": container_security(),
                "volumeMounts": _mounts(task),
            }
        ],
        "volumes": _volumes(task),
    }
    if task.on:
        spec["affinity"] = _on(task.on)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": task.name(cluster.name),
            "namespace": cluster.namespace,
            "labels": {
                names.LABEL_CLUSTER: cluster.name,
                LABEL_HELPER: task.what,
                LABEL_HELPER_NODE: task.about,
                LABEL_OPERATION: task.operation,
                "app.kubernetes.io/managed-by": names.FIELD_MANAGER,
            },
            "ownerReferences": [_operation(*asked_by) if asked_by is not None else owner_reference(cluster)],
        },
        "spec": spec,
    }


def _group(cluster: KRaftCluster, node_id: int) -> Group:
    """Whose disk it is: the helper is who the node is, or it could not read what the node wrote."""
    groups = cluster.spec.groups
    return next((each for each in groups if node_id in each.node_id_range), cluster.spec.controllers)


def _operation(name: str, uid: str) -> Manifest:
    return {"apiVersion": names.API_VERSION, "kind": names.OPERATION_KIND, "name": name, "uid": uid}


def _plain(values: Mapping[str, str]) -> Sequence[Manifest]:
    return [{"name": name, "value": value} for name, value in sorted(values.items())]


def _own_uid() -> Manifest:
    return {"name": "POD_UID", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.uid"}}}


def _mounts(task: Task) -> Sequence[Manifest]:
    own: Manifest = {"name": "data", "mountPath": DATA_PATH, **({"readOnly": True} if task.read_only else {})}
    other: Manifest = {"name": "source", "mountPath": SOURCE_PATH, "readOnly": True}
    return [own, *([other] if task.source is not None else [])]


def _volumes(task: Task) -> Sequence[Manifest]:
    claims = {"data": task.claim} | ({"source": task.source} if task.source is not None else {})
    return [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()]


def _on(node: str) -> Manifest:
    field_is = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = [{"matchFields": [field_is]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
