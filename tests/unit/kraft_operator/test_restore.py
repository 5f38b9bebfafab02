"""A cluster that comes out of a backup: nothing starts before its copies were compared, and the newest of them is the
seed.
"""

from __future__ import annotations

import pytest

from kraft_operator.operations.operation import parse_operation
from kraft_operator.plan.situation import Decision
from support.operator_model.world import World

pytestmark = pytest.mark.unit

ADOPT: dict[str, object] = {"bootstrap": {"policy": "AdoptOnly"}}


def of_two_times(with_ledger: bool = True) -> tuple[World, int]:
    """Controllers 0 and 1 as they were earlier, controller 2 and the brokers as they were later; the log's end of the
    later ones.
    """
    world = World()
    world.settle(80)
    for _ in range(5):
        world.write_metadata()
    earlier = {node: world.copy_of(node) for node in (0, 1)}
    for _ in range(20):
        world.write_metadata()
    end = world.acknowledged
    world.restore_from_backup(earlier, with_ledger=with_ledger)
    world.edit(**ADOPT)
    return world, end


def said(decision: Decision) -> set[str]:
    return {each.reason for each in decision.findings}


def status(world: World) -> dict[str, object]:
    return dict(parse_operation(world.operations["r"]).status)


@pytest.mark.parametrize("with_ledger", [True, False])
def test_nothing_starts_before_the_copies_were_compared(with_ledger: bool) -> None:
    world, _ = of_two_times(with_ledger)
    decision = world.settle(80)
    assert "RestoredFromBackup" in said(decision)
    assert world.pods == {}


@pytest.mark.parametrize("with_ledger", [True, False])
def test_the_newest_copy_is_named_and_the_cluster_starts_from_it_once_that_is_approved(with_ledger: bool) -> None:
    world, end = of_two_times(with_ledger)
    world.settle(80)
    formats = len(world.formats)
    world.ask("r", "Restore")
    world.settle(80)
    told = status(world)
    assert told["phase"] == "WaitingApproval"
    assert f"node 2's copy, which ends at offset {end}" in str(told["message"])
    assert told["verdict"]["verdict"] == "NoObservedLoss", "copies of a backup prove nothing about what came after them"  # type: ignore[index]
    assert "node 0 ends" in str(told["message"])
    assert world.pods == {}
    world.trust("r", str(told["verdict"]["hash"]))  # type: ignore[index]
    world.settle(160)
    assert status(world)["phase"] == "Succeeded"
    assert len(world.running_voters()) == 3
    assert world.acknowledged >= end
    assert {node for _, _, node, _ in world.formats[formats:]} == {0, 1, 2}, "no broker's disk was formatted"
    assert all(world.pods[broker].runs for broker in (100, 101))
    assert not world.broken
    assert "RestoredFromBackup" not in said(world.settle())


def test_another_hash_starts_nothing() -> None:
    world, _ = of_two_times()
    world.settle(80)
    world.ask("r", "Restore")
    world.settle(80)
    world.trust("r", "000000000000")
    world.settle(80)
    assert status(world)["phase"] == "WaitingApproval"
    assert world.pods == {}


def test_a_cluster_that_was_not_restored_refuses_it() -> None:
    world = World()
    world.settle(80)
    world.ask("r", "Restore")
    world.settle()
    assert status(world)["phase"] == "Rejected"


def test_one_restored_claim_of_three_holds_nobody() -> None:
    world = World()
    world.settle(80)
    world.restore_claim(2)
    world.settle(80)
    assert len(world.running_voters()) == 3
