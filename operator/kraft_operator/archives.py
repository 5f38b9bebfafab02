"""What an archive's page says, as a value: `metadata_pipeline.archive.telling` writes it.

Read from a process that may be of another release, or lie: what cannot be understood is nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

VERSION: Final = 1
FOLLOWING: Final = "Following"
STARTING: Final = "Starting"
MAX_TEXT: Final = 1000
STANDINGS: Final = frozenset(
    (
        STARTING, FOLLOWING, "Away", "Refused", "AnotherCluster", "Forked", "Malformed", "Damaged", "Truncated",
        "InUse", "DiskFailed", "StoreAway",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArchiveVerified:
    """Up to `end` every byte was read from the disk and found whole; `at`: seconds since 1970."""

    start: int
    end: int
    epoch: int
    digest: str
    at: float


@dataclass(frozen=True, slots=True)
class ArchiveSeen:
    standing: str
    why: str = ""
    remedy: str = ""
    end: int = -1
    lag: int = -1
    """Committed records that are not archived, as of its last contact with a leader."""
    log_start: int = -1
    """Where the quorum's own log began then."""
    caught_up: float = 0.0
    """When nothing was missing last, in seconds since 1970; 0: never."""
    asides: int = 0
    verified: ArchiveVerified | None = None


def archive_seen(page: str) -> ArchiveSeen | None:
    """None for a page that is none."""
    try:
        found: dict[str, Any] = json.loads(page)
        if found["version"] != VERSION or found["standing"] not in STANDINGS:
            return None
        return ArchiveSeen(
            str(found["standing"]),
            str(found["why"])[:MAX_TEXT],
            str(found["next"])[:MAX_TEXT],
            end=int(found["end"]),
            lag=int(found["lag"]),
            log_start=int(found["quorumLogStart"]),
            caught_up=float(found["caughtUp"] or 0),
            asides=int(found["asides"]),
            verified=_verified(found["verified"]),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _verified(found: Mapping[str, Any] | None) -> ArchiveVerified | None:
    if found is None:
        return None
    return ArchiveVerified(
        int(found["start"]), int(found["end"]), int(found["epoch"]), str(found["digest"])[:64], at=float(found["at"])
    )
