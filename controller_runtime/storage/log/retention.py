"""Which segments of a partition's log are not kept any longer: those below its start, too much, too old.

As Apache Kafka does it: whole segments, from the oldest on, and none that reaches over the high watermark, so a log
never begins above it (LOG-28). A log whose cleanup policy is not `delete` loses only what lies below its start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from controller_runtime.storage.log.config import CleanupRules
from controller_runtime.storage.log.segment import Segment

_FOREVER: Final = -1


def expired(
    segments: Sequence[Segment],
    rules: CleanupRules,
    *,
    start: int,
    high_watermark: int,
    now_ms: int,
    latest: Callable[[Segment], int],
) -> int:
    """How many of the oldest segments are to go; all of them: an empty one comes first. `latest` tells the largest
    timestamp of a segment; asking it may cost a read.
    """
    ends = [*(segment.base_offset for segment in segments[1:]), segments[-1].end_offset]
    # The last one goes only with records in it: an empty one would be replaced by itself, again and again.
    may_go = len(segments) if segments[-1].size else len(segments) - 1
    while may_go and ends[may_go - 1] > high_watermark:
        may_go -= 1
    gone = 0
    while gone < min(may_go, len(segments) - 1) and ends[gone] <= start:
        gone += 1
    if not rules.deletes:
        return gone
    if rules.retention_bytes > _FOREVER:
        excess = sum(segment.size for segment in segments[gone:]) - rules.retention_bytes
        while gone < may_go and excess >= segments[gone].size:
            excess -= segments[gone].size
            gone += 1
    if rules.retention_ms > _FOREVER:
        while gone < may_go and now_ms - latest(segments[gone]) > rules.retention_ms:
            gone += 1
    return gone
