"""Small tables whose rows this process already has: as Arrow, as a frame that Spark's optimizer can see into, as a file
of the lake. None of them needs a job of Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from metadata_pipeline.lake.entries import LakeFile
from metadata_pipeline.lake.files import DATA, write_table
from metadata_pipeline.problems import PipelineError

_TYPES: Final = {
    "string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_(),
    "array<int>": pa.list_(pa.int32()), "timestamp": pa.timestamp("us", tz="UTC"),
}  # fmt: skip


def arrow_rows(rows: Sequence[Sequence[Any]], ddl: str) -> pa.Table:
    """Rows in the order of the columns of `ddl` ("name type, name type")."""
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in (column.split(" ") for column in ddl.split(", "))])
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def frame_of(spark: Any, rows: Sequence[Sequence[Any]], ddl: str) -> Any:
    """A local relation: joins with an empty one are planned away. Spark Connect takes no schema from an empty table."""
    return spark.createDataFrame(arrow_rows(rows, ddl), None if rows else ddl)


def write_rows(lake: Path, table: str, run: str, made: pa.Table) -> list[LakeFile]:
    """One file of a directory that only this run knows; an empty table keeps its schema."""
    return [written(lake, table, f"run={run}/part-0", made)]


def written(lake: Path, table: str, name: str, made: pa.Table, *, still: bool = False) -> LakeFile:
    """A whole small table as one file. Raises PipelineError where it cannot be written."""
    path = f"{DATA}/{table}/{name}.parquet"
    try:
        rows, size = write_table(lake, path, made.to_batches(), made.schema)
    except (OSError, pa.ArrowException) as error:
        why = (getattr(error, "strerror", None) or str(error)).splitlines()[0]
        raise PipelineError(
            f"table {table} cannot be written to {lake}: {why}", "nothing was committed; mend the cause and run again"
        ) from error
    return LakeFile(path, table, rows, size, still=still)


def quoted(text: str) -> str:
    """A string literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
