"""The ledger deleted, or replaced by an older one: what must not be forgotten is written down on the controllers'
claims, too.
"""

from __future__ import annotations

import pytest

from kraft_operator.claim_memory import kept, parse
from kraft_operator.ledger import Ledger, Origin
from kraft_operator.plan.situation import Decision
from storage_guard.facts import VolumeFacts
from support.operator_model.world import World, pool

pytestmark = pytest.mark.unit

ONE_BROKER = {"brokerPools": [pool("b", 1, 100)]}


def settled(**changes: object) -> World:
    world = World(**changes)
    world.settle(80)
    return world


def known(memory: str) -> Ledger:
    """What it keeps, whatever the write."""
    found = parse(memory)
    assert found is not None
    return kept(found)


def said(decision: Decision) -> set[str]:
    return {each.reason for each in decision.findings}


def test_a_broker_whose_claim_was_made_anew_is_not_formatted_because_the_ledger_was_deleted() -> None:
    world = settled()
    world.place("t", 100)
    world.settle()
    formats = list(world.formats)
    world.delete_claim(100)
    assert "DataLossPending" in said(world.settle())
    world.lose_ledger()
    assert "DataLossPending" in said(world.settle())
    assert world.formats == formats


def test_a_broker_that_was_removed_does_not_come_back_when_the_ledger_is_deleted() -> None:
    world = settled()
    world.edit(**ONE_BROKER)
    world.settle(80)
    assert 101 not in world.pods
    world.lose_ledger()
    for _ in range(10):
        world.reconcile()
        assert 101 not in world.sets
        world.kubelet()
    entry = world.ledger.entry(101) if world.ledger else None
    assert entry is not None
    assert entry.retired


def test_a_directory_that_was_written_off_stays_so_when_the_ledger_is_deleted() -> None:
    world = settled()
    old = world.copy_of(2)
    world.wipe(2)
    world.settle(80)
    assert world.ledger is not None
    gone = world.ledger.written_off
    assert [each.node_id for each in gone] == [2]
    world.lose_ledger()
    world.settle()
    assert world.ledger.written_off == gone
    world.restore(2, old)
    world.settle(80)
    assert old.identity is not None
    assert old.identity.directory_id not in world.running_controllers().values()


def test_a_minimum_is_known_after_the_ledger_was_deleted() -> None:
    world = settled()
    world.write_metadata()
    world.delete_pod(2)
    world.settle()
    assert world.ledger is not None
    before = {each.node_id: (each.min_epoch, each.min_offset) for each in world.ledger.entries}
    world.lose_ledger()
    world.settle()
    assert {each.node_id: (each.min_epoch, each.min_offset) for each in world.ledger.entries} == before


def test_a_rebuild_is_said_with_what_it_could_not_know() -> None:
    world = settled()
    world.lose_ledger()
    decision = world.reconcile()
    found = next(each for each in decision.findings if each.reason == "LedgerRebuilt")
    assert "Not known any more" in found.message
    assert world.ledger is not None
    assert world.ledger.origin is Origin.REBUILT


def test_without_the_memory_on_the_claims_an_empty_disk_of_a_wanted_node_needs_an_approval() -> None:
    world = settled()
    formats = list(world.formats)
    world.delete_claim(100)
    for claim in world.claims.values():
        claim.marks.pop("memory", None)
    world.lose_ledger()
    decision = world.settle()
    assert "FormatNeedsApproval" in said(decision)
    assert world.formats == formats
    world.approve_format(100)
    world.settle()
    assert [each[2] for each in world.formats[len(formats) :]] == [100]
    assert 100 in world.registered


def test_a_node_that_is_new_after_a_rebuild_is_formatted_without_an_approval() -> None:
    world = settled()
    world.lose_ledger()
    world.settle()
    world.edit(brokerPools=[pool("b", 3, 100)])
    world.settle()
    assert world.pods[102].runs


def test_the_memory_is_written_before_a_disk_is_granted() -> None:
    """The operator dies after the ledger was written, or after the claims: whatever was granted is known."""
    for stop in range(1, 4):
        world = settled()
        world.edit(brokerPools=[pool("b", 3, 100)])
        for _ in range(12):
            before = len(world.formats)
            world.reconcile(stop_after=stop)
            world.kubelet()
            if len(world.formats) > before:
                break
        world.delete_claim(102)
        world.lose_ledger()
        formats = list(world.formats)
        world.settle()
        assert world.formats == formats, f"formatted anew after it stopped behind action {stop}"


def test_an_older_ledger_put_back_is_noticed_and_forgets_nothing() -> None:
    world = settled()
    backup = dict(world.ledger_data or {})
    old = world.copy_of(2)
    world.wipe(2)
    world.settle(80)
    world.edit(**ONE_BROKER)
    world.settle(80)
    now = world.ledger
    assert now is not None
    world.ledger_data = backup
    decision = world.reconcile()
    assert "LedgerOutdated" in said(decision)
    world.settle()
    assert world.ledger is not None
    assert world.ledger.written_off == now.written_off
    assert [(each.node_id, each.directory_id, each.retired) for each in world.ledger.entries] == [
        (each.node_id, each.directory_id, each.retired) for each in now.entries
    ]
    assert old != VolumeFacts()


def test_a_ledger_of_before_its_loss_put_back_after_it_was_made_again_is_noticed() -> None:
    """The claims' memory is written only when what it keeps changes, so it may be many writes behind: what is made
    again of it must not begin to count there.
    """
    world = settled()
    for tag in ("2", "3"):  # rolls: writes of the ledger that no memory keeps
        world.edit(image={"repository": "kafka", "tag": tag})
        world.settle(80)
    assert world.ledger is not None
    backup, before = dict(world.ledger_data or {}), world.ledger.serial
    world.lose_ledger()
    world.settle(80)
    assert world.ledger.serial > before
    world.wipe(2)
    world.settle(80)
    now = world.ledger
    assert now.written_off
    world.ledger_data = backup
    assert "LedgerOutdated" in said(world.reconcile())
    world.settle(80)
    assert world.ledger.written_off == now.written_off
    assert world.ledger.serial > now.serial


def test_nothing_is_written_while_nothing_changes() -> None:
    world = settled()
    for _ in range(3):
        assert world.reconcile().actions == ()


def test_an_older_memory_than_the_ledgers_is_brought_up_to_date() -> None:
    """The operator died between its two writes, or a claim was put back from a backup."""
    world = settled()
    name = next(each for each in world.claims if "controller-0" in each)
    text = world.claims[name].marks["memory"]
    world.edit(**ONE_BROKER)
    world.settle(80)
    newer = world.claims[name].marks["memory"]
    assert newer != text
    world.claims[name].marks["memory"] = text
    world.reconcile()
    assert known(world.claims[name].marks["memory"]) == known(newer)
