"""What a store holds of an archive, as one value: `archive.json` beside its objects. Pure.

Objects are put once and never changed. What is not named here is not there, so a writer that dies half way, or that has
lost to another one, left nothing. Small pieces of the log are replaced by larger ones, so that their number grows with
the log's logarithm; what was replaced is deleted when the manifest that no longer names it is in the store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from metadata_pipeline.archive.examining import Listed
from metadata_pipeline.archive.retention import outlived
from metadata_pipeline.wire.leader import Mark

NAME: Final = "archive.json"
VERSION: Final = 1
KIND: Final = "quorate-archive"
FAN: Final = 16
"""So many pieces of one level become one of the next."""
MERGED_BYTES: Final = 32 << 20
"""Larger pieces are left as they are."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object of the store. `digest`: SHA-256 of the bytes that it stands for, before they were sealed."""

    name: str
    size: int
    """As it lies there."""
    digest: str
    key: str = ""
    """With which it is sealed; empty: it is not."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole batches of the log from `start` to `end`: a segment of Apache Kafka's, as it would lie in a directory."""

    start: int
    end: int
    epoch: int
    size: int
    level: int
    stored: Stored


@dataclass(frozen=True, slots=True)
class Snapshot:
    mark: Mark
    taken: float
    parts: tuple[Stored, ...]


@dataclass(frozen=True, slots=True)
class History:
    """A log and its snapshots. `ended`: when it was set aside; None for the one that goes on."""

    begun: str = ""
    start: int = 0
    pieces: tuple[Piece, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    ended: float | None = None

    @property
    def mark(self) -> Mark:
        if self.pieces:
            return Mark(self.pieces[-1].end, self.pieces[-1].epoch)
        return next((each.mark for each in self.snapshots if each.mark.end == self.start), Mark(self.start))

    @property
    def objects(self) -> tuple[Stored, ...]:
        return (
            *(each.stored for each in self.pieces), *(part for each in self.snapshots for part in each.parts),
        )  # fmt: skip

    @property
    def is_empty(self) -> bool:
        return not self.pieces and not self.snapshots


@dataclass(frozen=True, slots=True)
class Manifest:
    cluster_id: str
    writer: int = 0
    """Grows with each process that takes the store over; an older one is refused from then on."""
    nonce: str = ""
    """Of the process that wrote it."""
    number: int = 0
    """Of the manifests of this writer."""
    leader_epoch: int = 0
    now: History = field(default_factory=History)
    asides: tuple[History, ...] = ()

    @property
    def objects(self) -> tuple[Stored, ...]:
        return (*self.now.objects, *(each for aside in self.asides for each in aside.objects))

    @property
    def size_bytes(self) -> int:
        return sum(each.size for each in self.objects)


class BadManifest(Exception):
    """It cannot be understood, or contradicts itself."""


def due_for_merging(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The last pieces that should become one; none yet."""
    run = pieces[-FAN:]
    small = sum(each.size for each in run) <= MERGED_BYTES
    return run if len(run) == FAN and small and len({each.level for each in run}) == 1 else ()


def without_outlived(manifest: Manifest, now: float, keep_seconds: float | None) -> Manifest:
    """`now`: seconds since 1970."""
    if keep_seconds is None:
        return manifest
    known = manifest.now
    found = Listed(tuple(each.start for each in known.pieces), tuple(each.mark for each in known.snapshots))
    gone = outlived(found, {each.mark: each.taken for each in known.snapshots}, now, keep_seconds)
    pieces = tuple(each for each in known.pieces if each.start not in gone.segments)
    snapshots = tuple(each for each in known.snapshots if each.mark not in gone.snapshots)
    start = pieces[0].start if pieces and gone.segments else known.start
    asides = tuple(each for each in manifest.asides if each.ended is None or each.ended > now - keep_seconds)
    return replace(manifest, now=replace(known, start=start, pieces=pieces, snapshots=snapshots), asides=asides)


def encode(manifest: Manifest) -> bytes:
    found: dict[str, Any] = {"kind": KIND, "version": VERSION, **asdict(manifest)}
    return json.dumps(found, separators=(",", ":"), sort_keys=True).encode()


def decode(data: bytes) -> Manifest:
    """Raises BadManifest."""
    try:
        found = json.loads(data)
        if (found["kind"], found["version"]) != (KIND, VERSION):
            raise BadManifest(f"it is {found['kind']!r} of version {found['version']!r}, which is not known here")
        made = Manifest(
            str(found["cluster_id"]),
            int(found["writer"]),
            str(found["nonce"]),
            number=int(found["number"]),
            leader_epoch=int(found["leader_epoch"]),
            now=_history(found["now"]),
            asides=tuple(map(_history, found["asides"])),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadManifest(f"it cannot be understood ({error!r})") from error
    for history in (made.now, *made.asides):
        _contradiction(history)
    return made


def _contradiction(history: History) -> None:
    start = history.start
    if history.pieces and history.pieces[0].start != start:
        raise BadManifest(f"the log is said to begin at offset {start}, and does at {history.pieces[0].start}")
    for each, following in pairwise(history.pieces):
        if each.end != following.start:
            raise BadManifest(f"offset {each.end} is followed by offset {following.start}")
    for piece in history.pieces:
        if piece.end <= piece.start:
            raise BadManifest(f"a piece from offset {piece.start} ends at {piece.end}")
    if start > 0 and not any(each.mark.end >= start for each in history.snapshots):
        raise BadManifest(f"the log begins at offset {start}, and no snapshot has what came before")


def _history(found: Mapping[str, Any]) -> History:
    ended = found["ended"]
    return History(
        str(found["begun"]),
        int(found["start"]),
        tuple(
            Piece(
                int(each["start"]), int(each["end"]), int(each["epoch"]), size=int(each["size"]),
                level=int(each["level"]), stored=_stored(each["stored"]),
            )
            for each in found["pieces"]
        ),
        tuple(
            Snapshot(
                Mark(int(each["mark"]["end"]), int(each["mark"]["epoch"])),
                float(each["taken"]),
                tuple(map(_stored, each["parts"])),
            )
            for each in found["snapshots"]
        ),
        None if ended is None else float(ended),
    )  # fmt: skip


def _stored(found: Mapping[str, Any]) -> Stored:
    name = str(found["name"])
    if name.startswith("/") or ".." in name.split("/"):
        raise ValueError(f"{name!r} is no name of an object")
    return Stored(name, int(found["size"]), str(found["digest"]), str(found["key"]))
