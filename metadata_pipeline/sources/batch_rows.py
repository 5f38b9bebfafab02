"""Rows of the table `batches`, and the rows of both tables that stand for what is no batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.record_batch import COMPRESSION_MASK, CONTROL_BIT, TRANSACTIONAL_BIT
from metadata_pipeline.schemas import ARROW_TYPES, Kind, Level, arrow_schema, columns_of
from metadata_pipeline.sources.chunks import Flaw
from metadata_pipeline.sources.columns import constant, listed, numbers, timestamps, words
from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.piece import Batches
from metadata_pipeline.sources.segments import Segment

Maker = Callable[[], pa.Array]
_CODECS: Final[list[str | None]] = [each.name.lower() for each in Compression] + [None] * (
    COMPRESSION_MASK - Compression.ZSTD
)
UNDECODED: Final = frozenset((Fault.MAGIC, Fault.LENGTH))
"""Faults after which nothing else in the header means anything."""


def assemble(level: Level, options: ReadOptions, count: int, makers: Mapping[str, Maker]) -> pa.RecordBatch:
    """The columns asked for; those that nobody makes are null."""
    columns = columns_of(level, options.columns)
    arrays = [
        makers[column.name]() if column.name in makers else constant(None, count, ARROW_TYPES[column.kind])
        for column in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=_schema(level, options.columns))


@lru_cache(maxsize=64)
def _schema(level: Level, names: tuple[str, ...] | None) -> pa.Schema:
    return arrow_schema(level, names)


def where(segments: Sequence[Segment], owner: Any, count: int) -> dict[str, Maker]:
    """The columns that are the same for a whole file; `owner` says whose each row is."""
    columns: dict[str, Kind] = {
        "cluster_id": "string", "node_id": "int", "directory_id": "string", "partition": "string", "file": "string",
        "kind": "string", "snapshot_offset": "bigint", "snapshot_epoch": "int",
    }  # fmt: skip
    return {
        name: partial(_of_files, [getattr(segment, name) for segment in segments], owner, count, ARROW_TYPES[kind])
        for name, kind in columns.items()
    }


def _of_files(values: list[Any], owner: Any, count: int, kind: pa.DataType) -> pa.Array:
    if all(value == values[0] for value in values):
        return constant(values[0], count, kind)
    return listed(values, kind).take(numbers(owner, pa.int64()))


def flaw_table(level: Level, segment: Segment, flaw: Flaw, options: ReadOptions) -> pa.RecordBatch:
    """One row that says why there is nothing."""
    given: dict[str, Any] = {"position": flaw.position, "fault": str(flaw.fault), "detail": flaw.detail}
    if level == "batches":
        given |= {"size": flaw.size, "valid": False}
    kinds = {column.name: column.kind for column in columns_of(level)}
    makers = where([segment], None, 1) | {
        name: partial(listed, [value], ARROW_TYPES[kinds[name]]) for name, value in given.items()
    }
    return assemble(level, options, 1, makers)


def batch_table(batches: Batches, options: ReadOptions) -> pa.RecordBatch:
    headers, count = batches.headers, len(batches)
    bases = headers["base_offset"].astype(np.int64)
    sound = batches.sound
    readable = (
        np.ones(count, np.bool_)
        if sound
        else np.array([fault is None or fault[0] not in UNDECODED for fault in batches.faults], np.bool_)
    )
    known = None if readable.all() else readable
    attributes = headers["attributes"].astype(np.int16)

    def header(name: str, kind: Any, source: Any = None) -> Maker:
        return lambda: numbers(headers[name] if source is None else source, ARROW_TYPES[kind], known)

    makers = where(batches.segments, batches.owner, count) | {
        "position": lambda: numbers(batches.places, pa.int64()),
        "size": lambda: numbers(batches.sizes, pa.int64()),
        "base_offset": lambda: numbers(bases, pa.int64()),
        "last_offset": header("", "bigint", bases + headers["last_offset_delta"]),
        "expected_offset": lambda: numbers(batches.expected, pa.int64(), batches.expected >= 0),
        "epoch": header("epoch", "int"),
        "magic": lambda: numbers(headers["magic"], pa.int8()),
        "crc": header("crc", "bigint"),
        "crc_ok": header("", "boolean", headers["crc"] == batches.crcs),
        "attributes": header("attributes", "smallint"),
        "is_control": header("", "boolean", (attributes & CONTROL_BIT) != 0),
        "is_transactional": header("", "boolean", (attributes & TRANSACTIONAL_BIT) != 0),
        "codec": lambda: _codecs(attributes, readable),
        "base_timestamp": lambda: timestamps(headers["base_timestamp"].astype(np.int64), known),
        "max_timestamp": lambda: timestamps(headers["max_timestamp"].astype(np.int64), known),
        "base_timestamp_ms": header("base_timestamp", "bigint"),
        "max_timestamp_ms": header("max_timestamp", "bigint"),
        "producer_id": header("producer_id", "bigint"),
        "producer_epoch": header("producer_epoch", "smallint"),
        "base_sequence": header("base_sequence", "int"),
        "record_count": header("record_count", "int"),
        "valid": lambda: listed([fault is None for fault in batches.faults], pa.bool_()),
        "fault": lambda: listed([None if fault is None else str(fault[0]) for fault in batches.faults], pa.string()),
        "detail": lambda: listed([None if fault is None else fault[1] for fault in batches.faults], pa.string()),
    }
    if sound:
        del makers["fault"], makers["detail"]
        makers["valid"] = partial(constant, True, count, pa.bool_())
    return assemble("batches", options, count, makers)


def _codecs(attributes: Any, readable: Any) -> pa.Array:
    codes = np.where(readable, attributes & COMPRESSION_MASK, COMPRESSION_MASK)
    return words(codes.astype(np.int8), _CODECS)
