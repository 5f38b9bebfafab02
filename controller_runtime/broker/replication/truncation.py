"""Where a follower's log parts from its leader's, by leader epochs (KIP-101, KIP-279, KIP-595's diverging epochs).

A leader that sees that a follower's last epoch ended earlier in its own log answers with the largest epoch up to it
that it knows, and where that ended. What the follower has of a larger epoch, nobody else ever had to have: it is cut.
If the follower does not know that epoch either, one answer is not enough (KAFKA-6361): it cuts what it can be sure of,
and the next fetch asks again with the epoch that is the last one then. The high watermark decides nothing (KAFKA-1211).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from controller_runtime.broker.partition import NO_EPOCH

EpochStarts = Sequence[tuple[int, int]]
"""(epoch, first offset) pairs, ascending in both."""


def end_of_epoch(starts: EpochStarts, epoch: int, log_end: int) -> tuple[int, int] | None:
    """The largest epoch up to this one in a log, and where it ends there; None: there is none."""
    at = bisect_right(starts, epoch, key=lambda entry: entry[0])
    if at == 0:
        return None
    return starts[at - 1][0], starts[at][1] if at < len(starts) else log_end


def cut_at(starts: EpochStarts, log_end: int, epoch: int, end_offset: int) -> int:
    """Where the log ends that agrees with what the leader says of `epoch` and its end, as far as can be known now."""
    own = end_of_epoch(starts, epoch, log_end)
    if own is None:
        return min(end_offset, log_end)
    own_epoch, own_end = own
    return min(own_end, log_end) if own_epoch != epoch else min(own_end, end_offset, log_end)


def last_epoch(starts: EpochStarts, log_end: int) -> int:
    """Of the last record; an epoch that begins at the end wrote nothing (KAFKA-10706)."""
    at = bisect_right(starts, log_end - 1, key=lambda entry: entry[1]) - 1
    return starts[at][0] if at >= 0 else NO_EPOCH
