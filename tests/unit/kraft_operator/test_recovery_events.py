"""The stages of a RecoverQuorum as Events of its cluster: each told once, and its end only when the quorum is whole
again.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.events import notes
from kraft_operator.operations.operation import parse_operation
from kraft_operator.status import status
from support.operator_model.world import World

pytestmark = pytest.mark.unit

TOLD = ("RecoveryStepCompleted", "QuorumRestored")


def followed(world: World, passes: int = 25) -> list[tuple[str, str]]:
    """Of each pass: what it tells of the recovery."""
    found: list[tuple[str, str]] = []
    old: dict[str, Any] = {}
    for _ in range(passes):
        before = world.ledger
        decision = world.reconcile()
        new = status(world.cluster, world.observed(), decision, old, "t")
        found += [(each.reason, each.text) for each in notes(old, new, before, world.ledger, ()) if each.reason in TOLD]
        old = new
        world.kubelet()
    return found


def asked() -> World:
    world = World()
    world.settle()
    world.write_metadata()
    world.delete_claim(0)
    world.delete_claim(1)
    world.ask("r", "RecoverQuorum")
    return world


def test_every_stage_is_told_once_and_the_end_when_the_quorum_is_whole() -> None:
    world = asked()
    assert followed(world) == [
        ("RecoveryStepCompleted", "recovery of the quorum: Fence begins"),
        ("RecoveryStepCompleted", "recovery of the quorum: Fence is done, Collect begins"),
    ]
    world.trust("r", str(parse_operation(world.operations["r"]).status["verdict"]["hash"]))
    assert followed(world) == [
        ("RecoveryStepCompleted", "recovery of the quorum: Collect is done, ForceStandalone begins"),
        ("RecoveryStepCompleted", "recovery of the quorum: ForceStandalone is done, SetAside begins"),
        ("RecoveryStepCompleted", "recovery of the quorum: SetAside is done, Rejoin begins"),
        ("QuorumRestored", "every controller is a live voter of the new quorum"),
    ]


def test_a_recovery_that_is_cancelled_has_restored_nothing() -> None:
    world = asked()
    followed(world, 10)
    del world.operations["r"]
    assert followed(world, 10) == []
