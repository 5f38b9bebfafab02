"""Whatever ids Strimzi gave to the nodes of its pools: the KRaftCluster that a cluster goes on as has exactly these, or
there is none.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft_operator.api.parse import parse_cluster
from kraft_operator.plugin.strimzi import convert
from kraft_operator.plugin.strimzi_claims import in_order
from kraft_operator.plugin.strimzi_parts import NotConvertible

pytestmark = pytest.mark.properties

KAFKA: dict[str, Any] = {
    "kind": "Kafka",
    "metadata": {"name": "old", "namespace": "n"},
    "spec": {"kafka": {"version": "4.1.0"}},
    "status": {"clusterId": "8cFkZ0GmQ1mM2n3o4p5q6w"},
}


def node_pool(name: str, role: str, ids: list[int]) -> dict[str, Any]:
    storage = {"type": "persistent-claim", "size": "1Gi"}
    spec = {"replicas": len(ids), "roles": [role], "storage": storage}
    return {"kind": "KafkaNodePool", "metadata": {"name": name}, "spec": spec, "status": {"nodeIds": ids}}


@st.composite
def pools(draw: st.DrawFn) -> dict[str, list[int]]:
    """Mostly one behind the other, some among one another; ids in any order."""
    found: dict[str, list[int]] = {}
    begin, names = 0, draw(st.permutations(["ctl", "a", "b"]))
    for name in names:
        count = draw(st.sampled_from([1, 3, 5])) if name == "ctl" else draw(st.integers(0, 6))
        steps = [1] * count if name == "ctl" else draw(st.lists(st.integers(1, 15), min_size=count, max_size=count))
        begin = max(0, begin - draw(st.sampled_from([0, 0, 0, 3])))
        own = []
        for step in steps:
            begin += step
            own.append(begin)
        found[name] = draw(st.permutations(own))
    return found


def resource_of(ids: dict[str, list[int]]) -> dict[str, Any]:
    kinds = {name: "controller" if name == "ctl" else "broker" for name in ids}
    made = convert([KAFKA, *(node_pool(name, kinds[name], own) for name, own in ids.items())], "c").resource
    return {**made, "metadata": {**made["metadata"], "uid": "u", "generation": 1}}


@given(pools())
def test_nodes_keep_their_ids_or_nothing_is_made(ids: dict[str, list[int]]) -> None:
    ranges = sorted((min(own), max(own)) for own in ids.values() if own)
    if any(one[1] >= other[0] for one, other in pairwise(ranges)):
        with pytest.raises(NotConvertible, match="lie among one another"):
            resource_of(ids)
        return
    cluster = parse_cluster(resource_of(ids))
    had = {name if name != "ctl" else "controller": tuple(sorted(own)) for name, own in ids.items() if own}
    assert {group.name: group.node_ids for group in cluster.spec.groups} == had
    order = in_order(cluster)
    assert sorted(order) == sorted(each for own in had.values() for each in own)
    assert order[-1] == had["controller"][-1]
