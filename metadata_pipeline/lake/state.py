"""What all commits say together: the files that count, what of them was truncated away, how far each source file was
read.

Pure: a fold over commits. A truncation counts for files of earlier commits only; what the same commit adds was read
after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from metadata_pipeline.copies import CopyKey
from metadata_pipeline.lake.entries import Commit, CopyFacts, LakeFile, Rebuilt, SourceRange, Trouble, Truncation


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A file that counts, and from which offset on a copy's rows in it do not."""

    file: LakeFile
    commit: int
    dead_from: Mapping[CopyKey, int] = field(default_factory=dict)
    clusters: frozenset[str] = frozenset()
    """Of a history table's file: whose rows it holds; empty when that is not known."""
    gone: frozenset[str] = frozenset()
    """Those of them whose rows do not count any more."""


@dataclass(frozen=True, slots=True)
class LakeState:
    """The lake after commit `version` (-1: no commit yet)."""

    version: int = -1
    files: Mapping[str, LiveFile] = field(default_factory=dict)
    copies: Mapping[CopyKey, CopyFacts] = field(default_factory=dict)
    read: Mapping[tuple[CopyKey, str], SourceRange] = field(default_factory=dict)
    """The last range read of each source file."""
    truncations: tuple[tuple[int, Truncation], ...] = ()
    """(commit, truncation), in order: nothing is forgotten about what a node threw away."""

    def of(self, table: str) -> list[LiveFile]:
        return [live for live in self.files.values() if live.file.table == table]

    troubles: tuple[Trouble, ...] = ()
    summaries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The last summary of each job."""

    @property
    def tables(self) -> list[str]:
        return sorted({live.file.table for live in self.files.values()})

    @property
    def clusters(self) -> list[str]:
        return sorted({key.cluster for key in self.copies})


def replay(commits: Iterable[Commit], base: LakeState | None = None) -> LakeState:
    state = base or LakeState()
    files, copies, read = dict(state.files), dict(state.copies), dict(state.read)
    truncations, version = list(state.truncations), state.version
    troubles, summaries = state.troubles, dict(state.summaries)
    for commit in commits:
        assert commit.number == version + 1, f"commit {commit.number} after {version}"
        version = commit.number
        for path in commit.remove:
            files.pop(path, None)
        for truncation in commit.truncate:
            truncations.append((version, truncation))
            _truncate(files, read, truncation)
        if commit.rebuilt is not None:
            _replace(files, commit.rebuilt)
        for added in commit.add:
            files[added.path] = LiveFile(added, version, clusters=_held(added, commit.rebuilt))
            for one in added.ranges:
                known = read.get((one.copy, one.file))
                if known is None or one.end_position > known.end_position:
                    read[one.copy, one.file] = one
        copies.update((facts.copy, facts) for facts in commit.copies)
        troubles = troubles if commit.troubles is None else commit.troubles
        summaries[commit.job] = commit.summary
    return LakeState(
        version, files, copies, read=read, truncations=tuple(truncations), troubles=troubles, summaries=summaries
    )


def _held(file: LakeFile, rebuilt: Rebuilt | None) -> frozenset[str]:
    if file.clusters or rebuilt is None or file.table not in rebuilt.tables:
        return frozenset(file.clusters)
    return frozenset((*rebuilt.whole, *rebuilt.further))


def _replace(files: dict[str, LiveFile], rebuilt: Rebuilt) -> None:
    """Rows of clusters that were made anew stop counting in earlier files, and files of which nothing is left go."""
    whole, further = frozenset(rebuilt.whole), frozenset(rebuilt.further)
    for path, live in list(files.items()):
        if live.file.table not in rebuilt.tables:
            continue
        gone = live.gone | whole | (further if live.file.still else frozenset())
        if live.clusters and live.clusters <= gone:
            del files[path]
        elif gone != live.gone:
            files[path] = replace(live, gone=gone & live.clusters if live.clusters else gone)


def _truncate(files: dict[str, LiveFile], read: dict[tuple[CopyKey, str], SourceRange], truncation: Truncation) -> None:
    """Rows of the copy at or above the offset stop counting; source files that ended above it are to be read again."""
    copy, offset = truncation.copy, truncation.offset
    for path, live in list(files.items()):
        if any(one.copy == copy and one.end_offset > offset for one in live.file.ranges):
            dead = {**live.dead_from, copy: min(offset, live.dead_from.get(copy, offset))}
            files[path] = replace(live, dead_from=dead)
    for key, one in list(read.items()):
        if key[0] == copy and one.end_offset > offset:
            del read[key]
    if (kept := truncation.kept) is not None:
        read[copy, kept.file] = kept
