"""The data source itself: from Spark's options to a schema and the reader that Spark asked for."""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from metadata_pipeline.schemas import spark_ddl
from metadata_pipeline.sources.options import parse_level, parse_options
from metadata_pipeline.spark_source.batch import LogReader
from metadata_pipeline.spark_source.pushdown import FilteredLogReader

_PUSHDOWN_WORKER = "data_source_pushdown_filters.py"


class KraftLogSource(DataSource):
    """Made by Spark in a process of its own for each step of planning."""

    @classmethod
    def name(cls) -> str:
        return "kraftlog"

    def schema(self) -> str:
        options = parse_options(self.options)
        return spark_ddl(parse_level(self.options), options.columns)

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002 - the options say it already
        """A reader that takes filters only for the caller that brings some: Spark refuses it everywhere else.

        And only where the user asked for it: Spark 4.3 keeps what one query pushed for the next query of the same
        DataFrame, which then misses rows if it has no such filter. So whoever sets `push_filters` calls `load` anew for
        every query.
        """
        pushing = sys._getframe(1).f_code.co_filename.endswith(_PUSHDOWN_WORKER)
        filters = pushing and self.options.get("push_filters", "false").lower() == "true"
        return (FilteredLogReader if filters else LogReader)(self.options)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's name
        from metadata_pipeline.spark_source.stream import LogStreamReader

        return LogStreamReader(self.options)
