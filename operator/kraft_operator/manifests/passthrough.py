"""What passes the TLS of clients outside on to the broker whose name they ask for: an Ingress (or a TLSRoute of a
Gateway) for the way to begin, and one for each broker, to the Services of the listener.

Every ingress controller has a word of its own for this, as Ingress has none: all of them are said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.network import Decoration, ListenerSpec, Parent, Passthrough
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.context import Manifest, NodePlan, metadata, node_selector
from kraft_operator.manifests.services import decorated

INGRESSES: Final = "networking.k8s.io/v1"
PASSED_ON: Final = {
    "nginx.ingress.kubernetes.io/ssl-passthrough": "true",
    "nginx.ingress.kubernetes.io/backend-protocol": "HTTPS",
    "ingress.kubernetes.io/ssl-passthrough": "true",
    "haproxy-ingress.github.io/ssl-passthrough": "true",
    "haproxy.org/ssl-passthrough": "true",
}
"""Of ingress-nginx, HAProxy Ingress (old and new) and HAProxy's own controller."""


def passthrough_objects(cluster: KRaftCluster, nodes: Sequence[NodePlan], routes: str = "") -> list[Manifest]:
    """`routes`: group and version of TLSRoutes; empty where there are none, nor are any made then."""
    found: list[Manifest] = []
    for listener in cluster.spec.broker_listeners:
        by_name = listener.passthrough
        if by_name is None or (by_name.parent is not None and not routes):
            continue
        for name, host, labels in _ways(cluster, listener, by_name, nodes):
            service = name, listener.port
            if by_name.parent is not None:
                made = _route(cluster, routes, by_name.parent, service=service, host=host, labels=labels)
                found.append(decorated(made, by_name.decoration))
            else:
                made = _ingress(cluster, by_name, service, host, labels)
                found.append(decorated(made, Decoration(PASSED_ON), by_name.decoration))
    return found


def _ways(
    cluster: KRaftCluster, listener: ListenerSpec, by_name: Passthrough, nodes: Sequence[NodePlan]
) -> Iterator[tuple[str, str, dict[str, str] | None]]:
    """An object has the name of the Service that it leads to; host and labels."""
    yield names.exposed_bootstrap(cluster.name, listener.name), by_name.bootstrap_host, None
    for node in nodes:
        group, host = cluster.spec.group(node.group), listener.host_of(node.node_id)
        if group is None or not group.roles.serves or host is None:
            continue
        service = names.exposed_service(cluster.name, node.group, node.node_id, listener.name)
        yield service, host, node_selector(cluster, group, node.node_id)


def _ingress(
    cluster: KRaftCluster, by_name: Passthrough, service: tuple[str, int], host: str,
    labels: dict[str, str] | None = None,
) -> Manifest:  # fmt: skip
    name, port = service
    backend = {"service": {"name": name, "port": {"number": port}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    spec: Manifest = {"tls": [{"hosts": [host]}], "rules": [{"host": host, "http": {"paths": paths}}]}
    if by_name.ingress_class is not None:
        spec["ingressClassName"] = by_name.ingress_class
    return {
        "apiVersion": INGRESSES,
        "kind": "Ingress",
        "metadata": metadata(cluster, name, labels),
        "spec": spec,
    }


def _route(
    cluster: KRaftCluster, api: str, parent: Parent, *, service: tuple[str, int], host: str,
    labels: dict[str, str] | None,
) -> Manifest:  # fmt: skip
    name, port = service
    wanted = {"name": parent.name, "namespace": parent.namespace, "sectionName": parent.section, "port": parent.port}
    return {
        "apiVersion": api,
        "kind": "TLSRoute",
        "metadata": metadata(cluster, name, labels),
        "spec": {
            "parentRefs": [{key: value for key, value in wanted.items() if value is not None}],
            "hostnames": [host],
            "rules": [{"backendRefs": [{"name": name, "port": port}]}],
        },
    }
