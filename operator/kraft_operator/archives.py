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
SHIPPING: Final = "Shipping"
MAX_TEXT: Final = 1000
MAX_KEYS: Final = 16
STANDINGS: Final = frozenset(
    (
        STARTING, FOLLOWING, "Away", "Refused", "AnotherCluster", "Forked", "Malformed", "Damaged", "Truncated",
        "InUse", "DiskFailed", "StoreAway",
    )
)  # fmt: skip


STORE_STANDINGS: Final = frozenset(
    (
        STARTING, SHIPPING, "Away", "Refused", "InUse", "AnotherCluster", "Forked", "Damaged", "Lost", "Unnamed",
        "BadKeys",
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
class StoreSeen:
    """Of the copy in an object store."""

    standing: str
    why: str = ""
    remedy: str = ""
    end: int = -1
    lag: int = -1
    """Records of the archive that are not in the store."""
    contact: float = 0.0
    """When all that was due was there last, in seconds since 1970; 0: never."""
    encrypted: bool = False
    keys: tuple[str, ...] = ()
    """Ids of the keys that its objects need."""
    verified_end: int = -1
    verified_at: float = 0.0
    """When every object was last seen to be there."""


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
    store: StoreSeen | None = None


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
            store=_store(found.get("store")),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _verified(found: Mapping[str, Any] | None) -> ArchiveVerified | None:
    if found is None:
        return None
    return ArchiveVerified(
        int(found["start"]), int(found["end"]), int(found["epoch"]), str(found["digest"])[:64], at=float(found["at"])
    )


def _store(found: Mapping[str, Any] | None) -> StoreSeen | None:
    if found is None or found["standing"] not in STORE_STANDINGS:
        return None
    return StoreSeen(
        str(found["standing"]),
        str(found["why"])[:MAX_TEXT],
        str(found["next"])[:MAX_TEXT],
        end=int(found["end"]),
        lag=int(found["lag"]),
        contact=float(found["contact"] or 0),
        encrypted=found["encrypted"] is True,
        keys=tuple(str(each)[:64] for each in found["keys"])[:MAX_KEYS],
        verified_end=int(found["verifiedEnd"]),
        verified_at=float(found["verifiedAt"] or 0),
    )
