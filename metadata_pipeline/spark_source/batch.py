"""Reading a set of files once: plan beside the driver, decode on the executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from metadata_pipeline.allocator import keep_freed_memory
from metadata_pipeline.schemas import Level
from metadata_pipeline.sources.batch_rows import flaw_table
from metadata_pipeline.sources.following import Event
from metadata_pipeline.sources.options import ReadOptions, parse_level, parse_options
from metadata_pipeline.sources.packing import pack
from metadata_pipeline.sources.reading import FileRange, chosen, problem_rows, read_ranges
from metadata_pipeline.sources.segments import Listing, Problem, list_segments
from metadata_pipeline.spark_source.paths import number_of, paths_of
from metadata_pipeline.spark_source.quorums import HeldLog, read_once, rows_of_held


@dataclass
class LogPartition(InputPartition):
    """The work of one task: ranges of files, paths that could not be listed, what happened to files while a stream
    looked away.
    """

    ranges: tuple[FileRange, ...] = ()
    problems: tuple[Problem, ...] = ()
    events: tuple[Event, ...] = ()
    held: tuple[HeldLog, ...] = ()


class LogReader(DataSourceReader):
    """Pickled to the executors with its options and nothing else."""

    def __init__(self, options: Any) -> None:
        self.level = parse_level(options)
        self.options: ReadOptions = parse_options(options)
        self.paths = paths_of(options)
        self.task_bytes = number_of(options, "task_bytes")
        self.given = options

    def partitions(self) -> Sequence[InputPartition]:
        listing = (
            list_segments(self.paths, clusters=self.options.clusters, kinds=self.options.kinds)
            if self.paths
            else Listing((), ())
        )
        tasks: list[InputPartition] = [
            LogPartition(ranges) for ranges in pack(chosen(listing, self.options), task_bytes=self.task_bytes)
        ]
        logs, troubles = read_once(self.given, self.options.clusters)
        tasks += [LogPartition(held=(log,)) for log in logs]
        if problems := (*listing.problems, *troubles):
            tasks.append(LogPartition(problems=problems))
        return tasks or [LogPartition()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from rows_of(partition, self.level, self.options)


def rows_of(partition: InputPartition, level: Level, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The rows of one task. Only Spark's workers come here."""
    assert isinstance(partition, LogPartition), f"a partition of ours, not {type(partition).__name__}"
    keep_freed_memory()
    yield from problem_rows(level, partition.problems, options)
    for segment, flaw in partition.events:
        yield flaw_table(level, segment, flaw, options)
    yield from read_ranges(level, partition.ranges, options)
    yield from rows_of_held(level, partition.held, options)
