"""What passes the TLS of clients outside on to the broker whose name they ask for: an Ingress for the way to begin, and
one for each broker, to the Services of the listener.

Every ingress controller has a word of its own for this, as Ingress has none: all of them are said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.network import Decoration, ListenerSpec, Passthrough
from kraft_operator.api.spec import KRaftCluster, Role
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


def passthrough_objects(cluster: KRaftCluster, nodes: Sequence[NodePlan]) -> list[Manifest]:
    return [
        each
        for listener in cluster.spec.broker_listeners
        if listener.passthrough is not None
        for each in _of_listener(cluster, listener, listener.passthrough, nodes)
    ]


def _of_listener(
    cluster: KRaftCluster, listener: ListenerSpec, by_name: Passthrough, nodes: Sequence[NodePlan]
) -> Iterator[Manifest]:
    """An object has the name of the Service that it leads to."""
    own = Decoration(PASSED_ON)
    begin = names.exposed_bootstrap(cluster.name, listener.name)
    made = _ingress(cluster, by_name, (begin, listener.port), by_name.bootstrap_host)
    yield decorated(made, own, by_name.decoration)
    for node in nodes:
        group, host = cluster.spec.group(node.group), listener.host_of(node.node_id)
        if group is None or group.role is not Role.BROKER or host is None:
            continue
        service = names.exposed_service(cluster.name, node.group, node.node_id, listener.name)
        labels = node_selector(cluster, group, node.node_id)
        yield decorated(_ingress(cluster, by_name, (service, listener.port), host, labels), own, by_name.decoration)


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
