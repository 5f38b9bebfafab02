"""The committed records of every cluster, each offset once, without those of aborted metadata transactions: the input
of every table.

What is committed and who provides it was decided from the lake's commits (`canon`); here it is joined to the records:
small tables of parts and stretches, broadcast. A stretch that begins with a snapshot gets the snapshot's records first,
at the offset before its end. The records of a metadata transaction count when it has ended; what is between a begin and
its abort, or a begin that has no end yet, does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from metadata_pipeline.canon.from_lake import Evidence, SnapshotFile, evidence
from metadata_pipeline.canon.kept import Kept, keep_providers
from metadata_pipeline.canon.model import Canon, Part, Proof
from metadata_pipeline.canon.stretches import Stretch, stretches
from metadata_pipeline.copies import CopyKey
from metadata_pipeline.lake.rows import frame_of
from metadata_pipeline.lake.state import LakeState

PARTS: Final = "cluster_id string, node_id int, directory_id string, stretch int, start bigint, end bigint"
BASES: Final = "cluster_id string, node_id int, directory_id string, stretch int, base_end bigint, base_epoch int"
DROPPED: Final = "cluster_id string, stretch int, start bigint, end bigint"
ENDS: Final = "cluster_id string, stretch int, end_offset bigint, end_time timestamp"


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is known of one cluster at one state of the lake."""

    cluster: str
    evidence: Evidence
    canon: Canon
    stretches: tuple[Stretch, ...]


def clusters(state: LakeState) -> list[Cluster]:
    """The committed logs as the lake proves them now, or did before."""
    return [_cluster(state, name) for name in state.clusters]


def _cluster(state: LakeState, name: str) -> Cluster:
    known = evidence(state, name)
    canon = keep_providers(known.canon(earlier_proofs(state, name)), known.copies, kept_of(state, name))
    return Cluster(name, known, canon, tuple(stretches(canon, known.snapshots)))


def earlier_proofs(state: LakeState, cluster: str) -> list[Proof]:
    stored = state.summaries.get("tables", {}).get("proven", {}).get(cluster)
    return [] if stored is None else [Proof(stored["end"], stored["epoch"], "proven before")]


BUILT: Final = "built"
"""What the last build remembers of each cluster, in its summary (`tables.memory`)."""


def kept_of(state: LakeState, cluster: str) -> Kept | None:
    """Who provided which offsets at the last build; they go on doing so while they hold them."""
    stored = state.summaries.get("tables", {}).get(BUILT, {}).get(cluster)
    if stored is None:
        return None
    provided = tuple(Part(CopyKey(it[0], it[1], it[2]), it[4], it[5]) for it in stored["parts"])
    return None if is_cut(state, stored["commit"], provided) else Kept(provided)


def is_cut(state: LakeState, since: int, provided: Iterable[Part]) -> bool:
    """Whether a copy's node threw away some of what it provided, as a commit after `since` says."""
    cuts = [truncation for commit, truncation in state.truncations if commit > since]
    return any(cut.copy == part.copy and cut.offset < part.end for cut in cuts for part in provided)


def parts_of(cluster: Cluster, since: int = 0) -> list[tuple[Any, ...]]:
    """Who provides which offsets of which stretch; `since`: from that offset on, of the last stretch."""
    stretches_of = cluster.stretches if since == 0 else cluster.stretches[-1:]
    return [
        (part.copy.cluster, part.copy.node, part.copy.directory, stretch.number,
            max(part.start, stretch.start, since), min(part.end, stretch.end))
        for stretch in stretches_of
        for part in cluster.canon.parts
        if max(part.start, stretch.start, since) < min(part.end, stretch.end)
    ]  # fmt: skip


def bases_of(cluster: Cluster) -> list[tuple[Any, ...]]:
    return [
        (cluster.cluster, base.copy.node, base.copy.directory, stretch.number, base.end, base.epoch)
        for stretch in cluster.stretches
        if (base := stretch.base) is not None
    ]


@dataclass(frozen=True, slots=True)
class Registered:
    """`clears`: whether a record clears ELRs. `pending`: clusters whose last transaction has not ended."""

    clears: bool
    pending: frozenset[str]


def register(
    spark: Any,
    records: Any,
    known: Sequence[Cluster],
    since: Mapping[str, int] | None = None,
    *,
    keep: bool = False,
    together: bool = False,
) -> Registered:
    """Make the views `committed` (log records by offset) and `events` (with what snapshots give) of these clusters.

    `since`: clusters of which only the records from an offset on are taken, and no snapshot. `keep`: records and
    events are held, for all who ask; `together`: in one partition.
    """
    since = since or {}
    bases = [row for it in known if not since.get(it.cluster) for row in bases_of(it)]
    records.createOrReplaceTempView("lake_records")
    if keep:
        spark.catalog.cacheTable("lake_records")
    parts = [row for it in known for row in parts_of(it, since.get(it.cluster, 0))]
    frame_of(spark, parts, PARTS).createOrReplaceTempView("canon_parts")
    frame_of(spark, bases, BASES).createOrReplaceTempView("canon_bases")
    spark.sql(_LOG_RECORDS).createOrReplaceTempView("log_records")
    dropped, clears = _told_apart(spark)
    frame_of(spark, dropped, DROPPED).createOrReplaceTempView("dropped")
    spark.sql(_COMMITTED if dropped else _ALL_COMMITTED).createOrReplaceTempView("committed")
    events = spark.table("committed").selectExpr("*", "0L AS sub")
    if bases:
        events = events.unionByName(spark.sql(_BASE_RECORDS))
    (events.coalesce(1) if together else events).createOrReplaceTempView("events")
    if keep:
        spark.catalog.cacheTable("events")
        spark.sql("SELECT * EXCEPT (sub) FROM events WHERE kind = 'log'").createOrReplaceTempView("committed")
    several = any(len(it.stretches) > 1 for it in known if not since.get(it.cluster))
    ends = spark.sql(_ENDS) if several else frame_of(spark, [], ENDS)
    ends.createOrReplaceTempView("stretch_ends")
    return Registered(clears, frozenset(cluster for cluster, _, _, end in dropped if end == NEVER))


def _told_apart(spark: Any) -> tuple[list[tuple[str, int, int, int]], bool]:
    """The offsets that no table shows, those of transactions that were aborted or have not ended (few rows), and
    whether there is a ClearElrRecord: in one look.
    """
    rows = spark.sql(
        "SELECT cluster_id, stretch, offset, type FROM log_records WHERE type IN ('BeginTransactionRecord', "
        "'EndTransactionRecord', 'AbortTransactionRecord') UNION ALL (SELECT cluster_id, -1, offset, type "
        "FROM lake_records WHERE type = 'ClearElrRecord' LIMIT 1)"
    ).collect()
    found = sorted((row["cluster_id"], row["stretch"], row["offset"], row["type"]) for row in rows)
    return dropped_ranges(it for it in found if it[1] >= 0), any(it[1] < 0 for it in found)


NEVER: Final = (1 << 63) - 1


def dropped_ranges(markers: Iterable[tuple[str, int, int, str]]) -> list[tuple[str, int, int, int]]:
    """(cluster, stretch, first, end) of transactions that do not count, from their markers in order."""
    found: list[tuple[str, int, int, int]] = []
    begun: tuple[str, int, int] | None = None
    for cluster, stretch, offset, kind in markers:
        if begun is not None and begun[:2] != (cluster, stretch):
            found.append((*begun, NEVER))
            begun = None
        if kind == "BeginTransactionRecord":
            begun = cluster, stretch, offset
        elif begun is not None:
            if kind == "AbortTransactionRecord":
                found.append((*begun, offset + 1))
            begun = None
    return [*found, (*begun, NEVER)] if begun is not None else found


_LOG_RECORDS: Final = """
SELECT r.*, p.stretch
FROM lake_records r JOIN canon_parts p
  ON r.cluster_id = p.cluster_id AND r.node_id = p.node_id AND coalesce(r.directory_id, '') = p.directory_id
 AND r.offset >= p.start AND r.offset < p.end
WHERE r.kind = 'log' AND r.type IS NOT NULL AND r.fault IS NULL
"""

_COMMITTED: Final = """
SELECT /*+ BROADCAST(d) */ r.* FROM log_records r LEFT ANTI JOIN dropped d
  ON r.cluster_id = d.cluster_id AND r.stretch = d.stretch AND r.offset >= d.start AND r.offset < d.end
    AND NOT r.is_control
"""

_ALL_COMMITTED: Final = "SELECT * FROM log_records"

_BASE_RECORDS: Final = """
SELECT r.* EXCEPT (offset, epoch, timestamp),
       b.stretch, b.base_end - 1 AS offset, b.base_epoch AS epoch, h.at AS timestamp, r.offset AS sub
FROM lake_records r JOIN canon_bases b
  ON r.cluster_id = b.cluster_id AND r.node_id = b.node_id AND coalesce(r.directory_id, '') = b.directory_id
 AND r.snapshot_offset = b.base_end AND r.snapshot_epoch = b.base_epoch
JOIN (SELECT cluster_id, node_id, directory_id, snapshot_offset, snapshot_epoch,
             timestamp_millis(CAST(get_json_object(extra, '$.lastContainedLogTimestamp') AS BIGINT)) AS at
      FROM lake_records WHERE kind = 'snapshot' AND type = 'SnapshotHeaderRecord') h
  ON r.cluster_id = h.cluster_id AND r.node_id = h.node_id AND r.directory_id <=> h.directory_id
 AND r.snapshot_offset = h.snapshot_offset AND r.snapshot_epoch = h.snapshot_epoch
WHERE r.kind = 'snapshot' AND r.type IS NOT NULL AND r.fault IS NULL
"""

_ENDS: Final = """
SELECT c.cluster_id, c.stretch, max(c.offset) + 1 AS end_offset, max(c.timestamp) AS end_time
FROM events c JOIN (SELECT cluster_id, max(stretch) AS last FROM events GROUP BY cluster_id) l
  ON c.cluster_id = l.cluster_id AND c.stretch < l.last
GROUP BY c.cluster_id, c.stretch
"""

__all__ = ["Cluster", "Proof", "SnapshotFile", "clusters", "dropped_ranges", "register"]
