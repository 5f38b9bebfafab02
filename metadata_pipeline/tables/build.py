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
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from metadata_pipeline.canon.provisional import Standing, settle
from metadata_pipeline.lake.commits import CommitConflict, read_commits, write_commit
from metadata_pipeline.lake.entries import Commit, LakeFile
from metadata_pipeline.lake.files import DATA
from metadata_pipeline.lake.rows import arrow_rows, write_rows
from metadata_pipeline.lake.state import LakeState, replay
from metadata_pipeline.problems import PipelineError, reason
from metadata_pipeline.progress import tracked
from metadata_pipeline.tables import entities
from metadata_pipeline.tables.committed import Cluster
from metadata_pipeline.tables.partitions import partitions_sql
from metadata_pipeline.tables.views import Views, is_small
from metadata_pipeline.together import together

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


def build_tables(
    lake: str | os.PathLike[str], spark: Any, only: Sequence[str] | None = None, views: Views | None = None
) -> Built:
    """Make all tables of a lake, or those named. Raises PipelineError when nothing was ingested or another job commits
    meanwhile. `views`: those of the session, when other jobs use them too.
    """
    started = time.monotonic()
    home = Path(lake).absolute()
    state = replay(read_commits(home))
    number = state.version + 1
    chosen = _chosen(only)
    small = is_small(state)
    run = uuid.uuid4().hex
    with tracked(spark, "tables"):
        views = views or Views(spark, home)
        known = views.prepare(state)
        queries = {**HISTORIES, "partitions": partitions_sql(with_clears=views.with_clears)}

        def made(name: str) -> list[LakeFile]:
            return write_frame(home, name, run, spark.sql(queries[name]), small=small)

        files = [file for some in together([partial(made, name) for name in chosen]) for file in some]
    standings = {it.cluster: settle(remembered(state, it.cluster), it.canon, number) for it in known}
    files += write_rows(home, "provisional", run, _provisional(standings))
    files += write_rows(home, "stretches", run, _stretches(known))
    tables = {*chosen, "provisional", "stretches"}
    replaced = tuple(live.file.path for live in state.files.values() if live.file.table in tables)
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
        number, {name: sum(file.rows for file in files if file.table == name) for name in tables},
        {it.cluster: it.canon.end for it in known}, provisional=statuses.count("provisional"),
        retracted=statuses.count("retracted"), seconds=time.monotonic() - started,
    )  # fmt: skip


def _chosen(only: Sequence[str] | None) -> tuple[str, ...]:
    unknown = sorted(set(only or ()) - set(TABLES))
    if unknown:
        raise PipelineError(f"there is no table {', '.join(unknown)}", f"choose among {', '.join(TABLES)}")
    return tuple(name for name in TABLES if only is None or name in only)


def remembered(state: LakeState, cluster: str) -> list[Standing]:
    stored = state.summaries.get("tables", {}).get("standings", {}).get(cluster, [])
    return [Standing(**{**it, "nodes": tuple(it["nodes"])}) for it in stored]


def write_frame(lake: Path, table: str, run: str, frame: Any, *, small: bool) -> list[LakeFile]:
    """A DataFrame as files of a directory that only this run knows; an empty one keeps its schema in one file. A small
    one is one file that this process writes: Spark's committing of files costs more than the rows.
    """
    directory = lake / DATA / table / f"run={run}"
    made: pa.Table = None
    try:
        if small:
            made = frame.toArrow()
        else:
            frame.write.option("compression", "zstd").parquet(str(directory))
    except Exception as error:
        raise PipelineError(
            f"table {table} cannot be made: {reason(error)}", "nothing was committed; mend the cause and run again"
        ) from error
    if made is not None:
        return write_rows(lake, table, run, made)
    return [
        LakeFile(str(path.relative_to(lake)), table, pq.read_metadata(path).num_rows, path.stat().st_size)
        for path in sorted(directory.glob("*.parquet"))
    ]


def _provisional(standings: Mapping[str, list[Standing]]) -> pa.Table:
    rows = [
        (cluster, it.start, it.end, it.epoch, list(it.nodes), it.status, it.since, it.until)
        for cluster, some in standings.items()
        for it in some
    ]
    return arrow_rows(rows, PROVISIONAL)


def _stretches(known: list[Cluster]) -> pa.Table:
    rows = []
    for it in known:
        for stretch in it.stretches:
            base = None if stretch.base is None else stretch.base.file
            why = it.canon.proofs[-1].why if it.canon.proofs else ""
            rows.append(
                (it.cluster, stretch.number, stretch.start, stretch.end, base, why, stretch is it.stretches[-1])
            )
    return arrow_rows(rows, STRETCHES)
