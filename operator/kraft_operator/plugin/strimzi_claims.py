"""What a takeover needs beside the KRaftCluster: a claim of ours for each volume, and a list of what is left to do.

Claims name the volumes that the old ones have, as the API server tells (`kubectl get pvc -o yaml`). Of the first
controller's volume this operator has to know the directory id, which only its `meta.properties` has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.spec import Group, KRaftCluster
from kraft_operator.manifests import further
from kraft_operator.manifests.nodes import claim_labels
from kraft_operator.plugin.strimzi_parts import NotConvertible, Object
from kraft_operator.plugin.strimzi_running import Running, super_users

PAGE: Final = "docs/operations/adopt-from-strimzi.md"
_DIRECTORY: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_KEPT: Final = ("accessModes", "volumeMode", "storageClassName", "resources")


def claims(
    found: Running, cluster: KRaftCluster, documents: Sequence[Object], directory: str | None
) -> list[dict[str, Any]]:
    """Of every node, the first controller's first. Raises NotConvertible where an old one is not among the files."""
    if directory is not None and not _DIRECTORY.fullmatch(directory):
        raise NotConvertible(f"give the directory.id of meta.properties, 22 characters: {directory!r} is none")
    given = {str(each["metadata"]["name"]): each for each in documents if each.get("kind") == "PersistentVolumeClaim"}
    made = []
    for group, node_id in _nodes(cluster):
        for volume, old in zip(("", *group.volumes), found.volumes(node_id), strict=True):
            if not (bound := (given.get(old.claim) or {}).get("spec", {})).get("volumeName"):
                command = f"kubectl -n {found.namespace} get pvc -l strimzi.io/cluster={found.old} -o yaml"
                raise NotConvertible(f"give the claim {old.claim}, bound, as the API server has it: {command}")
            made.append(_claim(cluster, group, node_id, volume, bound))
    if directory is not None:
        first = cluster.spec.controllers.node_ids[0]
        marks = {"cluster-id": found.cluster_id, "node-id": str(first), "directory-id": directory}
        made[0]["metadata"]["annotations"] = {f"{names.GROUP}/{key}": each for key, each in marks.items()}
    return made


def _nodes(cluster: KRaftCluster) -> Iterator[tuple[Group, int]]:
    return ((group, node_id) for group in cluster.spec.groups for node_id in group.node_ids)


def _claim(cluster: KRaftCluster, group: Group, node_id: int, volume: str, bound: Object) -> dict[str, Any]:
    own = names.claim_name(cluster.name, group.name, node_id)
    labels = claim_labels(cluster, group, node_id)
    if volume:
        own = names.further_claim_name(cluster.name, group.name, node_id, volume)
        labels = further.claim_labels(cluster, group, node_id, volume)
    spec = {key: bound[key] for key in _KEPT if key in bound}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": own, "namespace": cluster.namespace, "labels": labels},
        "spec": {**spec, "volumeName": bound["volumeName"]},
    }


def left_to_do(found: Running, cluster: KRaftCluster, made: Sequence[Object], given: str | None) -> Iterator[str]:
    """In the order in which it is done."""
    first = cluster.spec.controllers.node_ids[0]
    directory = found.volumes(first)[0].directory
    inside = f"kubectl -n {found.namespace} exec {found.pod(first)} -c kafka -- grep"
    yield "find out: voters have to be dynamic (kraft.version 1, kafka-features.sh): they are where this finds a line:"
    yield f"""  {inside} '"data_version":1' {directory}/__cluster_metadata-0/quorum-state"""
    if given is None:
        yield f"find out: the directory id of node {first}; give it by --directory-id, nothing is adopted without it:"
        yield f"  {inside} directory.id {directory}/meta.properties"
    if found.authorized:
        yield f"do: have these among spec.kafka.authorization.superUsers of {found.old} before anything is taken over:"
        yield from (f"  {each.removeprefix('User:')}" for each in super_users(found))
    yield f"do: give the operator the key of {found.old}-cluster-ca in the Secret {names.authority_key(found.name)}"
    yield f"do: one node after the other, as {PAGE} says, in this order:"
    volumes = iter(made)
    lines = {
        node_id: [_line(found, node_id, old.claim, old.directory, next(volumes)) for old in found.volumes(node_id)]
        for _, node_id in _nodes(cluster)
    }
    for node_id in in_order(cluster):
        yield from (f"  {line}" for line in lines[node_id])


def _line(found: Running, node_id: int, claim: str, directory: str, ours: Object) -> str:
    volume, name = ours["spec"]["volumeName"], ours["metadata"]["name"]
    return f"node {node_id}: pod {found.pod(node_id)}, claim {claim}, {directory}; volume {volume} for claim {name}"


def in_order(cluster: KRaftCluster) -> tuple[int, ...]:
    """All controllers but one, the brokers, the last controller: as long as there is an old broker, one of the old
    controllers has to be there.
    """
    *others, last = cluster.spec.controllers.node_ids
    return (*others, *(each for pool in cluster.spec.broker_pools for each in pool.node_ids), last)
