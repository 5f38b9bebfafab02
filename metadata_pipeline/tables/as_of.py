"""The state of a cluster after any record or at any time, from the history tables: what was valid then.

"As of offset N" is the state after the record at N. "As of a time" is the state before the first record that names a
later time: one offset of each cluster (`tables.moments`), because leaders' clocks may go back, and then times alone are
those of two states. Outside of what is known (before a stretch, in a gap) nothing is valid, and `known` says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from metadata_pipeline.lake.commits import read_commits
from metadata_pipeline.lake.reading import read_table
from metadata_pipeline.lake.rows import quoted
from metadata_pipeline.lake.state import LakeState, replay
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.tables.moments import moments, offset_of_each
from metadata_pipeline.tables.queries import TABLES
from metadata_pipeline.tables.views import Views


def as_of(
    spark: Any,
    lake: str | os.PathLike[str],
    table: str,
    *,
    cluster: str | None = None,
    offset: int | None = None,
    time: datetime | None = None,
) -> Any:
    """The rows of a history table that were valid then, in one cluster or in all. Give an offset, a time, or nothing
    (now).
    """
    if table not in TABLES:
        raise PipelineError(f"there is no table {table}", f"choose among {', '.join(TABLES)}")
    home = Path(lake).absolute()
    state = replay(read_commits(home))
    frame = read_table(spark, home, state, table)
    if offset is not None and time is not None:
        raise PipelineError("both an offset and a time are given", "give one of them")
    if time is None:
        return frame.where(condition(cluster, offset))
    chosen = None if cluster is None else [cluster]
    at = {name: moment.offset for name, moment in moments(spark, home, state, [time], chosen)[time].items()}
    return frame.where(condition(cluster, at))


def condition(cluster: str | None, at: int | Mapping[str, int] | None, prefix: str = "") -> str:
    """The same as SQL, for queries of one's own. `at`: an offset, or one of each cluster; None is now."""
    parts = [] if cluster is None else [f"{prefix}cluster_id = {quoted(cluster)}"]
    if at is None:
        parts.append(f"{prefix}valid_to IS NULL")
    else:
        then = at if isinstance(at, int) else offset_of_each(at, prefix)
        parts.append(f"{prefix}valid_from <= {then} AND ({prefix}valid_to IS NULL OR {prefix}valid_to > {then})")
    return " AND ".join(parts)


def open_views(spark: Any, lake: str | os.PathLike[str], views: Views | None = None) -> LakeState:
    """Every table of the lake as a temporary view of its name, and `committed`, `batches`: for SQL of one's own."""
    home = Path(lake).absolute()
    state = replay(read_commits(home))
    views = views or Views(spark, home)
    views.prepare(state)
    views.batches(state)
    views.tables(state)
    return state
