"""Who may speak against a revision, and what keeps a rolled-back group where it is when other rules are at work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraft_operator.actions import ApplyChild, RestartPod
from kraft_operator.ledger_format import parse, render
from kraft_operator.operations.recovery import Recovery, Stage
from support.operator_model.world import PASS_SECONDS, World

pytestmark = pytest.mark.unit

QUICK = {"readyTimeout": "12s"}
PASSES = round(12 / PASS_SECONDS) + 2


def quarantined() -> World:
    world = World()
    world.settle()
    world.break_image(9)
    world.edit(image={"repository": "kafka", "tag": "9"}, rollout=QUICK)
    world.settle()
    assert world.ledger is not None
    assert [each.node_id for each in world.ledger.bad] == [1]
    return world


def images_applied(world: World) -> set[str]:
    manifests = [each.manifest for each in world.plan().actions if isinstance(each, ApplyChild)]
    sets = [each for each in manifests if each["kind"] == "StatefulSet"]
    return {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in sets}


def test_a_recovery_gives_no_pod_the_bad_revision() -> None:
    world = quarantined()
    assert world.ledger is not None
    world.ledger_data = render(replace(world.ledger, recovery=Recovery(Stage.FENCE)))
    assert images_applied(world) == {"kafka:1"}


def test_the_ledger_keeps_what_is_known_of_revisions() -> None:
    ledger = quarantined().ledger
    assert ledger is not None
    assert parse(render(ledger)) == ledger
    assert {each.group for each in ledger.good} == {"controller", "b"}


@pytest.mark.parametrize(
    "inputs", ["{", "{}", "[]", '{"shared":{"probes":"?"},"own":{},"restart":"","operatorImage":"i"}']
)
def test_what_a_good_revision_was_made_of_may_be_unknown_to_this_operator(inputs: str) -> None:
    """Of another operator's words nothing is made, and everything else goes on."""
    world = quarantined()
    assert world.ledger is not None
    good = tuple(replace(each, inputs=inputs) for each in world.ledger.good)
    world.ledger_data = render(replace(world.ledger, good=good))
    told = [each.message for each in world.plan().findings if each.reason == "BadRevision"]
    assert "the last good revision cannot be read any more" in told[0]


def test_a_broker_that_does_not_serve_without_a_quorum_tells_nothing_about_its_revision() -> None:
    world = World()
    world.settle()
    world.edit(config={"broker": {"explode": "yes"}}, rollout=QUICK)
    while not world.restarts:
        world.reconcile()
    for node_id in (0, 1):
        world.freeze(node_id)
    for _ in range(PASSES):
        world.kubelet()
        world.reconcile()
    assert world.ledger is not None
    assert not world.ledger.bad
    world.frozen.clear()
    for _ in range(PASSES + 1):
        world.kubelet()
        world.reconcile()
    assert [each.node_id for each in world.ledger.bad] == [100]


def test_nothing_is_restarted_twice_for_a_bad_revision() -> None:
    world = quarantined()
    restarts = [each for each in world.writes if isinstance(each, RestartPod)]
    assert [each.pod for each in restarts] == ["c-controller-1-0", "c-controller-1-0"]
