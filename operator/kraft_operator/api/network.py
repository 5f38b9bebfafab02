"""How a cluster is reached besides its listeners: what its Services and network policies say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


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
