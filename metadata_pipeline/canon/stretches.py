"""Where a cluster's history is known without a gap, and what it begins with.

A stretch begins at offset 0 with nothing, or at the end of a snapshot with what the snapshot says. Where committed
records are missing (the log was trimmed before it was read, or they are damaged on every disk), the stretch ends, and
the next begins with the first snapshot behind the gap. Records between a gap and that snapshot are in no history: what
they change is not known to be there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metadata_pipeline.canon.from_lake import SnapshotFile
from metadata_pipeline.canon.model import Canon


@dataclass(frozen=True, slots=True)
class Stretch:
    """Records `start` to `end` (exclusive), after the state of `base`."""

    number: int
    start: int
    end: int
    base: SnapshotFile | None = None


def stretches(canon: Canon, snapshots: Sequence[SnapshotFile]) -> list[Stretch]:
    usable = sorted((it for it in snapshots if not it.damaged and 0 < it.end <= canon.end), key=_first_choice)
    made: list[Stretch] = []
    for low, high in _contiguous(canon):
        base = None if low == 0 else next((it for it in usable if low <= it.end <= high), None)
        if low == 0 or base is not None:
            made.append(Stretch(len(made), low if base is None else base.end, high, base))
    last = max(usable, key=lambda it: it.end, default=None)
    if last is not None and (not made or made[-1].end < last.end):
        made.append(Stretch(len(made), last.end, last.end, last))
    return made


def _first_choice(it: SnapshotFile) -> tuple[int, int]:
    return it.end, it.copy.node


def _contiguous(canon: Canon) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for run in canon.runs:
        if spans and spans[-1][1] == run.start:
            spans[-1] = spans[-1][0], run.end
        else:
            spans.append((run.start, run.end))
    return spans
