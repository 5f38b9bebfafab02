"""Which epochs of a log to believe. They are covered by no checksum: one flipped bit must neither make a whole log look
unproven nor invent a leader.

What tells them is the rest of the log. Every epoch begins with its leader's record, which a checksum covers; so epochs
never fall, grow with each such record, and with those alone, unless offsets are missing where one may have been. Judged
is a whole piece of a copy at once, however many ingests and chunks it was read in. Where one number stands against one
other (a leader's record and a single batch behind it) nobody can tell from one disk who is right: then the older epoch
is believed, because a new one that nobody led would leave everything else unproven.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import inf
from typing import Final

from metadata_pipeline.copies import Claim, Run

UNTOLD: Final = 1.5
"""What it costs, in batches, to believe an epoch that begins without its leader's record although nothing is missing
there.
"""
FARTHEST: Final = 64
"""At most so many neighbouring claims are doubted: a quorum that changes its leader with every batch must not cost the
square of its log.
"""


def believed_runs(claims: Sequence[Claim]) -> list[Run]:
    """What is believed of a piece, equal neighbours as one."""
    runs: list[Run] = []
    for claim, credible in zip(claims, believed(claims), strict=True):
        if not credible:
            continue
        if runs and runs[-1].end == claim.start and runs[-1].epoch == claim.epoch:
            runs[-1] = Run(runs[-1].start, claim.end, claim.epoch)
        else:
            runs.append(Run(claim.start, claim.end, claim.epoch))
    return runs


def believed(claims: Sequence[Claim]) -> list[bool]:
    """The likeliest story is the one with the most batches."""
    if all(_plain(before, it) for before, it in pairwise(claims)):
        return [True] * len(claims)
    leaders = [0, *accumulate(it.leader for it in claims)]
    holes = [0, 0, *accumulate(it.start != before.end for before, it in pairwise(claims))]

    def cost(old: int, at: int) -> float:
        begun = leaders[at + 1] - leaders[old + 1]
        grown = claims[at].epoch - claims[old].epoch
        if grown < begun:  # that they are leaders' records is certain, whatever their numbers say
            return inf
        return 0.0 if begun or grown == 0 or holes[at + 1] > holes[old + 1] else UNTOLD

    best: list[tuple[float, int]] = []
    for at, claim in enumerate(claims):
        ways = [(best[old][0] - cost(old, at), old) for old in range(max(0, at - FARTHEST), at)]
        score, came_from = max(ways, default=(0.0, -1))
        best.append((score + claim.batches, came_from) if score > 0 else (float(claim.batches), -1))
    keep = [False] * len(claims)
    at = max(range(len(best)), key=lambda it: (best[it][0], -claims[it].epoch))
    while at >= 0:
        keep[at] = True
        at = best[at][1]
    return keep


def _plain(before: Claim, it: Claim) -> bool:
    if it.leader:
        return it.epoch > before.epoch
    return it.epoch == before.epoch or (it.epoch > before.epoch and it.start != before.end)
