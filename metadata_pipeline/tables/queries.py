"""The query of each history table, and the views that say what was so before: for histories that go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from metadata_pipeline.lake.reading import read_table
from metadata_pipeline.lake.rows import quoted
from metadata_pipeline.lake.state import LakeState, LiveFile
from metadata_pipeline.tables import entities
from metadata_pipeline.tables.partitions import partitions_sql

HISTORIES: Final[dict[str, Callable[..., str]]] = {
    "topics": entities.TOPICS,
    "brokers": entities.brokers,
    "controllers": entities.CONTROLLERS,
    "configs": entities.CONFIGS,
    "features": entities.FEATURES,
    "quotas": entities.QUOTAS,
    "acls": entities.ACLS,
    "scram": entities.SCRAM,
    "delegation_tokens": entities.TOKENS,
    "producer_ids": entities.PRODUCER_IDS,
    "leadership": entities.LEADERSHIP,
    "voters": entities.VOTERS,
}
"""Name and SQL of each table; `partitions` is made by its own module."""
TABLES: Final = ("partitions", *HISTORIES)


def queries(tables: Sequence[str], *, with_clears: bool, further: bool) -> dict[str, str]:
    """SQL over the views `events`, `stretch_ends` and `topic_names`. `further`: what was so before is in views
    `still_TABLE`.
    """
    return {
        name: partitions_sql(with_clears=with_clears, still=_still(name) if further else None)
        if name == "partitions"
        else HISTORIES[name](still=_still(name) if further else None)
        for name in tables
    }


def _still(table: str) -> str:
    return f"still_{table}"


def name_topics(spark: Any, lake: Path, state: LakeState, further: Sequence[str]) -> None:
    """The view `topic_names`: what each topic that ever was is called."""
    before = ""
    if further:
        read_table(spark, lake, state, "topics").where(_of(further)).createOrReplaceTempView("topics_before")
        before = "UNION ALL SELECT cluster_id, stretch, topic_id, name, valid_from FROM topics_before"
    spark.sql(entities.TOPIC_NAMES.format(before=before)).createOrReplaceTempView("topic_names")


def remember_what_was_so(
    spark: Any, lake: Path, state: LakeState, further: Sequence[str], tables: Sequence[str]
) -> int:
    """Views `still_TABLE` of the clusters whose history goes on; how many rows their files have."""
    rows = 0
    for table in tables:
        files = [live for live in state.of(table) if _may_be_so(live, further)]
        paths = {live.file.path for live in files}
        frame = read_table(spark, lake, state, table, lambda live, paths=paths: live.file.path in paths)  # type: ignore[misc]
        frame.where(f"valid_to IS NULL AND {_of(further)}").createOrReplaceTempView(_still(table))
        rows += sum(live.file.rows for live in files)
    return rows


def _may_be_so(live: LiveFile, further: Sequence[str]) -> bool:
    """Whether the file may hold what is still so in one of these clusters."""
    return live.file.still and not live.clusters.isdisjoint(set(further) - live.gone)


def _of(clusters: Sequence[str]) -> str:
    return f"cluster_id IN ({', '.join(map(quoted, clusters))})"
