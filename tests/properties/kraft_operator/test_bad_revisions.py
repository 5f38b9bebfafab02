"""Random histories of good and bad revisions, operator deaths and lost pods around the real planner.

(i) A bad revision reaches at most one pod by the operator's hand. (ii) The voters keep a majority that runs throughout.
(iii) Once the resource asks for something good, every pod runs it and serves; while it asks for something bad, every
pod runs what was good before.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from kraft_operator.actions import RestartPod
from kraft_operator.plan.situation import Decision
from support.operator_model.world import World

pytestmark = pytest.mark.properties

EXAMPLES = 1000 if os.environ.get("QUORATE_SOAK") else 4
BAD = (7, 8, 9)
EVENTS = ("good", "bad", "again", "die", "take over", "commit", "delete pod")
ROLLOUT = {"readyTimeout": "12s"}


def image(tag: int) -> dict[str, object]:
    return {"repository": "kafka", "tag": str(tag)}


def next_image(world: World, pod: str) -> str:
    live = world.children["StatefulSet", pod.removesuffix("-0")].live
    return str(live["spec"]["template"]["spec"]["containers"][0]["image"])


def one_pass(world: World, into: dict[str, list[str]], stop_after: int | None = None) -> Decision:
    """A pass, with a note of every restart that gives a pod a bad image: what its set says at that very moment."""
    decision = world.plan()
    for count, action in enumerate(decision.actions):
        if count == stop_after:
            break
        if isinstance(action, RestartPod):
            into.setdefault(next_image(world, action.pod), []).append(action.pod)
        world.perform(action)
    return decision


@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 30), st.integers(0, 9)), max_size=14))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_bad_revision_reaches_one_pod_and_goes_back(history: list[tuple[str, int, int]]) -> None:
    world, into = World(), dict[str, list[str]]()
    for tag in BAD:
        world.break_image(tag)
    world.settle()
    for event, number, moves in history:
        note(f"{event} {number}")
        match event:
            case "good":
                world.edit(image=image(number % 4 + 1), rollout=ROLLOUT)
            case "bad":
                world.edit(image=image(BAD[number % len(BAD)]), rollout=ROLLOUT)
            case "die":
                one_pass(world, into, stop_after=number % 5)
            case "take over":
                world.take_over()
                world.waited.clear()
            case "commit":
                world.write_metadata()
            case "delete pod":
                world.delete_pod(100 + number % 2)
            case _:
                pass
        for _ in range(moves):
            one_pass(world, into)
            world.kubelet()
            assert len(world.running_voters()) >= 2
            assert not world.broken, world.broken
    world.edit(image=image(5), rollout=ROLLOUT)
    settle(world, into)
    assert {pod.image for pod in world.pods.values()} == {"kafka:5"}
    assert set(world.running_voters()) == {0, 1, 2}
    world.edit(image=image(9), rollout=ROLLOUT)
    before = {node: pod.uid for node, pod in world.pods.items()}
    settle(world, into)
    assert {pod.image for pod in world.pods.values()} == {"kafka:5"}
    assert all(pod.stage == "running" for pod in world.pods.values())
    assert sum(pod.uid != before[node] for node, pod in world.pods.items()) == 1
    for tag in BAD:
        again = sum(event == "bad" for event, _, _ in history) + 1
        assert len(into.get(f"kafka:{tag}", [])) <= again


def settle(world: World, into: dict[str, list[str]]) -> None:
    quiet = 0
    for _ in range(200):
        decision = one_pass(world, into)
        quiet = 0 if world.kubelet() or decision.actions or world.waiting(decision) else quiet + 1
        if quiet > 3:
            return
    raise AssertionError("still moving")
