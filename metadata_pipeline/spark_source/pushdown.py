"""Conditions of a query as hints to the reader, where `spark.sql.python.filterPushdown.enabled` and the option
`push_filters` are true.

Every condition is given back to Spark, which applies it again: a hint may only leave out rows that the condition
refuses, so the answer is the same with and without. `offset >= 100` becomes the batches that reach 100, `type =
'TopicRecord'` the records of that type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import datasource as spark

from metadata_pipeline.sources.options import KINDS, TYPE_NAMES, ReadOptions
from metadata_pipeline.spark_source.batch import LogReader

_OFFSETS = ("offset", "base_offset")
_NAMES = ("type", "cluster_id", "kind")


class FilteredLogReader(LogReader):
    """The reader that listens to filters."""

    def pushFilters(self, filters: list[spark.Filter]) -> Iterable[spark.Filter]:  # noqa: N802 - Spark's name
        for each in filters:
            self.options = narrowed(self.options, each)
        return filters


def narrowed(options: ReadOptions, condition: Any) -> ReadOptions:
    """The options with one more condition; unchanged when it is not understood."""
    match condition:
        case spark.EqualTo(attribute=(str(name),), value=value):
            return _one_of(options, name, (value,))
        case spark.In(attribute=(str(name),), value=values):
            return _one_of(options, name, tuple(values))
        case spark.GreaterThanOrEqual(attribute=(str(name),), value=value):
            return _at_least(options, name, value)
        case spark.GreaterThan(attribute=(str(name),), value=value):
            return _at_least(options, name, value)
        case spark.LessThan(attribute=(str(name),), value=int(value)) if name in _OFFSETS:
            return _below(options, value)
        case spark.LessThanOrEqual(attribute=(str(name),), value=int(value)) if name in _OFFSETS:
            return _below(options, value + 1)
        case _:
            return options


def _one_of(options: ReadOptions, name: str, values: Sequence[Any]) -> ReadOptions:
    if name in _OFFSETS and values and all(isinstance(value, int) for value in values):
        return _below(_at_least(options, name, min(values)), max(values) + 1)
    if name not in _NAMES or not all(isinstance(value, str) for value in values):
        return options
    wanted = frozenset(values)
    match name:
        case "cluster_id":
            return replace(options, clusters=wanted if options.clusters is None else options.clusters & wanted)
        case "type" if wanted <= TYPE_NAMES:
            return replace(options, types=wanted if options.types is None else options.types & wanted)
        case "kind" if kinds := options.kinds & wanted & set(KINDS):
            return replace(options, kinds=kinds)
        case _:
            return options


def _at_least(options: ReadOptions, name: str, value: Any) -> ReadOptions:
    if name in _OFFSETS and isinstance(value, int):
        return replace(options, offset_at_least=max(value, options.offset_at_least or value))
    milliseconds = value if name == "timestamp_ms" and isinstance(value, int) else None
    if name == "timestamp" and isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        milliseconds = int(moment.timestamp() * 1000) - 1
    if milliseconds is None:
        return options
    return replace(options, from_time_ms=max(milliseconds, options.from_time_ms or milliseconds))


def _below(options: ReadOptions, value: int) -> ReadOptions:
    return replace(options, offset_below=min(value, value if options.offset_below is None else options.offset_below))
