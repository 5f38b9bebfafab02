"""Random pools that shrink and grow, images and levels, operator deaths: what must hold in every one of them.

(i) A partition keeps the number of its replicas, on brokers that differ, and a broker that is unregistered holds none.
(ii) A level is never made final that a registered node does not support, and never lowered. (iii) When nobody edits any
more, the pool is as large as was asked for, but for brokers that hold a partition which the brokers asked for cannot
take over: only these are cordoned. The level is what was asked for unless a ghost stands in the way.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from kraft_operator.actions import UnregisterBroker
from kraft_operator.plan.situation import Decision
from support.operator_model.world import CORDONS, World, pool

pytestmark = pytest.mark.properties

EXAMPLES = 500 if os.environ.get("QUORATE_SOAK") else 5
EVENTS = ("size", "size", "image", "place", "die", "take over", "ghost", "commit")


def one_pass(world: World, stop_after: int | None = None) -> Decision:
    decision = world.plan()
    for count, action in enumerate(decision.actions):
        if count == stop_after:
            break
        if isinstance(action, UnregisterBroker):
            held = [key for key, replicas in world.partitions.items() if action.node_id in replicas]
            assert not held, f"broker {action.node_id} is unregistered and holds {held}"
        world.perform(action)
    return decision


def come_to_rest(world: World) -> None:
    quiet = 0
    for _ in range(300):
        decision = one_pass(world)
        quiet = 0 if world.kubelet() or decision.actions or world.waiting(decision) else quiet + 1
        if quiet > 2:
            return
    raise AssertionError("still moving")


def spec(size: int, image: int) -> dict[str, object]:
    return {
        "brokerPools": [pool("b", size, 100)],
        "image": {"repository": "kafka", "tag": str(image)},
        "metadataVersion": {"policy": "FollowVersionAfterSoak", "soak": "8s"},
    }


@example(
    factors=[1, 1, 2], history=[("size", 0, 0)]
)  # two replicas on 102 and 103: one of them moves to 100, the other has no place
@given(
    st.lists(st.integers(1, 3), max_size=4),
    st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 30), st.integers(0, 8)), max_size=10),
)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_history_loses_a_replica_or_lowers_a_level(factors: list[int], history: list[tuple[str, int, int]]) -> None:
    size, image = 4, 1
    world = World(**spec(size, image))
    world.serve_reassignment()
    world.settle(80)
    for number, factor in enumerate(factors):
        world.place("t", *[100 + (number + each) % 4 for each in range(factor)])
    sizes = {key: len(replicas) for key, replicas in world.partitions.items()}
    levels = [world.finalized["metadata.version"]]
    for event, number, moves in history:
        note(f"{event} {number}: {world.partitions} {world.registered} {world.finalized}")
        match event:
            case "size":
                size = 1 + number % 4
            case "image":
                image = max(image, 1 + number % 3)
            case "place":
                here = sorted(world.registered & set(world.cluster.spec.broker_pools[0].node_ids))
                if here:
                    world.place("u", here[number % len(here)])
                    sizes = {key: len(replicas) for key, replicas in world.partitions.items()}
            case "die":
                one_pass(world, stop_after=number % 5)
            case "take over":
                world.take_over()
                world.waited.clear()
            case "ghost":
                world.ghost(150 + number)
            case _:
                world.write_metadata()
        world.edit(**spec(size, image))
        for _ in range(moves):
            one_pass(world)
            world.kubelet()
            levels.append(world.finalized["metadata.version"])
            assert not world.broken, world.broken
            for key, replicas in world.partitions.items():
                assert len(set(replicas)) == sizes[key], f"{key} is on {replicas}"
    come_to_rest(world)
    for key, replicas in world.partitions.items():
        assert len(set(replicas)) == sizes[key], f"{key} is on {replicas}"
    levels.append(world.finalized["metadata.version"])
    assert levels == sorted(levels)
    assert levels[-1] == 28 + image
    asked = set(range(100, 100 + size))
    assert world.registered >= asked
    for broker in world.registered - asked:
        kept = [each for each in world.partitions.values() if broker in each and asked <= set(each)]
        assert kept, f"nothing keeps broker {broker}: {world.partitions}"
    assert world.cordoned == (world.registered - asked if levels[-1] >= CORDONS else set())
