"""`spec.archive.audit`: when the archive is read into a lake and looked through, and where that lake is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kraft_operator.api.reader import InvalidSpec, Reader

MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
FIELDS: Final[tuple[tuple[str, int, int, tuple[str, ...]], ...]] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, ("", *MONTHS)),
    ("day of week", 0, 6, DAYS),
)
"""Name, first and last number, and words for numbers of each field of a CronJob's schedule."""
_DESCRIPTOR: Final = re.compile(r"@(yearly|annually|monthly|weekly|daily|midnight|hourly)")
_ZONE: Final = re.compile(r"[A-Za-z0-9_+/-]{1,64}")
_PART: Final = re.compile(r"(?:[*?]|([0-9A-Za-z]{1,3})(?:-([0-9A-Za-z]{1,3}))?)(?:/([0-9]{1,2}))?")


@dataclass(frozen=True, slots=True)
class Audit:
    schedule: str
    """As a CronJob has it."""
    image: str
    """Of the pipeline: `kraft-pipeline` and a Java."""
    time_zone: str | None = None
    suspend: bool = False
    lake_claim: str | None = None
    """None: the lake is beside the log, on the archive's own claim."""
    resources: Mapping[str, Any] = field(default_factory=dict)


def parse_audit(archive: Reader) -> Audit | None:
    """None: nobody asked for one. Raises InvalidSpec."""
    if not archive.has("audit"):
        return None
    audit = archive.child("audit")
    schedule = audit.text("schedule")
    if (problem := schedule_problem(schedule)) is not None:
        raise InvalidSpec(audit.at("schedule"), problem)
    zone = audit.optional_text("timeZone")
    if zone is not None and (not _ZONE.fullmatch(zone) or zone.upper() == "LOCAL"):
        raise InvalidSpec(audit.at("timeZone"), f"must be a name such as Europe/Berlin, not {zone!r}")
    lake = audit.child("lake")
    return Audit(
        schedule, audit.text("image"), zone,
        suspend=audit.flag("suspend"),
        lake_claim=lake.text("claimName") if audit.has("lake") else None,
        resources=audit.optional_object("resources") or {},
    )  # fmt: skip


def schedule_problem(schedule: str) -> str | None:
    """What is wrong with it; None for one that Kubernetes takes."""
    if _DESCRIPTOR.fullmatch(schedule):
        return None
    words = schedule.split()
    if len(words) != len(FIELDS):
        return f"give five fields, such as 17 3 * * * (minute, hour, day, month, weekday), or @daily: {schedule!r}"
    for word, (name, first, last, spelled) in zip(words, FIELDS, strict=True):
        for part in word.split(","):
            if not _is_part(part, first, last, spelled):
                return f"the {name} takes *, numbers from {first} to {last}, ranges, lists and steps, not {word!r}"
    return None


def _is_part(part: str, first: int, last: int, spelled: tuple[str, ...]) -> bool:
    found = _PART.fullmatch(part)
    if found is None:
        return False
    low, high, step = found.groups()
    numbers = [_number(each, spelled) for each in (low, high) if each is not None]
    fits = all(first <= number <= last for number in numbers) and numbers == sorted(numbers)
    return fits and (step is None or int(step) > 0)


def _number(word: str, spelled: tuple[str, ...]) -> int:
    return int(word) if word.isdigit() else spelled.index(word.upper()) if word.upper() in spelled else -1
