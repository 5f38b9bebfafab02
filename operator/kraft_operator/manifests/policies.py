"""What may be evicted, and who may talk to whom.

A budget is a backstop, not the quorum's guard: it counts Ready pods, the operator counts caught-up voters. It never
lets the voters fall below a majority; a single controller has none, or a drain would hang for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kraft_operator.api import names
from kraft_operator.api.combined import serving_roles
from kraft_operator.api.network import ListenerSpec, PolicyMode
from kraft_operator.api.roles import BROKER, CONTROLLER, Roles
from kraft_operator.api.spec import Group, KRaftCluster
from kraft_operator.manifests.archive import archive_selector
from kraft_operator.manifests.context import Images, Manifest, group_selector, metadata, role_selector, selector


def disruption_budgets(
    cluster: KRaftCluster, voters_needed: int | None = None, closed: Collection[str] = ()
) -> list[Manifest]:
    """One for the voters, one per pool of several brokers. `voters_needed`: by default a majority of the controllers.
    Of groups that are `closed` nobody may be evicted."""
    spec = cluster.spec
    budgets = [
        _budget(cluster, group, {"maxUnavailable": 0}, "IfHealthyBudget")
        for group in spec.groups
        if group.name in closed
    ]
    if spec.controllers.replicas > 1 and spec.controllers.name not in closed:
        needed = voters_needed if voters_needed is not None else spec.controllers.replicas // 2 + 1
        # With a majority healthy, an unhealthy pod may be evicted; below it the recovering voters deserve protection.
        budgets.append(_budget(cluster, spec.controllers, {"minAvailable": needed}, "IfHealthyBudget"))
    for pool in spec.broker_pools:
        allowed = pool.max_unavailable if pool.max_unavailable is not None else 1 if pool.replicas > 1 else None
        if allowed is not None and pool.name not in closed:
            budgets.append(_budget(cluster, pool, {"maxUnavailable": allowed}, "AlwaysAllow"))
    return budgets


def network_policies(cluster: KRaftCluster, images: Images) -> list[Manifest]:
    """Controller listeners only from the cluster's own pods, its archive and the operator's namespace; brokers' and
    metrics from anywhere, but the brokers' own of a secure cluster. A broker is reached by its own cluster and the
    operator at any port: while a listener's port is edited, pods of both revisions run.
    """
    spec = cluster.spec
    asked = spec.network_policy
    if asked.mode is PolicyMode.OFF:
        return []
    own_pods = {"podSelector": {"matchLabels": selector(cluster)}}
    operator = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": images.operator_namespace}}}
    who = {CONTROLLER: spec.controllers.roles, BROKER: serving_roles(spec)}
    metrics = {
        each: {**_from(asked.metrics_peers), "ports": _metrics_ports(cluster, roles)} for each, roles in who.items()
    }
    archive = [] if spec.archive is None else [{"podSelector": {"matchLabels": archive_selector(cluster)}}]
    voters = [own_pods, operator, *archive, *(dict(each) for each in asked.controller_peers)]
    for_clients = [each for each in spec.broker_listeners if not each.own]
    return [
        _policy(
            cluster,
            CONTROLLER,
            who[CONTROLLER],
            [{"from": voters, "ports": _ports((*spec.controller_listeners, *spec.opening))}, metrics[CONTROLLER]],
        ),
        _policy(
            cluster,
            BROKER,
            who[BROKER],
            # Without ports a rule would be about all of them.
            [
                *([{**_from(asked.client_peers), "ports": _ports(for_clients)}] if for_clients else []),
                {"from": [own_pods, operator]},
                metrics[BROKER],
            ],
        ),
    ]


def _budget(cluster: KRaftCluster, group: Group, allowance: Manifest, unhealthy: str) -> Manifest:
    chosen = group_selector(cluster, group)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(cluster, f"{cluster.name}-{group.name}", chosen),
        "spec": {**allowance, "unhealthyPodEvictionPolicy": unhealthy, "selector": {"matchLabels": chosen}},
    }


def _policy(cluster: KRaftCluster, about: Roles, roles: Roles, ingress: list[Manifest]) -> Manifest:
    """Of nodes in this role. Combined ones are in both, and what either policy lets through is let through."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(cluster, f"{cluster.name}-{about.label}s", {names.LABEL_ROLE: about.label}),
        "spec": {
            "podSelector": {"matchLabels": role_selector(cluster, roles)},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    }


def _from(peers: tuple[Mapping[str, Any], ...] | None) -> Manifest:
    return {} if peers is None else {"from": [dict(each) for each in peers]}


def _metrics_ports(cluster: KRaftCluster, roles: Roles) -> list[Manifest]:
    """Of the node, and of exporters in its JVM."""
    found = [each.process.metrics for each in cluster.spec.groups if each.roles == roles and each.process.metrics]
    agents = sorted({each.java_agent.port for each in found if each.java_agent})
    return [{"port": port, "protocol": "TCP"} for port in (names.HTTP_PORT, *agents)]


def _ports(listeners: Iterable[ListenerSpec]) -> list[Manifest]:
    return [{"port": listener.port, "protocol": "TCP"} for listener in listeners]
