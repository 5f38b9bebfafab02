"""What of an archive may go: pure.

A moment can be restored if a snapshot at or before it is there, and the log from that snapshot on. So what lies below
the newest snapshot that is older than what shall be kept may go, and nothing else.

What goes does not come back, so a clock that jumps must not let go of anything early. Ahead while the process runs: its
other clock, which cannot be set, bounds the time (`Started`). Behind when a snapshot was archived: it is no older than
those before it. Both keep too much, never too little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from metadata_pipeline.archive.examining import Listed
from metadata_pipeline.wire.leader import Mark


@dataclass(frozen=True, slots=True)
class Started:
    """When a process began, in seconds since 1970 and by the clock that only goes on."""

    wall: float
    monotonic: float

    def now(self, wall: float, monotonic: float) -> float:
        """The time that ages are told by: what the wall clock says, as far as the process has run for it."""
        return min(wall, self.wall + monotonic - self.monotonic)


def outlived(found: Listed, taken: Mapping[Mark, float], now: float, keep_seconds: float | None) -> Listed:
    """The segments and snapshots that may go. `taken`: when each snapshot was archived, in seconds since 1970. None
    keeps everything.
    """
    if keep_seconds is None:
        return Listed()
    old, latest = [], 0.0
    for each in sorted(found.snapshots, key=lambda it: it.end):
        latest = max(latest, taken.get(each, latest))
        if each in taken and latest <= now - keep_seconds:
            old.append(each)
    if not old:
        return Listed()
    base = max(old, key=lambda each: each.end)
    return Listed(
        tuple(segment for segment, following in pairwise(found.segments) if following <= base.end),
        tuple(each for each in found.snapshots if each.end < base.end),
    )
