"""A cluster of Strimzi's that runs, as its resources tell of it on the API server: what goes on under another name.

What Strimzi's operator wrote into their status is needed: the ids of the cluster and of the nodes, which are for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.combined import COUNTS
from kraft_operator.plugin.strimzi_parts import NotConvertible, Object, volumes_of

MOST_IDS: Final = 100
REPLICATION: Final = {"name": "REPLICATION-9091", "port": 9091, "exposure": "ClusterInternal"}
CONTROL: Final = {"name": "CONTROLPLANE-9090", "port": 9090}
OWNED_PORTS: Final = (9090, 9091, 9404)
ROLES: Final = ({"controller"}, {"broker"}, {"controller", "broker"})
_UUID: Final = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True, slots=True)
class OldVolume:
    """Of one node: its claim, and the log directory on it."""

    claim: str
    directory: str


@dataclass(frozen=True, slots=True)
class OldPool:
    name: str
    roles: frozenset[str]
    ids: tuple[int, ...]
    storage: Object

    def volumes(self, cluster: str, node_id: int) -> tuple[OldVolume, ...]:
        """The one with the metadata log first."""
        found = []
        for name in (f"data-{each['id']}" if "id" in each else "data" for each in volumes_of(self.storage)):
            claim = f"{name}-{cluster}-{self.name}-{node_id}"
            found.append(OldVolume(claim, f"/var/lib/kafka/{name}/kafka-log{node_id}"))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Running:
    """The cluster `old`, which goes on as `name`."""

    old: str
    name: str
    namespace: str
    cluster_id: str
    authorized: bool
    pools: Mapping[str, OldPool]

    def pod(self, node_id: int) -> str:
        return f"{self.old}-{self.pool_of(node_id).name}-{node_id}"

    def pool_of(self, node_id: int) -> OldPool:
        return next(each for each in self.pools.values() if node_id in each.ids)

    def volumes(self, node_id: int) -> tuple[OldVolume, ...]:
        return self.pool_of(node_id).volumes(self.old, node_id)

    def ids(self, pool: str) -> dict[str, Any]:
        """The pool's fields of ids: up to the next pool's, and without those in between that it never had."""
        own = self.pools[pool].ids
        following = [each.ids[0] - 1 for each in self.pools.values() if each.ids[0] > own[-1]]
        end = max(own[-1], min([own[0] + MOST_IDS - 1, *following]))
        gaps = [each for each in range(own[0], own[-1]) if each not in own]
        return {"nodeIdRange": {"start": own[0], "end": end}, **({"excludedNodeIds": gaps} if gaps else {})}


def running(kafka: Object, pools: Sequence[Object], name: str) -> Running:
    """Raises NotConvertible for what cannot be known, or cannot be taken over."""
    meta = kafka["metadata"]
    old, namespace = str(meta["name"]), str(meta.get("namespace") or "")
    if not namespace:
        raise NotConvertible(
            f"give the Kafka as the API server has it: kubectl get kafkas.kafka.strimzi.io {old} -o yaml"
        )
    if name == old:
        why = "ConfigMaps of both would have the same names"
        raise NotConvertible(f"choose another name than {old} for the KRaftCluster: {why}")
    cluster_id = str((kafka.get("status") or {}).get("clusterId") or "")
    if not _UUID.fullmatch(cluster_id):
        command = f"kubectl -n {namespace} get kafkas.kafka.strimzi.io {old} -o yaml"
        raise NotConvertible(f"give the Kafka with the clusterId of its status, as the API server has it: {command}")
    authorized = "authorization" in kafka["spec"]["kafka"]
    there = {each.name: each for each in map(_pool, pools) if each.ids}
    found = Running(old=old, name=name, namespace=namespace, cluster_id=cluster_id, authorized=authorized, pools=there)
    for problem in _problems(found, kafka):
        raise NotConvertible(problem)
    return found


def going_on(found: Running, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a cluster that is taken over: nothing is formed or replaced meanwhile, and the old nodes may do all
    that ours may. What nobody was asked about before is allowed until the resource says otherwise.
    """
    named = (spec["security"].get("authorization") or {}).get("superUsers") or []
    users = [f"User:CN={found.old}-kafka,O=io.strimzi", *(each for each in named if each not in super_users(found))]
    transition = {} if found.authorized else {"mode": "Transition"}
    return {
        "clusterID": found.cluster_id,
        "bootstrap": {"policy": "AdoptOnly"},
        "recoveryPolicy": {"lostDisk": "Report"},
        "networkPolicy": {"mode": "Off"},
        **spec,
        "endpoints": {"controller": [CONTROL], **spec["endpoints"]},
        "security": {**spec["security"], "authorization": {**transition, "superUsers": users}},
    }


def super_users(found: Running) -> list[str]:
    """Whom the old nodes have to let in: our nodes and our operator."""
    ids = sorted(node_id for pool in found.pools.values() for node_id in pool.ids)
    who = [*(names.node_identity(found.name, each) for each in ids), names.operator_identity(found.name)]
    return [f"User:CN={each},OU={found.namespace},O={found.name}" for each in who]


def _pool(pool: Object) -> OldPool:
    name = str(pool["metadata"]["name"])
    ids = (pool.get("status") or {}).get("nodeIds")
    wanted = int(pool["spec"].get("replicas") or 0)
    if ids is None:
        if not wanted:
            return OldPool(name, frozenset(), (), {})
        raise NotConvertible(
            f"give the KafkaNodePool {name} with the nodeIds of its status, as the API server has it: "
            f"kubectl get kafkanodepool {name} -o yaml"
        )
    if len(ids) != wanted:
        raise NotConvertible(f"wait until Strimzi has scaled {name}: it asks for {wanted} nodes, and has {len(ids)}")
    storage = pool["spec"].get("storage") or {}
    return OldPool(name, frozenset(pool["spec"].get("roles") or ()), tuple(sorted(map(int, ids))), storage)


def _problems(found: Running, kafka: Object) -> Iterator[str]:
    """What this operator has no way for, before anything is touched."""
    for pool in found.pools.values():
        if set(pool.roles) not in ROLES:
            yield f"give the KafkaNodePool {pool.name} with its roles: it says {sorted(pool.roles)}"
        claims = volumes_of(pool.storage)
        if not claims or any(each.get("type") != "persistent-claim" for each in claims):
            yield f"move {pool.name} to storage of type persistent-claim first: other disks go with their pods"
        if len(claims) > 1 and "controller" in pool.roles:
            yield f"move {pool.name} to one volume first: here only nodes that are brokers alone have several"
        if pool.roles == {"controller", "broker"} and (len(pool.ids) not in COUNTS or len(found.pools) > 1):
            yield f"split the roles of {pool.name} first: here combined nodes are 1 or 3, and nobody is beside them"
        if "controller" in pool.roles and len(pool.ids) not in (1, 3, 5, 7):
            yield f"scale {pool.name} to 1, 3, 5 or 7 controllers first: it has {len(pool.ids)}"
        if "controller" in pool.roles and "excludedNodeIds" in found.ids(pool.name):
            yield f"give the controllers of {pool.name} ids without gaps first: they are {_called(pool.ids)}"
    if sum("controller" in pool.roles for pool in found.pools.values()) != 1:
        yield "move all controllers into one KafkaNodePool first: a KRaftCluster has one group of them"
    ordered = sorted(found.pools.values(), key=lambda pool: pool.ids[0])
    for one, other in pairwise(ordered):
        if one.ids[-1] >= other.ids[0]:
            which = f"{one.name} ({_called(one.ids)}) and {other.name} ({_called(other.ids)})"
            yield f"move the nodes of one of them to ids of its own first: the ids of {which} lie among one another"
    kind = (kafka["spec"]["kafka"].get("authorization") or {}).get("type")
    if kind not in (None, "simple"):
        yield f"take authorization of type {kind} out first, or use simple: nobody here would ask who is allowed what"


def _called(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids))
