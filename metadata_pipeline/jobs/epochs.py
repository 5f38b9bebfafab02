"""What a worker tells of the rows it wrote, so that nobody has to read them again to know what is committed: runs of epochs, and voter sets."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from metadata_pipeline.copies import Run, Voter, VoterSet
from metadata_pipeline.sources.segments import Segment

_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"


def add_runs(runs: list[Run], batches: pa.RecordBatch) -> None:
    """Append the runs of these undamaged batches, in the order of the file, to those of the batches before them."""
    if not batches.num_rows:
        return
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
