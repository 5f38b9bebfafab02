"""Points of commands: CLUSTER, CLUSTER@OFFSET or CLUSTER@TIME. A time becomes an offset here, and where a leader's
clock makes that a choice, the user is told.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metadata_pipeline.diff import Point
from metadata_pipeline.jobs.ingest import lake_state
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.tables.moments import BEFORE_ALL, moments, twice_told


def parse_point(text: str) -> tuple[str, int | None, datetime | None]:
    """CLUSTER, CLUSTER@OFFSET or CLUSTER@TIME."""
    cluster, at, point = text.rpartition("@")
    if not at:
        return text, None, None
    if point.isdecimal():
        return cluster, int(point), None
    try:
        time = datetime.fromisoformat(point)
    except ValueError as error:
        raise PipelineError(
            f"{point!r} is neither an offset nor an ISO time", "for example mycluster@2026-11-01T03:00:00"
        ) from error
    return cluster, None, time if time.tzinfo else time.replace(tzinfo=UTC)


def point_at(spark: Any, lake: str, point: Point) -> Point:
    if point.time is None:
        return point
    at = placed(spark, lake, [point.time], [point.cluster])[point.time]
    return replace(point, time=None, offset=at.get(point.cluster, BEFORE_ALL))


def placed(
    spark: Any, lake: str, times: Sequence[datetime], clusters: Iterable[str] | None
) -> dict[datetime, dict[str, int]]:
    """Times as offsets of the clusters; says where a leader's clock makes that a choice."""
    found = moments(spark, Path(lake).absolute(), lake_state(lake), times, clusters)
    for line in twice_told(found):
        print(line, file=sys.stderr)
    return {time: {cluster: it.offset for cluster, it in of.items()} for time, of in found.items()}
