"""Mode Plan under random histories of faults and edits: without approval nothing is written but what was learned, and
with it all goes as ever.

The published way is a promise, too: whoever approves what is published, once, is asked again only when a fault or an
edit made something else necessary. A way that is laid out while the quorum cannot be asked promises less: what only the
quorum tells is not guessed, and is asked for later.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from kraft_operator.actions import Action, AnnotateClaim, ApplyChild, NudgePod, Remember, TellRack, WriteLedger
from kraft_operator.ledger import Ledger
from support.operator_model.world import World, pool

pytestmark = pytest.mark.properties

EXAMPLES = 1000 if os.environ.get("QUORATE_SOAK") else 12
PLANNED = {"mode": "Plan"}
EDITS = (
    "grow brokers",
    "shrink brokers",
    "grow controllers",
    "shrink controllers",
    "image",
    "grow volumes",
    "sleep",
    "back",
)
FAULTS = ("delete pod", "delete claim", "wipe", "freeze", "thaw", "take over", "die", "commit", "delete cluster")


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


def edit(world: World, what: str) -> None:
    world.edit(changePolicy=PLANNED, **changes_of(what))


def controllers(count: int) -> dict[str, object]:
    return {"replicas": count, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}


def strike(world: World, fault: str, number: int) -> None:
    nodes = sorted(world.pods)
    node_id = nodes[number % len(nodes)] if nodes else None
    match fault:
        case "delete pod" if node_id is not None:
            world.delete_pod(node_id)
        case "delete claim" if node_id is not None:
            world.delete_claim(node_id)
        case "wipe" if node_id is not None:
            world.wipe(node_id)
        case "freeze" if node_id is not None:
            world.freeze(node_id)
        case "thaw":
            world.frozen.clear()
        case "take over":
            world.take_over()
        case "die":
            world.reconcile(stop_after=number % 3)
        case "commit":
            world.write_metadata()
        case "delete cluster":
            world.delete_cluster()
        case _:
            pass


def permitted(ledger: Ledger | None) -> tuple[object, ...]:
    """What of a ledger is no fact but a permission or a decision."""
    if ledger is None:
        return ()
    return (
        ledger.cluster_id, ledger.controllers, ledger.initial_controllers, ledger.written_off,
        tuple((each.node_id, each.grant, each.retired, each.replaces) for each in ledger.entries),
    )  # fmt: skip


def is_upkeep(action: Action) -> bool:
    match action:
        case WriteLedger() | AnnotateClaim() | Remember() | TellRack() | NudgePod():
            return True
        case ApplyChild(manifest):
            return (manifest["kind"], manifest["metadata"]["name"]) == ("PodDisruptionBudget", "c-controller")
        case _:
            return False


def approved(world: World) -> None:
    """Approve whatever is published until nothing moves."""
    for _ in range(6):
        world.plan()
        world.approve()
        world.settle(200)
        if not world.published.steps:
            return


@given(st.lists(st.tuples(st.sampled_from(EDITS + FAULTS), st.integers(0, 30), st.integers(0, 4)), max_size=12))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_without_approval_no_history_leads_to_more_than_facts_and_the_voters_budget(
    history: list[tuple[str, int, int]],
) -> None:
    world = World(changePolicy=PLANNED)
    approved(world)
    assert set(world.running_voters()) == {0, 1, 2}
    world.reconcile()
    before, steps = permitted(world.ledger), world.ledger.journal if world.ledger else ()
    world.writes.clear()
    for what, number, moves in history:
        note(f"{what} {number}")
        if what in EDITS:
            edit(world, what)
        else:
            strike(world, what, number)
        for _ in range(moves):
            world.reconcile()
            world.kubelet()
    assert not [each for each in world.writes if not is_upkeep(each)]
    assert permitted(world.ledger) == before
    assert world.ledger is not None
    assert set(world.ledger.journal) <= set(steps)
    assert not world.broken


def test_a_cluster_that_nobody_approved_is_not_even_begun() -> None:
    world = World(changePolicy=PLANNED)
    for _ in range(5):
        world.reconcile()
        world.kubelet()
    assert world.writes == []
    assert len(world.published.steps) > 10


def until_the_quorum_answers(world: World) -> None:
    """The only controller may be restarting just now."""
    for _ in range(10):
        if world.leader() >= 0:
            return
        world.kubelet()
    raise AssertionError("the quorum does not come back by itself")


@given(st.lists(st.tuples(st.sampled_from(EDITS[:-2]), st.integers(0, 3)), min_size=1, max_size=4))
@example([("grow volumes", 3), ("grow brokers", 0)])  # volumes never shrink
@example([("grow volumes", 2), ("image", 0)])  # a set is being made anew when its template changes
@example([("grow volumes", 3), ("shrink brokers", 0)])  # the set of the broker that leaves is
@example([("shrink brokers", 1), ("image", 3), ("grow volumes", 0)])  # a broker that was on its way out stays
@example([("shrink controllers", 1), ("shrink controllers", 1), ("grow brokers", 0)])  # a node came back with its disk
@example(
    [("shrink controllers", 1), ("shrink controllers", 3), ("image", 3), ("grow brokers", 0)]
)  # the only voter restarts
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_one_approval_is_enough_for_a_way_on_which_nothing_goes_wrong(history: list[tuple[str, int]]) -> None:
    """Also for edits in the middle of another's way: each edit needs one approval, no more, and ends where mode Apply
    ends.
    """
    world, other = World(changePolicy=PLANNED), World()
    approved(world)
    other.settle()
    for what, moves in history:
        note(f"{what}, {moves} passes")
        edit(world, what)
        other.edit(**changes_of(what))
        until_the_quorum_answers(world)
        world.plan()
        world.approve()
        for _ in range(moves):
            for each in (world, other):
                each.reconcile()
                each.kubelet()
    name = world.published.hash
    world.settle(200)
    other.settle(200)
    assert world.published.hash in ("", name)
    assert world.published.steps == ()
    assert set(world.voters) == set(other.voters)
    assert world.registered == other.registered
    assert set(world.sets) == set(other.sets)
