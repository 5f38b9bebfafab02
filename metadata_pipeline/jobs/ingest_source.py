"""An ingest as a read: a Python data source whose tasks write Parquet files and yield one row each, what they wrote.

So decoding and writing happen in Python workers, nothing but one row per task crosses to the JVM, and it works the same
on a laptop, a cluster and Spark Connect. The plan lies in the lake, where every worker sees it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from metadata_pipeline.allocator import keep_freed_memory
from metadata_pipeline.jobs.ingest_task import part_from_json, run_task
from metadata_pipeline.sources.columns import listed


@dataclass
class Task(InputPartition):  # type: ignore[misc]
    """One pack of the plan."""

    number: int


class IngestReader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, lake: str, plan: str, key_file: str | None) -> None:
        self.lake, self.plan, self.key_file = lake, plan, key_file

    def _packs(self) -> list[Any]:
        packs: list[Any] = json.loads(Path(self.plan).read_text())
        return packs

    def partitions(self) -> list[InputPartition]:
        return [Task(number) for number in range(len(self._packs()))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        keep_freed_memory()
        parts = [part_from_json(it) for it in self._packs()[partition.number]]
        result = run_task(Path(self.lake), parts, self.key_file)
        yield pa.record_batch([listed([result.to_json()], pa.string())], names=["result"])


class IngestSource(DataSource):  # type: ignore[misc]
    """Options: lake, plan (a file), key_file."""

    @classmethod
    def name(cls) -> str:
        return "kraftlog_ingest"

    def schema(self) -> str:
        return "result string"

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002  Spark passes it by this name
        return IngestReader(self.options["lake"], self.options["plan"], self.options.get("key_file"))
