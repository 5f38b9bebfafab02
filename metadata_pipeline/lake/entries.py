"""What a commit says: files added and removed, how far each segment was read, and which suffixes of a copy its node has
truncated.

Plain values with one JSON form; a reader ignores fields that it does not know (a newer writer may add some) and refuses
a newer version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from metadata_pipeline.copies import Claim, CopyKey, ReplicaKey, Run, VoterSet
from metadata_pipeline.problems import PipelineError

VERSION: Final = 2
_OLDEST_READERS: Final = 1
"""A commit that says nothing new can be read by older releases, and says so."""


@dataclass(frozen=True, slots=True)
class SourceRange:
    """Bytes of one file of a copy that a lake's file holds, and their offsets (end exclusive)."""

    copy: CopyKey
    file: str
    """The file's name without its directory: archives move, names do not."""
    start_position: int
    end_position: int
    start_offset: int
    end_offset: int
    tail: tuple[int, int, int, int] | None = None
    """(position, base offset, epoch, CRC) of the last whole batch: what must still be there when the file
    is read on.
    """
    runs: tuple[Run, ...] = ()
    """The undamaged batches as runs of one epoch, as far as their epochs are believed by what was read with them."""
    voters: tuple[VoterSet, ...] = ()
    """Voter sets that records of this range name."""
    damaged: bool = False
    """Whether a batch in it is not to be trusted: then a hole between runs is damage, and what follows is still the
    same log.
    """
    claims: tuple[Claim, ...] = ()
    """All undamaged batches, to be judged together with those of other ranges. A lake that an older release began has
    none.
    """


@dataclass(frozen=True, slots=True)
class LakeFile:
    """One Parquet file. `path` is relative to the lake."""

    path: str
    table: str
    rows: int
    size: int
    ranges: tuple[SourceRange, ...] = ()
    clusters: tuple[str, ...] = ()
    """Of a file of a history table that was merged from others: whose rows it holds."""
    still: bool = False
    """Of a history table: it holds what is still so, and loses the rows of a cluster whose history goes on."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a build of history tables replaced, in all earlier files of these tables."""

    tables: tuple[str, ...]
    whole: tuple[str, ...]
    """Clusters whose rows were all made anew."""
    further: tuple[str, ...]
    """Clusters whose history went on: only what was still so was made anew."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """A node threw away its log from `offset` on: what earlier commits read of this copy from there no
    longer counts.
    """

    copy: CopyKey
    offset: int
    kept: SourceRange | None = None
    """What is left of the file that was cut: reading goes on where it ends. Files that began at or above the offset are
    read anew.
    """


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """What a copy's small files said when it was read last."""

    copy: CopyKey
    location: str
    epoch: int | None
    """Epoch in quorum-state; None when there was no such file."""
    voters: tuple[int, ...] = ()
    """Voters in quorum-state version 0 (kraft.version 0)."""
    told: tuple[int, int, str] | None = None
    """(end, epoch, why): a leader said that everything below `end` is committed, the record before it of this epoch."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A place in a source that could not be read when it was looked at last: a torn tail, an unreadable file, a
    directory of nobody.
    """

    path: str
    fault: str
    detail: str
    position: int = 0
    size: int = 0
    copy: CopyKey | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    number: int
    job: str
    time_ms: int
    add: tuple[LakeFile, ...] = ()
    remove: tuple[str, ...] = ()
    truncate: tuple[Truncation, ...] = ()
    copies: tuple[CopyFacts, ...] = ()
    troubles: tuple[Trouble, ...] | None = None
    """All that are known after this commit; None when the job did not look at sources."""
    summary: Mapping[str, Any] = field(default_factory=dict)
    rebuilt: Rebuilt | None = None


def to_json(commit: Commit) -> str:
    version = _OLDEST_READERS if commit.rebuilt is None else VERSION
    return json.dumps({"version": version, **asdict(commit)}, separators=(",", ":"), sort_keys=True)


def from_json(text: str) -> Commit:
    stored = json.loads(text)
    if stored["version"] > VERSION:
        raise PipelineError(
            f"commit {stored.get('number')} was written by a newer kraft-pipeline (version "
            f"{stored['version']}, this one reads {VERSION})",
            "upgrade quorate",
        )
    return Commit(
        number=stored["number"],
        job=stored["job"],
        time_ms=stored["time_ms"],
        add=tuple(_file(it) for it in stored["add"]),
        remove=tuple(stored["remove"]),
        truncate=tuple(map(_truncation, stored["truncate"])),
        copies=tuple(
            CopyFacts(_copy(it["copy"]), it["location"], it["epoch"], tuple(it["voters"]), _told(it.get("told")))
            for it in stored["copies"]
        ),
        troubles=None if stored["troubles"] is None else tuple(map(_trouble, stored["troubles"])),
        summary=stored["summary"],
        rebuilt=_rebuilt(stored.get("rebuilt")),
    )


def _rebuilt(stored: Mapping[str, Any] | None) -> Rebuilt | None:
    if stored is None:
        return None
    return Rebuilt(tuple(stored["tables"]), tuple(stored["whole"]), tuple(stored["further"]))


def _told(stored: Any) -> tuple[int, int, str] | None:
    return None if stored is None else (stored[0], stored[1], stored[2])


def _copy(stored: Mapping[str, Any]) -> CopyKey:
    return CopyKey(stored["cluster"], stored["node"], stored["directory"])


def range_from(stored: Mapping[str, Any]) -> SourceRange:
    tail = stored["tail"]
    return SourceRange(
        copy=_copy(stored["copy"]),
        file=stored["file"],
        start_position=stored["start_position"],
        end_position=stored["end_position"],
        start_offset=stored["start_offset"],
        end_offset=stored["end_offset"],
        tail=None if tail is None else (tail[0], tail[1], tail[2], tail[3]),
        runs=tuple(Run(**it) for it in stored["runs"]),
        voters=tuple(
            VoterSet(it["offset"], it["epoch"], tuple(ReplicaKey(**one) for one in it["voters"]), it["from_record"])
            for it in stored["voters"]
        ),
        damaged=stored["damaged"],
        claims=tuple(Claim(**it) for it in stored.get("claims", ())),
    )


def _truncation(stored: Mapping[str, Any]) -> Truncation:
    kept = stored["kept"]
    return Truncation(_copy(stored["copy"]), stored["offset"], None if kept is None else range_from(kept))


def _trouble(stored: Mapping[str, Any]) -> Trouble:
    copy = stored["copy"]
    key = None if copy is None else _copy(copy)
    return Trouble(
        stored["path"], stored["fault"], stored["detail"], position=stored["position"], size=stored["size"], copy=key
    )


def _file(stored: Mapping[str, Any]) -> LakeFile:
    ranges = tuple(map(range_from, stored["ranges"]))
    clusters, still = tuple(stored.get("clusters", ())), stored.get("still", False)
    return LakeFile(
        stored["path"], stored["table"], stored["rows"], stored["size"], ranges, clusters=clusters, still=still
    )
