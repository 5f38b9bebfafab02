"""Listeners, what their Services have, and network policies, out of the resource; and what is wrong between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.combined import serving_groups
from kraft_operator.api.network import (
    BrokerAddress,
    Decoration,
    Exposure,
    ListenerSpec,
    NetworkPolicySpec,
    PolicyMode,
    ServiceFields,
    TrafficPolicy,
)
from kraft_operator.api.parse_login import login_of
from kraft_operator.api.parse_passthrough import check_hosts, passthrough_of
from kraft_operator.api.reader import InvalidSpec, Reader
from kraft_operator.api.security import Encryption
from kraft_operator.api.spec import ClusterSpec

MAX_SERVICE_NAME: Final = 63
RESERVED_PORTS: Final = frozenset({names.HTTP_PORT})
_LISTENER_NAME: Final = re.compile(r"^[A-Z][A-Z0-9]{0,14}(-[0-9]{1,5})?$")
"""With a number behind it, as other operators have them: whoever takes their quorum over keeps its listeners' names."""
_PEER_FIELDS: Final = ("podSelector", "namespaceSelector", "ipBlock")


def parse_listeners(endpoints: Reader, role: str, default: ListenerSpec) -> tuple[ListenerSpec, ...]:
    if endpoints.values.get(role) == []:
        raise InvalidSpec(endpoints.at(role), "at least one listener is needed")
    listeners = []
    for item in endpoints.items(role):
        exposure = item.choice("exposure", Exposure, Exposure.CLUSTER_INTERNAL)
        login = login_of(item.child("authentication"))
        host = item.optional_text("advertisedHost")
        listener = ListenerSpec(
            item.text("name"),
            item.number("port"),
            exposure,
            host,
            login.how,
            service=_service(item.child("service"), exposure),
            bootstrap=_decoration(item.child("bootstrapService")),
            brokers=tuple(_broker(each) for each in item.items("brokers")),
            tls=_encrypts(item),
            oauth=login.oauth,
            mapping_rules=login.mapping_rules,
            session_seconds=login.session_seconds,
            passthrough=passthrough_of(item, exposure, _decoration(item.child("passthrough"))),
        )
        _check_exposure(item, listener)
        if not _LISTENER_NAME.match(listener.name) or listener.name == "HTTP":
            problem = "a listener's name is up to 15 of A-Z and 0-9, perhaps with -NUMBER behind, and not HTTP"
            raise InvalidSpec(item.at("name"), f"{listener.name!r}: {problem}")
        if not 1024 <= listener.port <= 65535:
            raise InvalidSpec(item.at("port"), f"must lie between 1024 and 65535, not {listener.port}")
        listeners.append(listener)
    return tuple(listeners) or (default,)


def _encrypts(item: Reader) -> bool | None:
    return item.choice("tls", Encryption, Encryption.ENABLED) is Encryption.ENABLED if item.has("tls") else None


def check_listeners(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    taken_names: set[str] = set()
    taken_ports = set(RESERVED_PORTS)
    if spec.broker_listeners[0].exposed:
        yield "endpoints.broker", "the first listener is the brokers' own and stays ClusterInternal"
    for role, listeners in (("controller", spec.controller_listeners), ("broker", spec.broker_listeners)):
        for listener in listeners:
            if listener.name in taken_names:
                yield f"endpoints.{role}", f"a second listener is named {listener.name}"
            if listener.port in taken_ports:
                yield f"endpoints.{role}", f"port {listener.port} of {listener.name} is taken"
            taken_names.add(listener.name)
            taken_ports.add(listener.port)
    yield from check_hosts(spec)


def check_exposed_names(cluster: str, spec: ClusterSpec) -> None:
    """A Service's name has 63 characters; the schema cannot see the parts of this one together."""
    for listener in (each for each in spec.broker_listeners if each.exposed):
        for group in serving_groups(spec):
            longest = names.exposed_service(cluster, group.name, group.node_id_range.end, listener.name)
            if len(longest) > MAX_SERVICE_NAME:
                problem = (
                    f"the Service {longest} would have more than {MAX_SERVICE_NAME} characters: shorten {listener.name}"
                )
                raise InvalidSpec("spec.endpoints.broker", problem)


def network_policy(policy: Reader) -> NetworkPolicySpec:
    mode = policy.choice("mode", PolicyMode, PolicyMode.MANAGED)
    for name in ("controllerPeers", "clientPeers", "metricsPeers"):
        if mode is PolicyMode.OFF and policy.has(name):
            raise InvalidSpec(policy.at(name), "mode Off writes no policy: take the peers out")
        if policy.values.get(name) == []:
            raise InvalidSpec(policy.at(name), "to Kubernetes an empty list is everybody: name a peer, or take it out")
    return NetworkPolicySpec(
        mode,
        _peers(policy, "controllerPeers"),
        _peers(policy, "clientPeers") if policy.has("clientPeers") else None,
        _peers(policy, "metricsPeers") if policy.has("metricsPeers") else None,
    )


def _peers(policy: Reader, name: str) -> tuple[Mapping[str, Any], ...]:
    for item in policy.items(name):
        if strange := sorted(set(item.values) - set(_PEER_FIELDS)):
            raise InvalidSpec(item.at(strange[0]), f"is none of {', '.join(_PEER_FIELDS)}")
        if not item.values or (item.has("ipBlock") and len(item.values) > 1):
            raise InvalidSpec(item.path, "ipBlock alone, or podSelector, namespaceSelector or both")
    return policy.objects(name)


def _service(service: Reader, exposure: Exposure) -> ServiceFields:
    for name in ("loadBalancerClass", "loadBalancerSourceRanges"):
        if service.has(name) and exposure is not Exposure.LOAD_BALANCER:
            raise InvalidSpec(service.at(name), "belongs to the exposure LoadBalancer")
    for text in service.words("loadBalancerSourceRanges"):
        try:
            ip_network(text)
        except ValueError as error:
            raise InvalidSpec(service.at("loadBalancerSourceRanges"), f"{text!r} is no range: {error}") from error
    policy = service.choice("externalTrafficPolicy", TrafficPolicy, TrafficPolicy.CLUSTER)
    return ServiceFields(
        _decoration(service),
        service.optional_text("loadBalancerClass"),
        service.words("loadBalancerSourceRanges"),
        policy if service.has("externalTrafficPolicy") else None,
    )


def _decoration(values: Reader) -> Decoration:
    for kind in ("labels", "annotations"):
        for key in values.texts(kind):
            if key.partition("/")[0] in (names.GROUP, "app.kubernetes.io"):
                raise InvalidSpec(f"{values.at(kind)}[{key}]", "belongs to the operator")
    return Decoration(values.texts("annotations"), values.texts("labels"))


def _broker(item: Reader) -> BrokerAddress:
    return BrokerAddress(item.number("nodeID"), _decoration(item), item.optional_text("advertisedHost"))


def _check_exposure(item: Reader, listener: ListenerSpec) -> None:
    for name in ("service", "bootstrapService", "brokers"):
        if item.has(name) and not listener.exposed:
            raise InvalidSpec(item.at(name), "belongs to an exposure for clients outside, such as NodePort")
    ids = [each.node_id for each in listener.brokers]
    if len(set(ids)) < len(ids):
        raise InvalidSpec(item.at("brokers"), "a nodeID stands there twice")
