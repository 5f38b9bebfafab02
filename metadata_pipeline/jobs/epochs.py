"""What a worker tells of the rows it wrote, so that nobody has to read them again to know what is committed: runs of epochs, and voter sets."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any

import numpy as np
import pyarrow as pa

from metadata_pipeline.copies import Run, Voter, VoterSet
from metadata_pipeline.sources.columns import held, numbers
from metadata_pipeline.sources.segments import Segment

_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"


def add_runs(runs: list[Run], batches: pa.RecordBatch) -> int:
    """Append the runs of these undamaged batches, in the order of the file, to those of the batches before them.

    Every epoch begins with its leader's control batch, so an epoch that begins otherwise, in the middle of a log, is a damaged number (no
    checksum covers it): such a batch is left out, and the audit names it. Gives how many batches were taken.
    """
    if not batches.num_rows:
        return 0
    _forget_a_fall(runs, batches)
    batches = batches.filter(numbers(_credible(runs[-1].epoch if runs else None, batches), pa.bool_()))
    if not batches.num_rows:
        return 0
    starts = held(batches["base_offset"])
    ends = held(batches["last_offset"]) + 1
    epochs = held(batches["epoch"])
    breaks = np.flatnonzero((starts[1:] != ends[:-1]) | (epochs[1:] != epochs[:-1])) + 1
    firsts, lasts = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(starts)]]) - 1
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        run = Run(int(starts[first]), int(ends[last]), int(epochs[first]))
        if runs and runs[-1].end == run.start and runs[-1].epoch == run.epoch:
            runs[-1] = Run(runs[-1].start, run.end, run.epoch)
        else:
            runs.append(run)
    return int(batches.num_rows)


def _forget_a_fall(runs: list[Run], batches: pa.RecordBatch) -> None:
    """A few batches at the end of what was read before cannot outvote all that follows: their epoch was the damaged one."""
    epochs = held(batches["epoch"])
    usual = int(np.median(epochs))
    while runs and runs[-1].epoch > usual and runs[-1].end - runs[-1].start < len(epochs):
        runs.pop()


def _credible(before: int | None, batches: pa.RecordBatch) -> Any:
    """Which batches have an epoch to believe: the most that never fall, without an epoch that one batch alone has and no leader began."""
    epochs = held(batches["epoch"])
    if (epochs == epochs[0]).all() and before in (None, epochs[0]):
        return np.ones(len(epochs), bool)
    control = held(batches["is_control"])
    _, which, counts = np.unique(epochs, return_inverse=True, return_counts=True)
    told = control | (counts[which] > 1) | (epochs == before)
    told[0] = told[0] or before is None
    keep = np.zeros(len(epochs), bool)
    places = np.flatnonzero(told & (epochs >= (before or 0)))
    if len(places):
        keep[places[longest_rise(epochs[places].tolist())]] = True
    return keep


def longest_rise(numbers: list[int]) -> list[int]:
    """Indices of a longest subsequence that never falls."""
    ends: list[int] = []
    ends_at: list[int] = []
    came_from: list[int] = []
    for index, number in enumerate(numbers):
        place = bisect_right(ends, number)
        came_from.append(ends_at[place - 1] if place else -1)
        ends[place : place + 1] = [number]
        ends_at[place : place + 1] = [index]
    found, at = [], ends_at[-1]
    while at >= 0:
        found.append(at)
        at = came_from[at]
    return found[::-1]


def voters_in(row: dict[str, Any], segment: Segment) -> VoterSet | None:
    """The voter set that a control record names. In a snapshot it is the one in force at the snapshot's end."""
    if row["type"] not in ("VotersRecord", "LeaderChangeMessage") or row["extra"] is None:
        return None
    told = json.loads(row["extra"])
    offset, epoch = row["offset"], row["epoch"]
    if segment.kind == "snapshot":
        offset, epoch = (segment.snapshot_offset or 0) - 1, segment.snapshot_epoch or 0
    if row["type"] == "VotersRecord":
        return VoterSet(offset, epoch, tuple(_voter(one) for one in told["voters"]))
    return VoterSet(offset, epoch, tuple(Voter(one["voterId"]) for one in told["voters"]), from_record=False)


def _voter(told: dict[str, Any]) -> Voter:
    directory = told["voterDirectoryId"]
    return Voter(told["voterId"], None if directory == _NO_DIRECTORY else directory)
