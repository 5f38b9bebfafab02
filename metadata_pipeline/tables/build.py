"""The job `tables`: every history table anew from the committed records, what is provisional settled, all in one
commit.

Built whole each time: a record that a later ingest proves or retracts may change any interval, and a table is a scan
and a sort of what it is about. Files of the last build are replaced by the same commit, so a reader sees one build or
the other. A job that dies leaves the last build in place.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from metadata_pipeline.canon.provisional import Standing, settle
from metadata_pipeline.lake.commits import CommitConflict, read_commits, write_commit
from metadata_pipeline.lake.entries import Commit, LakeFile
from metadata_pipeline.lake.files import DATA
from metadata_pipeline.lake.reading import read_level
from metadata_pipeline.lake.state import LakeState, replay
from metadata_pipeline.problems import PipelineError, reason
from metadata_pipeline.progress import tracked
from metadata_pipeline.tables import entities
from metadata_pipeline.tables.committed import Cluster, clusters, register
from metadata_pipeline.tables.partitions import partitions_sql

HISTORIES: Final[dict[str, str]] = {
    "topics": entities.TOPICS,
    "brokers": entities.BROKERS,
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
KEPT_ROWS: Final = 1_000_000
"""Up to so many records are held by Spark (in memory, else on disk) while tables are made of them."""
PROVISIONAL: Final = (
    "cluster_id string, from_offset bigint, to_offset bigint, epoch int, nodes array<int>, "
    "status string, since bigint, until bigint"
)
STRETCHES: Final = (
    "cluster_id string, stretch int, from_offset bigint, to_offset bigint, "
    "base_snapshot string, proven_by string, open boolean"
)


@dataclass(frozen=True, slots=True)
class Built:
    """What a build made: rows of each table, and per cluster how far it is committed."""

    commit: int
    rows: Mapping[str, int]
    committed: Mapping[str, int]
    provisional: int
    retracted: int
    seconds: float


def build_tables(lake: str | os.PathLike[str], spark: Any, only: Sequence[str] | None = None) -> Built:
    """Make all tables of a lake, or those named. Raises PipelineError when nothing was ingested or another job commits
    meanwhile.
    """
    started = time.monotonic()
    home = Path(lake).absolute()
    state = replay(read_commits(home))
    number = state.version + 1
    with tracked(spark, "tables"):
        known = prepare(spark, home, state)
        clears = bool(spark.sql("SELECT 1 FROM events WHERE type = 'ClearElrRecord' LIMIT 1").head(1))
        run = uuid.uuid4().hex
        queries = _chosen({"partitions": partitions_sql(with_clears=clears), **HISTORIES}, only)
        files = [file for name, sql in queries.items() for file in write_frame(home, name, run, spark.sql(sql))]
        standings = {it.cluster: settle(remembered(state, it.cluster), it.canon, number) for it in known}
        files += write_frame(home, "provisional", run, _provisional(spark, standings))
        files += write_frame(home, "stretches", run, _stretches(spark, known))
    made = {*queries, "provisional", "stretches"}
    replaced = tuple(live.file.path for live in state.files.values() if live.file.table in made)
    summary = {
        "proven": {it.cluster: {"end": it.canon.end, "epoch": it.canon.epoch} for it in known},
        "standings": {cluster: [asdict(it) for it in some] for cluster, some in standings.items()},
    }
    try:
        write_commit(home, Commit(number, "tables", round(time.time() * 1000), tuple(files), replaced, summary=summary))
    except CommitConflict as conflict:
        raise PipelineError(f"another job committed to {home} meanwhile", "run the same command again") from conflict
    statuses = [it.status for some in standings.values() for it in some]
    return Built(
        number, {name: sum(file.rows for file in files if file.table == name) for name in made},
        {it.cluster: it.canon.end for it in known}, provisional=statuses.count("provisional"),
        retracted=statuses.count("retracted"), seconds=time.monotonic() - started,
    )  # fmt: skip


def _chosen(queries: dict[str, str], only: Sequence[str] | None) -> dict[str, str]:
    unknown = sorted(set(only or ()) - set(queries))
    if unknown:
        raise PipelineError(f"there is no table {', '.join(unknown)}", f"choose among {', '.join(TABLES)}")
    return {name: sql for name, sql in queries.items() if only is None or name in only}


def prepare(spark: Any, lake: Path, state: LakeState) -> list[Cluster]:
    """Register the views that the tables are made from; what is known of each cluster."""
    known = clusters(state)
    records = read_level(spark, lake, state, "records")
    register(spark, _kept(spark, records, state), known)
    return known


def _kept(spark: Any, records: Any, state: LakeState) -> Any:
    """A small lake is read once for all its tables; a large one is scanned by each, which needs no memory."""
    if spark.catalog.tableExists("kept_records"):
        spark.catalog.uncacheTable("kept_records")
    records.createOrReplaceTempView("kept_records")
    if sum(live.file.rows for live in state.of("records")) <= KEPT_ROWS:
        spark.catalog.cacheTable("kept_records")
    return spark.table("kept_records")


def remembered(state: LakeState, cluster: str) -> list[Standing]:
    stored = state.summaries.get("tables", {}).get("standings", {}).get(cluster, [])
    return [Standing(**{**it, "nodes": tuple(it["nodes"])}) for it in stored]


def write_frame(lake: Path, table: str, run: str, frame: Any) -> list[LakeFile]:
    """A DataFrame as files of a directory that only this run knows; an empty one keeps its schema in one file."""
    directory = lake / DATA / table / f"run={run}"
    try:
        frame.write.option("compression", "zstd").parquet(str(directory))
    except Exception as error:
        raise PipelineError(
            f"table {table} cannot be made: {reason(error)}", "nothing was committed; mend the cause and run again"
        ) from error
    return [
        LakeFile(str(path.relative_to(lake)), table, pq.read_metadata(path).num_rows, path.stat().st_size)
        for path in sorted(directory.glob("*.parquet"))
    ]


def _provisional(spark: Any, standings: Mapping[str, list[Standing]]) -> Any:
    rows = [
        (cluster, it.start, it.end, it.epoch, list(it.nodes), it.status, it.since, it.until)
        for cluster, some in standings.items()
        for it in some
    ]
    return spark.createDataFrame(rows, PROVISIONAL).coalesce(1)


def _stretches(spark: Any, known: list[Cluster]) -> Any:
    rows = []
    for it in known:
        for stretch in it.stretches:
            base = None if stretch.base is None else stretch.base.file
            why = it.canon.proofs[-1].why if it.canon.proofs else ""
            rows.append(
                (it.cluster, stretch.number, stretch.start, stretch.end, base, why, stretch is it.stretches[-1])
            )
    return spark.createDataFrame(rows, STRETCHES).coalesce(1)
