"""The archive's copy in an object store as the status and `kubectl kraft archive` have it. Pure.

The status has what was proven, which changes every ten minutes; where the copy ends at the moment is on the archive's
page. Of a problem the first words stay as long as it does: a store's own words have numbers that change by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kraft_operator.api.spec import KRaftCluster
from kraft_operator.archives import SHIPPING, STARTING, ArchiveSeen, StoreSeen

Status = dict[str, Any]
MAX_MESSAGE = 1024
UNKNOWN = "Unknown"


def copy_status(cluster: KRaftCluster, seen: ArchiveSeen | None, old: Mapping[str, Any]) -> Status:
    """As a field of `status.archive`. While the page is silent, what was proven stays."""
    archive = cluster.spec.archive
    if archive is None or archive.store is None:
        return {}
    before = (old.get("archive") or {}).get("objectStore") or {}
    before = before if before.get("url") == archive.store.url else {}
    copy = seen.store if seen is not None else None
    found: Status = {"url": archive.store.url, "standing": copy.standing if copy is not None else UNKNOWN}
    found |= {key: before[key] for key in ("encrypted", "verified") if key in before}
    if copy is not None and copy.contact > 0:
        found["encrypted"] = copy.encrypted
    if copy is not None and copy.verified_at > 0:
        at = datetime.fromtimestamp(copy.verified_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        found["verified"] = {"end": copy.verified_end, "at": at}
    if copy is not None and copy.why and copy.standing not in (SHIPPING, STARTING):
        same = before.get("standing") == copy.standing and before.get("message")
        found["message"] = same or f"{copy.remedy}: {copy.why}"[:MAX_MESSAGE]
    return {"objectStore": found}


def copy_lines(known: Mapping[str, Any], seen: StoreSeen | None) -> list[str]:
    """`known` is that field; empty: there is no copy."""
    if not known:
        return []
    if seen is None:
        where = f"up to offset {known['verified']['end']} at {known['verified']['at']}" if "verified" in known else ""
        return [f"store    {known['standing']}: {known['url']}{', ' if where else ''}{where}"]
    missing = (
        "nobody has said how many records are missing" if seen.lag < 0 else f"{seen.lag} records behind the archive"
    )
    sealed = f"encrypted with {', '.join(seen.keys)}" if seen.encrypted else "not encrypted by the archive"
    return [f"store    {seen.standing}: {known['url']}, up to offset {seen.end}, {missing}; {sealed}"]
