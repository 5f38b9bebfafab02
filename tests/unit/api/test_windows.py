"""Maintenance windows: when the next one opens, by the wall clock in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kraft_operator.api.reader import InvalidSpec, Reader
from kraft_operator.api.windows import Window, next_opening, parse_windows, shown

pytestmark = pytest.mark.unit


def windows(*items: dict[str, Any]) -> tuple[Window, ...]:
    return parse_windows(Reader("spec.rollout", {"maintenanceWindows": list(items)}))


NIGHTS = windows({"days": ["Saturday", "Sunday"], "start": "23:00", "duration": "3h"})


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        ("2026-11-24T12:00", "2026-11-28T23:00:00Z"),  # a Tuesday
        ("2026-11-28T22:59:59", "2026-11-28T23:00:00Z"),
        ("2026-11-28T23:00", None),
        ("2026-11-29T01:59:59", None),  # it is Sunday, and Saturday's window is still open
        ("2026-11-29T02:00", "2026-11-29T23:00:00Z"),
        ("2026-11-30T01:00", None),
        ("2026-11-30T02:00", "2026-12-05T23:00:00Z"),
    ],
)
def test_a_window_opens_on_its_days_and_may_end_on_the_next(now: str, opens: str | None) -> None:
    found = next_opening(NIGHTS, at(now))
    assert (shown(found) if found else None) == opens


def test_without_windows_nothing_waits() -> None:
    assert next_opening((), at("2026-11-24T12:00")) is None


def test_the_first_of_several_windows_counts_and_no_days_are_all_days() -> None:
    both = (*NIGHTS, *windows({"start": "04:00", "duration": "10m"}))
    found = next_opening(both, at("2026-11-24T12:00"))
    assert found == at("2026-11-25T04:00")


def test_a_whole_day_is_always_open() -> None:
    always = windows({"start": "00:00", "duration": "24h"})
    assert [next_opening(always, at(f"2026-11-{day}T{hour:02}:30")) for day in (24, 29) for hour in (0, 23)] == [
        None
    ] * 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": "24:00", "duration": "1h"},
        {"start": "1:00", "duration": "1h"},
        {"start": "01:00", "duration": "5m"},
        {"start": "01:00", "duration": "25h"},
        {"start": "01:00", "duration": "1h", "days": ["Someday"]},
        {"start": "01:00"},
        {"duration": "1h"},
    ],
)
def test_a_window_that_nobody_understands_is_refused_by_its_path(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpec, match=r"spec\.rollout\.maintenanceWindows\[0\]"):
        windows(wrong)
