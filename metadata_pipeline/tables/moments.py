"""A time as a place in each cluster's log.

Records name the time of the leader that wrote them, and a leader's clock may be wrong: set back, ahead, at 1970. So
times do not order records, offsets do. The moment of a time is the last offset before the first record that names a
later one: the log as it was when a clock first passed that time. Everything that is asked "at" or "since" a time is
asked at this one offset of a cluster, so no answer is of two moments. Where later records name earlier times again,
`Moment.until` says up to where; an offset chooses among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any, Final

from metadata_pipeline.lake.reading import read_level
from metadata_pipeline.lake.rows import frame_of, quoted
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.tables.committed import PARTS, Cluster, bases_of, clusters, parts_of
from metadata_pipeline.tables.memory import Scope

BEFORE_ALL: Final = -1
"""The offset of a time that every record is later than, in a log that begins with its first."""
LATEST: Final = (1 << 63) - 2
"""The offset of a time that no record is later than: after everything there is."""


@dataclass(frozen=True, slots=True)
class Moment:
    """`offset`: of the last record before a later one. `until`: of the last record that names this time or an earlier
    one; behind `offset` if a clock went back.
    """

    offset: int
    until: int

    @property
    def is_told_twice(self) -> bool:
        return self.until > self.offset


def moments(
    spark: Any, lake: Path, state: LakeState, times: Sequence[datetime], chosen: Iterable[str] | None = None
) -> dict[datetime, dict[str, Moment]]:
    """Of each time, the moment of each cluster (or of those chosen) that has records. One pass over their offsets and
    times.
    """
    known = [it for it in clusters(state) if chosen is None or it.cluster in chosen]
    if not times or not known:
        return {time: {} for time in times}
    columns = []
    for number, time in enumerate(times):
        at = f"timestamp'{(time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()}'"
        columns.append(f"min(CASE WHEN timestamp > {at} THEN offset END) AS later_{number}")
        columns.append(f"max(CASE WHEN timestamp <= {at} THEN offset END) AS until_{number}")
    told = _times(spark, lake, state, known).groupBy("cluster_id")
    rows = told.agg(*map(_expression, columns)).collect()
    return {
        time: {row["cluster_id"]: _moment(row[f"later_{number}"], row[f"until_{number}"]) for row in rows}
        for number, time in enumerate(times)
    }


def _moment(later: int | None, until: int | None) -> Moment:
    offset = LATEST if later is None else later - 1
    return Moment(offset, offset if until is None else until)


def _expression(sql: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(sql)


def _times(spark: Any, lake: Path, state: LakeState, known: Sequence[Cluster]) -> Any:
    """cluster_id, offset and timestamp of what is committed, and of the ends of snapshots that stretches begin with.
    No view is made, so those of the caller's session stay.
    """
    records = read_level(spark, lake, state, "records", Scope({it.cluster: 0 for it in known}))
    parts = frame_of(spark, [row for it in known for row in parts_of(it)], PARTS).alias("p")
    log = records.where("kind = 'log' AND type IS NOT NULL AND fault IS NULL").alias("r")
    mine = (
        "r.cluster_id = p.cluster_id AND r.node_id = p.node_id AND coalesce(r.directory_id, '') = p.directory_id"
        " AND r.offset >= p.start AND r.offset < p.end"
    )
    found = [log.join(parts, _expression(mine)).selectExpr("r.cluster_id", "r.offset", "r.timestamp")]
    bases = sorted({(row[0], row[4], row[5]) for it in known for row in bases_of(it)})
    if bases:
        ends = " OR ".join(
            f"(cluster_id = {quoted(cluster)} AND snapshot_offset = {end} AND snapshot_epoch = {epoch})"
            for cluster, end, epoch in bases
        )
        stamp = "timestamp_millis(CAST(get_json_object(extra, '$.lastContainedLogTimestamp') AS BIGINT)) AS timestamp"
        heads = records.where(f"kind = 'snapshot' AND type = 'SnapshotHeaderRecord' AND ({ends})")
        found.append(heads.selectExpr("cluster_id", "snapshot_offset - 1 AS offset", stamp))
    return reduce(lambda one, other: one.unionByName(other), found)


def offset_of_each(offsets: Mapping[str, int], prefix: str = "") -> str:
    """SQL: the offset of a row's cluster; null, and so no answer, for one that has none."""
    if not offsets:
        return "CAST(NULL AS bigint)"
    pairs = ", ".join(f"{quoted(cluster)}, {offset}L" for cluster, offset in sorted(offsets.items()))
    return f"try_element_at(map({pairs}), {prefix}cluster_id)"


def twice_told(found: Mapping[datetime, Mapping[str, Moment]]) -> list[str]:
    """A line for each time that a cluster's log passes more than once: what was taken, and what else it may mean."""
    return [
        f"{cluster}: give an offset to choose: {time.isoformat()} is offset {it.offset}, and records up to offset "
        f"{it.until} name it or earlier times (a leader's clock went back); taken is the first"
        for time, clusters_ in found.items()
        for cluster, it in sorted(clusters_.items())
        if it.is_told_twice
    ]
