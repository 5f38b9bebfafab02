"""A ledger or a memory that has no more room says so before anything is lost, and goes on once there is room."""

from __future__ import annotations

import pytest

from kraft_operator.claim_memory import KEY
from kraft_operator.ledger import MAX_NODES
from kraft_operator.ledger_format import parse
from support.operator_model.full_ledgers import remove_brokers, write_off
from support.operator_model.world import World, pool, refused

pytestmark = pytest.mark.unit


def formed() -> World:
    world = World()
    world.settle()
    return world


def test_a_node_for_which_the_ledger_has_no_room_gets_no_disk_and_the_ledger_stays_readable() -> None:
    world = formed()
    remove_brokers(world, MAX_NODES - 5)
    world.edit(brokerPools=[pool("b", 3, 100)])
    assert "LedgerFull" in refused(world.settle())
    assert world.ledger is not None
    assert len(world.ledger.kept_whole) == MAX_NODES
    assert 102 not in world.registered
    for node_id in range(5000, 5010):
        world.forget_claim(node_id)
    assert not refused(world.settle())
    assert world.registered == {100, 101, 102}
    assert parse(world.ledger_data or {}) == world.ledger


def test_a_memory_that_no_claim_can_hold_is_said_with_a_remedy() -> None:
    world = formed()
    before = world.claims["data-c-controller-0-0"].marks[KEY]
    write_off(world, 4000)
    (told,) = [each for each in world.reconcile().findings if each.reason == "MemoryTooLarge"]
    assert told.stalled
    assert "delete the volume claims of removed brokers" in told.message
    assert world.claims["data-c-controller-0-0"].marks[KEY] == before
    write_off(world, 10)
    assert not refused(world.settle())
    assert world.claims["data-c-controller-0-0"].marks[KEY] != before
