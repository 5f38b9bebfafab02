"""When a volume is out of reach for good: only by what its owner did to the node, never by silence."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.volume_facts import OUT_OF_SERVICE, hosts_of, is_lost, is_ready

pytestmark = pytest.mark.unit


def volume(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": list(terms)}}}}


def on(*names: str, key: str = "kubernetes.io/hostname") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(names)}]}


def node(ready: str = "True", *taints: str) -> dict[str, Any]:
    return {
        "spec": {"taints": [{"key": key, "effect": "NoExecute"} for key in taints]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def test_a_local_volume_is_on_its_hosts_and_a_volume_of_the_network_on_none() -> None:
    assert hosts_of(volume(on("a"), on("b", "c"))) == ("a", "b", "c")
    assert hosts_of({"spec": {}}) == ()
    assert hosts_of(volume(on("a"), on("eu-1", key="topology.kubernetes.io/zone"))) == ()


def test_a_node_is_lost_when_it_is_taken_out_of_service_and_not_when_it_is_silent() -> None:
    assert is_lost(node("Unknown", OUT_OF_SERVICE))
    assert not is_lost(node("Unknown", "node.kubernetes.io/unreachable"))
    assert is_ready(node())
    assert not is_ready(node("Unknown"))
