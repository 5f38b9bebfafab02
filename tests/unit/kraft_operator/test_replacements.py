"""The account of replacements on the operator's Lease: one entry each, whoever dies, however busy the Lease is, and
never by a former holder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from kraft_operator.__main__ import settings_from
from kraft_operator.kube import Conflict
from kraft_operator.lease import LeaseLost, Term
from kraft_operator.plan.brake import Begun, Brake
from kraft_operator.replacements import ANNOTATION, LeaseAccount
from support.operator_model.world import World
from support.operator_model.world_api import Faults, WorldApi

pytestmark = pytest.mark.unit
T = TypeVar("T")
TERM = Term("a", 1)
HOUR = 3600.0


def begun(cluster: str, at: float = 0.0) -> Begun:
    return Begun(cluster, f"n/{cluster}", 1, "directory", at)


@pytest.fixture
def api() -> WorldApi:
    found = WorldApi(World())
    found.hold_lease({"holderIdentity": TERM.holder, "leaseTransitions": TERM.transitions})
    return found


def account(api: Any, limit: int = 2, now: float = 10 * HOUR) -> LeaseAccount:
    return LeaseAccount(api, "operators", "kraft-operator", limit, lambda: now)


def test_what_one_process_wrote_the_next_one_reads(api: WorldApi) -> None:
    assert account(api).begin(begun("x"), TERM, 5.0)
    assert account(api).brake() == Brake(2, (begun("x", 10 * HOUR),), 10 * HOUR)


def test_the_same_replacement_is_written_once_and_always_welcome(api: WorldApi) -> None:
    mine = account(api, limit=1)
    assert [mine.begin(begun("x"), TERM, 5.0), mine.begin(begun("x"), TERM, 5.0)] == [True, True]
    assert api.writes == ["replace Lease/kraft-operator"]


def test_what_is_too_many_is_refused_until_an_hour_has_passed(api: WorldApi) -> None:
    mine = account(api)
    assert [mine.begin(begun(each), TERM, 5.0) for each in ("x", "y", "z")] == [True, True, False]
    assert not account(api, now=11 * HOUR - 1).begin(begun("z"), TERM, 5.0)
    assert account(api, now=11 * HOUR).begin(begun("z"), TERM, 5.0)


def test_a_clock_that_is_set_back_by_a_day_does_not_stop_the_operator_for_a_day(api: WorldApi) -> None:
    account(api, limit=1, now=34 * HOUR).begin(begun("x"), TERM, 5.0)
    assert account(api, limit=1).begin(begun("y"), TERM, 5.0)


def test_who_lost_the_lease_writes_nothing(api: WorldApi) -> None:
    api.hold_lease({"holderIdentity": "b", "leaseTransitions": 2})
    with pytest.raises(LeaseLost):
        account(api).begin(begun("x"), TERM, 5.0)
    assert api.writes == []


@dataclass(slots=True)
class Renewals(Faults):
    """So many writes of the Lease meet a renewal."""

    api: WorldApi
    left: int

    def write(self, what: str, call: Callable[[], T]) -> T:
        self.left -= 1
        if self.left >= 0:
            self.api.hold_lease({"renewTime": str(self.left)})
        return call()


def test_a_renewal_in_between_costs_another_try_and_keeps_both(api: WorldApi) -> None:
    api.faults = Renewals(api, 3)
    assert account(api).begin(begun("x"), TERM, 5.0)
    assert api.lease["spec"]["renewTime"] == "0"
    assert "n/x" in api.lease["metadata"]["annotations"][ANNOTATION]


def test_a_lease_that_changes_all_the_time_is_given_up_for_now(api: WorldApi) -> None:
    api.faults = Renewals(api, 100)
    with pytest.raises(Conflict):
        account(api).begin(begun("x"), TERM, 5.0)


def test_an_account_that_somebody_broke_counts_as_none(api: WorldApi) -> None:
    api.lease["metadata"]["annotations"] = {ANNOTATION: '{"x": 1}', "other": "kept"}
    assert account(api).brake().begun == ()
    assert account(api).begin(begun("x"), TERM, 5.0)
    assert api.lease["metadata"]["annotations"]["other"] == "kept"


def test_the_limit_comes_from_the_command_line_or_the_environment() -> None:
    assert settings_from([], {}).replacements_per_hour == 10
    assert settings_from([], {"MAX_REPLACEMENTS_PER_HOUR": "3"}).replacements_per_hour == 3
    told = settings_from(["--max-replacements-per-hour", "0"], {"MAX_REPLACEMENTS_PER_HOUR": "3"})
    assert told.replacements_per_hour == 0
    with pytest.raises(SystemExit):
        settings_from(["--max-replacements-per-hour", "501"], {})
