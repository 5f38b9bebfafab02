"""What clients outside of Kubernetes are told of each broker.

An address is known only once Kubernetes has given it: the port of a NodePort Service, the ingress of a LoadBalancer.
Until then what there is of the broker stays as it is, and a broker that is not there yet waits. The host of a NodePort
is that of the Kubernetes node on which the pod runs, which only the pod knows when it starts; its guard puts it into
the configuration. Where brokers are told apart by names (Ingress, Gateway), the resource has said the address; what
leads there has to be to be had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kraft_operator.api import names
from kraft_operator.api.network import Exposure, ListenerSpec
from kraft_operator.manifests.context import NodePlan
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from storage_guard.formats import HOST_IP

Address = tuple[str, str, int]


def find_addresses(now: Situation) -> Verdict:
    listeners = now.cluster.spec.broker_listeners
    exposed = [each for each in listeners if each.exposed and each.passthrough is None]
    unserved = "" if now.observed.routes.api else _listed(listeners, Exposure.GATEWAY)
    if not (exposed or unserved or now.observed.routes.found) or not now.nodes:
        return NOTHING
    services = {child.name: child.live for child in now.observed.children if child.kind == "Service"}
    nodes: list[NodePlan] = []
    findings = [*_refused_routes(now), *_refused_balancers(now, services)]
    if unserved:
        told = f"{now.observed.routes.missing}. Or expose {unserved} otherwise; brokers stay as they are until then"
        findings.append(Finding(Topic.MEMBERSHIP, "GatewayMissing", told, stalled=True))
    for node in now.nodes:
        group = now.cluster.spec.group(node.group)
        if group is None or not group.roles.serves:
            nodes.append(node)
            continue
        found: list[Address] = []
        for listener in exposed:
            name = names.exposed_service(now.cluster.name, node.group, node.node_id, listener.name)
            address = _address(listener, services.get(name))
            if address is not None:
                found.append(address)
                continue
            if name in now.observed.routes.refused:
                continue
            what = f"listener {listener.name} of broker {node.node_id} waits for the address of Service {name}"
            findings.append(Finding(Topic.MEMBERSHIP, "AddressPending", what, f"broker {node.node_id}"))
        nodes.append(replace(node, addresses=tuple(found), pending=bool(unserved) or len(found) < len(exposed)))
    return Verdict(nodes=tuple(nodes), findings=tuple(findings))


def _listed(listeners: Iterable[ListenerSpec], exposure: Exposure) -> str:
    return ", ".join(each.name for each in listeners if each.exposure is exposure)


def _refused_routes(now: Situation) -> Iterator[Finding]:
    """What their Gateway says of them."""
    for route in now.observed.routes.found:
        for parent in (route.live.get("status") or {}).get("parents") or ():
            conditions = {each["type"]: each for each in parent.get("conditions") or ()}
            accepted = conditions.get("Accepted") or {}
            if accepted.get("status") == "False":
                gateway, why = parent["parentRef"]["name"], accepted.get("message") or accepted.get("reason")
                told = f"see to the Gateway {gateway}, its listeners and whose routes it takes: it refuses {route.name}"
                yield Finding(Topic.MEMBERSHIP, "RouteRefused", f"{told}: {why}", route.name)


def _refused_balancers(now: Situation, services: Mapping[str, Any]) -> Iterator[Finding]:
    """Whoever has an address keeps it meanwhile: nothing follows from a refusal."""
    for name, why in sorted(now.observed.routes.refused.items()):
        if name in services:
            told = (
                "correct the annotations, loadBalancerClass, source ranges or traffic policy of its listener "
                f"(spec.endpoints.broker), which the load balancer refuses for Service {name}: {why}"
            )
            yield Finding(Topic.MEMBERSHIP, "LoadBalancerRefused", told, name, stalled=True)


def _address(listener: ListenerSpec, service: Mapping[str, Any] | None) -> Address | None:
    if service is None:
        return None
    if listener.exposure is Exposure.NODE_PORT:
        ports = service["spec"].get("ports") or ()
        given = next((each.get("nodePort") for each in ports if each["port"] == listener.port), None)
        return (listener.name, HOST_IP, int(given)) if given else None
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    host = next((each.get("hostname") or each.get("ip") for each in ingress), None)
    return (listener.name, str(host), listener.port) if host else None
