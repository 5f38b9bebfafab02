"""The two Services of a cluster.

`C-nodes` is headless and publishes pods before they are ready: voters must find each other before any of them can be. Its name is
in every voter's endpoint. `C-bootstrap` is where clients begin: ready brokers only.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster, Listener, Role
from kraft_operator.manifests.context import Manifest, metadata, role_selector, selector


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
            "ports": [*_ports((*spec.controller_listeners, *spec.broker_listeners)), http],
        },
    )


def bootstrap_service(cluster: KRaftCluster) -> Manifest:
    return _service(
        cluster,
        names.bootstrap_service(cluster.name),
        {
            "selector": role_selector(cluster, Role.BROKER),
            "ports": _ports(cluster.spec.broker_listeners),
        },
    )


def port_name(listener: Listener) -> str:
    """Listener names are upper-case letters and digits, at most 15: their lower case is a port's name."""
    return listener.name.lower()


def _ports(listeners: Iterable[Listener]) -> list[Manifest]:
    return [
        {"name": port_name(listener), "port": listener.port, "targetPort": listener.port, "protocol": "TCP"}
        for listener in listeners
    ]


def _service(cluster: KRaftCluster, name: str, spec: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(cluster, name),
        "spec": {"type": "ClusterIP", **spec},
    }
