"""The further volumes of brokers (`storage.volumes`): claims, mounts, and what tells the guards of them.

A volume of a StatefulSet's claim templates could never be added to a set that runs. So their claims are objects of
their own, made by the operator, and a pod names them: another volume is another revision of the pods, reached by a
roll. The first volume, which holds the metadata log, stays the set's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.pod import FURTHER_PATH, FURTHER_VOLUME
from kraft_operator.api.spec import Group, KRaftCluster, VolumePolicy
from kraft_operator.api.storage import Storage
from kraft_operator.manifests.context import Manifest, labels, node_selector, owner_reference
from storage_guard.formats import GRANT_ANNOTATION, identity_key, of_volume

_LOG: Final = "log"


def log_directory(volume: str) -> str:
    return f"{FURTHER_PATH}{volume}/{_LOG}"


def claim(cluster: KRaftCluster, group: Group, node_id: int, volume: str, storage: Storage) -> Manifest:
    class_name, selector = storage.kind
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": storage.size}},
    }
    if class_name:
        spec["storageClassName"] = class_name
    if selector:
        spec["selector"] = json.loads(selector)
    owned = cluster.spec.volume_policy is VolumePolicy.DELETE
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": names.further_claim_name(cluster.name, group.name, node_id, volume),
            "namespace": cluster.namespace,
            "labels": claim_labels(cluster, group, node_id, volume),
            **({"ownerReferences": [owner_reference(cluster)]} if owned else {}),
        },
        "spec": spec,
    }


def claim_labels(cluster: KRaftCluster, group: Group, node_id: int, volume: str) -> dict[str, str]:
    return labels(cluster, {**node_selector(cluster, group, node_id), names.LABEL_VOLUME: volume})


def pod_volumes(cluster: KRaftCluster, group: Group, node_id: int) -> list[Manifest]:
    return [
        {
            "name": f"{FURTHER_VOLUME}{volume}",
            "persistentVolumeClaim": {
                "claimName": names.further_claim_name(cluster.name, group.name, node_id, volume),
            },
        }
        for volume in sorted(group.volumes)
    ]


def mounts(group: Group, *, read_only: bool = False) -> list[Manifest]:
    return [
        {
            "name": f"{FURTHER_VOLUME}{volume}",
            "mountPath": f"{FURTHER_PATH}{volume}",
            **({"readOnly": True} if read_only else {}),
        }
        for volume in sorted(group.volumes)
    ]


def environment(group: Group) -> dict[str, str]:
    """Of the guards; empty for a node with one volume, whose pod is what it was before there were others."""
    found = ",".join(f"{volume}={log_directory(volume)}" for volume in sorted(group.volumes))
    return {"FURTHER_DIRECTORIES": found} if found else {}


def ledger_items(group: Group, node_id: int) -> list[Manifest]:
    return [
        {"key": identity_key(node_id, volume), "path": f"{of_volume('identity', volume)}.json"}
        for volume in sorted(group.volumes)
    ]


def grant_fields(group: Group) -> list[tuple[str, str]]:
    """File and field of the downward API."""
    return [
        (of_volume("grant", volume), f"metadata.annotations['{of_volume(GRANT_ANNOTATION, volume)}']")
        for volume in sorted(group.volumes)
    ]


def volumes_in(pod_spec: Mapping[str, Any]) -> dict[str, str]:
    """Names of a broker's further volumes, to their claims."""
    return {
        each["name"].removeprefix(FURTHER_VOLUME): str(each["persistentVolumeClaim"]["claimName"])
        for each in pod_spec.get("volumes") or ()
        if each["name"].startswith(FURTHER_VOLUME) and "persistentVolumeClaim" in each
    }
