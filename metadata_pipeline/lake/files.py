"""How a Parquet file comes to be: written beside, flushed, moved to its name. A killed writer leaves a `.tmp`, never
half a file of a table.

The name is a hash of what the file is made from, so that a task that runs twice (a retry, a speculative copy, a second
ingest of the same plan) writes the same file. A file counts when a commit names it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

import pyarrow as pa

from metadata_pipeline.parquet import TableWriter

DATA: Final = "data"
_SAFE: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."


def partition_name(value: str) -> str:
    """A directory's name for any cluster id: ids of Kafka stay as they are, anything else cannot leave its place."""
    if value and all(letter in _SAFE for letter in value) and not value.startswith("."):
        return value
    return "x-" + hashlib.sha256(value.encode()).hexdigest()[:22]


def file_path(table: str, cluster: str, *made_from: object) -> str:
    """The path of a table's file relative to the lake, by what the file is made from."""
    digest = hashlib.sha256(repr((table, cluster, *made_from)).encode()).hexdigest()[:32]
    return f"{DATA}/{table}/cluster={partition_name(cluster)}/{digest}.parquet"


class ParquetFile:
    """A file in the making. `commit` moves it to its name; without it, leaving the block removes what was written."""

    def __init__(self, lake: Path, path: str, schema: pa.Schema) -> None:
        self.path = path
        self.rows = 0
        self._final = lake / path
        self._beside = self._final.with_name(f".{self._final.name}.{uuid.uuid4().hex}.tmp")
        self._schema = schema
        self._writer: TableWriter | None = None

    def __enter__(self) -> Self:
        self._final.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._writer = TableWriter(self._beside, self._schema)
        except OSError:
            self._beside.unlink(missing_ok=True)
            raise
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        assert self._writer is not None, "use it in a with block"
        if batch.num_rows:
            self._writer.write(batch)
            self.rows += batch.num_rows

    def commit(self) -> int:
        """Durable and named; its size in bytes."""
        assert self._writer is not None, "use it in a with block"
        self._writer.close()
        self._writer = None
        with self._beside.open("rb") as file:
            os.fsync(file.fileno())
        size = self._beside.stat().st_size
        os.replace(self._beside, self._final)
        return size

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, pa.ArrowException):
            if self._writer is not None:
                self._writer.abandon()
        with contextlib.suppress(OSError):
            self._beside.unlink(missing_ok=True)


def write_table(lake: Path, path: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> tuple[int, int]:
    """Write a whole small table; (rows, bytes)."""
    with ParquetFile(lake, path, schema) as file:
        for batch in batches:
            file.write(batch)
        return file.rows, file.commit()
