"""What a helper says of the copy of the metadata log that it found, or made a quorum of: one JSON line, a pod's
termination message.

Read by the operator, so it is a word that both exchange, like those of `formats`. Nothing here touches a disk.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from storage_guard.reading import MAX_JSON_SIZE_BYTES, VERSION, BadFormat


class Helper(StrEnum):
    """What a helper was asked to do; also the subcommand of `storage-guard`."""

    SURVEY = "survey"
    """Say what the copy is. Changes nothing."""
    RECOVER = "recover"
    """Make a directory with one voter from a copy, beside it; then put it in its place and keep the old one."""
    SET_ASIDE = "set-aside"
    """Take an old directory out of the way, whole, so that the volume may be formatted."""


class State(StrEnum):
    COPY = "Copy"
    EMPTY = "Empty"
    DONE = "Done"
    """Of a helper that changed something: what it was asked for is so."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """What an archive holds behind the point that was asked for: up to `end`, with the topics that were created or
    deleted there; `more` of them are not named.
    """

    end: int
    created: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class CopyReport:
    state: State
    node_id: int | None = None
    cluster_id: str = ""
    directory_id: str = ""
    start: int = 0
    end: int = 0
    last_epoch: int = 0
    known: int = 0
    """The highest offset that a checkpoint of it, or its being an archive, proves to be committed."""
    promised: int = 0
    voters: tuple[tuple[int, str], ...] = ()
    digests: Mapping[int, str] = field(default_factory=dict)
    nonce: str = ""
    """Of a directory that was made: whose doing that was."""
    beyond: Beyond | None = None
    """Of an archive that was asked for a point in time."""

    def to_json(self) -> str:
        values: dict[str, Any] = {
            "version": VERSION,
            "state": self.state.value,
            "nodeID": self.node_id,
            "clusterID": self.cluster_id,
            "directoryID": self.directory_id,
            "start": self.start,
            "end": self.end,
            "lastEpoch": self.last_epoch,
            "known": self.known,
            "promised": self.promised,
            "voters": [[node, directory] for node, directory in self.voters],
            "digests": {str(offset): text for offset, text in sorted(self.digests.items())},
            "nonce": self.nonce,
        }
        if (more := self.beyond) is not None:
            values["beyond"] = [more.end, list(more.created), list(more.deleted), more.more]
        text = json.dumps(values, separators=(",", ":"))
        if len(text) > MAX_JSON_SIZE_BYTES:
            raise BadFormat(f"{len(text)} bytes are too many for a termination message")
        return text

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            values: dict[str, Any] = json.loads(text)
            if values["version"] != VERSION:
                raise BadFormat(f"copy: version {values['version']!r} is not known")
            node_id = values["nodeID"]
            return cls(
                state=State(values["state"]),
                node_id=int(node_id) if node_id is not None else None,
                cluster_id=str(values["clusterID"]),
                directory_id=str(values["directoryID"]),
                start=int(values["start"]),
                end=int(values["end"]),
                last_epoch=int(values["lastEpoch"]),
                known=int(values["known"]),
                promised=int(values["promised"]),
                voters=tuple((int(node), str(directory)) for node, directory in values["voters"]),
                digests={int(offset): str(found) for offset, found in values["digests"].items()},
                nonce=str(values["nonce"]),
                beyond=_beyond(values.get("beyond")),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadFormat(f"copy: {error!r}") from error


def _beyond(found: Any) -> Beyond | None:
    if found is None:
        return None
    end, created, deleted, more = found
    return Beyond(int(end), tuple(map(str, created)), tuple(map(str, deleted)), int(more))
