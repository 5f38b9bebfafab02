"""Rows of the table `records`. (First form: one record at a time.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.record_batch import CorruptBatch, RecordBatch, read_header
from metadata_pipeline.schemas import RECORDS, arrow_schema
from metadata_pipeline.sources.describe import describe
from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.piece import Batches
from metadata_pipeline.sources.segments import Segment

_TIME_LIMITS = (-62_135_596_800_000, 253_402_300_800_000)


def record_tables(segment: Segment, batches: Batches, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    rows = [row for index in range(len(batches)) for row in _rows(segment, batches, index, options)]
    if rows:
        yield pa.RecordBatch.from_pylist(rows, arrow_schema("records", options.columns))


def _rows(segment: Segment, batches: Batches, index: int, options: ReadOptions) -> Iterator[dict[str, Any]]:
    start, size = int(batches.starts[index]), int(batches.sizes[index])
    row: dict[str, Any] = dict.fromkeys(column.name for column in RECORDS)
    for name in (
        "cluster_id",
        "node_id",
        "directory_id",
        "partition",
        "file",
        "kind",
        "snapshot_offset",
        "snapshot_epoch",
    ):
        row[name] = getattr(segment, name)
    row["position"] = start + batches.position
    row["batch_offset"] = int(batches.headers[index]["base_offset"])
    fault = batches.faults[index]
    if fault is not None:
        row["fault"], row["detail"] = str(fault[0]), fault[1]
        if fault[0] is not Fault.OFFSET:
            yield row | {"offset": row["batch_offset"]}
            return
    data = batches.data[start : start + size].tobytes()
    header = read_header(data)
    row |= {"epoch": header.partition_leader_epoch, "is_control": header.is_control}
    try:
        records = RecordBatch(header, data, 64 << 20).records
    except CorruptBatch as error:
        compressed = bool(header.attributes & 7) and "records" not in error.reason and "claimed" not in error.reason
        kind = Fault.COMPRESSION if compressed else Fault.RECORDS
        yield row | {"offset": row["batch_offset"], "fault": str(kind), "detail": "the bytes are not so many records"}
        return
    for record in records:
        if segment.kind == "log":
            if options.from_offset is not None and record.offset < options.from_offset:
                continue
            if options.to_offset is not None and record.offset >= options.to_offset:
                continue
        if options.from_time_ms is not None and record.timestamp < options.from_time_ms:
            continue
        found = describe(record.key, record.value, control=header.is_control, redactor=options.redactor)
        if options.types is not None and found.fault is None and found.type not in options.types:
            continue
        made = row | {name: _plain(value) for name, value in found.values.items()}
        made |= {
            "offset": record.offset, "timestamp_ms": record.timestamp, "type": found.type, "type_id": found.type_id,
            "version": found.version, "extra": found.extra, "raw": found.raw, "redacted": found.redacted,
        }  # fmt: skip
        if _TIME_LIMITS[0] <= record.timestamp < _TIME_LIMITS[1]:
            made["timestamp"] = record.timestamp * 1000
        if found.fault is not None:
            made |= {"fault": str(found.fault), "detail": found.detail}
        yield made


def _plain(value: Any) -> Any:
    if isinstance(value, Uuid):
        return str(value)
    if isinstance(value, tuple):
        return [str(each) if isinstance(each, Uuid) else each for each in value]
    return value
