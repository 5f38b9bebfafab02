"""A storage class that does not exist: who waits for it is told at once, with a way out that costs no data."""

from __future__ import annotations

import pytest

from support.operator_model.world import World, pool

pytestmark = pytest.mark.unit


def with_pool(replicas: int) -> list[dict[str, object]]:
    return [pool("b", 1, 100), {**pool("c", replicas, 200), "storage": {"size": "1Gi", "storageClassName": "fats"}}]


def told(world: World) -> list[str]:
    """What is said of the class; nothing that runs was touched."""
    running = {node: pod.uid for node, pod in world.pods.items() if pod.runs}
    found = world.settle(20)
    assert {node: world.pods[node].uid for node in running} == running
    return [each.message for each in found.findings if each.reason == "VolumeClassMissing"]


def test_a_pool_without_any_volume_may_be_made_again() -> None:
    world = World(brokerPools=[pool("b", 1, 100)])
    world.settle()
    world.missing_classes.add("fats")
    world.edit(brokerPools=with_pool(2))
    assert told(world) == [
        (
            "create storage class fats (kubectl get storageclass shows those that are there), or volumes that name it: "
            "claims data-c-c-200-0 and data-c-c-201-0 wait for one. To have another class instead: give pool c "
            "replicas 0, take it out, delete these claims, and put it in again"
        )
    ]
    world.edit(brokerPools=with_pool(0))
    assert told(world) == []


def test_nobody_is_told_to_make_again_what_has_data() -> None:
    world = World(brokerPools=with_pool(1))
    world.settle()
    world.missing_classes.add("fats")
    world.edit(brokerPools=with_pool(2))
    assert told(world) == [
        (
            "create storage class fats (kubectl get storageclass shows those that are there), or volumes that name it: "
            "claim data-c-c-201-0 waits for one"
        )
    ]
