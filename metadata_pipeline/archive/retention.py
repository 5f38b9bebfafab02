"""What of an archive may go: pure.

A moment can be restored if a snapshot at or before it is there, and the log from that snapshot on. So what lies below
the newest snapshot that is older than what shall be kept may go, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from metadata_pipeline.archive.examining import Listed
from metadata_pipeline.wire.leader import Mark


def outlived(found: Listed, taken: Mapping[Mark, float], now: float, keep_seconds: float | None) -> Listed:
    """The segments and snapshots that may go. `taken`: when each snapshot was archived, in seconds since 1970. None
    keeps everything.
    """
    if keep_seconds is None:
        return Listed()
    old = [each for each in found.snapshots if each in taken and taken[each] <= now - keep_seconds]
    if not old:
        return Listed()
    base = max(old, key=lambda each: each.end)
    return Listed(
        tuple(segment for segment, following in pairwise(found.segments) if following <= base.end),
        tuple(each for each in found.snapshots if each.end < base.end),
    )
