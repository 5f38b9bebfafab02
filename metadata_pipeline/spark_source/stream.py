"""Following logs that grow: micro-batches with admission control, `AvailableNow`, and events where a log was truncated.

The stream's offset maps each file to a mark (`metadata_pipeline.sources.following`). Finding the newest one reads
headers beside the driver; executors read ranges of files and keep no state, so a restart from a checkpoint reads
exactly what was not yet read. Of living quorums what is new is read beside the driver (`wire.following`), and their
marks stand beside those of files, under `quorum:` and their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

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
from metadata_pipeline.spark_source.quorums import followed, work_of

QUORUM: Final = "quorum:"
"""Before the names of quorums, so that no file is taken for one."""


class LogStreamReader(DataSourceStreamReader, spark.SupportsTriggerAvailableNow):
    """Offsets are `{file: mark}` and `{quorum:NAME: mark}`."""

    def __init__(self, options: Any) -> None:
        self.level = parse_level(options)
        self.options = parse_options(options)
        self.paths = paths_of(options)
        self.task_bytes = number_of(options, "task_bytes")
        self.max_bytes = number_of(options, "max_bytes_per_trigger")
        self.max_files = number_of(options, "max_files_per_trigger")
        self.ends: dict[str, int] | None = None
        self.quorums = followed(options)
        self.quorum_ends: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        return {}

    def getDefaultReadLimit(self) -> spark.ReadLimit:  # noqa: N802 - Spark's name
        if self.max_bytes is not None:
            return spark.ReadMaxBytes(self.max_bytes)
        if self.max_files is not None:
            return spark.ReadMaxFiles(self.max_files)
        return spark.ReadAllAvailable()

    def latestOffset(self, start: dict[str, str], limit: spark.ReadLimit) -> dict[str, str]:  # noqa: N802 - Spark's name
        found = advance(self._segments(), start, _limit(limit), ends=self.ends)
        if self.quorums is not None:
            most = limit.max_bytes if isinstance(limit, spark.ReadMaxBytes) else None
            marks = self.quorums.advance(_of_quorums(start), most, self.quorum_ends)
            found |= {f"{QUORUM}{name}": mark for name, mark in marks.items()}
        return found

    def reportLatestOffset(self) -> dict[str, str] | None:  # noqa: N802 - Spark's name
        return None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """What is there now is all that this run will read."""
        self.ends = {segment.file: segment.size for segment in self._segments()}
        if self.quorums is not None:
            self.quorum_ends = self.quorums.ends({})

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        here, there = _of_files(start), _of_files(end)
        ranges, events = between(self._segments(), here, there)
        tasks: list[InputPartition] = [LogPartition(task) for task in pack_ranges(ranges, task_bytes=self.task_bytes)]
        if events:
            tasks.append(LogPartition(events=tuple(events)))
        if self.quorums is not None:
            held = self.quorums.between(_of_quorums(start), _of_quorums(end))
            logs, problems = work_of(held, self.options.clusters)
            tasks += [LogPartition(held=(log,)) for log in logs]
            if problems:
                tasks.append(LogPartition(problems=tuple(problems)))
        return tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from rows_of(partition, self.level, self.options)

    def _segments(self) -> list[Segment]:
        """An empty directory is no error here: the log may begin later."""
        if not self.paths:
            return []
        try:
            return list(list_segments(self.paths, clusters=self.options.clusters, kinds=self.options.kinds).segments)
        except ListingError:
            return []


def _of_quorums(marks: dict[str, str]) -> dict[str, str]:
    return {key.removeprefix(QUORUM): mark for key, mark in marks.items() if key.startswith(QUORUM)}


def _of_files(marks: dict[str, str]) -> dict[str, str]:
    return {key: mark for key, mark in marks.items() if not key.startswith(QUORUM)}


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
