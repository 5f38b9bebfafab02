"""What the guards know when they decide: plain values about the volume, the pod and the passage through the gate.

Reading them is `volume`'s and `pod`'s task; judging them is `judge`'s and `passage`'s. Nothing here touches a disk.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from storage_guard.formats import BadFormat, Grant, Identity, Marker


@dataclass(frozen=True, slots=True)
class LogEnd:
    """Where the metadata log ends: the epoch of its last record and the offset after it."""

    epoch: int
    offset: int

    @property
    def key(self) -> tuple[int, int]:
        return (self.epoch, self.offset)

    def __str__(self) -> str:
        return f"offset {self.offset} of epoch {self.epoch}"


@dataclass(frozen=True, slots=True)
class DirectoryIdentity:
    """What `meta.properties` says."""

    cluster_id: str
    node_id: int
    directory_id: str | None


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """What lies on the volume, read without changing it."""

    identity: DirectoryIdentity | None = None
    """None: no meta.properties."""
    marker: Marker | None = None
    log_end: LogEnd | None = None
    """None: the metadata log holds no record."""
    static_voters: bool = False
    """The log of a directory that was never sealed tells of no voters: they are in its node's configuration."""
    leftovers: tuple[str, ...] = ()
    """Names in the log directory when there is no meta.properties."""
    strangers: tuple[str, ...] = ()
    """Names beside the log directory that nobody of us made."""
    problem: str | None = None
    """Something could not be read: nothing above may be relied upon."""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """Which node this pod is, and what was written on it. `format_mode` is the argument that `format` will be given."""

    uid: str
    node_id: int
    cluster_id: str
    is_controller: bool
    format_mode: str = ""
    grant: Grant | None = None
    grant_problem: str | None = None
    """The annotation is there but cannot be read."""


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """The mounted line of the ledger; `problem` if there is one that cannot be read."""

    identity: Identity | None = None
    problem: str | None = None


class Way(StrEnum):
    """Why the gate opened."""

    START = "Start"
    """The directory is the one that is expected here."""
    FORMAT = "Format"
    """A grant allows to format."""
    ADOPT = "Adopt"
    """A grant names this formatted directory."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What the gate let through; `seal` opens only for exactly this."""

    way: Way
    nonce: str | None = None
    directory_id: str | None = None
    """The directory id that must be there afterwards; None: any new one."""
    not_directory_id: str | None = None


@dataclass(frozen=True, slots=True)
class Journal:
    """Lives in an emptyDir, hence exactly as long as the pod and the grant on it.

    It tells a volume that was emptied after it was sealed from one that was never formatted: the grant on the pod looks
    the same.
    """

    passage: Passage | None = None
    sealed: tuple[str, ...] = ()
    """Nonces whose formatting was finished; a node may have run since. Never formatted for again."""

    def passed(self, passage: Passage) -> Journal:
        return replace(self, passage=passage)

    def with_seal(self, nonce: str | None) -> Journal:
        if nonce is None or nonce in self.sealed:
            return self
        return replace(self, sealed=(*self.sealed, nonce))

    def to_json(self) -> str:
        passage = self.passage
        return json.dumps(
            {
                "way": passage.way.value if passage else None,
                "nonce": passage.nonce if passage else None,
                "directoryID": passage.directory_id if passage else None,
                "notDirectoryID": passage.not_directory_id if passage else None,
                "sealed": list(self.sealed),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            values = json.loads(text)
            way = values["way"]
            passage = (
                Passage(Way(way), values["nonce"], values["directoryID"], values["notDirectoryID"]) if way else None
            )
            return cls(passage, tuple(str(nonce) for nonce in values["sealed"]))
        except (ValueError, KeyError, TypeError) as error:
            raise BadFormat(f"journal: {error!r}") from error
