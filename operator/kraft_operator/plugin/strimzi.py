"""A Strimzi `Kafka` and its `KafkaNodePool`s as a `KRaftCluster`, and the names of what was left out and why.

Pure. The result is a new cluster: node ids, names of pods and the cluster's id are its own, and data comes over as it
does between any two clusters. Of one that is taken over (`running`) ids, listeners and disks stay. What this operator
has no field for is never guessed: it is left out by its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kraft_operator.api.combined import COUNTS
from kraft_operator.api.config_keys import owner_of
from kraft_operator.api.parse_security import SECURED, secures
from kraft_operator.plugin import strimzi_parts as parts
from kraft_operator.plugin.strimzi_listeners import is_secure, listeners
from kraft_operator.plugin.strimzi_parts import NotConvertible, Object
from kraft_operator.plugin.strimzi_running import Running, going_on, running
from kraft_operator.plugin.taking import Taken

LABEL: Final = "strimzi.io/cluster"
FIRST_BROKER: Final = 100
IDS_OF_A_GROUP: Final = 100
IGNORED: Final = ("apiVersion", "kind", "metadata", "status")
WHY: Final = {
    "spec.entityOperator": "there is no topic operator; users are KRaftUsers (docs/operations/security.md)",
    "spec.cruiseControl": "nothing here balances partitions; brokers are drained before they leave",
    "spec.kafkaExporter": "run an exporter of your own; nodes serve metrics at 9404 (Quorate) or by metrics.javaAgent",
    "spec.clusterCa": "the operator's authority has no settings yet but security.tls.validity",
    "spec.clientsCa": "one authority signs for nodes, and for KRaftUsers with authentication.type Tls",
    "spec.kafka.metricsConfig": "Strimzi's image brings its exporter; with another image use metrics.javaAgent",
    "spec.kafka.tieredStorage": "tiered storage is configured by spec.config, with its plugin on a volume",
    "spec.kafka.storage": "storage belongs to pools",
    "spec.kafka.replicas": "replicas belong to pools",
    "spec.zookeeper": "KRaft has no ZooKeeper",
}
"""By the beginning of the path; what is not here has no place in a KRaftCluster."""


@dataclass(slots=True)
class Converted:
    resource: dict[str, Any]
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Paths in Strimzi's resources, and why they have no place."""
    changed: list[str] = field(default_factory=list)
    """What is otherwise than it was."""
    running: Running | None = None
    """The cluster that is taken over; None: a new one is made."""


def convert(documents: Sequence[Object], take_over_as: str | None = None) -> Converted:
    """Raises NotConvertible unless there is one Kafka, and a pool with controllers."""
    kafkas = [each for each in documents if each.get("kind") == "Kafka"]
    if len(kafkas) != 1:
        raise NotConvertible(f"give the file of one Kafka, with its KafkaNodePools: there are {len(kafkas)}")
    name = str(kafkas[0]["metadata"]["name"])
    pools = [each for each in documents if each.get("kind") == "KafkaNodePool" and _cluster_of(each) in (name, None)]
    if not any("controller" in _roles(each) for each in pools):
        raise NotConvertible(f"give the KafkaNodePools of {name}, too: none with the role controller is there")
    kafka = Taken({key: each for key, each in kafkas[0].items() if key not in IGNORED}, "")
    meta = {key: kafkas[0]["metadata"][key] for key in ("name", "namespace") if key in kafkas[0]["metadata"]}
    made = Converted({"apiVersion": "kraft.quorate.dev/v1alpha1", "kind": "KRaftCluster", "metadata": meta})
    if take_over_as is not None:
        made.running = running(kafkas[0], pools, take_over_as)
        meta["name"] = take_over_as
        pools = [each for each in pools if each["metadata"]["name"] in made.running.pools]
    spec = made.resource["spec"] = _cluster(kafka, made)
    _groups(kafka, pools, spec, made)
    made.left_out += dict.fromkeys((f"Kafka {_whole(path)}", _why(path)) for path, _ in kafka.left())
    for each in documents:
        known = ("Kafka", "KafkaNodePool", *(("PersistentVolumeClaim",) if made.running is not None else ()))
        if each.get("kind") not in known:
            made.left_out.append((f"{each.get('kind')} {each.get('metadata', {}).get('name', '')}", "not converted"))
    return made


def _cluster(kafka: Taken, made: Converted) -> dict[str, Any]:
    version, image = kafka.take("spec.kafka.version"), kafka.take("spec.kafka.image")
    if not (version or image):
        raise NotConvertible("say spec.kafka.version in the Kafka: without it no image can be named")
    spec: dict[str, Any] = {"image": {"reference": image or f"apache/kafka:{version}"}, "probes": "TCP"}
    if level := kafka.take("spec.kafka.metadataVersion"):
        spec["metadataVersion"] = {"policy": "Pinned", "value": str(level)}
    asked, name = kafka.take("spec.kafka.listeners") or [], str(made.resource["metadata"].get("name"))
    kept = made.running is not None
    security = kept or is_secure(asked)
    if config := _config(kafka.take("spec.kafka.config") or {}, made, secure=security):
        spec["config"] = {"common": config}
    found = listeners(asked, name, made.left_out, made.changed, kept=kept)
    spec["endpoints"] = {"broker": found}
    spec["security"] = {"tls": {"mode": "Required" if security else "Disabled"}}
    if kafka.take("spec.kafka.authorization.type") == "simple" and security:
        users = kafka.take("spec.kafka.authorization.superUsers") or []
        named = [each if ":" in each else f"User:{each}" for each in users]
        spec["security"] |= {"authorization": {"superUsers": named}} if named else {}
    windows = parts.windows(kafka.take("spec.maintenanceTimeWindows") or [], made.left_out)
    if windows:
        spec["rollout"] = {"maintenanceWindows": windows}
    return going_on(made.running, spec) if made.running is not None else spec


def _config(config: Mapping[str, Any], made: Converted, *, secure: bool) -> dict[str, Any]:
    found = {}
    for key, value in config.items():
        why = owner_of(key) or (SECURED if secure and secures(key) else None)
        if key in ("inter.broker.protocol.version", "log.message.format.version"):
            why = "Apache Kafka 4 does not know it; use metadataVersion"
        if why is not None:
            made.left_out.append((f"Kafka spec.kafka.config[{key}]", why))
        else:
            found[key] = value
    return found


def _groups(kafka: Taken, pools: Sequence[Object], spec: dict[str, Any], made: Converted) -> None:
    """Fields of the Kafka count where a pool says nothing."""
    shared = {key: kafka.take(f"spec.kafka.{key}") for key in ("resources", "jvmOptions", "template", "logging")}
    shared |= {key: kafka.take(f"spec.kafka.{key}") for key in ("livenessProbe", "readinessProbe", "jmxOptions")}
    rack = kafka.take("spec.kafka.rack.topologyKey")
    budget = ((shared["template"] or {}).get("podDisruptionBudget") or {}).get("maxUnavailable")
    brokers: list[dict[str, Any]] = []
    deleted: list[bool] = []
    for pool in pools:
        taken = Taken({key: each for key, each in pool.items() if key not in IGNORED}, "")
        where, roles = f"KafkaNodePool {pool['metadata']['name']}", _roles(pool)
        taken.take("spec.roles")
        replicas = int(taken.take("spec.replicas") or 0)
        storage, delete = parts.storage(taken.take("spec.storage") or {}, where, made.left_out, made.changed)
        deleted.append(delete)
        own = {key: taken.take(f"spec.{key}") for key in ("resources", "jvmOptions", "template")}
        group = parts.group({**shared, **{key: each for key, each in own.items() if each}}, where, made.left_out)
        made.left_out += [(f"{where} {path}", "has no place in a KRaftCluster") for path, _ in taken.left()]
        body = {"storage": storage, **group}
        if _is_combined(roles, replicas, storage, pools):
            spec["controllers"] = {"role": "Combined", "replicas": replicas, **_ids(made, pool, 0), **body}
            spec["controllers"] |= {"rack": {"fromNodeLabel": rack}} if rack else {}
            if budget is not None:
                why = "the budget of combined nodes follows the quorum"
                made.left_out.append((f"{where} podDisruptionBudget.maxUnavailable", why))
            continue
        if set(roles) == {"controller", "broker"}:
            made.changed.append(f"{where}: its nodes were both; controllers and brokers are nodes of their own here")
        if "controller" in roles:
            if "controllers" in spec:
                made.left_out.append((where, "a cluster has one group of controllers: the first one was taken"))
            else:
                spec["controllers"] = {"replicas": _odd(replicas, where, made), **_ids(made, pool, 0), **body}
                spec["controllers"]["storage"] = {key: each for key, each in storage.items() if key != "volumes"}
                if "volumes" in storage and "broker" not in roles:
                    made.left_out.append((f"{where} spec.storage.volumes", "a controller has one volume"))
        if "broker" in roles:
            begin = FIRST_BROKER + IDS_OF_A_GROUP * len(brokers)
            name = _pool_name(str(pool["metadata"]["name"]), brokers, made)
            brokers.append({"name": name, "replicas": replicas, **_ids(made, pool, begin), **body})
            brokers[-1] |= {"rack": {"fromNodeLabel": rack}} if rack else {}
            brokers[-1] |= {"disruptionBudget": {"maxUnavailable": budget}} if isinstance(budget, int) else {}
    spec["brokerPools"] = brokers
    if made.running is not None and any(deleted):
        made.changed.append(
            "deleteClaim: volumes stay when the KRaftCluster is deleted: deletionPolicy.volumes is Retain"
        )
    elif deleted and all(deleted):
        spec["deletionPolicy"] = {"volumes": "Delete"}


def _is_combined(roles: Sequence[str], replicas: int, storage: Mapping[str, Any], pools: Sequence[Object]) -> bool:
    """One pool of one node or three that are both, on one volume each; others get controllers of their own."""
    return (
        set(roles) == {"controller", "broker"} and len(pools) == 1 and replicas in COUNTS and "volumes" not in storage
    )


def _odd(replicas: int, where: str, made: Converted) -> int:
    allowed = [each for each in (1, 3, 5, 7) if each <= max(replicas, 1)][-1]
    if allowed != replicas:
        made.changed.append(f"{where}: {replicas} controllers are {allowed} here: 1, 3, 5 or 7")
    return allowed


def _ids(made: Converted, pool: Object, start: int) -> dict[str, Any]:
    """Of a new group's nodes, from here on; nodes that run have theirs."""
    if made.running is not None:
        return made.running.ids(str(pool["metadata"]["name"]))
    return {"nodeIdRange": {"start": start, "end": start + IDS_OF_A_GROUP - 1}}


def _pool_name(name: str, pools: Sequence[Mapping[str, Any]], made: Converted) -> str:
    """Pools have up to ten letters and digits: they are part of the names of pods."""
    taken = {each["name"] for each in pools} | {"controller"}
    short = re.sub(r"[^a-z0-9]", "", name.lower()).lstrip("0123456789")[:10] or "pool"
    candidates = (short, *(f"{short[:8]}{number}" for number in range(2, 100)))
    found = next(each for each in candidates if each not in taken)
    if found != name:
        made.changed.append(f"KafkaNodePool {name} is the pool {found} here: up to ten of a-z and 0-9")
    return found


def _roles(pool: Object) -> Sequence[str]:
    return tuple((pool.get("spec") or {}).get("roles") or ())


def _cluster_of(pool: Object) -> str | None:
    label = ((pool.get("metadata") or {}).get("labels") or {}).get(LABEL)
    return None if label is None else str(label)


def _whole(path: str) -> str:
    """A field that has its reason is named once, not leaf by leaf."""
    return next((begin for begin in WHY if path.startswith(begin)), path)


def _why(path: str) -> str:
    return next((why for begin, why in WHY.items() if path.startswith(begin)), "has no place in a KRaftCluster")


def told(made: Converted) -> Iterator[str]:
    """The list for people: what is otherwise, then what is missing."""
    for each in made.changed:
        yield f"changed: {each}"
    for path, why in made.left_out:
        yield f"left out: {path}: {why}"
