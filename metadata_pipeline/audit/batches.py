"""Batches of all disks side by side: what a checksum tells of one, and what only a comparison tells of several.

Base offset and leader epoch are covered by no checksum: Kafka's own tools call a batch with a damaged one valid. Here
it is found because it is not where the batch before it ended, because no leader began that epoch, or because the other
disks have the same bytes with another number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from metadata_pipeline.audit.findings import AuditFinding, first_of_each_cluster
from metadata_pipeline.canon.model import Copy
from metadata_pipeline.lake.rows import frame_of

BELIEVED: Final = "cluster_id string, node_id int, directory_id string, start bigint, end bigint"

_DAMAGED: Final = """
SELECT cluster_id, CASE WHEN kind = 'snapshot' THEN 'damaged snapshot'
                        WHEN fault = 'offset' AND position = 0 AND following = last_offset + 1 THEN 'wrong file'
                        WHEN fault = 'offset' AND base_offset > expected_offset
                             AND coalesce(following = last_offset + 1, true)
                             AND NOT coalesce(elsewhere = expected_offset, false) THEN 'gap'
                        WHEN fault = 'offset' THEN 'damaged offset' ELSE 'bit rot' END AS found,
       node_id, directory_id, file, position, base_offset AS offset, concat(fault, ': ', coalesce(detail, '')) AS detail
FROM (SELECT *,
        lead(base_offset) OVER (PARTITION BY cluster_id, node_id, directory_id, file ORDER BY position) AS following,
        min(base_offset) OVER (PARTITION BY cluster_id, kind, crc) AS elsewhere
      FROM audit_batches)
WHERE fault IS NOT NULL
"""

_BELIEVED: Final = """EXISTS (
  SELECT 1 FROM believed r
  WHERE r.cluster_id = b.cluster_id AND r.node_id = b.node_id AND r.directory_id = coalesce(b.directory_id, '')
    AND r.start <= b.base_offset AND r.end > b.base_offset)"""

_EPOCHS: Final = f"""
SELECT cluster_id, 'damaged epoch' AS found, node_id, directory_id, file, position, base_offset AS offset,
       concat('epoch ', epoch, ' between ', coalesce(CAST(before AS string), 'nothing'), ' and ',
              coalesce(CAST(after AS string), 'nothing'), ', which no leader explains') AS detail
FROM (SELECT *, lag(epoch) OVER in_file AS before, lead(epoch) OVER in_file AS after
      FROM audit_batches WHERE kind = 'log' AND crc IS NOT NULL
      WINDOW in_file AS (PARTITION BY cluster_id, node_id, directory_id, file ORDER BY position)) b
WHERE fault IS NULL AND (NOT epoch <=> before OR NOT epoch <=> after) AND NOT {_BELIEVED}
"""
"""What `canon.credible` does not believe."""

_UNEQUAL: Final = """
SELECT b.cluster_id, b.node_id, b.directory_id, b.file, b.position, b.base_offset AS offset, b.epoch, b.crc, b.after,
       r.start IS NOT NULL AS believed
FROM (SELECT *, lead(epoch) OVER (PARTITION BY cluster_id, node_id, directory_id, file ORDER BY position) AS after
  FROM audit_batches) b
JOIN (SELECT cluster_id, base_offset, collect_set(crc) AS crcs, collect_set(epoch) AS epochs
      FROM audit_batches WHERE kind = 'log' AND crc_ok AND crc IS NOT NULL
      GROUP BY cluster_id, base_offset HAVING size(crcs) > 1 OR size(epochs) > 1) g
  ON b.cluster_id = g.cluster_id AND b.base_offset = g.base_offset
LEFT JOIN believed r ON r.cluster_id = b.cluster_id AND r.node_id = b.node_id
  AND r.directory_id = coalesce(b.directory_id, '')
                    AND r.start <= b.base_offset AND r.end > b.base_offset
WHERE b.kind = 'log' AND b.crc_ok
"""


def compare(spark: Any, batches: Any, copies: Iterable[Copy]) -> list[AuditFinding]:
    """`batches` is the lake's table, `copies` what is believed of it; of one kind at most findings.MOST in
    a cluster.
    """
    batches.createOrReplaceTempView("audit_batches")
    frame_of(spark, believed_rows(copies), BELIEVED).createOrReplaceTempView("believed")
    place = "node_id, directory_id, file, position"
    rows = spark.sql(first_of_each_cluster(f"{_DAMAGED} UNION ALL {_EPOCHS}", kind="found", order=place)).collect()
    findings = [
        AuditFinding(
            row["cluster_id"],
            row["found"],
            node=row["node_id"],
            directory=row["directory_id"],
            file=row["file"],
            position=row["position"],
            offset=row["offset"],
            detail=row["detail"],
        )
        for row in rows
    ]
    return findings + unequal(spark.sql(first_of_each_cluster(_UNEQUAL)).collect())


def believed_rows(copies: Iterable[Copy]) -> list[tuple[Any, ...]]:
    return [
        (copy.key.cluster, copy.key.node, copy.key.directory, run.start, run.end)
        for copy in copies
        for piece in copy.pieces
        for run in piece.runs
    ]


def unequal(rows: Sequence[Any]) -> list[AuditFinding]:
    """Batches of one offset that are not the same on all disks, judged by what most of them say. Pure: rows of
    `_UNEQUAL`.
    """
    groups: dict[tuple[str, int], list[Any]] = {}
    for row in rows:
        groups.setdefault((row["cluster_id"], row["offset"]), []).append(row)
    findings = []
    for _, group in sorted(groups.items()):
        group.sort(key=lambda row: (row["node_id"], row["directory_id"] or ""))
        if (undecided := _two_epochs(group)) is not None:
            findings.append(undecided)
        for row in group:
            found = _odd_one(row, group)
            if found is not None:
                kind, detail = found
                findings.append(
                    AuditFinding(
                        row["cluster_id"],
                        kind,
                        node=row["node_id"],
                        directory=row["directory_id"],
                        file=row["file"],
                        position=row["position"],
                        offset=row["offset"],
                        detail=detail,
                    )
                )
    return findings


def _odd_one(row: Any, group: list[Any]) -> tuple[str, str] | None:
    """Different epochs alone are no fault: uncommitted suffixes differ. One epoch with two contents is, and so are the
    same bytes with two epochs, unless the disk goes on in its own: two leaders may write the same in one millisecond.
    """
    same_bytes = [other for other in group if other["crc"] == row["crc"] and other["epoch"] != row["epoch"]]
    if same_bytes and row["after"] != row["epoch"] and _outvoted(row, group, same_bytes):
        others = ", ".join(f"node {other['node_id']} has {other['epoch']}" for other in same_bytes)
        return "damaged epoch", f"epoch {row['epoch']} with bytes for which {others}"
    same_epoch = [other for other in group if other["epoch"] == row["epoch"] and other["crc"] != row["crc"]]
    if same_epoch:
        votes = sum(other["epoch"] == row["epoch"] and other["crc"] == row["crc"] for other in group)
        if votes <= len(same_epoch):
            others = ", ".join(f"node {other['node_id']} has CRC {other['crc']}" for other in same_epoch)
            return "divergence", f"CRC {row['crc']} at epoch {row['epoch']}, where {others}"
    return None


def _outvoted(row: Any, group: list[Any], same_bytes: list[Any]) -> bool:
    """By more disks; by as many, if they go on in their epoch, or if theirs can be believed and this one's cannot."""
    votes = sum(other["epoch"] == row["epoch"] and other["crc"] == row["crc"] for other in group)
    if votes != len(same_bytes):
        return bool(votes < len(same_bytes))
    if any(other["after"] == other["epoch"] for other in same_bytes):
        return True
    return not row["believed"] and bool([other for other in same_bytes if other["believed"]])


def _two_epochs(group: list[Any]) -> AuditFinding | None:
    """Equal bytes under two epochs on as many disks each, and neither the disks nor their logs tell which number is
    damaged: then nobody is accused.
    """
    for row in group:
        same_bytes = [other for other in group if other["crc"] == row["crc"] and other["epoch"] != row["epoch"]]
        mine = [other for other in group if other["crc"] == row["crc"] and other["epoch"] == row["epoch"]]
        sides = [*mine, *same_bytes]
        settled = any(side["after"] == side["epoch"] for side in sides) or len({side["believed"] for side in sides}) > 1
        if len(mine) == len(same_bytes) and not settled:
            shown = "; ".join(
                f"node {side['node_id']} has {side['epoch']} ({side['file']} at {side['position']})" for side in sides
            )
            return AuditFinding(
                row["cluster_id"],
                "two epochs",
                node=None,
                directory=None,
                file=None,
                position=None,
                offset=row["offset"],
                detail=f"equal bytes: {shown}",
            )
    return None
