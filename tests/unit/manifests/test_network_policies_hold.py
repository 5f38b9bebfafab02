"""Who reaches which port of a cluster, by the rules of its NetworkPolicies evaluated: its own nodes and the
operator reach everything, clients the listeners that are for them, and nobody else a controller.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.api.formed import formed_with
from kraft_operator.api.parse import read_cluster
from kraft_operator.api.roles import BROKER, CONTROLLER, Roles
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.context import role_selector
from kraft_operator.manifests.policies import network_policies
from support.kubernetes.policy_rules import End, lets_in
from support.kubernetes.rendering import IMAGES

pytestmark = pytest.mark.unit

NAME = "kubernetes.io/metadata.name"
NAMESPACES = {
    "kafka": {NAME: "kafka"},
    "apps": {NAME: "apps", "team": "apps"},
    "kraft-operator": {NAME: "kraft-operator"},
}
CONTROLLER_PORTS, BROKER_PORTS, METRICS = (9093, 9095), (9091, 9092), 9404


def cluster(formed: str, **changes: Any) -> KRaftCluster:
    pools = [{"name": "b", "replicas": 3, "nodeIdRange": {"start": 100, "end": 199}}]
    spec = {"image": {"reference": "a:1"}, "brokerPools": pools, **changes}
    return formed_with(
        read_cluster({"metadata": {"name": "c", "namespace": "kafka", "uid": "u"}, "spec": spec}), formed
    )


def own(of: KRaftCluster, roles: Roles, namespace: str = "kafka") -> End:
    return End(namespace, {**role_selector(of, roles), "app": "any"})


def sources(of: KRaftCluster) -> dict[str, End]:
    return {
        "a controller": own(of, CONTROLLER),
        "a broker": own(of, BROKER),
        "the operator": End("kraft-operator", {"app": "kraft-operator"}),
        "a pod beside it": End("kafka", {"app": "shop"}),
        "a pod elsewhere": End("apps", {"app": "shop"}),
        "one elsewhere with its labels": own(of, CONTROLLER, "apps"),
        "somebody outside": End(address="192.0.2.7"),
    }


def reached(of: KRaftCluster) -> dict[str, list[int]]:
    """By whom, which ports of a controller and of a broker: those of a broker are told apart by their number."""
    policies = network_policies(of, IMAGES)
    found = {}
    for who, source in sources(of).items():
        found[who] = [
            port
            for role, ports in ((CONTROLLER, CONTROLLER_PORTS), (BROKER, BROKER_PORTS))
            for port in ports
            if lets_in(policies, NAMESPACES, source, own(of, role), port)
        ]
    return found


FAMILY = ("a controller", "a broker", "the operator")
STRANGERS = ("a pod beside it", "a pod elsewhere", "one elsewhere with its labels", "somebody outside")


def expected(family: list[int], strangers: list[int]) -> dict[str, list[int]]:
    return {**dict.fromkeys(FAMILY, family), **dict.fromkeys(STRANGERS, strangers)}


def test_of_a_secure_cluster_strangers_reach_the_clients_listener_and_nothing_else() -> None:
    assert reached(cluster("Required")) == expected([9093, 9091, 9092], [9092])


def test_strangers_reach_a_listener_for_clients_with_certificates() -> None:
    listeners = [{"name": "REPLICATION", "port": 9091}, {"name": "C", "port": 9092, "authentication": {"type": "Tls"}}]
    with_it = cluster("Required", endpoints={"broker": listeners})
    assert reached(with_it) == expected([9093, 9091, 9092], [9092])


def test_of_a_plaintext_cluster_strangers_reach_brokers_but_no_controller() -> None:
    assert reached(cluster("")) == expected([9093, 9091, 9092], [9092])


@pytest.mark.parametrize(
    ("stage", "family"),
    [
        ("Prepared", [9093, 9095, 9091, 9092]),
        ("Listening", [9093, 9095, 9091, 9092]),
        ("Replicating", [9093, 9095, 9091, 9092]),
        ("Closed", [9095, 9091, 9092]),
        ("Enforced", [9095, 9091, 9092]),
    ],
)
def test_on_its_way_the_new_listeners_are_open_to_its_own_before_anybody_serves_them(
    stage: str, family: list[int]
) -> None:
    assert reached(cluster(f"Secured/{stage}")) == expected(family, [9092])


def test_named_peers_are_let_in_and_everybody_else_is_not() -> None:
    peers = {
        "clientPeers": [
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["apps"]}]}},
            {"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.128/25"]}},
        ],
        "controllerPeers": [{"podSelector": {"matchLabels": {"app": "shop"}}}],
    }
    of = cluster("Required", networkPolicy=peers)
    found = reached(of)
    assert found["a pod beside it"] == [9093], "a controllers' peer by its label, and no client"
    assert found["a pod elsewhere"] == [9092], "in a client's namespace; a podSelector alone is about its own"
    assert found["somebody outside"] == [9092]
    far = End(address="192.0.2.200")
    assert not lets_in(network_policies(of, IMAGES), NAMESPACES, far, own(of, BROKER), 9092)
    assert [found[who] for who in FAMILY] == [[9093, 9091, 9092]] * 3


def test_metrics_are_open_unless_peers_are_named_and_other_ports_never() -> None:
    shut, opened = cluster("Required", networkPolicy={"metricsPeers": [{"podSelector": {}}]}), cluster("Required")
    for role in (CONTROLLER, BROKER):
        elsewhere, beside = sources(opened)["a pod elsewhere"], sources(opened)["a pod beside it"]
        assert lets_in(network_policies(opened, IMAGES), NAMESPACES, elsewhere, own(opened, role), METRICS)
        policies = network_policies(shut, IMAGES)
        assert lets_in(policies, NAMESPACES, beside, own(shut, role), METRICS)
        assert not lets_in(policies, NAMESPACES, elsewhere, own(shut, role), METRICS)
        assert not lets_in(policies, NAMESPACES, beside, own(shut, role), 22)


def test_pods_that_no_policy_selects_take_everything() -> None:
    """So the answers above are the policies' doing; Off writes none."""
    of = cluster("Required", networkPolicy={"mode": "Off"})
    assert network_policies(of, IMAGES) == []
    assert lets_in((), NAMESPACES, sources(of)["somebody outside"], own(of, CONTROLLER), 9093)
    policies = network_policies(cluster("Required"), IMAGES)
    assert lets_in(policies, NAMESPACES, sources(of)["somebody outside"], End("kafka", {"app": "shop"}), 9093)
