"""The Services of a cluster.

`C-nodes` is headless and publishes pods before they are ready: voters must find each other before any of them can be.
Its name is in every voter's endpoint. `C-bootstrap` is where clients begin: ready brokers only. A listener that is
exposed has one more of these, and one per broker, because a client must reach the very broker that was named to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kraft_operator.api import names
from kraft_operator.api.combined import serving_roles
from kraft_operator.api.network import Decoration, Exposure, ListenerSpec, ServiceFields
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.context import Manifest, NodePlan, metadata, node_selector, role_selector, selector


def services(cluster: KRaftCluster) -> list[Manifest]:
    return [nodes_service(cluster), bootstrap_service(cluster)]


def nodes_service(cluster: KRaftCluster) -> Manifest:
    spec = cluster.spec
    http = {"name": names.HTTP_PORT_NAME, "port": names.HTTP_PORT, "targetPort": names.HTTP_PORT, "protocol": "TCP"}
    return _service(
        cluster,
        names.nodes_service(cluster.name),
        {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector(cluster),
            "ports": [*_ports((*spec.controller_listeners, *spec.opening, *spec.broker_listeners)), http],
        },
    )


def bootstrap_service(cluster: KRaftCluster) -> Manifest:
    return _service(
        cluster,
        names.bootstrap_service(cluster.name),
        {
            "selector": role_selector(cluster, serving_roles(cluster.spec)),
            "ports": _ports(cluster.spec.broker_listeners),
        },
    )


def exposed_services(cluster: KRaftCluster, nodes: Sequence[NodePlan]) -> list[Manifest]:
    """For clients outside: a way to begin, and a way to every broker."""
    found = []
    for listener in (each for each in cluster.spec.broker_listeners if each.exposed):
        kind = "ClusterIP" if listener.passthrough is not None else listener.exposure.value
        shape = {"type": kind, "ports": _ports([listener]), **_outside(listener.service)}
        begin = {**shape, "selector": role_selector(cluster, serving_roles(cluster.spec))}
        beginning = _service(cluster, names.exposed_bootstrap(cluster.name, listener.name), begin)
        of_all = listener.service.decoration, _marks(listener)
        found.append(decorated(beginning, *of_all, listener.bootstrap))
        for node in nodes:
            group = cluster.spec.group(node.group)
            if group is None or not group.roles.serves:
                continue
            chosen = node_selector(cluster, group, node.node_id)
            own = {**shape, "publishNotReadyAddresses": True, "selector": chosen}
            name = names.exposed_service(cluster.name, node.group, node.node_id, listener.name)
            broker = listener.broker(node.node_id)
            found.append(decorated(_service(cluster, name, own, chosen), *of_all, broker.decoration))
    return found


def _marks(listener: ListenerSpec) -> Decoration:
    return Decoration({names.ANNOTATION_ROUTES: "true"} if listener.exposure is Exposure.GATEWAY else {})


def _outside(fields: ServiceFields) -> Manifest:
    found = {
        "loadBalancerClass": fields.load_balancer_class,
        "loadBalancerSourceRanges": list(fields.source_ranges),
        "externalTrafficPolicy": fields.external_traffic_policy and fields.external_traffic_policy.value,
    }
    return {key: value for key, value in found.items() if value}


def decorated(service: Manifest, *decorations: Decoration) -> Manifest:
    """With what the resource adds; a later decoration wins, the operator's own labels over all."""
    annotations = {key: value for each in decorations for key, value in each.annotations.items()}
    labels = {key: value for each in decorations for key, value in each.labels.items()}
    meta = {**service["metadata"], "labels": {**labels, **service["metadata"]["labels"]}}
    if annotations:
        meta["annotations"] = annotations
    return {**service, "metadata": meta}


def port_name(listener: ListenerSpec) -> str:
    """At most 15 letters, digits and hyphens to Kubernetes. A listener's name with a number may be longer."""
    return f"tcp-{listener.port}" if "-" in listener.name else listener.name.lower()


def _ports(listeners: Iterable[ListenerSpec]) -> list[Manifest]:
    return [
        {"name": port_name(listener), "port": listener.port, "targetPort": listener.port, "protocol": "TCP"}
        for listener in listeners
    ]


def _service(cluster: KRaftCluster, name: str, spec: Manifest, extra: Manifest | None = None) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(cluster, name, extra),
        "spec": {"type": "ClusterIP", **spec},
    }
