"""Everything one look needs: the cluster's objects from a reader (API server or index), the quorum from its nodes.

Nothing is remembered here. Lists are by the cluster's label, so an object whose label was removed is not ours any more.
The nodes are asked after the reader, and only those that have a running container. What speaks for a disk's loss is
always read from the API server.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller_runtime.identifiers import Endpoint
from controller_runtime.security.listener_security import PLAINTEXT
from kraft_operator import audit_pods, pod_facts, pod_trials, volume_facts, without_namespace
from kraft_operator.api import names
from kraft_operator.api.combined import broker_ids
from kraft_operator.api.formed import formed_with
from kraft_operator.api.reader import quantity
from kraft_operator.api.roles import controls, serves
from kraft_operator.api.spec import KRaftCluster, Probes, RolloutStrategy
from kraft_operator.api.users import parse_user
from kraft_operator.archive_claims import archive_seen
from kraft_operator.archive_page import ArchiveMemory
from kraft_operator.credentials_seen import Access, SecretMemory, proven
from kraft_operator.ephemeral import disks_of
from kraft_operator.judgement import Round
from kraft_operator.kept_volumes import emptied, keeping_volumes
from kraft_operator.kube import (
    CHILDREN,
    CLAIM,
    CONFIG_MAP,
    NODE,
    OPERATION,
    POD,
    SERVICE,
    STATEFUL_SET,
    USER,
    Forbidden,
    Gateway,
    Kind,
    NotFound,
    Object,
    Reader,
)
from kraft_operator.ledger import Entry, Ledger
from kraft_operator.ledger_format import parse
from kraft_operator.observed import Child, Claim, NodeSet, Observed, Pod, Routes
from kraft_operator.operations.operation import Operation, OperationType, parse_operation
from kraft_operator.operations.verdict import Witness
from kraft_operator.plan.nodes.registrations import looks_for_ghosts
from kraft_operator.plan.nodes.replacement import weighs_losses
from kraft_operator.plan.rollout.rolling import outdated_pods
from kraft_operator.plan.rollout.versions import trials
from kraft_operator.proofs import plaintext_sessions, restarted_for
from kraft_operator.quorum import Addresses, QuorumProbe
from kraft_operator.routes_seen import RouteMemory
from kraft_operator.users import User, Users
from kraft_operator.witnesses import ask_witnesses
from storage_guard.formats import NO_RACK


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen, and the ledger's ConfigMap as it was read, for the precondition of its next write."""

    cluster: KRaftCluster
    """As it was formed: an edit of the resource changes nothing about its being secure."""
    observed: Observed
    ledger: Ledger | None
    ledger_object: Object | None
    asked: Addresses
    """Whom the quorum's answers are of."""


def observe(
    cluster: KRaftCluster, reader: Reader, kube: Gateway, probe: QuorumProbe, secrets: SecretMemory, now: float,
    before: Round | None = None,
    suspected: Collection[str] = (),
    reclaim_policy: Callable[[str, bool], str] = lambda *_: "",
    archive: ArchiveMemory | None = None, routes: RouteMemory | None = None,
) -> Sight:  # fmt: skip
    """`reclaim_policy` says what becomes of a bound volume when its claim goes, read now if asked to, empty if unknown.
    `secrets` is what is remembered of this cluster's at `now`. Raises CorruptLedger, InvalidSpec, KubeError."""
    namespace, selector = cluster.namespace, f"{names.LABEL_CLUSTER}={cluster.name}"
    ledger_object = reader.find(CONFIG_MAP, namespace, names.ledger_name(cluster.name))
    ledger = parse(ledger_object.get("data") or {}) if ledger_object is not None else None
    cluster = formed_with(cluster, *((ledger.security, ledger.size) if ledger is not None else (cluster.formed,)))
    all_claims = tuple(_each(pod_facts.claim, reader.list(CLAIM, namespace, selector)))
    pods = tuple(_each(pod_facts.pod, all_pods := reader.list(POD, namespace, selector)))
    live = {kind: reader.list(kind, namespace, selector) for kind in CHILDREN}
    sets, cluster = tuple(_each(pod_facts.node_set, live[STATEFUL_SET])), keeping_volumes(cluster, ledger, all_claims)
    operations = operations_of(reader, namespace, cluster.name)
    access = secrets.look(cluster, _nodes(cluster, sets), kube, now)
    users = secrets.users(cluster, users_of(reader, namespace, cluster.name), kube, now)
    asked = replace(
        reached(_asked(addresses(cluster, ledger, pods, sets, before), operations, suspected), access),
        leaving=_surplus(cluster, ledger, sets),
        with_versions=cluster.spec.versions.wants_anything,
        with_users=_matter(cluster, users, ledger) and secrets.asks_about_users(now),
    )
    quorum, brokers = probe.look(asked)
    served = routes.look(cluster, live[SERVICE], kube, now) if routes is not None else Routes()
    policies, cluster = _policies(all_claims, operations, reclaim_policy), restarted_for(cluster, access.credentials)
    looked = archive.seen(cluster, kube, now) if archive is not None else {}
    observed = Observed(
        (*(each for each in all_claims if not each.further), *disks_of(pods)),
        pods,
        sets,
        (*_children(live, cluster), *served.found),
        quorum,
        brokers,
        _racks(cluster, pods, reader),
        _orphaned_volumes(ledger, (*all_claims, *disks_of(pods)), kube),
        *_stranded_volumes(ledger, pods, all_claims, kube),
        pod_facts.owners(ledger_object),
        operations,
        helpers=tuple(map(pod_facts.helper, (each for each in all_pods if pod_facts.is_helper(each)))),
        witnesses=_witnesses(cluster, ledger, pods, operations, access),
        credentials=proven(cluster, pods, access, probe, secrets),
        users=users and replace(users, found=secrets.users_found(brokers.users, now)),
        zones=controllers_in(cluster, pods, reader),
        plaintext_sessions=plaintext_sessions(cluster, pods, probe),
        hosts=_hosts(ledger, pods, kube),
        **(looked | archive_seen(cluster, kube, ledger, operations) | _classes(cluster, all_claims, kube)),
        audit=audit_pods.audit_seen(all_pods),
        routes=served,
        refused=pod_trials.refused(kube, sets, pods, live[STATEFUL_SET]),
        further_claims=tuple(each for each in all_claims if each.further),
        reclaimed=frozenset(volume for volume, policy in policies.items() if policy == "Delete"),
        retained=frozenset(volume for volume, policy in policies.items() if policy == "Retain"),
    )
    return Sight(cluster, observed, ledger, ledger_object, asked)


def _asked(asked: Addresses, operations: tuple[Operation, ...], suspected: Collection[str]) -> Addresses:
    about_brokers = (OperationType.UNREGISTER_NODE, OperationType.REPLACE_BROKER)
    wanted = any(each.type in about_brokers and not each.finished for each in operations)
    replicas = asked.with_replicas or wanted or looks_for_ghosts(suspected) or weighs_losses(suspected)
    return replace(asked, with_replicas=replicas, trials=trials(suspected))


def _matter(cluster: KRaftCluster, users: Users | None, ledger: Ledger | None) -> bool:
    return users is not None and bool(users.wanted or cluster.spec.archive or (ledger is not None and ledger.users))


def _children(live: Mapping[Kind, tuple[Object, ...]], cluster: KRaftCluster) -> tuple[Child, ...]:
    return tuple(
        Child(kind.api, kind.kind, item["metadata"]["name"], item["metadata"]["uid"], item)
        for kind, items in live.items()
        for item in items
        if _ours(item, cluster)
    )


def _policies(
    claims: tuple[Claim, ...], operations: tuple[Operation, ...], reclaim_policy: Callable[[str, bool], str]
) -> dict[str, str]:
    """Of bound volumes. A ProtectClaims lets a pod go by what is read now."""
    fresh = any(each.type is OperationType.PROTECT_CLAIMS and not each.finished for each in operations)
    return {each.volume: reclaim_policy(each.volume, fresh) for each in claims if each.volume}


def _classes(cluster: KRaftCluster, claims: tuple[Claim, ...], kube: Gateway) -> dict[str, Any]:
    """As fields of `Observed`. Asked only while a claim is smaller than the resource wants, or waits for its volume."""
    wanted = {each.storage_class for each in claims if 0 < each.requested < _asked_size(cluster, each)}
    return {
        "expandable": {name: without_namespace.may_grow(kube, name) for name in wanted},
        "missing_classes": without_namespace.missing_classes(kube, claims),
    }


def _asked_size(cluster: KRaftCluster, claim: Claim) -> float:
    group = cluster.spec.group(claim.pool)
    wanted = group.volume_of(claim.node_id, claim.further) if group is not None else None
    return quantity(wanted.size, "size") if wanted is not None else 0.0


def _witnesses(
    cluster: KRaftCluster,
    ledger: Ledger | None,
    pods: tuple[Pod, ...],
    operations: tuple[Operation, ...],
    access: Access,
) -> tuple[Witness, ...] | None:
    """Asked while a recovery waits to begin: afterwards the controllers are held."""
    waits = any(each.type is OperationType.RECOVER_QUORUM and not each.finished for each in operations)
    if not waits or ledger is None or ledger.recovery is not None:
        return None
    running = [pod for pod in pods if pod.main_started and not pod.terminating]
    found = {pod.node_id: cluster.spec.group(pod.pool) for pod in running}
    groups = {node: group for node, group in found.items() if group is not None}
    hosts = {node: cluster.host(group, node) for node, group in groups.items()}
    with_pages = [node for node, group in groups.items() if cluster.spec.probes_of(group) is Probes.HTTP]
    pages = {node: f"http://{hosts[node]}:{names.HTTP_PORT}/metrics" for node in with_pages}
    port = cluster.spec.asked_controller.port
    controllers = {
        pod.node_id: Endpoint(hosts[pod.node_id], port) for pod in running if controls(pod) and pod.node_id in hosts
    }
    return ask_witnesses(pages, controllers if access.security else {}, access.security or PLAINTEXT)


def operations_of(reader: Reader, namespace: str, name: str) -> tuple[Operation, ...]:
    """What is asked of this cluster; nothing where the resource definition is not installed."""
    try:
        found = reader.list(OPERATION, namespace)
    except NotFound:
        return ()
    return tuple(each for each in map(parse_operation, found) if each.cluster == name)


def users_of(reader: Reader, namespace: str, name: str) -> tuple[User, ...]:
    """Who names this cluster, by name; nobody where the resource definition is not installed."""
    try:
        found = reader.list(USER, namespace)
    except NotFound:
        return ()
    mine = (each for each in found if (each.get("spec") or {}).get("clusterName") == name)
    alive = (each for each in mine if not each["metadata"].get("deletionTimestamp"))
    return tuple(sorted(map(parse_user, alive), key=lambda user: user.name))


def addresses(
    cluster: KRaftCluster,
    ledger: Ledger | None,
    pods: tuple[Pod, ...],
    sets: tuple[NodeSet, ...],
    before: Round | None = None,
) -> Addresses:
    """Controllers by the DNS names that the voter set has, brokers that run."""
    voters = (ledger.controllers or ledger.initial_controllers) if ledger else ()
    running = {pod.node_id for pod in pods if pod.main_started}
    port = cluster.spec.asked_controller.port
    controllers = {
        node_id: Endpoint(cluster.voter_host(node_id), port) if node_id in running else None for node_id in voters
    }
    entries = {entry.node_id: entry.directory_id for entry in ledger.entries} if ledger else {}
    directories = {node_id: entries.get(node_id) for node_id in voters}
    asked = ledger.operation if ledger is not None else None
    with_replicas = (
        bool(_surplus(cluster, ledger, sets))
        or _rolls_brokers(cluster, pods, sets)
        or bool(ledger and ledger.given_up)
        or (asked is not None and asked.type == OperationType.PROTECT_CLAIMS.value)
    )
    found = Addresses(controllers, directories, _brokers(cluster, pods), with_replicas, before=before)
    return replace(found, emptied=emptied(cluster, ledger))


def reached(asked: Addresses, access: Access) -> Addresses:
    """With what secures the connections; nobody is asked while the operator has nothing to show."""
    if access.security is None:
        return replace(asked, controllers=dict.fromkeys(asked.controllers), brokers={})
    return replace(asked, security=access.security)


def _nodes(cluster: KRaftCluster, sets: tuple[NodeSet, ...]) -> frozenset[int]:
    """Whose certificates matter: those that are asked for, and those that are there."""
    return frozenset({each.node_id for each in sets}.union(*(group.node_ids for group in cluster.spec.groups)))


def controllers_of(cluster: KRaftCluster, observed: Observed, ledger: Ledger | None) -> tuple[Endpoint, ...]:
    found = addresses(cluster, ledger, observed.pods, ())
    return tuple(endpoint for endpoint in found.controllers.values() if endpoint is not None)


def _brokers(cluster: KRaftCluster, pods: tuple[Pod, ...]) -> dict[int, Endpoint]:
    """Each at the port that its own pod has: another one may be asked for meanwhile."""
    found = {}
    for pod in pods:
        group = cluster.spec.group(pod.pool)
        if serves(pod) and group is not None and pod.main_started and not pod.terminating:
            found[pod.node_id] = Endpoint(cluster.host(group, pod.node_id), cluster.spec.broker_port(pod.port))
    return found


def _rolls_brokers(cluster: KRaftCluster, pods: tuple[Pod, ...], sets: tuple[NodeSet, ...]) -> bool:
    if cluster.spec.rollout.strategy is RolloutStrategy.ON_DELETE:
        return False  # a person deletes them, and no gate is asked
    return any(serves(pod) for pod in outdated_pods(pods, sets))


def _orphaned_volumes(ledger: Ledger | None, claims: tuple[Claim, ...], kube: Gateway) -> frozenset[str]:
    """Volumes whose claim is gone, as far as they exist: only these are asked for."""
    if ledger is None:
        return frozenset()
    alive = {claim.uid for claim in claims}
    known = [each for each in ledger.every_entry if each.pv_name and each.pvc_uid]
    names = {each.pv_name for each in known if each.pv_name and each.pvc_uid not in alive}
    return frozenset(name for name in names if without_namespace.volume_exists(kube, name))


def _stranded_volumes(
    ledger: Ledger | None, pods: tuple[Pod, ...], claims: tuple[Claim, ...], kube: Gateway
) -> tuple[dict[str, str], dict[str, str]]:
    """Of nodes that are not ready: volumes whose Kubernetes node is lost, and volumes whose Kubernetes node is not
    Ready. What cannot be read is neither.
    """
    stranded: dict[str, str] = {}
    unready: dict[str, str] = {}
    well = {pod.node_id for pod in pods if pod.ready and not pod.terminating}
    for entry in ledger.every_entry if ledger else ():
        if entry.node_id in well or entry.retired:
            continue
        # A written-off disk is no entry's any more, but its claim may still be there, and its node may not.
        name = entry.pv_name or next((each.volume for each in claims if each.node_id == entry.node_id), "")
        volume = without_namespace.volume(kube, name) if name else None
        hosts = volume_facts.hosts_of(volume) if volume is not None else ()
        nodes = _nodes_of(hosts, entry, kube) if hosts else None
        if nodes is None:
            continue
        if all(map(volume_facts.is_lost, nodes)):
            stranded[name] = ", ".join(hosts)
        elif not any(map(volume_facts.is_ready, nodes)):
            unready[name] = ", ".join(hosts)
    return stranded, unready


def _nodes_of(hosts: Collection[str], entry: Entry, kube: Gateway) -> list[Object] | None:
    """The Kubernetes nodes with these hostname labels, and the one that the node ran on: a label may be changed, a node
    registered again, and a node's name need not be its hostname. None without the right to look."""
    try:
        found = [node for host in hosts for node in kube.list(NODE, None, f"{volume_facts.HOSTNAME}={host}")]
        ran_on = kube.find(NODE, None, entry.host[0]) if entry.host is not None else None
    except Forbidden:
        return None
    return found if ran_on is None else [*found, ran_on]


def _hosts(ledger: Ledger | None, pods: tuple[Pod, ...], kube: Gateway) -> dict[int, tuple[str, str]]:
    """Name and UID of the Kubernetes nodes on which our nodes run, asked once for each place."""
    found = {}
    for pod in pods:
        entry = ledger.entry(pod.node_id) if ledger is not None else None
        if entry is None or not pod.node or not pod.main_started:
            continue
        if pod.terminating or (entry.host is not None and entry.host[0] == pod.node):
            continue
        try:
            node = kube.find(NODE, None, pod.node)
        except Forbidden:
            return {}
        if node is not None:
            found[pod.node_id] = pod.node, node["metadata"]["uid"]
    return found


def _surplus(cluster: KRaftCluster, ledger: Ledger | None, sets: tuple[NodeSet, ...]) -> frozenset[int]:
    wanted = broker_ids(cluster.spec)
    known = {each.node_id for each in sets if serves(each)}
    if ledger is not None:
        known |= {entry.node_id for entry in ledger.entries if serves(entry) and not entry.retired}
    return frozenset(known - wanted)


def _ours(item: Mapping[str, Any], cluster: KRaftCluster) -> bool:
    """A child of this very resource, or of none: one whose owner has its name and an older UID is being collected."""
    owners = item["metadata"].get("ownerReferences") or ()
    return all(owner.get("kind") != names.KIND or owner.get("uid") == cluster.uid for owner in owners)


def _each(make: Any, items: tuple[Object, ...]) -> list[Any]:
    found = []
    for item in items:
        node_id = pod_facts.node_id_of(item)
        if node_id is not None:
            found.append(make(item, node_id))
    return found


def controllers_in(cluster: KRaftCluster, pods: tuple[Pod, ...], reader: Reader) -> dict[int, str]:
    """The failure domain of every controller that is on a Kubernetes node. Who may not read nodes does not know it."""
    asked = cluster.spec.controllers.failure_domains
    if asked is None:
        return {}
    placed = {pod.node_id: pod.node for pod in pods if controls(pod) and pod.node}
    try:
        nodes = {name: reader.find(NODE, None, name) for name in sorted(set(placed.values()))}
    except Forbidden:
        return dict.fromkeys(placed, "")
    marks = {name: ((node or {"metadata": {}})["metadata"].get("labels") or {}) for name, node in nodes.items()}
    return {node_id: marks[name].get(asked.key, "") for node_id, name in placed.items()}


def _racks(cluster: KRaftCluster, pods: tuple[Pod, ...], reader: Reader) -> dict[int, str]:
    """The rack label of the Kubernetes node of every pod whose pool asks for it."""
    cache: dict[str, Mapping[str, str]] = {}
    found = {}
    for pod in pods:
        group = cluster.spec.group(pod.pool)
        if group is None or group.rack_node_label is None or not pod.node:
            continue
        if pod.node not in cache:
            node = reader.find(NODE, None, pod.node)
            cache[pod.node] = (node or {"metadata": {}})["metadata"].get("labels") or {}
        found[pod.node_id] = cache[pod.node].get(group.rack_node_label) or NO_RACK
    return found
