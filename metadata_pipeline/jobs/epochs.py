"""What a worker tells of the rows it wrote, so that nobody has to read them again to know what is committed: runs of epochs, and voter sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf
from typing import Any, Final

import numpy as np
import pyarrow as pa

from metadata_pipeline.copies import Run, Voter, VoterSet
from metadata_pipeline.sources.columns import held, numbers
from metadata_pipeline.sources.segments import Segment

_NO_DIRECTORY: Final = "AAAAAAAAAAAAAAAAAAAAAA"
UNTOLD: Final = 1.5
"""What it costs, in batches, that an epoch begins without a control batch."""
AMID: Final = 0.25
MOST_STRETCHES: Final = 256
"""So many are weighed together: a quorum that changes its leader with every batch must not cost the square of its log."""


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
    """Which batches have an epoch to believe."""
    epochs = held(batches["epoch"])
    if (epochs == epochs[0]).all() and before in (None, epochs[0]):
        return np.ones(len(epochs), bool)
    control = held(batches["is_control"])
    breaks = np.flatnonzero((epochs[1:] != epochs[:-1]) | control[1:] | control[:-1]) + 1
    firsts = np.concatenate([[0], breaks])
    sizes = np.diff(np.append(firsts, len(epochs))).tolist()
    stretches = list(zip(epochs[firsts].tolist(), control[firsts].tolist(), sizes, strict=True))
    keep: list[bool] = []
    for first in range(0, len(stretches), MOST_STRETCHES):
        some = stretches[first : first + MOST_STRETCHES]
        believed = most_credible(before, some)
        keep += [index in believed for index in range(len(some))]
        before = some[max(believed)][0] if believed else before
    return np.repeat(keep, sizes)


def most_credible(before: int | None, stretches: Sequence[tuple[int, bool, int]]) -> set[int]:
    """Which stretches (epoch, control batch, number of batches) tell the likeliest story: the most batches whose epochs never fall, and grow with a
    control batch alone.

    One that grows without a control batch lost it: that is believed of two batches, not of one. Where the batch before is a control batch that is not
    believed, it was the beginning. A control batch amid an epoch (of voters) is likelier a beginning whose epoch is true.
    """
    best: list[tuple[float, int]] = []
    for at, (epoch, control, size) in enumerate(stretches):
        begun = at > 0 and stretches[at - 1][1]
        ways = [(0.0 if before is None else -_cost(before, epoch, told=control or begun, control=control), -1)]
        ways += [
            (
                best[old][0]
                - _cost(stretches[old][0], epoch, told=control or (begun and old < at - 1), control=control),
                old,
            )
            for old in range(at)
        ]
        score, came_from = max(ways)
        best.append((score + size, came_from))
    believed: set[int] = set()
    at = max(range(len(best)), key=lambda it: best[it][0])
    while at >= 0 and best[at][0] > 0:
        believed.add(at)
        at = best[at][1]
    return believed


def _cost(old: int, epoch: int, *, told: bool, control: bool) -> float:
    """What it takes to believe an epoch behind another one. `told`: whether there was a control batch to begin it."""
    if epoch < old:
        return inf
    if epoch == old:
        return AMID if control else 0.0
    return 0.0 if told else UNTOLD


def voters_in(row: dict[str, Any], segment: Segment) -> VoterSet | None:
    """The voter set that a control record names. In a snapshot it is the one in force at the snapshot's end. A malformed record names none."""
    if row["type"] not in ("VotersRecord", "LeaderChangeMessage") or row["extra"] is None:
        return None
    told = json.loads(row["extra"])
    if told.get("voters") is None:
        return None
    offset, epoch = row["offset"], row["epoch"]
    if segment.kind == "snapshot":
        offset, epoch = (segment.snapshot_offset or 0) - 1, segment.snapshot_epoch or 0
    if row["type"] == "VotersRecord":
        return VoterSet(offset, epoch, tuple(_voter(one) for one in told["voters"]))
    return VoterSet(offset, epoch, tuple(Voter(one["voterId"]) for one in told["voters"]), from_record=False)


def _voter(told: dict[str, Any]) -> Voter:
    directory = told["voterDirectoryId"]
    return Voter(told["voterId"], None if directory == _NO_DIRECTORY else directory)
