"""What the report tells, as plain values that JSON can hold: per cluster, small however long its history is.

Times are milliseconds since the epoch. Lists have a bound each (`MOST_…`), and say how much they left out by the totals
beside them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from typing import Any, Final

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

_SPANS: Final = f"""
SELECT cluster_id, min(offset) AS first, max(offset) AS last, count(*) AS records,
  {_MS.format("min(timestamp)")} AS begin, {_MS.format("max(timestamp)")} AS end
FROM committed GROUP BY cluster_id"""

_TYPES: Final = (
    "SELECT cluster_id, type, count(*) AS records FROM committed GROUP BY cluster_id, type ORDER BY records DESC, type"
)

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
FROM committed c JOIN ({_SPANS}) s ON c.cluster_id = s.cluster_id GROUP BY 1, 2 ORDER BY 1, 2"""

_GROWTH: Final = f"""
SELECT cluster_id, {_MS.format("at")} AS at, sum(topics) AS topics, sum(partitions) AS partitions FROM (
  SELECT cluster_id, valid_from_time AS at, 1 AS topics, 0 AS partitions FROM topics
  UNION ALL SELECT cluster_id, valid_to_time, -1, 0 FROM topics WHERE valid_to_time IS NOT NULL
  UNION ALL SELECT cluster_id, min(valid_from_time), 0, 1 FROM partitions
    GROUP BY cluster_id, stretch, topic_id, partition_id
  UNION ALL SELECT cluster_id, max(valid_to_time), 0, -1 FROM partitions
            GROUP BY cluster_id, stretch, topic_id, partition_id HAVING count(*) = count(valid_to_time))
GROUP BY cluster_id, at ORDER BY cluster_id, at"""

_TOPICS: Final = """
SELECT cluster_id, topic, count(*) AS partitions, sum(size(replicas)) AS replicas,
       count_if(size(isr) < size(replicas)) AS short_of_isr, count_if(leader < 0) AS leaderless
FROM partitions WHERE valid_to IS NULL GROUP BY cluster_id, topic ORDER BY cluster_id, partitions DESC, topic"""

_BEFORE: Final = "lag(timestamp) OVER (PARTITION BY cluster_id, stretch ORDER BY offset)"
_SILENCES: Final = f"""
SELECT cluster_id, offset, {_MS.format("timestamp")} - gap AS begin, gap FROM (
  SELECT cluster_id, offset, timestamp,
    {_MS.format("timestamp")} - {_MS.format(_BEFORE)} AS gap
  FROM committed)
WHERE gap > {SILENCE_MS} ORDER BY cluster_id, gap DESC"""

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


def collect(spark: Any, *, audited: bool) -> dict[str, Any]:
    """The numbers of all clusters; the views of `tables.as_of.open_views` are there. `audited`: whether there is a
    table `findings`.
    """
    lists = {
        "types": (_TYPES, 60), "leaders": (_LEADERS, MOST_LEADERS), "brokers": (_FENCED, MOST_FENCED),
        "churn": (_CHURN, BUCKETS),
        "growth": (_GROWTH, 100_000), "topics": (_TOPICS, MOST_TOPICS), "silences": (_SILENCES, MOST_GAPS),
        "deleted": (_DELETED, 50),
        "provisional": (_PROVISIONAL, 50),
    }  # fmt: skip
    asked = [_SPANS, *([_FINDINGS] if audited else []), *(sql for sql, _ in lists.values())]
    answers = dict(zip(asked, together([partial(_rows, spark, sql) for sql in asked]), strict=True))
    found: dict[str, dict[str, Any]] = {row["cluster_id"]: {"span": _plain(row)} for row in answers[_SPANS]}
    for name, (sql, most) in lists.items():
        grouped: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in answers[sql]:
            grouped[row["cluster_id"]].append(_plain(row))
        for cluster, shown in found.items():
            rows = grouped.get(cluster, [])
            shown[name] = _running(rows) if name == "growth" else rows[:most]
            shown[f"{name}_in_all"] = len(rows)
            if name == "topics":
                shown |= {total: sum(row[total] for row in rows) for total in ("leaderless", "short_of_isr")}
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
