"""Every mistake of the table is made and corrected, and the cluster is Ready without anybody touching anything else;
the document names each.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraft_operator.api.reader import InvalidSpec
from kraft_operator.status import status
from support.operator_model.mistakes import BASE, MISTAKES, Mistake
from support.operator_model.world import World

pytestmark = pytest.mark.unit

DOCUMENT = Path(__file__).parents[3] / "docs" / "operations" / "mistakes.md"


def refused(world: World, mistake: Mistake) -> str | None:
    """The path of the field that is refused; the cluster goes on as it is."""
    try:
        world.edit(**{**BASE, **mistake.wrong})
    except InvalidSpec as error:
        return error.path
    return None


def live_with_it(world: World) -> set[str]:
    """All reasons that are given until nothing moves, or for long."""
    told, quiet = set[str](), 0
    for _ in range(40):
        decision = world.reconcile()
        found = status(world.cluster, world.observed(), decision, {}, "t")
        told |= {each.reason for each in decision.findings} | {each["reason"] for each in found["conditions"]}
        moved = world.kubelet() or decision.actions or world.waiting(decision)
        quiet = 0 if moved else quiet + 1
        if quiet == 2:
            break
    return told


def await_ready(world: World) -> None:
    found: dict[str, str] = {}
    for _ in range(120):
        decision = world.reconcile()
        written = status(world.cluster, world.observed(), decision, {}, "t")
        found = {
            each["type"]: f"{each['status']} {each['reason']}: {each['message']}" for each in written["conditions"]
        }
        if not world.kubelet() and not decision.actions and found["Ready"].startswith("True"):
            break
    assert found["Ready"].startswith("True"), found
    assert not found.get("Stalled", "").startswith("True"), found
    wanted = {node_id for group in world.cluster.spec.groups for node_id in group.node_ids}
    assert set(world.pods) == wanted
    assert not world.broken, world.broken


def make(world: World, mistake: Mistake) -> None:
    mistake.around(world)
    path = refused(world, mistake)
    if path is not None:
        assert path == mistake.says
        return
    told = live_with_it(world)
    assert not mistake.says or told & set(mistake.says.split("|")), sorted(told)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.name)
def test_a_mistake_on_a_cluster_that_runs_is_over_once_it_is_corrected(mistake: Mistake) -> None:
    world = World(**BASE)
    world.settle(80)
    make(world, mistake)
    world.edit(**{**BASE, **mistake.right})
    await_ready(world)


@pytest.mark.parametrize("mistake", [each for each in MISTAKES if each.new], ids=lambda each: each.name)
def test_a_mistake_from_the_beginning_is_over_once_it_is_corrected(mistake: Mistake) -> None:
    world = World(**BASE)
    make(world, mistake)
    world.edit(**{**BASE, **mistake.right})
    await_ready(world)


def test_the_document_names_every_mistake_and_no_other() -> None:
    named = re.findall(r"^\| ([^|]+?) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert [each for each in named if each not in ("mistake", "---")] == [each.name for each in MISTAKES]
    assert len({each.name for each in MISTAKES}) == len(MISTAKES) >= 40
