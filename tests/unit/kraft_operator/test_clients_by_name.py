"""Listeners of which one address leads to every broker, chosen by the name that a client asks for in TLS: what is made,
what brokers advertise, what their certificates say, and what goes when the exposure does. The real reconciler over the
model of Kubernetes.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from support.operator_model.secure_runs import SecureRun, formed, properties, told
from support.operator_model.world import resource

pytestmark = pytest.mark.unit

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
