"""How the rows of the two tables become Parquet: which columns get a dictionary, which statistics, how hard they are
compressed.

Writing costs as much as decoding, so nothing is asked of it that no reader wants. A dictionary makes texts of few
different values small; numbers that stay the same for many rows are as small without one, and sooner written.
Statistics are kept for what queries choose rows by. The lowest level of zstd is a fifth larger than the default one and
takes half of its time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS: Final = 1 << 17
"""Rows of a group: enough that its fifty columns pay for themselves, few enough to be held, some thirty megabytes.
Small files share groups.
"""
_VALUES_AT_ONCE: Final = 1 << 16
"""pyarrow takes 1,024 values of a column at a time, which is slow for more than fifty columns that are mostly null."""
_FEW_VALUES: Final = frozenset(
    (
        "cluster_id", "directory_id", "partition", "file", "kind", "type", "codec", "topic_id", "name", "rack", "fault",
        "resource_type", "resource_name", "value", "leader", "partition_id", "directories", "log_dirs",
        "cordoned_log_dirs", "isr", "replicas", "elr",
    )
)  # fmt: skip
_CHOSEN_BY: Final = frozenset(
    (
        "cluster_id", "node_id", "position", "base_offset", "last_offset", "offset", "epoch", "timestamp",
        "timestamp_ms",
        "base_timestamp", "max_timestamp", "base_timestamp_ms", "max_timestamp_ms", "type", "valid", "fault",
        "topic_id", "broker_id",
    )
)  # fmt: skip


class TableWriter:
    """Writes rows of `batches` or `records` to a file. Rows wait until there are enough for a group."""

    def __init__(self, where: Path, schema: pa.Schema) -> None:
        few = [_leaf(field) for field in schema if field.name in _FEW_VALUES]
        self._file = pq.ParquetWriter(
            where, schema, compression="zstd", compression_level=1, use_dictionary=few,
            write_batch_size=_VALUES_AT_ONCE,
            write_statistics=[field.name for field in schema if field.name in _CHOSEN_BY],
        )  # fmt: skip
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._file.write_table(pa.Table.from_batches(self._waiting), self._rows)
        self._waiting, self._rows = [], 0

    def close(self) -> None:
        """Write what waits and the footer. The file is whole only then."""
        self._flush()
        self._file.close()

    def abandon(self) -> None:
        """Close the file without what waits; nobody is going to read it."""
        self._waiting, self._rows = [], 0
        self._file.close()


def _leaf(field: pa.Field) -> str:
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name
