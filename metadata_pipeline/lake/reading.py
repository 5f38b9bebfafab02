"""A table of the lake as a Spark DataFrame: the files that the log names, without the rows that truncations killed.

Files of equal fate are read together, so a lake without truncations is one scan. The schema is given, not read: a
column that older files lack is null in their rows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metadata_pipeline.copies import CopyKey
from metadata_pipeline.lake.rows import quoted
from metadata_pipeline.lake.state import LakeState, LiveFile
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.schemas import Level, spark_ddl


class Part(Protocol):
    """What of `batches` and `records` is read: which files, and which of their rows (SQL, "" is all)."""

    def wants(self, live: LiveFile) -> bool: ...
    def condition(self, live: LiveFile, offset: str) -> str: ...


def read_level(spark: Any, lake: Path, state: LakeState, level: Level, part: Part | None = None) -> Any:
    """`batches` or `records`: everything that was ingested and still counts, of every copy, or a part of it."""
    groups: dict[tuple[tuple[tuple[CopyKey, int], ...], str], list[str]] = defaultdict(list)
    for live in state.of(level):
        if part is None or part.wants(live):
            asked = "" if part is None else part.condition(live, _OFFSETS[level])
            groups[tuple(sorted(live.dead_from.items())), asked].append(str(lake / live.file.path))
    if not groups and part is not None:
        return spark.createDataFrame([], spark_ddl(level))
    if not groups:
        raise PipelineError(f"{lake} holds nothing yet", f"kraft-pipeline ingest PATH --output {lake}")
    scans = [
        _without(_where(spark.read.schema(spark_ddl(level)).parquet(*sorted(paths)), asked), dead, level)
        for (dead, asked), paths in sorted(groups.items())
    ]
    return reduce(lambda one, other: one.unionByName(other), scans)


_OFFSETS: Final[dict[Level, str]] = {"batches": "base_offset", "records": "offset"}


def _where(frame: Any, condition: str) -> Any:
    return frame.where(condition) if condition else frame


def _without(frame: Any, dead: tuple[tuple[CopyKey, int], ...], level: Level) -> Any:
    """The rows of a copy's log at or above an offset do not count any more."""
    if not dead:
        return frame
    offset = "batch_offset" if level == "records" else "base_offset"
    of_dead = " OR ".join(
        f"(cluster_id = {quoted(key.cluster)} AND node_id = {key.node} AND coalesce(directory_id, '') = "
        f"{quoted(key.directory)} AND {offset} >= {cut})"
        for key, cut in dead
    )
    return frame.where(f"kind <> 'log' OR NOT coalesce({of_dead}, false)")


_SPARKS_SCHEMA: Final = b"org.apache.spark.sql.parquet.row.metadata"


def read_table(
    spark: Any, lake: Path, state: LakeState, table: str, wanted: Callable[[LiveFile], bool] | None = None
) -> Any:
    """A table that the job `tables` or `audit` made: the rows that still count, or those of the files that are wanted.
    Its schema is read here: Spark starts a job to learn one.
    """
    there = sorted(state.of(table), key=lambda live: live.file.path)
    if not there:
        raise PipelineError(f"{lake} has no table {table}", f"kraft-pipeline tables --output {lake}")
    schema = _schema(lake / there[0].file.path)
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for live in there:
        if wanted is None or wanted(live):
            groups[tuple(sorted(live.gone))].append(str(lake / live.file.path))
    if not groups:
        return spark.createDataFrame([], schema)
    scans = [_of_others(spark.read.schema(schema).parquet(*paths), gone) for gone, paths in sorted(groups.items())]
    return reduce(lambda one, other: one.unionByName(other), scans)


def _of_others(frame: Any, gone: tuple[str, ...]) -> Any:
    return frame.where(f"cluster_id NOT IN ({', '.join(map(quoted, gone))})") if gone else frame


def arrow_table(lake: Path, live: LiveFile, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of one file of a table that still count."""
    if columns is not None and live.gone:
        columns = [*dict.fromkeys(("cluster_id", *columns))]
    found = pq.read_table(lake / live.file.path, columns=columns, partitioning=None)
    if live.gone:
        found = found.filter(~pc.field("cluster_id").isin(sorted(live.gone)))
    return found


def rows_of_file(lake: Path, live: LiveFile) -> int:
    """How many rows of a file of a table count."""
    return arrow_table(lake, live, ("cluster_id",)).num_rows if live.gone else live.file.rows


def _schema(path: Path) -> Any:
    """What Spark wrote beside the data, or what the file's own types say."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructType

    try:
        stored = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise PipelineError(
            f"{path} cannot be read: {error}", "restore it from a backup, or make the tables anew"
        ) from error
    if (told := (stored.metadata or {}).get(_SPARKS_SCHEMA)) is not None:
        return StructType.fromJson(json.loads(told))
    return from_arrow_schema(stored)
