"""Partitions over time: who leads, who is in sync, who may lead after that.

A PartitionRecord says everything, a PartitionChangeRecord what it changes; the partition epoch grows by one with every
change, the leader epoch with every change that names a leader (as `metadata.replay.merge`). Removing a topic ends all
its partitions; ClearElrRecord changes those that have an ELR, of one topic or of all.
"""

from __future__ import annotations

from typing import Final

from metadata_pipeline.tables.entities import TOPIC_ENDINGS
from metadata_pipeline.tables.intervals import as_puts, bounded

MIGRATING: Final = "AAAAAAAAAAAAAAAAAAAAAA"
_MERGED: Final = (
    "replicas", "isr", "leader", "leader_recovery_state", "removing_replicas", "adding_replicas", "elr",
    "last_known_elr",
)  # fmt: skip
_LISTS: Final = ("isr", "removing_replicas", "adding_replicas", "elr", "last_known_elr")
_OF: Final = "PARTITION BY cluster_id, stretch, topic_id, partition_id"
_POINT: Final = "struct(offset, timestamp)"

_COLUMNS: Final = (
    "replicas", "directories", "leader", "leader_epoch", "partition_epoch", "leader_recovery_state", *_LISTS,
)  # fmt: skip


def _whole(name: str) -> str:
    """A created partition has every list; a change that does not name one leaves it."""
    return f"CASE WHEN type = 'PartitionRecord' THEN coalesce({name}, array()) ELSE {name} END AS {name}"


_CHANGES: Final = f"""
SELECT cluster_id, stretch, offset, sub, timestamp, epoch, topic_id, partition_id, type = 'PartitionRecord' AS created,
  false AS clears,
       {", ".join(_whole(name) if name in _LISTS else name for name in _COLUMNS)}
FROM events WHERE type IN ('PartitionRecord', 'PartitionChangeRecord')
"""

_STILL_COLUMNS: Final = ("topic_id", "partition_id", *_COLUMNS)


def _begun_again(still: str) -> str:
    """What was so before these records, as a PartitionRecord would say it."""
    return f"""
SELECT cluster_id, stretch, offset, sub, timestamp, epoch, topic_id, partition_id, true AS created, false AS clears,
       {", ".join(_COLUMNS)}
FROM ({as_puts(still, _STILL_COLUMNS)})
"""


_CLEARS: Final = f"""
SELECT c.cluster_id, c.stretch, c.offset, c.sub, c.timestamp, c.epoch, p.topic_id, p.partition_id, false AS created,
  true AS clears,
       {", ".join("array()" if name in ("elr", "last_known_elr") else "NULL" for name in _COLUMNS)}
FROM events c
JOIN (SELECT DISTINCT cluster_id, stretch, topic_id, partition_id FROM ({{rows}}) WHERE created) p
  ON c.cluster_id = p.cluster_id AND c.stretch = p.stretch
JOIN topic_names t
  ON t.cluster_id = p.cluster_id AND t.stretch = p.stretch AND t.topic_id = p.topic_id AND c.name IN ('', t.name)
WHERE c.type = 'ClearElrRecord'
"""


def partitions_sql(*, with_clears: bool, still: str | None = None) -> str:
    """`with_clears`: whether there is a ClearElrRecord at all, since it is joined with every partition. `still`: a view
    of what was so before these records.
    """
    rows = _CHANGES if still is None else f"{_CHANGES} UNION ALL {_begun_again(still)}"
    if with_clears:
        rows = f"{rows} UNION ALL {_CLEARS.format(rows=rows)}"
    lives = f"""
SELECT *, count_if(created) OVER ({_OF} ORDER BY offset, sub ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS life
  FROM ({rows})
"""
    before = f"({_OF}, life ORDER BY offset, sub ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    effective = f"""
SELECT * FROM (
  SELECT *, last(elr, true) OVER {before} AS elr_before, last(last_known_elr, true) OVER {before} AS known_before
  FROM ({lives}) WHERE life > 0)
WHERE NOT clears OR size(elr_before) > 0 OR size(known_before) > 0
"""
    merged = ", ".join(f"last({name}, true) OVER so_far AS {name}" for name in _MERGED)
    states = f"""
SELECT cluster_id, stretch, offset, sub, timestamp, epoch, topic_id, partition_id, {merged},
       last(directories, true) OVER so_far AS assigned, first(offset) OVER so_far AS born,
       last(partition_epoch, true) OVER so_far + count(*) OVER so_far - 1 AS partition_epoch,
       last(leader_epoch, true) OVER so_far + count_if(NOT created AND leader IS NOT NULL) OVER so_far AS leader_epoch,
       lead({_POINT}) OVER ({_OF} ORDER BY offset, sub) AS later
FROM ({effective})
WINDOW so_far AS ({_OF}, life ORDER BY offset, sub ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
"""
    ended = f"""
SELECT s.*, t.name AS topic, {_DIRECTORIES} AS directories,
       least(s.later, array_min(filter(r.points, it -> it.offset > s.offset))) AS next
FROM ({states}) s
LEFT JOIN (SELECT cluster_id, stretch, topic_id, collect_list({_POINT}) AS points FROM ({TOPIC_ENDINGS})
  GROUP BY cluster_id, stretch, topic_id) r
  ON s.cluster_id = r.cluster_id AND s.stretch = r.stretch AND s.topic_id = r.topic_id
LEFT JOIN topic_names t
  ON s.cluster_id = t.cluster_id AND s.stretch = t.stretch AND s.topic_id = t.topic_id
WHERE NOT coalesce(exists(r.points, it -> it.offset > s.born AND it.offset < s.offset), false)
"""
    columns = ("topic_id", "topic", "partition_id", *_MERGED, "directories", "leader_epoch", "partition_epoch")
    return bounded(ended, columns)


_DIRECTORIES: Final = f"""CASE WHEN exists(s.assigned, it -> it <> '{MIGRATING}') THEN s.assigned
  ELSE array_repeat('{MIGRATING}', size(s.replicas)) END"""
"""Of a partition of which nobody has said where it is, each replica's is not known (KIP-858)."""
