"""What the report tells, as plain values that JSON can hold: per cluster, small however long its history is.

Times are milliseconds since the epoch. Lists have a bound each (`MOST_…`), and say how much they left out by the totals
beside them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from typing import Any, Final

from metadata_pipeline.lake.rows import frame_of
from metadata_pipeline.tables.silences import silences, steps_of, steps_sql
from metadata_pipeline.together import together

BUCKETS: Final = 96
MOST_LEADERS: Final = 400
MOST_FENCED: Final = 1000
MOST_TOPICS: Final = 15
MOST_FINDINGS: Final = 200
MOST_GAPS: Final = 50
SILENCE_MS: Final = 2000
"""An active controller writes a NoOp every 500 ms: two seconds without a record are a quorum without a leader."""

_MS: Final = "CAST(unix_millis({}) AS bigint)"

_TYPES: Final = f"""
SELECT cluster_id, type, count(*) AS records, min(offset) AS first, max(offset) AS last,
  {_MS.format("min(timestamp)")} AS begin, {_MS.format("max(timestamp)")} AS end
FROM committed GROUP BY cluster_id, type ORDER BY records DESC, type"""
"""Of one look at all records: which there are, and what they span."""
_OF_SPANS: Final = frozenset(("first", "last", "begin", "end"))
SPANS: Final = "cluster_id string, begin bigint, end bigint"

_LEADERS: Final = f"""
SELECT cluster_id, epoch, leader, {_MS.format("valid_from_time")} AS begin, {_MS.format("valid_to_time")} AS end,
  valid_from AS offset
FROM leadership ORDER BY cluster_id, valid_from"""

_FENCED: Final = f"""
SELECT cluster_id, broker_id, fenced, in_controlled_shutdown AS stopping, {_MS.format("valid_from_time")} AS begin,
  {_MS.format("valid_to_time")} AS end
FROM brokers ORDER BY cluster_id, broker_id, valid_from"""

_CHURN: Final = f"""
SELECT c.cluster_id,
       CAST(floor(({_MS.format("c.timestamp")} - s.begin) * {BUCKETS} / (s.end - s.begin + 1)) AS int) AS bucket,
       count_if(type = 'PartitionChangeRecord' AND isr IS NOT NULL) AS isr,
       count_if(type = 'PartitionChangeRecord' AND leader IS NOT NULL) AS leaders,
       count_if(type = 'TopicRecord') AS created, count_if(type = 'RemoveTopicRecord') AS removed,
       count_if(type = 'ConfigRecord') AS configs,
       count(*) AS records
FROM committed c JOIN report_spans s ON c.cluster_id = s.cluster_id GROUP BY 1, 2 ORDER BY 1, 2"""

_GROWTH: Final = f"""
SELECT cluster_id, {_MS.format("at")} AS at, sum(topics) AS topics, sum(partitions) AS partitions FROM (
  SELECT cluster_id, valid_from_time AS at, 1 AS topics, 0 AS partitions FROM topics
  UNION ALL SELECT cluster_id, valid_to_time, -1, 0 FROM topics WHERE valid_to_time IS NOT NULL
  UNION ALL SELECT cluster_id, at, 0, partitions FROM (
    SELECT cluster_id, stack(2, began, 1, ended, -1) AS (at, partitions) FROM (
      SELECT cluster_id, min(valid_from_time) AS began,
        CASE WHEN count(*) = count(valid_to_time) THEN max(valid_to_time) END AS ended
      FROM partitions GROUP BY cluster_id, stretch, topic_id, partition_id))
  WHERE at IS NOT NULL OR partitions = 1)
GROUP BY cluster_id, at ORDER BY cluster_id, at"""

_TOPICS: Final = """
SELECT cluster_id, topic, count(*) AS partitions, sum(size(replicas)) AS replicas,
       count_if(size(isr) < size(replicas)) AS short_of_isr, count_if(leader < 0) AS leaderless
FROM partitions WHERE valid_to IS NULL GROUP BY cluster_id, topic ORDER BY cluster_id, partitions DESC, topic"""

_STEPS: Final = steps_sql(SILENCE_MS)

_DELETED: Final = f"""
SELECT cluster_id, name, {_MS.format("valid_to_time")} AS at, valid_to AS offset FROM topics WHERE valid_to IS NOT NULL
  ORDER BY cluster_id, valid_to DESC"""

_FINDINGS: Final = (
    "SELECT cluster_id, severity, kind, node_id, file, position, offset, detail FROM findings"
    " ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, cluster_id, kind, node_id, offset"
)

_PROVISIONAL: Final = (
    "SELECT cluster_id, from_offset, to_offset, epoch, nodes, status FROM provisional ORDER BY cluster_id, from_offset"
)


def collect(spark: Any, *, audited: bool, now_ms: int) -> dict[str, Any]:
    """The numbers of all clusters; the views of `tables.as_of.open_views` are there. `audited`: whether there is a
    table `findings`.
    """
    lists = {
        "types": (_TYPES, 60), "leaders": (_LEADERS, MOST_LEADERS), "brokers": (_FENCED, MOST_FENCED),
        "churn": (_CHURN, BUCKETS),
        "growth": (_GROWTH, 100_000), "topics": (_TOPICS, MOST_TOPICS),
        "deleted": (_DELETED, 50),
        "provisional": (_PROVISIONAL, 50),
    }  # fmt: skip
    answers = {_TYPES: _rows(spark, _TYPES)}
    found: dict[str, dict[str, Any]] = {cluster: {"span": span} for cluster, span in _spans(answers[_TYPES]).items()}
    spans = [(cluster, it["span"]["begin"], it["span"]["end"]) for cluster, it in found.items()]
    frame_of(spark, spans, SPANS).createOrReplaceTempView("report_spans")
    asked = [*([_FINDINGS] if audited else []), _STEPS, *(sql for sql, _ in lists.values() if sql != _TYPES)]
    answers |= zip(asked, together([partial(_rows, spark, sql) for sql in asked]), strict=True)
    for name, (sql, most) in lists.items():
        grouped: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in answers[sql]:
            grouped[row["cluster_id"]].append(_plain(row))
        for cluster, shown in found.items():
            rows = grouped.get(cluster, [])
            if name == "types":
                rows = [{key: value for key, value in row.items() if key not in _OF_SPANS} for row in rows]
            shown[name] = _running(rows) if name == "growth" else rows[:most]
            shown[f"{name}_in_all"] = len(rows)
            if name == "topics":
                shown |= {total: sum(row[total] for row in rows) for total in ("leaderless", "short_of_isr")}
    silent: dict[str, list[dict[str, int]]] = defaultdict(list)
    for it in silences(steps_of(answers[_STEPS]), SILENCE_MS, now_ms):
        silent[it.cluster].append({"offset": it.offset, "begin": it.begin_ms, "gap": it.lasted_ms})
    for cluster, shown in found.items():
        shown |= {"silences": silent[cluster][:MOST_GAPS], "silences_in_all": len(silent[cluster])}
    findings = [row.asDict() for row in answers.get(_FINDINGS, [])]
    return {
        "clusters": {cluster: found[cluster] for cluster in sorted(found)},
        "audited": audited,
        "findings": findings[:MOST_FINDINGS],
        "findings_in_all": len(findings),
        "by_cluster": {
            cluster: dict(Counter(it["severity"] for it in findings if it["cluster_id"] == cluster))
            for cluster in found
        },
        "severities": {
            severity: sum(it["severity"] == severity for it in findings) for severity in ("error", "warning", "note")
        },
    }


def _spans(types: list[Any]) -> dict[str, dict[str, Any]]:
    """What the records of all types of each cluster span."""
    grouped: dict[str, list[Any]] = defaultdict(list)
    for row in types:
        grouped[row["cluster_id"]].append(row)
    return {
        cluster: {
            "first": min(row["first"] for row in rows), "last": max(row["last"] for row in rows),
            "records": sum(row["records"] for row in rows),
            "begin": min((row["begin"] for row in rows if row["begin"] is not None), default=None),
            "end": max((row["end"] for row in rows if row["end"] is not None), default=None),
        }
        for cluster, rows in grouped.items()
    }  # fmt: skip


def _rows(spark: Any, sql: str) -> list[Any]:
    rows: list[Any] = spark.sql(sql).collect()
    return rows


def _plain(row: Any) -> dict[str, Any]:
    return {name: value for name, value in row.asDict().items() if name != "cluster_id"}


def _running(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Differences as totals, thinned to what a picture can show."""
    topics = partitions = 0
    totals = []
    for row in rows:
        topics += row["topics"]
        partitions += row["partitions"]
        totals.append({"at": row["at"], "topics": topics, "partitions": partitions})
    step = max(1, len(totals) // 400)
    return totals[::step] + totals[-1:] if len(totals) > 400 else totals
