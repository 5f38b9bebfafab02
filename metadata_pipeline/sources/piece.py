"""The batches of one piece of a file, or of several small files, with the judgement on each: what the two tables are
made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metadata_pipeline.sources.arrays import Ints
from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.segments import Segment


@dataclass(frozen=True, slots=True)
class Batches:
    """Columns over batches. `raw` holds their bytes, `starts` says where; something lies behind. `owner` indexes
    `segments`.
    """

    segments: tuple[Segment, ...]
    raw: bytes
    headers: Any
    owner: Ints
    starts: Ints
    places: Ints
    """Where in its file each begins."""
    sizes: Ints
    crcs: npt.NDArray[np.uint32]
    expected: Ints
    """The offset at which each should begin; -1 is unknown."""
    faults: list[tuple[Fault, str] | None]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with any of them, as nearly always."""
        return not any(self.faults)

    @property
    def is_log(self) -> bool:
        """Logs and snapshots are never together: their offsets mean different things."""
        return self.segments[0].kind == "log"

    def kept(self, keep: npt.NDArray[np.bool_]) -> Batches:
        """Those batches only."""
        if keep.all():
            return self
        return self._some(keep, [fault for fault, kept in zip(self.faults, keep.tolist(), strict=True) if kept])

    def part(self, first: int, last: int) -> Batches:
        """The batches from one to before another."""
        return self._some(slice(first, last), self.faults[first:last])

    def _some(self, rows: Any, faults: list[tuple[Fault, str] | None]) -> Batches:
        return Batches(
            self.segments, self.raw, headers=self.headers[rows], owner=self.owner[rows], starts=self.starts[rows],
            places=self.places[rows],
            sizes=self.sizes[rows], crcs=self.crcs[rows], expected=self.expected[rows], faults=faults,
        )  # fmt: skip


def together(several: Sequence[Batches]) -> Batches:
    """The batches of several files as one, because a small file alone costs as many steps as a large one."""
    if len(several) == 1:
        return several[0]
    segments = tuple(segment for each in several for segment in each.segments)
    shifts = np.cumsum([0, *(len(each.raw) for each in several[:-1])])
    owners = np.cumsum([0, *(len(each.segments) for each in several[:-1])])
    return Batches(
        segments,
        b"".join(each.raw for each in several),
        headers=np.concatenate([each.headers for each in several]),
        owner=np.concatenate([each.owner + owner for each, owner in zip(several, owners, strict=True)]),
        starts=np.concatenate([each.starts + shift for each, shift in zip(several, shifts, strict=True)]),
        places=np.concatenate([each.places for each in several]),
        sizes=np.concatenate([each.sizes for each in several]),
        crcs=np.concatenate([each.crcs for each in several]),
        expected=np.concatenate([each.expected for each in several]),
        faults=[fault for each in several for fault in each.faults],
    )
