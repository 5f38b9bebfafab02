"""Rows of a lake's files, read without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from metadata_pipeline.jobs.ingest import lake_state

WIRE = -1


def log_rows(lake: Path, node: int = WIRE) -> list[tuple[Any, ...]]:
    """(offset, epoch, type, time, what has no column) of the log records of one node's copy, or of the wire's."""
    found = []
    for live in lake_state(lake).of("records"):
        for row in pq.read_table(lake / live.file.path, partitioning=None).to_pylist():
            if row["kind"] == "log" and row["node_id"] == node:
                found.append((row["offset"], row["epoch"], row["type"], row["timestamp_ms"], row["extra"]))
    return sorted(found, key=lambda it: it[0])
