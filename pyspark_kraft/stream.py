"""Following logs that grow."""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader


class LogStreamReader(DataSourceStreamReader):
    def __init__(self, options: Any) -> None:
        raise NotImplementedError
