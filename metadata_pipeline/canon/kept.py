"""Who provides which offsets stays so while they hold them: what was decided once is not decided anew by who has caught
up since. Pure.

Copies of one committed log are equal where they hold records of equal epochs (log matching), so any may provide them.
That it is the same one at every look makes a history that goes on the same as one that is made whole, also where
damage that no epoch shows makes copies differ (the audit's `divergence`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from metadata_pipeline.canon.model import Canon, Copy, Part
from metadata_pipeline.copies import Run


@dataclass(frozen=True, slots=True)
class Kept:
    parts: tuple[Part, ...]


def keep_providers(canon: Canon, copies: Sequence[Copy], kept: Kept | None) -> Canon:
    """The canon with the earlier providers where they still hold it; as it is when one of them does not."""
    if kept is None or not kept.parts:
        return canon
    held = {copy.key: [run for piece in copy.pieces for run in piece.runs] for copy in copies}
    if not all(_holds(held.get(part.copy, []), part, canon.runs) for part in kept.parts):
        return canon
    return replace(canon, parts=_beside(kept.parts, canon.parts))


def _holds(own: Sequence[Run], part: Part, committed: Sequence[Run]) -> bool:
    """Whether the copy holds, of the committed epochs, every offset of the part."""
    at = part.start
    for run in committed:
        if run.end <= at or run.start >= part.end:
            continue
        if run.start > at:
            return False
        to = min(run.end, part.end)
        if not any(it.epoch == run.epoch and it.start <= at and it.end >= to for it in own):
            return False
        at = to
    return at >= part.end


def _beside(kept: Sequence[Part], parts: Sequence[Part]) -> tuple[Part, ...]:
    """The kept parts, and of the others what they leave."""
    left: list[Part] = list(kept)
    for part in parts:
        at = part.start
        for span in sorted(kept, key=lambda it: it.start):
            if span.end <= at or span.start >= part.end:
                continue
            if span.start > at:
                left.append(Part(part.copy, at, span.start))
            at = max(at, span.end)
        if at < part.end:
            left.append(Part(part.copy, at, part.end))
    merged: list[Part] = []
    for part in sorted(left, key=lambda it: it.start):
        if merged and merged[-1].copy == part.copy and merged[-1].end == part.start:
            merged[-1] = Part(part.copy, merged[-1].start, part.end)
        else:
            merged.append(part)
    return tuple(merged)
