"""In which failure domain a controller is: the label of the Kubernetes node where its pod is, read only where somebody
asks.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.kube import Forbidden, Kind, Object
from kraft_operator.observe import controllers_in
from kraft_operator.observed import Pod
from support.operator_model.world import resource

pytestmark = pytest.mark.unit

PODS = (
    Pod("c-controller-0-0", "u0", 0, "controller", "controller", "data-c-controller-0-0", node="k1"),
    Pod("c-controller-1-0", "u1", 1, "controller", "controller", "data-c-controller-1-0", node="k2"),
    Pod("c-controller-2-0", "u2", 2, "controller", "controller", "data-c-controller-2-0"),
    Pod("c-b-100-0", "u100", 100, "broker", "b", "data-c-b-100-0", node="k1"),
)


class Nodes:
    def __init__(self, labels: dict[str, dict[str, str]] | None) -> None:
        self.labels, self.asked = labels, list[str]()

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        self.asked.append(f"{kind.kind}/{name}")
        if self.labels is None:
            raise Forbidden(403, "nodes is forbidden")
        return {"metadata": {"name": name, "labels": self.labels[name]}} if name in self.labels else None


def seen(nodes: Nodes, **controllers: object) -> dict[int, str]:
    spec = {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}, **controllers}
    api: Any = nodes
    return controllers_in(parse_cluster(resource(controllers=spec)), PODS, api)


def test_nobody_is_asked_where_no_domain_is_named() -> None:
    assert seen(nodes := Nodes({})) == {}
    assert nodes.asked == []


def test_a_controller_is_where_the_label_of_its_node_says_and_nowhere_without_a_node() -> None:
    nodes = Nodes({"k1": {"topology.kubernetes.io/zone": "east", "row": "7"}, "k2": {}})
    assert seen(nodes, failureDomains={}) == {0: "east", 1: ""}
    assert seen(nodes, failureDomains={"key": "row"}) == {0: "7", 1: ""}
    assert nodes.asked == ["Node/k1", "Node/k2"] * 2


def test_who_may_not_read_nodes_knows_that_it_does_not_know() -> None:
    assert seen(Nodes(None), failureDomains={}) == {0: "", 1: ""}
