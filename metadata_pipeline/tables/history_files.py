"""Files of history tables: what is over and what is still so lie apart, and small files are merged.

A closed interval never changes while its cluster's history goes on, so its file stays; what is still so is written anew
with each build of its cluster. Files of closed intervals are merged when a later one has half as many rows, so a lake
has few of them, and each row is copied about as often as its table has doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metadata_pipeline.lake.entries import LakeFile
from metadata_pipeline.lake.files import DATA, ParquetFile
from metadata_pipeline.lake.reading import arrow_table
from metadata_pipeline.lake.rows import written
from metadata_pipeline.lake.state import LakeState, LiveFile
from metadata_pipeline.problems import PipelineError, reason
from metadata_pipeline.tables.memory import Scope

MOST_FILES: Final = 8
"""Of closed intervals, or of what is still so, in one table, before they are merged."""


def write_history(lake: Path, table: str, run: str, frame: Any, *, small: bool) -> list[LakeFile]:
    """A DataFrame as files of a directory that only this run knows: closed intervals, and what is still so, of which
    there is always a file. A small one is written by this process: Spark's committing of files costs more than the
    rows.
    """
    directory = lake / DATA / table / f"run={run}"
    made: pa.Table = None
    try:
        if small:
            made = frame.toArrow()
        else:
            writer = frame.withColumn("still", frame["valid_to"].isNull()).write.option("compression", "zstd")
            writer.partitionBy("still").parquet(str(directory))
    except Exception as error:
        raise PipelineError(
            f"table {table} cannot be made: {reason(error)}", "nothing was committed; mend the cause and run again"
        ) from error
    if made is not None:
        is_still = pc.is_null(made["valid_to"])
        closed, still = made.filter(pc.invert(is_still)), made.filter(is_still)
        files = [written(lake, table, f"run={run}/still", still, still=True)]
        return [*files, written(lake, table, f"run={run}/closed", closed)] if closed.num_rows else files
    files = [_told(lake, path, table) for path in sorted(directory.glob("*/*.parquet"))]
    if not any(file.still for file in files):
        from pyspark.sql.pandas.types import to_arrow_schema

        empty = to_arrow_schema(frame.schema, timezone="UTC").empty_table()
        files.append(written(lake, table, f"run={run}/still", empty, still=True))
    return files


def _told(lake: Path, path: Path, table: str) -> LakeFile:
    still = path.parent.name == "still=true"
    return LakeFile(
        str(path.relative_to(lake)), table, pq.read_metadata(path).num_rows, path.stat().st_size, still=still
    )


def clusters_without_topic(lake: Path, file: LakeFile) -> list[str]:
    """Clusters with a partition whose topic has no name."""
    found = pq.read_table(lake / file.path, columns=["cluster_id", "topic"], partitioning=None)
    return [str(it) for it in pc.unique(found.filter(pc.is_null(found["topic"]))["cluster_id"]).to_pylist()]


def merge(
    lake: Path, state: LakeState, scope: Scope, tables: Sequence[str], run: str
) -> list[tuple[LakeFile, list[str]]]:
    """New files, and the earlier ones each of them replaces; what this build makes anew (`scope`) is left out."""
    made = []
    for table in tables:
        for still in (False, True):
            live = [it for it in state.of(table) if it.file.still is still and it.clusters]
            some = _to_merge(live)
            if len(some) > 1:
                name = f"run={run}/merged-{'still' if still else 'closed'}"
                left_out = {*scope.whole, *(scope.further if still else ())}
                made.append((_merged(lake, table, name, some, left_out), [it.file.path for it in some]))
    return made


def _to_merge(live: Sequence[LiveFile]) -> list[LiveFile]:
    """The smallest files, as long as the next one has at most twice the rows of those before it."""
    if len(live) < MOST_FILES:
        return []
    some: list[LiveFile] = []
    rows = 0
    for each in sorted(live, key=lambda it: (it.file.rows, it.file.path)):
        if len(some) > 1 and each.file.rows > 2 * rows:
            break
        some.append(each)
        rows += each.file.rows
    return some


def _merged(lake: Path, table: str, name: str, some: Sequence[LiveFile], left_out: set[str]) -> LakeFile:
    still = some[0].file.still
    schema = pq.read_schema(lake / some[0].file.path)
    held = sorted(frozenset().union(*(it.clusters - it.gone for it in some)) - left_out)
    path = f"{DATA}/{table}/{name}.parquet"
    try:
        with ParquetFile(lake, path, schema) as file:
            for each in some:
                rows = arrow_table(lake, each).cast(schema)
                for batch in rows.filter(pc.field("cluster_id").isin(held)).to_batches():
                    file.write(batch)
            size = file.commit()
            return LakeFile(path, table, file.rows, size, clusters=tuple(held), still=still)
    except (OSError, pa.ArrowException) as error:
        raise PipelineError(
            f"table {table} cannot be merged in {lake}: {reason(error)}",
            "nothing was committed; mend the cause and run again",
        ) from error
