"""Whether NetworkPolicies let somebody in: their rules evaluated as Kubernetes documents them (networking.k8s.io/v1).

No CNI that enforces them can be had on the single-machine cluster, so what they mean is computed. A pod that no policy
selects takes everything; one that any selects takes what at least one rule of those allows. A rule without `from` is
about everybody, one without `ports` about every port, and an empty list is like none. Without a namespaceSelector a
podSelector means pods of the policy's own namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class End:
    """A pod, or with no namespace somebody outside."""

    namespace: str = ""
    labels: Labels = field(default_factory=dict)
    address: str = "10.244.0.9"


def lets_in(
    policies: Iterable[Mapping[str, Any]], namespaces: Mapping[str, Labels], source: End, target: End, port: int
) -> bool:
    """By TCP. `namespaces`: labels of each. An egress policy of the source is not looked at."""
    about = [
        each
        for each in policies
        if each["metadata"]["namespace"] == target.namespace
        and "Ingress" in each["spec"].get("policyTypes", ["Ingress"])
        and selects(each["spec"]["podSelector"], target.labels)
    ]
    rules = [(each["metadata"]["namespace"], rule) for each in about for rule in each["spec"].get("ingress") or ()]
    return not about or any(
        _is_of_port(rule, port) and _is_from(rule, home, namespaces, source) for home, rule in rules
    )


def selects(selector: Mapping[str, Any], labels: Labels) -> bool:
    """An empty one selects everything."""
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _holds(each, labels) for each in selector.get("matchExpressions") or ()
    )


def _holds(expression: Mapping[str, Any], labels: Labels) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise ValueError(f"operator {other!r} of a selector")


def _is_of_port(rule: Mapping[str, Any], port: int) -> bool:
    ports = rule.get("ports") or ()
    return not ports or any(
        each.get("protocol", "TCP") == "TCP"
        and ("port" not in each or each["port"] <= port <= each.get("endPort", each["port"]))
        for each in ports
    )


def _is_from(rule: Mapping[str, Any], home: str, namespaces: Mapping[str, Labels], source: End) -> bool:
    peers = rule.get("from") or ()
    return not peers or any(_is_peer(each, home, namespaces, source) for each in peers)


def _is_peer(peer: Mapping[str, Any], home: str, namespaces: Mapping[str, Labels], source: End) -> bool:
    if "ipBlock" in peer:
        block, address = peer["ipBlock"], ip_address(source.address)
        inside = address in ip_network(block["cidr"])
        return inside and not any(address in ip_network(each) for each in block.get("except") or ())
    if not source.namespace:
        return False
    if "namespaceSelector" in peer:
        if not selects(peer["namespaceSelector"], namespaces[source.namespace]):
            return False
    elif source.namespace != home:
        return False
    return selects(peer.get("podSelector") or {}, source.labels)
