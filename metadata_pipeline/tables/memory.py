"""What a build of the history tables remembers of each cluster, and what the next build need not make again. Pure.

The history of a cluster goes on when what was read is the beginning of what there is now: the same offsets from the
same copies, the same snapshot below them, no copy of them cut since. Then closed intervals stay as they are, and what
was still so is where the new records begin (`intervals.history`). Everything else (a gap that was filled, a suffix that
was retracted, another snapshot, a transaction that had not ended) is made anew, cluster by cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metadata_pipeline.canon.model import Part
from metadata_pipeline.copies import CopyKey
from metadata_pipeline.lake.entries import SourceRange
from metadata_pipeline.lake.rows import quoted
from metadata_pipeline.lake.state import LakeState, LiveFile
from metadata_pipeline.tables.committed import BUILT, Cluster, bases_of, is_cut, parts_of

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """The input of one cluster's tables: rows of `committed.PARTS` and `committed.BASES`, and where its last stretch
    ends.
    """

    commit: int
    parts: tuple[Row, ...]
    bases: tuple[Row, ...]
    end: int
    whole: int
    """The commit that made them whole last."""
    anew: bool = False
    """Whether the next build has to make it whole: a transaction had not ended, or a partition's topic has no name."""

    @property
    def provided(self) -> tuple[Part, ...]:
        return tuple(Part(CopyKey(row[0], row[1], row[2]), row[4], row[5]) for row in self.parts)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which clusters are looked at, each from which offset on; those that are not named are left out."""

    since: Mapping[str, int] = field(default_factory=dict)
    snapshots_after: int = -1
    """Of a cluster that is not looked at whole, snapshots that later commits brought count, too."""

    @property
    def whole(self) -> tuple[str, ...]:
        return tuple(sorted(cluster for cluster, since in self.since.items() if since == 0))

    @property
    def further(self) -> tuple[str, ...]:
        return tuple(sorted(cluster for cluster, since in self.since.items() if since > 0))

    def wants(self, live: LiveFile) -> bool:
        """Whether rows of this file of `records` or `batches` are looked at."""
        for one in live.file.ranges:
            since = self.since.get(one.copy.cluster)
            if since is None:
                continue
            if since == 0 or (one.end_offset > since if one.file.endswith(".log") else self._is_new(live)):
                return True
        return False

    def _is_new(self, live: LiveFile) -> bool:
        return 0 <= self.snapshots_after < live.commit

    def condition(self, live: LiveFile, offset: str) -> str:
        """SQL: which rows of a file of `records` or `batches` are looked at; "" is all of them. `offset`: the column by
        which log rows are chosen. A file of logs alone is asked by offset alone: by that, groups of rows are left out
        unread. Rows that name no offset, or a fault (whose offset may be what is damaged), are looked at.
        """
        if not any(self.since.get(one.copy.cluster) and self._is_cut(one) for one in live.file.ranges):
            return ""
        later = []
        for cluster in sorted({one.copy.cluster for one in live.file.ranges}):
            since = self.since.get(cluster)
            if since is not None:
                of = f"cluster_id = {quoted(cluster)}"
                later.append(f"({of} AND {offset} >= {since})" if since else of)
        kept = f"{offset} IS NULL OR fault IS NOT NULL"
        if not all(one.file.endswith(".log") for one in live.file.ranges):
            kept += " OR kind <> 'log'"
        return f"{' OR '.join(later)} OR {kept}"

    def _is_cut(self, one: SourceRange) -> bool:
        """Whether some of a range of a log is below what is looked at."""
        return one.file.endswith(".log") and one.start_offset < self.since.get(one.copy.cluster, 0)

    def rows(self, state: LakeState, table: str) -> int:
        """About how many rows are looked at: a range's are taken to be spread evenly over its offsets."""
        return sum(self._rows(live) for live in state.of(table) if self.wants(live))

    def _rows(self, live: LiveFile) -> int:
        offsets = seen = 0
        for one in live.file.ranges:
            some = max(0, one.end_offset - one.start_offset)
            offsets += some
            if self._is_cut(one):
                some = max(0, one.end_offset - self.since[one.copy.cluster])
            seen += some
        return live.file.rows if seen >= offsets else -(-live.file.rows * seen // offsets)


def remembered(state: LakeState) -> dict[str, Remembered]:
    stored = state.summaries.get("tables", {}).get(BUILT, {})
    return {
        cluster: Remembered(
            it["commit"],
            tuple(map(tuple, it["parts"])),
            tuple(map(tuple, it["bases"])),
            it["end"],
            whole=it["whole"],
            anew=it["anew"],
        )
        for cluster, it in stored.items()
    }


def to_remember(it: Cluster, commit: int, *, whole: int, anew: bool) -> dict[str, Any]:
    end = it.stretches[-1].end if it.stretches else 0
    return {"commit": commit, "parts": parts_of(it), "bases": bases_of(it), "end": end, "whole": whole, "anew": anew}


def scope_of(state: LakeState, known: Sequence[Cluster]) -> Scope:
    """What the next build has to make: nothing of a cluster of which nothing is new."""
    before = remembered(state)
    since = ((it.cluster, _since(state, it, before.get(it.cluster))) for it in known)
    return Scope({cluster: offset for cluster, offset in since if offset is not None})


def _since(state: LakeState, it: Cluster, before: Remembered | None) -> int | None:
    """From which offset on: 0 is everything, None nothing."""
    if before is None or is_cut(state, before.commit, before.provided):
        return 0
    parts, bases = tuple(parts_of(it)), tuple(bases_of(it))
    if bases != before.bases:
        return 0
    if parts == before.parts and (it.stretches[-1].end if it.stretches else 0) == before.end:
        return None
    if before.anew or not before.parts or not _is_beginning(before, it, parts):
        return 0
    return before.end


def _is_beginning(before: Remembered, it: Cluster, parts: Iterable[Row]) -> bool:
    last = before.parts[-1][3]
    if not it.stretches or it.stretches[-1].number != last or it.stretches[-1].end <= before.end:
        return False
    return _below(parts, last, before.end) == before.parts


def _below(parts: Iterable[Row], last: int, end: int) -> tuple[Row, ...]:
    """The parts as they were when the last stretch ended there."""
    return tuple(
        (*row[:5], min(row[5], end)) if row[3] == last else row for row in parts if row[3] != last or row[4] < end
    )
