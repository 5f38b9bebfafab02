"""A cluster with the further volumes that it has, whatever its resource asks for now.

A volume of a broker holds partitions. As long as the ledger knows a directory on it that was not proven to be empty,
taking it out of the resource takes it from no pod.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from kraft_operator.api.parse_storage import MIN_SIZE
from kraft_operator.api.revision import VOLUMES
from kraft_operator.api.spec import Group, KRaftCluster
from kraft_operator.api.storage import Storage
from kraft_operator.ledger import Ledger
from kraft_operator.observed import Claim

_MIB: Final = 2**20


def keeping_volumes(cluster: KRaftCluster, ledger: Ledger | None, claims: tuple[Claim, ...]) -> KRaftCluster:
    """`claims` are the cluster's, of first and further volumes."""
    found = {pool.name: _kept(pool, ledger, claims) for pool in cluster.spec.broker_pools} if ledger else {}
    if not any(found.values()):
        return cluster
    pools = tuple(
        replace(pool, volumes={**pool.volumes, **found[pool.name]}) if found[pool.name] else pool
        for pool in cluster.spec.broker_pools
    )
    source = {**cluster.source}
    source["brokerPools"] = [_with(each, found.get(each.get("name", ""), {})) for each in source.get("brokerPools", ())]
    kept = tuple((pool, volume) for pool, volumes in found.items() for volume in sorted(volumes))
    return replace(cluster, spec=replace(cluster.spec, broker_pools=pools), source=source, kept_volumes=kept)


def _kept(pool: Group, ledger: Ledger, claims: tuple[Claim, ...]) -> dict[str, Storage]:
    known = {
        volume
        for volume, entry in ledger.volumes
        if entry.pool == pool.name and not entry.retired and (entry.directory_id is not None or entry.grant is not None)
    }
    gone = {each.volume for each in ledger.removals if each.gone and each.pool == pool.name}
    return {volume: _as_it_is(pool, volume, claims) for volume in sorted(known - gone - set(pool.volumes))}


def without_gone(cluster: KRaftCluster, ledger: Ledger) -> KRaftCluster:
    """A cluster that kept volumes, once some of them were proven to be empty."""
    gone = {(each.pool, each.volume) for each in ledger.removals if each.gone} & set(cluster.kept_volumes)
    if not gone:
        return cluster
    pools = tuple(
        replace(pool, volumes={name: each for name, each in pool.volumes.items() if (pool.name, name) not in gone})
        for pool in cluster.spec.broker_pools
    )
    source = {**cluster.source, "brokerPools": [_without(each, gone) for each in cluster.source.get("brokerPools", ())]}
    kept = tuple(each for each in cluster.kept_volumes if each not in gone)
    return replace(cluster, spec=replace(cluster.spec, broker_pools=pools), source=source, kept_volumes=kept)


def emptied(cluster: KRaftCluster, ledger: Ledger | None) -> frozenset[int]:
    """Brokers of pools that are to do without a volume, or have just lost one."""
    leaving = {pool for pool, _ in cluster.kept_volumes}
    entries = ledger.entries if ledger is not None else ()
    leaving |= {each.pool for each in ledger.removals} if ledger is not None else set()
    return frozenset(each.node_id for each in entries if each.pool in leaving and not each.retired)


def _as_it_is(pool: Group, volume: str, claims: tuple[Claim, ...]) -> Storage:
    """What its smallest claim asks for, which asks nobody to grow, and the class that it has."""
    mine = [each for each in claims if (each.pool, each.further) == (pool.name, volume) and each.requested]
    if not mine:
        return Storage(MIN_SIZE)
    least = min(mine, key=lambda each: each.requested)
    return Storage(f"{max(1, int(least.requested) // _MIB)}Mi", least.storage_class or None)


def _with(pool: Mapping[str, Any], volumes: Mapping[str, Storage]) -> Mapping[str, Any]:
    if not volumes:
        return pool
    storage = pool.get("storage") or {}
    added = [
        {"name": name, "size": each.size}
        | ({"storageClassName": each.storage_class_name} if each.storage_class_name else {})
        for name, each in volumes.items()
    ]
    return {**pool, "storage": {**storage, VOLUMES: [*(storage.get(VOLUMES) or ()), *added]}}


def _without(pool: Mapping[str, Any], gone: Collection[tuple[str, str]]) -> Mapping[str, Any]:
    storage = pool.get("storage") or {}
    volumes = [each for each in storage.get(VOLUMES) or () if (pool.get("name"), each["name"]) not in gone]
    kept = {key: each for key, each in storage.items() if key != VOLUMES}
    return {**pool, "storage": {**kept, VOLUMES: volumes} if volumes else kept}
