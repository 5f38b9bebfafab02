"""What an audit has to look at, by what the last one saw: nothing of a cluster of which nothing is new; only what is
new where all was well and the history went on; everything else whole. Pure.

What was clean and whose new part is clean is clean, so a look at the new part has only to notice that something is
wrong, or might be: then the cluster is looked at whole, and its findings are those of a whole look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

from metadata_pipeline.audit.batches import believed_rows
from metadata_pipeline.audit.findings import AuditFinding
from metadata_pipeline.lake.entries import SourceRange
from metadata_pipeline.lake.state import LakeState, LiveFile
from metadata_pipeline.tables.committed import Cluster
from metadata_pipeline.tables.memory import Remembered, Scope, remembered

LOOKED: Final = "looked"
MOST_KEPT: Final = 2000
"""So many findings are kept for the next audit; clusters that have more are looked at whole again."""
_OVER: Final = frozenset(("clock jump",))
"""What is found of records alone that are there for good: no reason to look at them again."""
_ALL_ROWS: Final = frozenset(("topics", "brokers", "provisional", "stretches", "findings"))
"""Tables whose old rows a look at new records asks, too."""


@dataclass(frozen=True, slots=True)
class Look:
    """`kept`: what the last audit found by looking into data that is not looked at."""

    scope: Scope
    kept: tuple[AuditFinding, ...] = ()
    after: int = -1
    """The commit of the last audit."""
    early: frozenset[str] = frozenset()
    """Of those that are looked at further on: clusters that are looked at from before where the last audit ended."""

    def whole(self, clusters: Iterable[str]) -> Look:
        """A second look at these, all of them."""
        return Look(Scope(dict.fromkeys(clusters, 0)))

    def wants(self, live: LiveFile) -> bool:
        """Whether a history table's file may have rows that this look asks. Intervals that ended before the last audit
        are in files of before it.
        """
        mine = live.clusters & set(self.scope.since) if live.clusters else set(self.scope.since)
        old = not live.file.still and bool(live.clusters) and live.commit <= self.after
        if old and live.file.table not in _ALL_ROWS:
            return any(self.scope.since[cluster] == 0 or cluster in self.early for cluster in mine)
        return bool(mine)

    def condition(self, table: str) -> str:
        """SQL: the rows of a table that this look asks."""
        from metadata_pipeline.lake.rows import quoted

        said = []
        for cluster, since in sorted(self.scope.since.items()):
            of = f"cluster_id = {quoted(cluster)}"
            later = since > 0 and table not in _ALL_ROWS
            said.append(f"({of} AND (valid_to IS NULL OR valid_to >= {since}))" if later else of)
        return " OR ".join(said) or "false"


def whole_look(known: Sequence[Cluster]) -> Look:
    return Look(Scope({it.cluster: 0 for it in known}))


def look_of(state: LakeState, known: Sequence[Cluster]) -> Look:
    stored: Mapping[str, Any] = state.summaries.get("audit", {}).get(LOOKED, {})
    after, seen = stored.get("commit", -1), stored.get("clusters", {})
    built = remembered(state)
    ranges = _ranges(state)
    since: dict[str, int] = {}
    kept: list[AuditFinding] = []
    early = set()
    for it in known:
        before = seen.get(it.cluster)
        if before is None or _is_another(state, it, built.get(it.cluster), before, after):
            since[it.cluster] = 0
            continue
        found = [AuditFinding(*each) for each in before["findings"]]
        own = ranges.get(it.cluster, [])
        new = [one for commit, one in own if commit > after]
        if not new and built[it.cluster].commit <= after:
            kept += found
        elif any(each.kind not in _OVER for each in found) or any(one.damaged for _, one in own):
            since[it.cluster] = 0
        else:
            kept += found
            since[it.cluster] = first = max(0, min([before["end"] - 1, *map(_begin, new)]))
            if first < before["end"] - 1:
                early.add(it.cluster)
    return Look(Scope(since, after), tuple(kept), after, frozenset(early))


def to_keep(
    number: int, known: Sequence[Cluster], built: Mapping[str, Remembered], found: Iterable[AuditFinding]
) -> dict[str, Any]:
    """What the next audit is told of this one. `found`: by looking into data."""
    of: dict[str, list[AuditFinding]] = {it.cluster: [] for it in known}
    for each in found:
        of.setdefault(each.cluster, []).append(each)
    clusters, rows = {}, 0
    for it in known:
        rows += len(of[it.cluster])
        if rows <= MOST_KEPT and it.cluster in built:
            clusters[it.cluster] = {
                "end": built[it.cluster].end, "believed": believed_rows(it.evidence.copies),
                "findings": [astuple(each) for each in of[it.cluster]],
            }  # fmt: skip
    return {"commit": number, "clusters": clusters}


def _ranges(state: LakeState) -> dict[str, list[tuple[int, SourceRange]]]:
    found: dict[str, list[tuple[int, SourceRange]]] = {}
    for live in state.of("batches"):
        for one in live.file.ranges:
            found.setdefault(one.copy.cluster, []).append((live.commit, one))
    return found


def _begin(one: SourceRange) -> int:
    """From which offset on a new range has to be compared: a snapshot with the tables before its end."""
    return one.start_offset if one.file.endswith(".log") else int(one.file[:20]) - 1


def _is_another(state: LakeState, it: Cluster, built: Remembered | None, before: Mapping[str, Any], after: int) -> bool:
    """Whether what the last audit saw is not simply the beginning of what there is now."""
    if built is None or built.whole > after:
        return True
    if any(commit > after and cut.copy.cluster == it.cluster for commit, cut in state.truncations):
        return True
    now: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for _, node, directory, start, end in believed_rows(it.evidence.copies):
        now.setdefault((node, directory), []).append((start, end))
    return not all(
        any(low <= start and end <= high for low, high in now.get((node, directory), ()))
        for _, node, directory, start, end in before["believed"]
    )
