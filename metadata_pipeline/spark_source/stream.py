"""Following logs that grow: micro-batches with admission control, `AvailableNow`, and events where a log was truncated.

The stream's offset maps each file to a mark (`metadata_pipeline.sources.following`). Finding the newest one reads
headers beside the driver; executors read ranges of files and keep no state, so a restart from a checkpoint reads
exactly what was not yet read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import datasource as spark

from metadata_pipeline.sources.faults import ListingError
from metadata_pipeline.sources.following import Limit, advance, between
from metadata_pipeline.sources.options import parse_level, parse_options
from metadata_pipeline.sources.packing import pack_ranges
from metadata_pipeline.sources.segments import Segment, list_segments
from metadata_pipeline.spark_source.batch import LogPartition, rows_of
from metadata_pipeline.spark_source.paths import number_of, paths_of


class LogStreamReader(DataSourceStreamReader, spark.SupportsTriggerAvailableNow):
    """Offsets are `{file: mark}`."""

    def __init__(self, options: Any) -> None:
        self.level = parse_level(options)
        self.options = parse_options(options)
        self.paths = paths_of(options)
        self.task_bytes = number_of(options, "task_bytes")
        self.max_bytes = number_of(options, "max_bytes_per_trigger")
        self.max_files = number_of(options, "max_files_per_trigger")
        self.ends: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        return {}

    def getDefaultReadLimit(self) -> spark.ReadLimit:  # noqa: N802 - Spark's name
        if self.max_bytes is not None:
            return spark.ReadMaxBytes(self.max_bytes)
        if self.max_files is not None:
            return spark.ReadMaxFiles(self.max_files)
        return spark.ReadAllAvailable()

    def latestOffset(self, start: dict[str, str], limit: spark.ReadLimit) -> dict[str, str]:  # noqa: N802 - Spark's name
        return advance(self._segments(), start, _limit(limit), ends=self.ends)

    def reportLatestOffset(self) -> dict[str, str] | None:  # noqa: N802 - Spark's name
        return None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """What is there now is all that this run will read."""
        self.ends = {segment.file: segment.size for segment in self._segments()}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        ranges, events = between(self._segments(), start, end)
        tasks: list[InputPartition] = [LogPartition(task) for task in pack_ranges(ranges, task_bytes=self.task_bytes)]
        if events:
            tasks.append(LogPartition(events=tuple(events)))
        return tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from rows_of(partition, self.level, self.options)

    def _segments(self) -> list[Segment]:
        """An empty directory is no error here: the log may begin later."""
        try:
            return list(list_segments(self.paths, clusters=self.options.clusters, kinds=self.options.kinds).segments)
        except ListingError:
            return []


def _limit(limit: spark.ReadLimit) -> Limit:
    match limit:
        case spark.ReadMaxBytes(max_bytes=size):
            return Limit(size=size)
        case spark.ReadMaxFiles(max_files=files):
            return Limit(files=files)
        case spark.ReadMaxRows(max_rows=rows):
            return Limit(rows=rows)
        case _:
            return Limit()
