"""What audits of an archive said of themselves, as values: `metadata_pipeline.audit.summary` writes the line.

Read from a process that may be of another release, or lie: what cannot be understood is nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from kraft_operator.last_words import redacted

VERSION: Final = 1
MAX_NAMED: Final = 100
MAX_WORST: Final = 10
MAX_DETAIL: Final = 300
SEVERITIES: Final = ("error", "warning", "note")
TEXTS: Final = {"severity": 16, "kind": 64, "file": 128}
NUMBERS: Final = ("node", "position", "offset")


@dataclass(frozen=True, slots=True)
class Summary:
    """One audit that ran to its end."""

    at: str
    """When it ended, as a status has times; they compare as texts."""
    ends: Mapping[str, int] = field(default_factory=dict)
    """Up to where each cluster's log is known to be committed, exclusive."""
    counts: Mapping[str, int] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    unnamed: int = 0
    worst: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class AuditSeen:
    """`done`: the newest that ended as it should. `failed`: why the newest run did not, or does not begin."""

    done: Summary | None = None
    failed: str = ""
    waits: str = ""


def summary_of(line: str) -> Summary | None:
    """None for a line that is none."""
    try:
        found: dict[str, Any] = json.loads(line)
        if found["version"] != VERSION:
            return None
        at = datetime.fromtimestamp(int(found["at"]), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Summary(
            at,
            {str(cluster)[:64]: int(end) for cluster, end in found["ends"].items()},
            {each: max(0, int(found["counts"][each])) for each in SEVERITIES},
            names=tuple(str(each)[:16] for each in found["names"])[:MAX_NAMED],
            unnamed=max(0, int(found["unnamed"])),
            worst=tuple(_finding(each) for each in found["worst"][:MAX_WORST]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, OSError):
        return None


def _finding(found: Mapping[str, Any]) -> Mapping[str, Any]:
    told: dict[str, Any] = {"name": str(found["name"])[:16]}
    told |= {key: str(found[key])[:most] for key, most in TEXTS.items() if key in found}
    told |= {key: int(found[key]) for key in NUMBERS if key in found}
    return {**told, "detail": redacted(str(found["detail"]))[:MAX_DETAIL]}
