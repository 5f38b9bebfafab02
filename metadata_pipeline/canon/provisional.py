"""What became of records that were not proven when they were first read: still open, confirmed, or retracted.

Fed with the open suffixes of one look and the statuses remembered from the looks before. A status is never forgotten,
so the table tells what a node once held and lost, and when that was learned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from metadata_pipeline.canon.model import Canon
from metadata_pipeline.copies import Run

Status = Literal["provisional", "confirmed", "retracted"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Offsets of one epoch; `since` and `until` are commits of the lake (until: when it was decided)."""

    start: int
    end: int
    epoch: int
    nodes: tuple[int, ...]
    status: Status
    since: int
    until: int | None = None


def settle(before: Iterable[Standing], canon: Canon, commit: int) -> list[Standing]:
    """The standings after a look at the lake as of `commit`, in order of offset."""
    now: list[Standing] = []
    still = {(it.start, it.end, it.epoch): it for it in canon.open}
    known: list[Standing] = []
    for old in before:
        if old.status != "provisional":
            now.append(old)
            continue
        known.append(old)
        now += _judged(old, canon, commit)
    for (start, end, epoch), suffix in still.items():
        nodes = tuple(sorted({key.node for key in suffix.holders}))
        since = min(
            (old.since for old in known if old.epoch == epoch and old.start < end and start < old.end), default=commit
        )
        now.append(Standing(start, end, epoch, nodes=nodes, status="provisional", since=since))
    for suffix in canon.refuted:
        if not _told(now, suffix.start, suffix.end, suffix.epoch):
            nodes = tuple(sorted({key.node for key in suffix.holders}))
            now.append(
                Standing(
                    suffix.start, suffix.end, suffix.epoch, nodes=nodes, status="retracted", since=commit, until=commit
                )
            )
    return sorted(now, key=lambda it: (it.start, it.end, it.epoch, it.since))


def _told(standings: list[Standing], start: int, end: int, epoch: int) -> bool:
    return any(
        it.status == "retracted" and it.epoch == epoch and it.start <= start and end <= it.end for it in standings
    )


def _judged(old: Standing, canon: Canon, commit: int) -> list[Standing]:
    """The parts of it that are decided now. What is still open, the canon itself says."""
    confirmed = _common(old, [run for run in canon.runs if run.epoch == old.epoch])
    open_now = _common(old, [Run(it.start, it.end, it.epoch) for it in canon.open if it.epoch == old.epoch])
    gone = _without(old, confirmed + open_now)
    return [
        *(replace(old, start=start, end=end, status="confirmed", until=commit) for start, end in confirmed),
        *(replace(old, start=start, end=end, status="retracted", until=commit) for start, end in gone),
    ]


def _common(old: Standing, runs: list[Run]) -> list[tuple[int, int]]:
    return [
        (max(old.start, run.start), min(old.end, run.end))
        for run in runs
        if run.start < old.end and old.start < run.end
    ]


def _without(old: Standing, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    left, at = [], old.start
    for start, end in sorted(spans):
        if start > at:
            left.append((at, start))
        at = max(at, end)
    return [*left, (at, old.end)] if at < old.end else left
