"""The rules run forward: what an action makes of what is seen is what the model of Kubernetes makes of it, and what is
published of the way ahead is what is done: these steps and no others, under one name, from wherever edits and faults
have left the cluster.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from kraft_operator.plan.outline.forward import way
from kraft_operator.plan.outline.named import named
from kraft_operator.plan.rules import by_the_rules
from kraft_operator.plan.steps import Approved, StepState
from support.operator_model.compared import compare
from support.operator_model.world import World, pool

pytestmark = pytest.mark.properties

EXAMPLES = 1000 if os.environ.get("QUORATE_SOAK") else 10
EDITS = ("grow brokers", "shrink brokers", "grow controllers", "shrink controllers", "image", "grow volumes", "sleep")
BACK = "back"
FAULTS = ("delete pod", "delete claim", "wipe", "freeze", "thaw", "take over", "move", "ghost", "drift", "commit")
COME: tuple[str, ...] = ("catch-up", "form-quorum")
"""Kinds of step that are nobody's action."""
DISRUPTIVE = ("restart", "remove-voter", "add-voter", "hold", "unregister", "grow", "remake-set")
"""Kinds of step whose order matters."""
HISTORIES = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def controllers(count: int) -> dict[str, object]:
    return {"replicas": count, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}


def changes_of(what: str) -> dict[str, object]:
    match what:
        case "grow brokers" | "shrink brokers":
            return {"brokerPools": [pool("b", 3 if what == "grow brokers" else 1, 100)]}
        case "grow controllers" | "shrink controllers":
            return {"controllers": controllers(5 if what == "grow controllers" else 1)}
        case "grow volumes":
            return {"brokerPools": [{**pool("b", 2, 100), "storage": {"size": "2Gi"}}]}
        case "image":
            return {"image": {"repository": "kafka", "tag": "2"}}
        case "sleep":
            return {"lifecycle": {"state": "Hibernated"}}
        case _:
            return {}


def published(world: World) -> list[str]:
    return [each.id for each in world.published.ahead]


def taken_to_the_end(world: World) -> list[str]:
    """The steps that are really taken until nothing moves, each where it is taken first. One plan is carried out."""
    found: dict[str, None] = {}
    plans = {world.published.hash}
    quiet = 0
    for _ in range(200):
        now = world.situation()
        decision = world.reconcile()
        plans |= {decision.outline.hash}
        found |= dict.fromkeys(each.id for each in named(decision.actions, replace(now, ledger=decision.ledger)))
        moved = world.kubelet()
        quiet = 0 if moved or decision.actions or world.waiting(decision) else quiet + 1
        if quiet == 3:
            assert len(plans - {""}) <= 1, "another plan was needed"
            return list(found)
    raise AssertionError("still moving")


def until_the_quorum_answers(world: World) -> None:
    """Of a cluster that sleeps it never does."""
    for _ in range(10):
        if world.situation().observed.quorum.proven or not any(each.replicas for each in world.sets.values()):
            return
        world.kubelet()
        world.reconcile()


def in_order(steps: list[str], among: list[str]) -> list[str]:
    return [each for each in steps if each in among and each.split("/")[0] in DISRUPTIVE]


# the model


def strike(world: World, fault: str, number: int) -> None:
    nodes = sorted(world.pods)
    node_id = nodes[number % len(nodes)] if nodes else 0
    match fault:
        case "delete pod":
            world.delete_pod(node_id)
        case "delete claim" if node_id in world.pods:
            world.delete_claim(node_id)
        case "wipe" if node_id in world.pods:
            world.wipe(node_id)
        case "freeze" if node_id in world.pods:
            world.freeze(node_id)
        case "thaw":
            world.frozen.clear()
        case "take over":
            world.take_over()
        case "move":
            world.serve_reassignment()
            world.place("t", *[each for each in nodes if each >= 100][:2])
        case "ghost":
            world.ghost(150 + number)
        case "drift" if number % 3 in world.voters:
            world.drift(number % 3)
        case _:
            world.write_metadata()


@given(
    st.lists(st.tuples(st.sampled_from((*EDITS, BACK, *FAULTS)), st.integers(0, 30), st.integers(0, 5)), max_size=10)
)
@HISTORIES
def test_an_action_makes_of_what_is_seen_what_the_model_of_kubernetes_makes_of_it(
    history: list[tuple[str, int, int]],
) -> None:
    world = World()
    for what, number, passes in [("begin", 0, 12), *history, ("end", 0, 6)]:
        note(f"{what} {number}, {passes} passes")
        if what in EDITS or what == BACK:
            world.edit(**changes_of(what))
        elif what in FAULTS:
            strike(world, what, number)
        for _ in range(passes):
            for action in world.plan().actions:
                compare(world, action)
            world.kubelet()


# the way


def shake(world: World, history: list[tuple[str, int, int]]) -> None:
    for what, number, passes in history:
        note(f"{what} {number}, {passes} passes")
        if what in EDITS or what == BACK:
            world.edit(**changes_of(what))
        else:
            strike(world, what, number)
        for _ in range(passes):
            world.reconcile()
            world.kubelet()


def until_all_is_known(world: World) -> bool:
    """Guards have looked, the quorum answers, and what is suspected has stood for its time. False where a person has to
    mend something first, or a disk was emptied of a node that sleeps: of these nothing is known ahead."""
    for _ in range(3):
        world.kubelet()
    until_the_quorum_answers(world)
    for _ in range(4):
        world.plan()
    decision = world.plan()
    asleep = not any(each.replicas for each in world.sets.values())
    seen = {pod.claim for pod in world.pods.values() if pod.stage != "inspect"}
    unseen = [name for name, claim in world.claims.items() if name not in seen and claim.volume in world.wiped]
    return (asleep or world.leader() >= 0) and not unseen and not any(each.stalled for each in decision.findings)


SHAKEN = st.tuples(st.sampled_from((*EDITS, BACK, "delete pod", "delete claim", "wipe", "take over", "move")),
    st.integers(0, 30), st.integers(0, 5))  # fmt: skip


@given(st.lists(SHAKEN, min_size=1, max_size=4))
@example([("image", 0, 2), (BACK, 0, 0), ("shrink controllers", 0, 0)])  # one that leaves has an older revision
@example([("shrink brokers", 0, 1), ("image", 0, 3), ("grow volumes", 0, 0)])  # one that was leaving stays
@example([("delete claim", 0, 2), ("image", 0, 0)])
@example([("image", 0, 4), ("sleep", 0, 5)])  # nobody is restarted on the way to sleep
@example([("shrink controllers", 0, 3), ("sleep", 0, 5), ("move", 28, 3)])  # nor made a voter
@example([("wipe", 1, 0), ("image", 0, 3), ("grow controllers", 0, 1)])  # a disk that was emptied stays empty
@example([("grow brokers", 0, 4), ("sleep", 0, 0), ("wipe", 18, 4)])  # and nobody who is held is formatted
@example([("shrink controllers", 0, 5), ("wipe", 3, 5), ("image", 0, 2)])
@HISTORIES
def test_what_is_published_is_what_is_done(history: list[tuple[str, int, int]]) -> None:
    """Also for edits and faults in the middle of another's way, once what has happened is known. A grant that was
    delivered before, and a restart whose pod is not back, are still on their way."""
    world = World()
    world.settle()
    shake(world, history[:-1])
    shake(world, [(*history[-1][:2], 0)])
    if not until_all_is_known(world):
        return
    if world.published.approved is Approved.NO:
        world.approve()
        world.plan()
    begun = {f"grant/{node_id}" for node_id, pod in world.pods.items() if pod.grant is not None}
    begun |= {each.id for each in world.published.ahead if each.id.startswith("restart/")} & {
        each.id for each in world.published.ahead if each.state is StepState.RUNNING
    }
    steps = {each for each in published(world) if each.split("/")[0] not in COME}
    assert set(taken_to_the_end(world)) | begun == steps | begun


@pytest.mark.parametrize("what", EDITS[:-1])
def test_from_a_cluster_at_rest_the_steps_are_published_in_the_order_in_which_they_are_taken(what: str) -> None:
    world = World()
    world.settle()
    world.edit(**changes_of(what))
    world.plan()
    steps = published(world)
    assert in_order(taken_to_the_end(world), steps) == in_order(steps, steps)


def test_a_lost_voter_is_published_as_it_is_replaced() -> None:
    world = World()
    world.settle()
    world.delete_claim(1)
    for _ in range(6):
        world.plan()
    assert [each.partition("/")[0] for each in published(world)] == ["remove-voter", "grant", "catch-up", "add-voter"]


def test_a_way_that_is_taken_back_announces_no_restart_to_it() -> None:
    """One pod of five has the new image when the old one is asked for again: nobody else is restarted."""
    world = World()
    world.settle()
    world.edit(**changes_of("image"))
    while not world.restarts:
        world.reconcile()
        world.kubelet()
    only = f"restart/{world.restarts[0]}"
    world.edit()
    world.plan()
    restarts = [each for each in published(world) if each.startswith("restart/")]
    assert restarts == [only]
    assert [each for each in taken_to_the_end(world) if each.startswith("restart/")] == restarts


def test_at_rest_nothing_is_on_the_way_and_few_passes_show_it() -> None:
    world = World()
    world.settle()
    at_rest = way(world.situation(), by_the_rules)
    assert at_rest.steps == ()
    assert at_rest.complete
    assert at_rest.passes <= 2
