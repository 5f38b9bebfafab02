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

from metadata_pipeline.copies import Claim, CopyKey, Run, Voter, VoterSet
from metadata_pipeline.problems import PipelineError

VERSION: Final = 1


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


def to_json(commit: Commit) -> str:
    return json.dumps({"version": VERSION, **asdict(commit)}, separators=(",", ":"), sort_keys=True)


def from_json(text: str) -> Commit:
    told = json.loads(text)
    if told["version"] > VERSION:
        raise PipelineError(
            f"commit {told.get('number')} was written by a newer kraft-pipeline (version {told['version']}, this one reads {VERSION})",
            "upgrade quorate",
        )
    return Commit(
        number=told["number"],
        job=told["job"],
        time_ms=told["time_ms"],
        add=tuple(_file(it) for it in told["add"]),
        remove=tuple(told["remove"]),
        truncate=tuple(map(_truncation, told["truncate"])),
        copies=tuple(
            CopyFacts(_copy(it["copy"]), it["location"], it["epoch"], tuple(it["voters"])) for it in told["copies"]
        ),
        troubles=None if told["troubles"] is None else tuple(map(_trouble, told["troubles"])),
        summary=told["summary"],
    )


def _copy(told: Mapping[str, Any]) -> CopyKey:
    return CopyKey(told["cluster"], told["node"], told["directory"])


def range_from(told: Mapping[str, Any]) -> SourceRange:
    tail = told["tail"]
    return SourceRange(
        copy=_copy(told["copy"]),
        file=told["file"],
        start_position=told["start_position"],
        end_position=told["end_position"],
        start_offset=told["start_offset"],
        end_offset=told["end_offset"],
        tail=None if tail is None else (tail[0], tail[1], tail[2], tail[3]),
        runs=tuple(Run(**it) for it in told["runs"]),
        voters=tuple(
            VoterSet(it["offset"], it["epoch"], tuple(Voter(**one) for one in it["voters"]), it["from_record"])
            for it in told["voters"]
        ),
        damaged=told["damaged"],
        claims=tuple(Claim(**it) for it in told.get("claims", ())),
    )


def _truncation(told: Mapping[str, Any]) -> Truncation:
    kept = told["kept"]
    return Truncation(_copy(told["copy"]), told["offset"], None if kept is None else range_from(kept))


def _trouble(told: Mapping[str, Any]) -> Trouble:
    copy = told["copy"]
    key = None if copy is None else _copy(copy)
    return Trouble(told["path"], told["fault"], told["detail"], told["position"], told["size"], key)


def _file(told: Mapping[str, Any]) -> LakeFile:
    ranges = tuple(map(range_from, told["ranges"]))
    return LakeFile(told["path"], told["table"], told["rows"], told["size"], ranges)
