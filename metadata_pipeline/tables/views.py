"""The views that tables, audit and report are made from, in one session: what is committed, found once.

A small lake is held by Spark: its records, and what of them is committed, each in one partition, so that a table is
one task without an exchange. A large one is scanned by each query, which needs no memory. Jobs that run in one session
share `Views`, and what did not change is not made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from metadata_pipeline.copies import CopyKey
from metadata_pipeline.lake.reading import read_level, read_table
from metadata_pipeline.lake.state import LakeState, LiveFile
from metadata_pipeline.schemas import Level
from metadata_pipeline.tables.committed import Cluster, Registered, bases_of, clusters, parts_of, register
from metadata_pipeline.tables.memory import Scope

KEPT_ROWS: Final = 1_000_000
"""Up to so many records are held by Spark (in memory, else on disk) while jobs ask them."""
FEW_ROWS: Final = 200_000
"""Up to so many are one partition: planning and exchanges would cost more than a second core saves."""


def rows_of(state: LakeState) -> int:
    return sum(live.file.rows for live in state.of("records"))


def is_small(state: LakeState) -> bool:
    return rows_of(state) <= FEW_ROWS


class Asked(Protocol):
    """Which files of tables, and which of their rows."""

    def wants(self, live: LiveFile) -> bool: ...
    def condition(self, table: str) -> str: ...


class Views:
    """What one session knows of one lake. `keeps`: up to so many rows are held by Spark."""

    def __init__(self, spark: Any, lake: Path, keeps: int = KEPT_ROWS) -> None:
        self._spark = spark
        self._keeps = keeps
        self._lake = lake
        self._made_of: Any = None
        self._batches_of: Any = None
        self.registered = Registered(clears=False, pending=frozenset())
        """What is known of the records after `prepare`."""

    def prepare(self, state: LakeState, scope: Scope | None = None) -> list[Cluster]:
        """`lake_records`, `log_records`, `committed` and `events` as of this state, of all clusters or of those in
        scope; what is known of each cluster.
        """
        known = clusters(state)
        inside = known if scope is None else [it for it in known if it.cluster in scope.since]
        since = {} if scope is None else dict(scope.since)
        parts = [(parts_of(it, since.get(it.cluster, 0)), bases_of(it)) for it in inside]
        made_of = _files(state, "records", scope), parts, since
        if made_of != self._made_of:
            records = read_level(self._spark, self._lake, state, "records", scope)
            _let_go(self._spark, "lake_records", "events")
            rows = rows_of(state) if scope is None else scope.rows(state, "records")
            few = rows <= FEW_ROWS
            self.registered = register(
                self._spark, records.coalesce(1) if few else records, inside, since, keep=rows <= self._keeps,
                together=few,
            )  # fmt: skip
            self._made_of = made_of
        return known

    def batches(self, state: LakeState, scope: Scope | None = None) -> None:
        """The view `batches`: every copy's, as far as they count."""
        made_of = _files(state, "batches", scope)
        if made_of == self._batches_of:
            return
        frame = read_level(self._spark, self._lake, state, "batches", scope)
        _let_go(self._spark, "batches")
        rows = sum(it.file.rows for it in state.of("batches")) if scope is None else scope.rows(state, "batches")
        (frame.coalesce(1) if rows <= FEW_ROWS else frame).createOrReplaceTempView("batches")
        if rows <= self._keeps:
            self._spark.catalog.cacheTable("batches")
        self._batches_of = made_of

    def tables(self, state: LakeState, look: Asked | None = None) -> None:
        """A view of each table that was made, or of what of it is asked."""
        for table in state.tables:
            if table not in ("records", "batches"):
                frame = read_table(self._spark, self._lake, state, table, None if look is None else look.wants)
                frame = frame if look is None else frame.where(look.condition(table))
                (frame.coalesce(1) if is_small(state) else frame).createOrReplaceTempView(table)


def _files(state: LakeState, level: Level, scope: Scope | None) -> Mapping[str, tuple[Mapping[CopyKey, int], str]]:
    """What is read of which file."""
    return {
        live.file.path: (dict(live.dead_from), "" if scope is None else scope.condition(live, "offset"))
        for live in state.of(level)
        if scope is None or scope.wants(live)
    }


def _let_go(spark: Any, *views: str) -> None:
    """What Spark holds under these names is of another state, or of another lake."""
    for view in views:
        if spark.catalog.tableExists(view):
            spark.catalog.uncacheTable(view)
