"""Promises that a committed history keeps: epochs grow, ISR within replicas, leaders within ISR or ELR, ids never used
again, changes of things that exist.

Each rule is one query over the views of `tables.committed` and the history tables, and gives the offset where the
promise is broken.
"""

from __future__ import annotations

from typing import Any, Final

from metadata_pipeline.audit.findings import AuditFinding, first_of_each_cluster

_PARTITION: Final = "concat('partition ', partition_id, ' of ', coalesce(topic, topic_id))"

RULES: Final[dict[str, str]] = {
    "an epoch begins with its leader's record": """
        SELECT cluster_id, offset, concat('epoch ', epoch, ' begins with ', type) AS detail
        FROM (SELECT cluster_id, offset, epoch, type, stretch,
          lag(epoch) OVER (PARTITION BY cluster_id, stretch ORDER BY offset) AS before FROM committed)
        WHERE (epoch > before AND type <> 'LeaderChangeMessage') OR epoch < before""",
    "in-sync replicas are replicas": f"""
        SELECT cluster_id, valid_from AS offset,
          concat({_PARTITION}, ': ISR ', to_json(isr), ', replicas ', to_json(replicas)) AS detail
        FROM partitions WHERE size(array_except(isr, replicas)) > 0""",
    "eligible leader replicas are replicas and not in sync": f"""
        SELECT cluster_id, valid_from AS offset,
          concat({_PARTITION}, ': ELR ', to_json(elr), ', ISR ', to_json(isr)) AS detail
        FROM partitions WHERE size(array_except(elr, replicas)) > 0 OR arrays_overlap(elr, isr)""",
    "a leader is in sync or eligible": f"""
        SELECT cluster_id, valid_from AS offset,
          concat({_PARTITION}, ': leader ', leader, ', ISR ', to_json(isr), ', ELR ', to_json(elr)) AS detail
        FROM partitions WHERE leader >= 0 AND NOT array_contains(isr, leader) AND NOT array_contains(elr, leader)""",
    "a topic id is used once": """
        SELECT cluster_id, max(offset) AS offset,
          concat('topic id ', topic_id, ' is created ', count(*), ' times') AS detail
        FROM committed WHERE type = 'TopicRecord' GROUP BY cluster_id, stretch, topic_id HAVING count(*) > 1""",
    "a topic name is not taken": """
        SELECT b.cluster_id, b.valid_from AS offset,
          concat('topic ', b.name, ' is created while it exists as ', a.topic_id) AS detail
        FROM topics a JOIN topics b
          ON a.cluster_id = b.cluster_id AND a.stretch = b.stretch AND a.name = b.name AND a.topic_id <> b.topic_id
         AND a.valid_from < b.valid_from AND (a.valid_to IS NULL OR a.valid_to > b.valid_from)""",
    "producer ids are given once": """
        SELECT cluster_id, valid_from AS offset,
          concat('next producer id ', next_producer_id, ' after ', before) AS detail
        FROM (SELECT *, lag(next_producer_id) OVER (PARTITION BY cluster_id, stretch ORDER BY valid_from) AS before
          FROM producer_ids)
        WHERE next_producer_id <= before""",
    "a broker's epoch grows with every registration": """
        SELECT cluster_id, offset,
          concat('broker ', broker_id, ' registers with epoch ', broker_epoch, ' after ', before) AS detail
        FROM (SELECT *, lag(broker_epoch) OVER (PARTITION BY cluster_id, stretch, broker_id ORDER BY offset) AS before
              FROM committed WHERE type = 'RegisterBrokerRecord')
        WHERE broker_epoch <= before""",
    "a change is of a partition that exists": """
        SELECT c.cluster_id, c.offset,
          concat('partition ', c.partition_id, ' of topic ', c.topic_id, ' is changed and does not exist') AS detail
        FROM committed c LEFT ANTI JOIN partitions p
          ON c.cluster_id = p.cluster_id AND c.stretch = p.stretch AND c.topic_id = p.topic_id
            AND c.partition_id = p.partition_id
         AND p.valid_from = c.offset
        WHERE c.type IN ('PartitionRecord', 'PartitionChangeRecord')""",
    "a change is of the registration in force": """
        SELECT c.cluster_id, c.offset, concat(c.type, ' for broker ', c.broker_id, ' epoch ', c.broker_epoch) AS detail
        FROM committed c LEFT JOIN brokers b
          ON c.cluster_id = b.cluster_id AND c.stretch = b.stretch AND c.broker_id = b.broker_id
         AND b.valid_from < c.offset AND (b.valid_to IS NULL OR b.valid_to >= c.offset)
        WHERE c.type IN ('BrokerRegistrationChangeRecord', 'FenceBrokerRecord', 'UnfenceBrokerRecord',
          'UnregisterBrokerRecord')
          AND NOT (b.broker_epoch <=> c.broker_epoch)""",
    "a topic that is removed exists": """
        SELECT c.cluster_id, c.offset, concat('topic ', c.topic_id, ' is removed and does not exist') AS detail
        FROM committed c LEFT ANTI JOIN topics t
          ON c.cluster_id = t.cluster_id AND c.stretch = t.stretch AND c.topic_id = t.topic_id
            AND t.valid_from < c.offset AND t.valid_to = c.offset
        WHERE c.type = 'RemoveTopicRecord'""",
}  # fmt: skip
"""Name of the promise and the query that gives cluster_id, offset and detail of what breaks it."""

_UNKNOWN: Final = """
SELECT r.cluster_id, r.offset, r.node_id, r.directory_id, r.file, r.position, coalesce(r.detail, r.fault) AS detail
FROM lake_records r JOIN canon_parts p
  ON r.cluster_id = p.cluster_id AND r.node_id = p.node_id AND coalesce(r.directory_id, '') = p.directory_id
 AND r.offset >= p.start AND r.offset < p.end
WHERE r.kind = 'log' AND r.fault IN ('unknown', 'malformed', 'control')
"""


DOUBTS: Final[dict[str, str]] = {
    "a topic id is used once": """
        SELECT c.cluster_id, c.offset, c.topic_id AS detail
        FROM committed c JOIN topics t
          ON c.cluster_id = t.cluster_id AND c.topic_id = t.topic_id AND t.valid_from < c.offset
        WHERE c.type = 'TopicRecord'""",
    "a broker's epoch grows with every registration": """
        SELECT c.cluster_id, c.offset, concat('broker ', c.broker_id) AS detail
        FROM committed c JOIN brokers b
          ON c.cluster_id = b.cluster_id AND c.stretch = b.stretch AND c.broker_id = b.broker_id
            AND b.valid_from < c.offset AND b.broker_epoch >= c.broker_epoch
        WHERE c.type = 'RegisterBrokerRecord'""",
}
"""Where `committed` is only what is new: what may break a promise together with what is not looked at. It is cause for
a look at the whole, no finding.
"""


CLOCK_MS: Final = 60_000
"""So far may the clocks of two leaders be apart."""
CLOCK: Final = "a leader's clock is behind"
_CLOCK: Final = f"""
SELECT cluster_id, offset, concat('by ', (unix_millis(before) - unix_millis(timestamp)) DIV 1000, ' s: ', timestamp,
  ' after ', before, ' (times up to the later one are found before this record)') AS detail
FROM (SELECT cluster_id, offset, timestamp,
  lag(timestamp) OVER (PARTITION BY cluster_id, stretch ORDER BY offset) AS before FROM committed)
WHERE unix_millis(before) - unix_millis(timestamp) > {CLOCK_MS}"""
"""A clock that was ahead is told where the next leader's is right again."""


def check(spark: Any, *, doubts: bool = False) -> list[AuditFinding]:
    """Run every rule at once; the views `committed`, `events` and the history tables are there."""
    asked = [*RULES.items(), (CLOCK, _CLOCK), *(DOUBTS.items() if doubts else ())]
    query = " UNION ALL ".join(
        f"SELECT cluster_id, offset, {_literal(name)} AS rule, detail FROM ({sql})" for name, sql in asked
    )
    broken = [
        AuditFinding(
            row["cluster_id"],
            "clock jump" if row["rule"] == CLOCK else "broken promise",
            node=None,
            directory=None,
            file=None,
            position=None,
            offset=row["offset"],
            detail=f"{row['rule']}: {row['detail']}",
        )
        for row in spark.sql(first_of_each_cluster(query, kind="rule")).collect()
    ]
    unknown = [
        AuditFinding(
            row["cluster_id"],
            "unknown record",
            node=row["node_id"],
            directory=row["directory_id"],
            file=row["file"],
            position=row["position"],
            offset=row["offset"],
            detail=row["detail"],
        )
        for row in spark.sql(first_of_each_cluster(_UNKNOWN)).collect()
    ]
    return broken + unknown


def _literal(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"
