"""When pods that serve may be restarted: windows of a week, in UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from kraft_operator.api.reader import InvalidSpec, Reader, duration


class Weekday(StrEnum):
    MONDAY = "Monday"
    TUESDAY = "Tuesday"
    WEDNESDAY = "Wednesday"
    THURSDAY = "Thursday"
    FRIDAY = "Friday"
    SATURDAY = "Saturday"
    SUNDAY = "Sunday"


WEEK: Final = tuple(Weekday)
_TIME: Final = re.compile(r"^([01][0-9]|2[0-3]):([0-5][0-9])$")
MIN_SECONDS: Final = 600.0
"""A shorter one might be over before the operator has looked."""
MAX_SECONDS: Final = 86400.0


@dataclass(frozen=True, slots=True)
class Window:
    days: tuple[Weekday, ...]
    """On which it opens."""
    hour: int
    minute: int
    seconds: float

    def begins(self, day: datetime) -> datetime | None:
        """When it opens on that day, if it does."""
        if WEEK[day.weekday()] not in self.days:
            return None
        return day.replace(hour=self.hour, minute=self.minute, second=0, microsecond=0)


def next_opening(windows: tuple[Window, ...], now: datetime) -> datetime | None:
    """None while one of them is open, or when there are none. `now` is UTC."""
    begins = [
        start
        for window in windows
        for ahead in range(-1, 8)
        if (start := window.begins(now + timedelta(days=ahead))) is not None
        and start + timedelta(seconds=window.seconds) > now
    ]
    if not begins or min(begins) <= now:
        return None
    return min(begins)


def parse_windows(rollout: Reader) -> tuple[Window, ...]:
    found = []
    for item in rollout.items("maintenanceWindows"):
        days = item.words("days")
        if strange := [each for each in days if each not in WEEK]:
            raise InvalidSpec(item.at("days"), f"{strange[0]!r} is none of {', '.join(WEEK)}")
        start = item.text("start")
        match = _TIME.match(start)
        if match is None:
            raise InvalidSpec(item.at("start"), f"{start!r} is no time of day such as 02:30 (UTC)")
        seconds = duration(item.text("duration"), item.at("duration"))
        if not MIN_SECONDS <= seconds <= MAX_SECONDS:
            raise InvalidSpec(item.at("duration"), "must lie between 10m and 24h")
        chosen = tuple(Weekday(each) for each in days) or WEEK
        found.append(Window(chosen, int(match.group(1)), int(match.group(2)), seconds))
    return tuple(found)


def shown(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
