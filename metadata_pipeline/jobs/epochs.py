"""What a worker tells of the rows it wrote, so that nobody has to read them again to know what is committed: epochs,
leaders and voter sets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from metadata_pipeline.copies import Claim, ReplicaKey, VoterSet
from metadata_pipeline.sources.columns import held
from metadata_pipeline.sources.segments import Segment

_NO_DIRECTORY: Final = "AAAAAAAAAAAAAAAAAAAAAA"


@dataclass(slots=True)
class Epochs:
    """The undamaged batches of one part as they come: which epochs they name, and which of them leaders began."""

    claims: list[Claim] = field(default_factory=list)
    _control: dict[int, int] = field(default_factory=dict)
    """Position of a control batch -> its place in `claims`."""
    _last_control: int = -1

    def add(self, batches: pa.RecordBatch) -> None:
        """In the order of the file. A control batch is a claim of its own: it may be a leader's first."""
        if not batches.num_rows:
            return
        starts, ends = held(batches["base_offset"]), held(batches["last_offset"]) + 1
        epochs, control, positions = held(batches["epoch"]), held(batches["is_control"]), held(batches["position"])
        breaks = (starts[1:] != ends[:-1]) | (epochs[1:] != epochs[:-1]) | control[1:] | control[:-1]
        firsts = np.concatenate([[0], np.flatnonzero(breaks) + 1])
        nexts = np.append(firsts[1:], len(starts))
        for first, after in zip(firsts.tolist(), nexts.tolist(), strict=True):
            found = Claim(int(starts[first]), int(ends[after - 1]), int(epochs[first]), after - first)
            if control[first]:
                self._control[int(positions[first])] = self._last_control = len(self.claims)
            elif self.claims and (last := self.claims[-1]).end == found.start and last.epoch == found.epoch:
                if self._last_control != len(self.claims) - 1:
                    found = Claim(last.start, found.end, found.epoch, last.batches + found.batches)
                    self.claims.pop()
            self.claims.append(found)

    def led(self, position: int) -> None:
        """The control batch there begins with a LeaderChangeMessage."""
        if (at := self._control.get(position)) is not None:
            self.claims[at] = replace(self.claims[at], leader=True)


def voters_in(row: dict[str, Any], segment: Segment) -> VoterSet | None:
    """The voter set that a control record names. In a snapshot it is the one in force at the snapshot's end. A
    malformed record names none.
    """
    if row["type"] not in ("VotersRecord", "LeaderChangeMessage") or row["extra"] is None:
        return None
    stored = json.loads(row["extra"])
    if stored.get("voters") is None:
        return None
    offset, epoch = row["offset"], row["epoch"]
    if segment.kind == "snapshot":
        offset, epoch = (segment.snapshot_offset or 0) - 1, segment.snapshot_epoch or 0
    if row["type"] == "VotersRecord":
        return VoterSet(offset, epoch, tuple(_voter(one) for one in stored["voters"]))
    return VoterSet(offset, epoch, tuple(ReplicaKey(one["voterId"]) for one in stored["voters"]), from_record=False)


def _voter(stored: dict[str, Any]) -> ReplicaKey:
    directory = stored["voterDirectoryId"]
    return ReplicaKey(stored["voterId"], None if directory == _NO_DIRECTORY else directory)
