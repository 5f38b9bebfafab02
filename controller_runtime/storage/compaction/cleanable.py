"""How much of a log is dirty, how far it may be cleaned, and which segments become one.

The clean part ends at the cleaner's checkpoint. Never cleaned are the active segment, what is at or above the last
stable offset, and all from the first segment on that is too young (`min.compaction.lag.ms`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from controller_runtime.storage.log.config import NEVER, CleanupRules, LogConfig
from controller_runtime.storage.log.indexes import MAX_RELATIVE
from controller_runtime.storage.log.segment import Segment
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Dirt:
    """Of one log."""

    first_dirty: int
    limit: int
    """Where the first segment begins that is not cleaned."""
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool
    """Something in it is older than `max.compaction.lag.ms`."""

    @property
    def ratio(self) -> float:
        whole = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / whole if whole else 0.0

    def is_due(self, rules: CleanupRules) -> bool:
        return self.dirty_bytes > 0 and (self.is_overdue or self.ratio > rules.min_dirty_ratio)


def dirt(
    segments: Sequence[Segment],
    rules: CleanupRules,
    *,
    checkpoint: int | None,
    start: int,
    stable: int,
    now_ms: int,
    latest: Callable[[Segment], int],
) -> Dirt:
    """`checkpoint`: how far it was cleaned; None, or an offset that the log does not have: it never was. `stable`: the
    last stable offset. `latest` tells the largest timestamp of a segment.
    """
    active = segments[-1]
    is_known = checkpoint is not None and start <= checkpoint <= active.end_offset
    first_dirty = checkpoint if checkpoint is not None and is_known else start
    bound = min(stable, active.base_offset)
    dirty = [one for one, end in _with_ends(segments) if end > first_dirty]
    if rules.min_compaction_lag_ms > 0:
        young = (one.base_offset for one in dirty if latest(one) > now_ms - rules.min_compaction_lag_ms)
        bound = min(bound, next(young, bound))
    limit = max((one.base_offset for one in segments if one.base_offset <= bound), default=segments[0].base_offset)
    overdue = rules.max_compaction_lag_ms < NEVER and any(
        0 < (one.first_timestamp or 0) < now_ms - rules.max_compaction_lag_ms for one in dirty
    )
    return Dirt(
        first_dirty,
        limit,
        clean_bytes=sum(one.size for one in segments if one.base_offset < first_dirty),
        dirty_bytes=sum(one.size for one in dirty if one.base_offset < limit),
        is_overdue=overdue,
    )


def _with_ends(segments: Sequence[Segment]) -> list[tuple[Segment, int]]:
    """Closed segments, and where the next ones begin."""
    return [(one, after.base_offset) for one, after in pairwise(segments)]


def grouped(segments: Sequence[Segment], config: LogConfig, limit: int) -> list[list[Segment]]:
    """Neighbours that become one segment: as large as a segment may be, its indexes too, and within the offsets that
    an index can name (KAFKA-6264). `limit`: where the segment behind them begins.
    """
    groups: list[list[Segment]] = []
    for number, one in enumerate(segments):
        last_offset = (segments[number + 1].base_offset if number + 1 < len(segments) else limit) - 1
        if groups and _fits(groups[-1], one, last_offset, config):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _fits(group: list[Segment], one: Segment, last_offset: int, config: LogConfig) -> bool:
    whole = [*group, one]
    return (
        sum(each.size for each in whole) <= config.segment_bytes
        and sum(8 * len(each.indexes.offset.offsets) for each in whole) <= config.max_index_bytes
        and sum(12 * len(each.indexes.time.offsets) for each in whole) <= config.max_index_bytes
        and (one.size == 0 or last_offset - group[0].base_offset <= MAX_RELATIVE)
    )
