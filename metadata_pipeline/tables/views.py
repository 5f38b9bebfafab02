"""The views that tables, audit and report are made from, in one session: what is committed, found once.

A small lake is held by Spark: its records, and what of them is committed, each in one partition, so that a table is
one task without an exchange. A large one is scanned by each query, which needs no memory. Jobs that run in one session
share `Views`, and what did not change is not made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from metadata_pipeline.copies import CopyKey
from metadata_pipeline.lake.reading import read_level, read_table
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.tables.committed import Cluster, bases_of, clusters, parts_of, register

KEPT_ROWS: Final = 1_000_000
"""Up to so many records are held by Spark (in memory, else on disk) while jobs ask them."""
FEW_ROWS: Final = 200_000
"""Up to so many are one partition: planning and exchanges would cost more than a second core saves."""


def rows_of(state: LakeState) -> int:
    return sum(live.file.rows for live in state.of("records"))


def is_small(state: LakeState) -> bool:
    return rows_of(state) <= FEW_ROWS


class Views:
    """What one session knows of one lake."""

    def __init__(self, spark: Any, lake: Path) -> None:
        self._spark = spark
        self._lake = lake
        self._made_of: Any = None
        self._batches_of: Any = None
        self.with_clears = False
        """Whether a record clears ELRs; known after `prepare`."""

    def prepare(self, state: LakeState) -> list[Cluster]:
        """`lake_records`, `log_records`, `committed` and `events` as of this state; what is known of each cluster."""
        known = clusters(state)
        made_of = _files(state, "records"), [(parts_of(it), bases_of(it)) for it in known]
        if made_of != self._made_of:
            records = read_level(self._spark, self._lake, state, "records")
            _let_go(self._spark, "lake_records", "events")
            few = is_small(state)
            keep = rows_of(state) <= KEPT_ROWS
            self.with_clears = register(
                self._spark, records.coalesce(1) if few else records, known, keep=keep, together=few
            )
            self._made_of = made_of
        return known

    def batches(self, state: LakeState) -> None:
        """The view `batches`: every copy's, as far as they count."""
        made_of = _files(state, "batches")
        if made_of == self._batches_of:
            return
        frame = read_level(self._spark, self._lake, state, "batches")
        _let_go(self._spark, "batches")
        (frame.coalesce(1) if is_small(state) else frame).createOrReplaceTempView("batches")
        if sum(live.file.rows for live in state.of("batches")) <= KEPT_ROWS:
            self._spark.catalog.cacheTable("batches")
        self._batches_of = made_of

    def tables(self, state: LakeState) -> None:
        """A view of each table that was made."""
        for table in state.tables:
            if table not in ("records", "batches"):
                frame = read_table(self._spark, self._lake, state, table)
                (frame.coalesce(1) if is_small(state) else frame).createOrReplaceTempView(table)


def _files(state: LakeState, level: str) -> Mapping[str, Mapping[CopyKey, int]]:
    return {live.file.path: dict(live.dead_from) for live in state.of(level)}


def _let_go(spark: Any, *views: str) -> None:
    """What Spark holds under these names is of another state, or of another lake."""
    for view in views:
        if spark.catalog.tableExists(view):
            spark.catalog.uncacheTable(view)
