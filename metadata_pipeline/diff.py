"""What differs between two states: one cluster at two points, or two clusters now.

Things are compared by name (a topic of two clusters has two ids), so a difference is one that a person means: a
partition's replicas, a configuration, an access rule. Values that differ by nature (ids, epochs, directories) are left
out when clusters are compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from metadata_pipeline.lake.commits import read_commits
from metadata_pipeline.lake.state import replay
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.tables.as_of import as_of
from metadata_pipeline.tables.moments import BEFORE_ALL, moments

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "topics": ("name",),
    "partitions": ("topic", "partition_id"),
    "brokers": ("broker_id",),
    "configs": ("resource_type", "resource_name", "name"),
    "features": ("name",),
    "quotas": ("entity", "quota"),
    "acls": ("principal", "host", "operation", "permission_type", "resource_type", "resource_name", "pattern_type"),
    "scram": ("user", "mechanism"),
}
_BOUNDS: Final = frozenset(
    ("cluster_id", "valid_from", "valid_to", "valid_from_time", "valid_to_time", "epoch", "stretch")
)
_OF_ONE_CLUSTER: Final = frozenset(
    ("topic_id", "id", "directories", "leader_epoch", "partition_epoch", "broker_epoch", "incarnation_id", "log_dirs",
        "cordoned_log_dirs", "endpoints", "fingerprint")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """A cluster at an offset, at a time, or now."""

    cluster: str
    offset: int | None = None
    time: datetime | None = None

    def __str__(self) -> str:
        at = f"offset {self.offset}" if self.offset is not None else self.time.isoformat() if self.time else "now"
        return f"{self.cluster} at {at}"


@dataclass(frozen=True, slots=True)
class Difference:
    """`change` is added, removed or changed; `values` are (column, before, after) of what changed."""

    table: str
    key: tuple[Any, ...]
    change: str
    values: tuple[tuple[str, Any, Any], ...] = ()

    def __str__(self) -> str:
        named = " ".join(map(str, self.key))
        shown = "; ".join(f"{name} {before!r} -> {after!r}" for name, before, after in self.values)
        return f"{self.table:<10} {self.change:<8} {named}" + (f": {shown}" if shown else "")


def diff(lake: str | os.PathLike[str], spark: Any, before: Point, after: Point) -> list[Difference]:
    """What was added, removed or changed from one point to the other, table by table, in order of keys."""
    found: list[Difference] = []
    placed = [_placed(spark, lake, point) for point in (before, after)]
    for table, key in KEYS.items():
        left, right = (_state(spark, lake, table, point, key) for point in placed)
        if not left and not right:
            continue
        found += compare(table, left, right, across=before.cluster != after.cluster)
    return found


def _placed(spark: Any, lake: str | os.PathLike[str], point: Point) -> Point:
    """A time as one offset, of all tables."""
    if point.time is None:
        return point
    home = Path(lake).absolute()
    found = moments(spark, home, replay(read_commits(home)), [point.time], [point.cluster])[point.time]
    at = found.get(point.cluster)
    return Point(point.cluster, offset=BEFORE_ALL if at is None else at.offset)


def _state(
    spark: Any, lake: Any, table: str, point: Point, key: tuple[str, ...]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    try:
        rows = as_of(spark, lake, table, cluster=point.cluster, offset=point.offset, time=point.time).collect()
    except PipelineError as error:
        raise PipelineError(f"{point}: {error.what}", error.next_step) from error
    return {tuple(row[name] for name in key): row.asDict() for row in rows}


def compare(
    table: str,
    left: dict[tuple[Any, ...], dict[str, Any]],
    right: dict[tuple[Any, ...], dict[str, Any]],
    *,
    across: bool,
) -> Iterator[Difference]:
    """Pure: two states of one table."""
    hidden = _BOUNDS | (_OF_ONE_CLUSTER if across else frozenset())
    for key in sorted({*left, *right}, key=repr):
        before, after = left.get(key), right.get(key)
        if before is None:
            yield Difference(table, key, "added")
        elif after is None:
            yield Difference(table, key, "removed")
        else:
            changed = tuple(
                (name, before[name], after[name])
                for name in before
                if name not in hidden and name not in KEYS[table] and _plain(before[name]) != _plain(after[name])
            )
            if changed:
                yield Difference(table, key, "changed", changed)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
