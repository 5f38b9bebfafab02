"""What a worker tells of the rows it wrote, so that nobody has to read them again to know what is committed: runs of epochs, and voter sets."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from metadata_pipeline.copies import Run, Voter, VoterSet
from metadata_pipeline.sources.segments import Segment

_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"


def add_runs(runs: list[Run], batches: pa.RecordBatch) -> int:
    """Append the runs of these undamaged batches, in the order of the file, to those of the batches before them.

    Every epoch begins with its leader's control batch, so an epoch that begins otherwise, in the middle of a log, is a damaged number (no
    checksum covers it): such a batch is left out, and the audit names it. Gives how many batches were taken.
    """
    if not batches.num_rows:
        return 0
    batches = batches.filter(pa.array(_credible(runs[-1].epoch if runs else None, batches)))
    if not batches.num_rows:
        return 0
    starts = batches["base_offset"].to_numpy(zero_copy_only=False)
    ends = batches["last_offset"].to_numpy(zero_copy_only=False) + 1
    epochs = batches["epoch"].to_numpy(zero_copy_only=False)
    breaks = np.flatnonzero((starts[1:] != ends[:-1]) | (epochs[1:] != epochs[:-1])) + 1
    firsts, lasts = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(starts)]]) - 1
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        run = Run(int(starts[first]), int(ends[last]), int(epochs[first]))
        if runs and runs[-1].end == run.start and runs[-1].epoch == run.epoch:
            runs[-1] = Run(runs[-1].start, run.end, run.epoch)
        else:
            runs.append(run)
    return int(batches.num_rows)


def _credible(before: int | None, batches: pa.RecordBatch) -> Any:
    epochs = batches["epoch"].to_numpy(zero_copy_only=False)
    control = batches["is_control"].to_numpy(zero_copy_only=False).astype(bool)
    keep = np.ones(len(epochs), bool)
    if (epochs == epochs[0]).all() and before in (None, epochs[0]):
        return keep
    current = before
    for index, (epoch, is_control) in enumerate(zip(epochs.tolist(), control.tolist(), strict=True)):
        if current is None or epoch == current or (epoch > current and is_control):
            current = epoch
        else:
            keep[index] = False
    return keep


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
