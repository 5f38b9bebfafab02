"""Listeners of which one address leads to every broker, chosen by the name that a client asks for in TLS: what is made,
what brokers advertise, what their certificates say, and what goes when the exposure does. The real reconciler over the
model of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.kube import Forbidden, Kind, NotFound, Object
from support.operator_model.secure_runs import SECURE, Calendar, SecureRun, formed, later, properties, told
from support.operator_model.world import World, resource
from support.operator_model.world_api import Died, Faults, WorldApi

pytestmark = pytest.mark.unit

T = TypeVar("T")
GATEWAY_API = "gateway.networking.k8s.io/v1alpha3"
INSIDE = [{"name": "REPLICATION", "port": 9091}, {"name": "CLIENTS", "port": 9092}]
NAMES = {"bootstrapHost": "kafka.example.com", "brokerHost": "broker-{nodeID}.example.com"}
OUTSIDE = {"name": "OUTSIDE", "port": 9094, "exposure": "Ingress", "passthrough": NAMES}


def by_name(**changes: Any) -> dict[str, Any]:
    return {"broker": [*INSIDE, {**OUTSIDE, **changes}]}


def ways(run: SecureRun) -> dict[str, tuple[str, int]]:
    """Of the Ingresses that there are: host to Service and port."""
    found = {}
    for (kind, _), child in run.world.children.items():
        if kind == "Ingress":
            (rule,) = child.live["spec"]["rules"]
            assert child.live["spec"]["tls"] == [{"hosts": [rule["host"]]}]
            (path,) = rule["http"]["paths"]
            service = path["backend"]["service"]
            found[rule["host"]] = (service["name"], service["port"]["number"])
    return found


def test_each_broker_has_a_name_of_its_own_and_clients_begin_with_one_for_all() -> None:
    run = formed(endpoints=by_name(brokers=[{"nodeID": 101, "advertisedHost": "other.example.com"}]))
    assert ways(run) == {
        "kafka.example.com": ("c-bootstrap-outside", 9094),
        "broker-100.example.com": ("c-b-100-outside", 9094),
        "other.example.com": ("c-b-101-outside", 9094),
    }
    services = [child.live["spec"]["type"] for (kind, name), child in run.world.children.items()
                if kind == "Service" and name.endswith("-outside")]  # fmt: skip
    assert services == ["ClusterIP"] * 3
    for node, host in ((100, "broker-100.example.com"), (101, "other.example.com")):
        advertised = properties(run, f"c-b-{node}")["advertised.listeners"]
        assert advertised.endswith(f",OUTSIDE://{host}:443")
        hosts = told(run, f"c-{node}-tls").hosts
        assert {host, "kafka.example.com"} <= hosts
        assert len([each for each in hosts if each.endswith("example.com")]) == 2, "no broker is another one"


def test_names_are_in_the_certificate_before_a_listener_is_known_by_them_and_objects_go_with_the_exposure() -> None:
    run = formed(endpoints={"broker": INSIDE})
    run.api.writes.clear()
    run.api.edit(endpoints=by_name())
    run.settle()
    writes = run.api.writes
    assert writes.index("replace Secret/c-100-tls") < writes.index("apply StatefulSet/c-b-100")
    assert len(ways(run)) == 3
    run.world.balancers = True
    balanced = {key: value for key, value in OUTSIDE.items() if key != "passthrough"} | {"exposure": "LoadBalancer"}
    run.api.edit(endpoints={"broker": [*INSIDE, balanced]})
    run.settle()
    assert ways(run) == {}
    assert run.world.children["Service", "c-b-100-outside"].live["spec"]["type"] == "LoadBalancer"
    assert "OUTSIDE://192.0.2." in properties(run, "c-b-100")["advertised.listeners"]
    assert run.condition("Ready")["status"] == "True"


def test_a_broker_more_has_its_name_before_it_is_there() -> None:
    run = formed(endpoints=by_name(passthrough={**NAMES, "port": 9443}))
    run.api.edit(brokerPools=[{**run.api.resource["spec"]["brokerPools"][0], "replicas": 3}])
    run.settle()
    assert ways(run)["broker-102.example.com"] == ("c-b-102-outside", 9094)
    assert properties(run, "c-b-102")["advertised.listeners"].endswith(",OUTSIDE://broker-102.example.com:9443")


PARENT = {"parentRef": {"name": "edge"}}
WRONG: list[tuple[dict[str, Any], str, str]] = [
    (by_name(passthrough=None), ".passthrough", "name bootstrapHost, and brokerHost with {nodeID}"),
    (by_name(exposure="NodePort"), ".passthrough", "belongs to the exposure Ingress"),
    (by_name(passthrough={"bootstrapHost": "a.b"}), "", "name a host for broker 100 of OUTSIDE"),
    (by_name(passthrough={**NAMES, "bootstrapHost": "192.0.2.7"}), ".bootstrapHost", "is no name in TLS"),
    (by_name(passthrough={**NAMES, "bootstrapHost": "Kafka.example.com"}), ".bootstrapHost", "is no name in TLS"),
    (by_name(passthrough={**NAMES, "brokerHost": "kafka-b"}), ".brokerHost", "each broker has a name of its own"),
    (by_name(passthrough={**NAMES, "brokerHost": "-{nodeID}.a"}), ".brokerHost", "is no name in TLS"),
    (by_name(passthrough={**NAMES, "port": 0}), ".port", "between 1 and 65535"),
    (
        by_name(brokers=[{"nodeID": 100, "advertisedHost": "kafka.example.com"}]),
        "",
        "give broker 100 of OUTSIDE another host than kafka.example.com: it leads to its bootstrap of OUTSIDE",
    ),
    (by_name(brokers=[{"nodeID": 100, "advertisedHost": "10.0.0.1"}]), ".advertisedHost", "is no name in TLS"),
    (by_name(advertisedHost="a.b"), ".advertisedHost", "no broker could be told apart"),
    (by_name(service={"externalTrafficPolicy": "Local"}), ".externalTrafficPolicy", "take it out"),
    (by_name(tls="Disabled"), "", "encrypt Ingress OUTSIDE"),
    (by_name(exposure="Gateway"), ".parentRef", "name the Gateway"),
    (by_name(passthrough={**NAMES, **PARENT}), ".parentRef", "it is of the exposure Gateway"),
    (
        by_name(exposure="Gateway", passthrough={**NAMES, **PARENT, "ingressClassName": "a"}),
        ".ingressClassName",
        "it is of the exposure Ingress",
    ),
]


@pytest.mark.parametrize(("endpoints", "where", "what"), WRONG, ids=[what for _, _, what in WRONG])
def test_what_cannot_be_passed_on_is_refused_with_the_remedy(endpoints: dict[str, Any], where: str, what: str) -> None:
    asked = resource(endpoints=endpoints, security={"tls": {"mode": "Required"}})
    with pytest.raises(InvalidSpec) as refused:
        parse_cluster(asked)
    assert what in refused.value.problem
    assert refused.value.path.endswith(where)


@pytest.mark.parametrize("mode", ["Disabled", "Migrating"])
def test_a_plaintext_listener_cannot_be_told_apart_by_names(mode: str) -> None:
    listeners = [{"name": "PLAINTEXT", "port": 9092}, OUTSIDE]
    with pytest.raises(InvalidSpec, match="encrypt Ingress OUTSIDE"):
        parse_cluster(resource(endpoints={"broker": listeners}, security={"tls": {"mode": mode}}))


@dataclass(slots=True)
class GatewayApi(WorldApi):
    """An API server with the Gateway API, of which not everybody may see routes."""

    served: bool = True
    allowed: bool = True
    lists: int = 0

    def discover(self, api: str) -> tuple[Object, ...]:
        if not self.served or api != GATEWAY_API:
            raise NotFound(404, "404 page not found")
        return ({"kind": "TLSRoute", "name": "tlsroutes"},)

    def list(self, kind: Kind, namespace: str | None, selector: str = "", fields: str = "") -> tuple[Object, ...]:
        if kind.kind == "TLSRoute":
            self.lists += 1
            if not self.allowed:
                raise Forbidden(403, "tlsroutes.gateway.networking.k8s.io is forbidden")
        return WorldApi.list(self, kind, namespace, selector)


GATEWAY = {"exposure": "Gateway", "passthrough": {**NAMES, "parentRef": {"name": "edge", "namespace": "net"}}}


def with_gateway(**listener: Any) -> tuple[SecureRun, GatewayApi]:
    spec = {**SECURE, "endpoints": by_name(**listener) if listener else {"broker": INSIDE}}
    api = GatewayApi(World(**spec))
    api.resource = {**api.resource, **resource(**spec)}
    run = SecureRun(api)
    run.calendar = Calendar()
    return run, api


def routes(run: SecureRun) -> dict[str, Any]:
    return {name: child for (kind, name), child in run.world.children.items() if kind == "TLSRoute"}


def test_a_gateway_gets_a_route_for_each_name_and_loses_them_with_the_exposure() -> None:
    run, api = with_gateway(**GATEWAY)
    run.settle()
    assert run.condition("Ready")["status"] == "True"
    assert set(routes(run)) == {"c-bootstrap-outside", "c-b-100-outside", "c-b-101-outside"}
    route = routes(run)["c-b-100-outside"]
    assert route.api == GATEWAY_API
    assert route.live["spec"] == {
        "parentRefs": [{"name": "edge", "namespace": "net"}],
        "hostnames": ["broker-100.example.com"],
        "rules": [{"backendRefs": [{"name": "c-b-100-outside", "port": 9094}]}],
    }
    assert properties(run, "c-b-100")["advertised.listeners"].endswith(",OUTSIDE://broker-100.example.com:443")
    assert ways(run) == {}
    del run.world.children["TLSRoute", "c-b-101-outside"]
    for _ in range(45):
        run.tick()
    assert "c-b-101-outside" in routes(run), "what somebody has deleted is made again"
    run.api.edit(endpoints=by_name())
    run.settle()
    assert routes(run) == {}
    assert len(ways(run)) == 3
    before = api.lists
    run.settle()
    assert api.lists == before, "nobody looks for routes that nobody wants"


def test_routes_that_are_watched_are_read_when_one_has_changed_and_not_before() -> None:
    run, api = with_gateway(**GATEWAY)
    run._process = run.process()
    index = run._process.index
    index.watches_routes = True
    run.settle()
    before = api.lists
    for _ in range(45):
        run.tick()
    assert api.lists == before
    del run.world.children["TLSRoute", "c-b-101-outside"]
    index.note_route(run.key)
    run.tick()
    assert api.lists > before
    assert "c-b-101-outside" in routes(run), "what somebody has deleted is made again at once"


@pytest.mark.parametrize("after", [INSIDE, by_name()["broker"]], ids=["none", "Ingress"])
def test_routes_of_an_earlier_listener_go_although_the_operator_dies_at_it_and_starts_anew(after: Any) -> None:
    run, _ = with_gateway(**GATEWAY)
    run.settle()
    run.api.edit(endpoints={"broker": after})
    run._process = None
    run.api.faults = death = DeathAtDelete()
    run.settle()
    assert death.met
    assert routes(run) == {}


class DeathAtDelete(Faults):
    """The operator dies after the first route that it deletes, or could have deleted."""

    met = False

    def write(self, what: str, call: Callable[[], T]) -> T:
        found = call()
        if what.startswith("delete TLSRoute/") and not self.met:
            self.met = True
            raise Died(what)
        return found


@pytest.mark.parametrize(
    ("hindered", "remedy"), [("served", "install the definition of TLSRoute"), ("allowed", "gatewayRoutes: Enabled")]
)
def test_without_the_gateway_api_brokers_stay_as_they_are_and_the_remedy_is_said(hindered: str, remedy: str) -> None:
    run, api = with_gateway()
    run.settle()
    before = {node: pod.uid for node, pod in run.world.pods.items()}
    setattr(api, hindered, False)
    run.api.edit(endpoints=by_name(**GATEWAY))
    run.settle()
    found = run.condition("Stalled")
    assert (found["status"], found["reason"]) == ("True", "GatewayMissing")
    assert remedy in found["message"]
    assert "OUTSIDE" in found["message"]
    assert {node: pod.uid for node, pod in run.world.pods.items() if node >= 100} == {
        node: uid for node, uid in before.items() if node >= 100
    }
    assert "OUTSIDE" not in properties(run, "c-b-100")["listeners"]
    setattr(api, hindered, True)
    later(run, timedelta(minutes=1))
    assert len(routes(run)) == 3
    assert run.condition("Ready")["status"] == "True"


def test_a_gateway_that_refuses_a_route_is_named() -> None:
    run, _ = with_gateway(**GATEWAY)
    run.settle()
    route = routes(run)["c-b-100-outside"]
    refused = {"type": "Accepted", "status": "False", "reason": "NoMatchingListenerHostname", "message": "no such host"}
    status = {"parents": [{"parentRef": {"name": "edge"}, "conditions": [refused]}]}
    run.world.children["TLSRoute", "c-b-100-outside"] = replace(route, live={**route.live, "status": status})
    later(run, timedelta(minutes=1))
    found = run.condition("MembershipSynced")
    assert (found["status"], found["reason"]) == ("False", "RouteRefused")
    assert "it refuses c-b-100-outside: no such host" in found["message"]
