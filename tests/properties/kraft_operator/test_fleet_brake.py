"""Many clusters lose disks within one hour: the operator replaces as many voters as it may, tells the others what it
waits for, and goes on later.

The real reconciler over a fleet of worlds, and the account of replacements on the Lease that all of them share.
Operators die on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from kraft_operator.keys import Key
from kraft_operator.plan.brake import parse
from kraft_operator.replacements import ANNOTATION
from support.operator_model.fleet_of_worlds import Fleet
from support.operator_model.world_api import Died, Faults

pytestmark = pytest.mark.properties
T = TypeVar("T")
HOUR = 3600.0
ROUNDS = 15
"""A minute: far more than a replacement takes here."""


def rounds(fleet: Fleet, count: int = ROUNDS) -> None:
    for _ in range(count):
        for key in fleet.keys:
            fleet.reconcile(key)
        fleet.pass_time()
    assert [api.world.broken for api in fleet.apis.values() if api.world.broken] == []


def storage(fleet: Fleet, key: Key) -> str:
    conditions = fleet.apis[key].resource["status"]["conditions"]
    return str(next(each["reason"] for each in conditions if each["type"] == "StorageHealthy"))


def removed(fleet: Fleet) -> list[Key]:
    return [key for key, api in fleet.apis.items() if "remove voter 1" in api.writes]


def whole(fleet: Fleet) -> list[Key]:
    return [key for key, api in fleet.apis.items() if len(api.world.running_voters()) == 3]


def account(fleet: Fleet) -> list[str]:
    """Whose replacements it has, the oldest first."""
    text = fleet.home.lease["metadata"].get("annotations", {}).get(ANNOTATION, "")
    return [each.cluster.removeprefix("uid-of-") for each in parse(text)]


def waits(fleet: Fleet, key: Key) -> float:
    labels = {"namespace": key.namespace, "name": key.name}
    return fleet.reconciler.metrics.total("kraft_operator_replacement_deferred", **labels)


def test_more_losses_than_the_operator_may_replace_within_an_hour_are_deferred_and_replaced_later() -> None:
    fleet = Fleet(5, limit=2)
    fleet.settle()
    for api in fleet.apis.values():
        api.world.delete_claim(1)
    rounds(fleet)
    first = removed(fleet)
    assert len(first) == 2
    assert whole(fleet) == first
    rest = [key for key in fleet.keys if key not in first]
    assert [storage(fleet, key) for key in rest] == ["ReplacementDeferred"] * 3
    assert [waits(fleet, key) for key in fleet.keys] == [float(key in rest) for key in fleet.keys]
    # Another process, which remembers nothing, and most of the hour: the account is as it was.
    fleet.reconciler = fleet.successor()
    fleet.now += HOUR / 2
    rounds(fleet)
    assert removed(fleet) == first
    fleet.now += HOUR / 2
    rounds(fleet)
    assert len(removed(fleet)) == 4
    assert whole(fleet) == removed(fleet)
    fleet.now += HOUR
    rounds(fleet)
    assert whole(fleet) == list(fleet.keys)
    assert all(fleet.ready(key) for key in fleet.keys)
    formats = [each for api in fleet.apis.values() for each in api.world.formats if each[2] == 1]
    assert len(formats) == 2 * len(fleet.keys)  # the first one of each, and its successor


def test_without_a_limit_all_are_replaced_at_once() -> None:
    """What the test above counts is held back by the brake and by nothing else."""
    fleet = Fleet(5)
    fleet.settle()
    for api in fleet.apis.values():
        api.world.delete_claim(1)
    rounds(fleet)
    assert whole(fleet) == list(fleet.keys)


@dataclass(slots=True)
class DeathAtRemoval(Faults):
    """Of the operator, once, right before or right after the voter is removed."""

    after: bool
    struck: bool = False

    def write(self, what: str, call: Callable[[], T]) -> T:
        if self.struck or not what.startswith("remove voter"):
            return call()
        self.struck = True
        if self.after:
            call()
        raise Died(what)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_replacement_that_has_begun_is_carried_to_its_end_by_the_next_operator(after: bool) -> None:
    fleet = Fleet(2, limit=1)
    fleet.settle()
    mine, other = fleet.keys
    fault = fleet.apis[mine].faults = DeathAtRemoval(after)
    fleet.apis[mine].world.delete_claim(1)
    with pytest.raises(Died):
        rounds(fleet)
    assert fault.struck
    assert account(fleet) == [mine.namespace]
    fleet.reconciler = fleet.successor()
    fleet.apis[other].world.delete_claim(1)
    rounds(fleet)
    assert whole(fleet) == [mine]
    assert storage(fleet, other) == "ReplacementDeferred"
    assert account(fleet) == [mine.namespace]


@dataclass(slots=True)
class Overtaken(Faults):
    """Between plan and removal, once, another worker begins a replacement elsewhere."""

    begin: Callable[[], object]
    struck: list[str] = field(default_factory=list)

    def write(self, what: str, call: Callable[[], T]) -> T:
        found = call()
        if what == "replace ConfigMap/c-ledger" and not self.struck and self.begin():
            self.struck.append(what)
        return found


def test_of_two_that_were_planned_for_the_last_place_one_is_carried_out() -> None:
    fleet = Fleet(2, limit=1)
    fleet.settle()
    mine, other = fleet.keys

    def elsewhere() -> bool:
        """The other cluster's removal takes the place, as soon as this one's is journaled."""
        ledger: Any = fleet.apis[mine].world.ledger
        if not any(step.kind.value == "RemoveVoter" for step in ledger.journal):
            return False
        fleet.reconcile(other)
        fleet.current = mine
        return True

    for api in fleet.apis.values():
        api.world.delete_claim(1)
    fault = fleet.apis[mine].faults = Overtaken(elsewhere)
    rounds(fleet)
    assert fault.struck
    assert removed(fleet) == [other]
    assert storage(fleet, mine) == "ReplacementDeferred"


def test_brokers_that_lost_their_disks_count_as_voters_do() -> None:
    fleet = Fleet(3, limit=1)
    fleet.settle()
    for api in fleet.apis.values():
        api.world.delete_claim(101)
    rounds(fleet)
    whole = [key for key, api in fleet.apis.items() if api.world.pods[101].runs]
    assert len(whole) == 1
    assert account(fleet) == [fleet.apis[whole[0]].world.cluster.uid.removeprefix("uid-of-")]
    assert [storage(fleet, key) for key in fleet.keys if key not in whole] == ["ReplacementDeferred"] * 2
    fleet.now += 2 * HOUR
    rounds(fleet)
    assert sum(api.world.pods[101].runs for api in fleet.apis.values()) == 2
