"""What a cluster was formed of, if it was formed from an archive: remembered in the ledger, told in the status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

OPERATION_TYPE: Final = "FromArchive"
"""In the ledger, in the place of a KRaftOperation's type: the resource itself asks for it."""


@dataclass(frozen=True, slots=True)
class FormedFrom:
    """Up to `end` of `epoch` everything was taken; the archive itself went on to `archive_end`."""

    claim: str
    cluster_id: str
    point: str
    end: int
    epoch: int
    archive_end: int
    created: tuple[str, ...] = ()
    """Topics created behind `end`, which are not here."""
    deleted: tuple[str, ...] = ()
    """Topics deleted behind `end`, which are here again."""
    more: int = 0


def render(found: FormedFrom) -> dict[str, Any]:
    return {
        "claim": found.claim,
        "clusterID": found.cluster_id,
        "point": found.point,
        "end": found.end,
        "epoch": found.epoch,
        "archiveEnd": found.archive_end,
        "created": list(found.created),
        "deleted": list(found.deleted),
        "more": found.more,
    }


def parse(values: Mapping[str, Any]) -> FormedFrom:
    """Raises KeyError, TypeError or ValueError."""
    return FormedFrom(
        str(values["claim"]),
        str(values["clusterID"]),
        str(values["point"]),
        end=int(values["end"]),
        epoch=int(values["epoch"]),
        archive_end=int(values["archiveEnd"]),
        created=tuple(map(str, values["created"])),
        deleted=tuple(map(str, values["deleted"])),
        more=int(values["more"]),
    )


def published(found: FormedFrom) -> dict[str, Any]:
    """As `.status.fromArchive` shows it."""
    return {
        "claim": found.claim,
        "clusterID": found.cluster_id,
        "end": found.end,
        "epoch": found.epoch,
        "archiveEnd": found.archive_end,
        "notTaken": _not_taken(found),
        "topicsNotTaken": list(found.created),
        "topicsBack": list(found.deleted),
        "moreTopics": found.more,
    }


def _not_taken(found: FormedFrom) -> str:
    if found.end >= found.archive_end:
        return f"nothing of the archive; what its cluster committed after offset {found.end - 1} is in no archive"
    more = f" ({found.more} more topics are not named)" if found.more else ""
    return (
        f"offsets {found.end} to {found.archive_end - 1} of the archive: {len(found.created)} topics that were created "
        f"there are not here, {len(found.deleted)} that were deleted there are here again{more}"
    )
