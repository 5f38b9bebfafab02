"""`spec.bootstrap.fromArchive`: the archive that a new cluster is formed from, and up to when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kraft_operator.api.reader import InvalidSpec, Reader


@dataclass(frozen=True, slots=True)
class FromArchive:
    """Neither `offset` nor `time`: all that the archive holds."""

    claim: str
    cluster_id: str
    """Of the archive: another one's is refused. The new cluster has its own, or the same one by spec.clusterID."""
    offset: int | None = None
    """The last one that may be taken."""
    time: int | None = None
    """In ms since 1970; nothing later is taken."""

    @property
    def point(self) -> str:
        """As `storage_guard.archived` reads it."""
        if self.offset is not None:
            return f"offset:{self.offset}"
        return "end" if self.time is None else f"time:{self.time}"


def parse_from_archive(spec: Reader) -> FromArchive | None:
    """None: the cluster begins empty. Raises InvalidSpec."""
    bootstrap = spec.child("bootstrap")
    if not bootstrap.has("fromArchive"):
        return None
    asked = bootstrap.child("fromArchive")
    if asked.has("offset") and asked.has("time"):
        raise InvalidSpec(asked.at("time"), "takes no offset beside it: a point in time is one of both")
    offset = asked.number("offset", -1)
    if asked.has("offset") and offset < 0:
        raise InvalidSpec(asked.at("offset"), f"must not be below 0, not {offset}")
    text = asked.optional_text("time")
    time = None if text is None else _milliseconds(text, asked.at("time"))
    return FromArchive(asked.text("claimName"), asked.text("clusterID"), None if offset < 0 else offset, time)


def _milliseconds(text: str, path: str) -> int:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidSpec(path, f"must be a time such as 2026-11-24T19:40:11Z, not {text}") from error
    if found.tzinfo is None:
        raise InvalidSpec(path, f"must name its time zone, such as 2026-11-24T19:40:11Z, not {text}")
    return round(found.timestamp() * 1000)
