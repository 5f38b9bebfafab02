"""A first start that is killed (or loses power) after each single disk operation goes on, and ends with one sealed
directory.
"""

from __future__ import annotations

import pytest

from storage_guard.formats import DiskVerdict, GrantMode
from support.disks.memory_disk import Crashed, Policy
from support.operator_model.guarded_world import World

pytestmark = pytest.mark.properties

POLICIES: tuple[Policy, ...] = ("everything", "synced only", "half of unsynced")
MODES = (GrantMode.INITIAL_CONTROLLERS, GrantMode.NO_INITIAL_CONTROLLERS)


def crashed_world(mode: GrantMode, operations: int, policy: Policy) -> tuple[World, str]:
    world = World(nodes=1)
    world.run(0)
    world.grant(0, mode)
    return world, world.run(0, operations, policy)


def operations_of_a_first_start(mode: GrantMode) -> int:
    """How many there are: the number after which no kill comes any more."""
    return next(count for count in range(1000) if crashed_world(mode, count, "everything")[1] == "Started")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mode", MODES)
def test_the_same_pod_goes_on_where_it_was_killed(mode: GrantMode, policy: Policy) -> None:
    count = operations_of_a_first_start(mode)
    assert count > 20
    for operations in range(count):
        world, outcome = crashed_world(mode, operations, policy)
        assert outcome == "Crashed"
        assert world.run(0) == "Started", f"killed after {operations} operations"
        assert len(world.formatted) <= 1
        planned = world.grants[0][0].directory_id
        assert planned in (None, world.disks[0].directory_id)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mode", MODES)
def test_a_new_pod_needs_a_new_grant_and_gets_one_for_what_is_seen(mode: GrantMode, policy: Policy) -> None:
    seen = set()
    for operations in range(operations_of_a_first_start(mode)):
        world, _ = crashed_world(mode, operations, policy)
        before = world.disks[0].directory_id
        world.new_pod(0)
        assert world.run(0) in ("AwaitingGrant", "NotInLedger")
        report = world.pods[0].inspected
        assert report is not None
        seen.add(report.verdict)
        if (
            report.verdict is DiskVerdict.FORMATTED
        ):  # killed after the seal: it waits for the ledger, a grant formats nothing
            continue
        world.grant(0, mode)
        assert world.run(0) == "Started", f"killed after {operations} operations"
        assert before in (None, world.disks[0].directory_id)
    assert seen == {DiskVerdict.EMPTY, DiskVerdict.UNFINISHED, DiskVerdict.FORMATTED}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mode", MODES)
def test_power_lost_when_the_tool_begins_leaves_a_volume_that_names_the_grant(
    mode: GrantMode, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_power(*_: object) -> None:
        raise Crashed

    world = World(nodes=1)
    world.run(0)
    world.grant(0, mode)
    with monkeypatch.context() as patch:
        patch.setattr(world, "_format", lose_power)
        assert world.run(0, None, policy) == "Crashed"
    world.new_pod(0)
    assert world.run(0) == "AwaitingGrant"
    report = world.pods[0].inspected
    assert report is not None
    assert (report.verdict, report.nonce) == (DiskVerdict.UNFINISHED, world.grants[0][0].nonce)
