"""How a cluster is reached besides its listeners: what its Services and network policies say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from kraft_operator.api.security import Authentication, OAuth


class PolicyMode(StrEnum):
    MANAGED = "Managed"
    OFF = "Off"
    """None is written: the platform's own policies are enough, or the network knows none."""


class TrafficPolicy(StrEnum):
    CLUSTER = "Cluster"
    LOCAL = "Local"


@dataclass(frozen=True, slots=True)
class Decoration:
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServiceFields:
    """Of every Service of an exposed listener. None: what Kubernetes does by itself."""

    decoration: Decoration = field(default_factory=Decoration)
    load_balancer_class: str | None = None
    source_ranges: tuple[str, ...] = ()
    external_traffic_policy: TrafficPolicy | None = None


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """What one broker's Service has besides, and what its clients are told."""

    node_id: int
    decoration: Decoration = field(default_factory=Decoration)
    advertised_host: str | None = None


@dataclass(frozen=True, slots=True)
class NetworkPolicySpec:
    """Peers are Kubernetes' objects. None: anybody."""

    mode: PolicyMode = PolicyMode.MANAGED
    controller_peers: tuple[Mapping[str, Any], ...] = ()
    """Who reaches controllers besides the cluster's own pods and the operator."""
    client_peers: tuple[Mapping[str, Any], ...] | None = None
    metrics_peers: tuple[Mapping[str, Any], ...] | None = None


class Exposure(StrEnum):
    """Who reaches a listener: pods only, or clients outside by a port of every Kubernetes node, a load balancer per
    broker, or the names that they ask for in TLS (`Passthrough`).
    """

    CLUSTER_INTERNAL = "ClusterInternal"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"
    INGRESS = "Ingress"
    GATEWAY = "Gateway"
    """Of the Gateway API, by TLSRoutes."""


BY_NAME: Final = (Exposure.INGRESS, Exposure.GATEWAY)
"""Exposures of which one address leads to every broker, chosen by the name in TLS."""
NODE_ID: Final = "{nodeID}"
"""What stands for a broker's node id in `Passthrough.broker_host`."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The Gateway that takes a route; it says whose routes it takes."""

    name: str
    namespace: str | None = None
    section: str | None = None
    """One of its listeners."""
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Passthrough:
    """The names by which clients outside are told apart, and what passes their TLS on as it is."""

    bootstrap_host: str
    broker_host: str | None = None
    """With `NODE_ID`."""
    port: int = 443
    """What brokers advertise: where the ingress controller or the Gateway listens."""
    ingress_class: str | None = None
    """Of Ingress."""
    parent: Parent | None = None
    """Of Gateway, which has one."""
    decoration: Decoration = field(default_factory=Decoration)

    def host_of(self, node_id: int) -> str | None:
        return self.broker_host.replace(NODE_ID, str(node_id)) if self.broker_host is not None else None


@dataclass(frozen=True, slots=True)
class ListenerSpec:
    name: str
    port: int
    exposure: Exposure = Exposure.CLUSTER_INTERNAL
    advertised_host: str | None = None
    """What clients outside are given instead of the Kubernetes node's or the load balancer's own address."""
    authentication: Authentication | None = None
    """Of who connects; None in a cluster that is not secure, and on controllers' listeners."""
    service: ServiceFields = field(default_factory=ServiceFields)
    bootstrap: Decoration = field(default_factory=Decoration)
    """Of the Service with which clients begin, besides what all have."""
    brokers: tuple[BrokerAddress, ...] = ()
    tls: bool | None = None
    """None: nobody has said, and what the cluster is decides (`parse_security.secured`)."""
    own: bool = False
    """Of a secure cluster: for its nodes and its operator alone."""
    oauth: OAuth | None = None
    mapping_rules: tuple[str, ...] = ()
    """What clients' certificates make of their subjects; besides what the operator itself says."""
    session_seconds: float | None = None
    """After which who connects by SASL has to show again who he is; None: never."""
    passthrough: Passthrough | None = None
    """Of the exposures `BY_NAME`, and of no other."""

    @property
    def exposed(self) -> bool:
        return self.exposure is not Exposure.CLUSTER_INTERNAL

    def broker(self, node_id: int) -> BrokerAddress:
        return next((each for each in self.brokers if each.node_id == node_id), BrokerAddress(node_id))

    def host_of(self, node_id: int) -> str | None:
        """What clients outside are told in place of the address that Kubernetes gives."""
        by_name = self.passthrough.host_of(node_id) if self.passthrough is not None else self.advertised_host
        return self.broker(node_id).advertised_host or by_name
