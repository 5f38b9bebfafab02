"""The batches of one piece of a file with the judgement on each: what the two tables are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.headers import Ints


@dataclass(frozen=True, slots=True)
class Batches:
    """Columns over the batches of a piece. `raw` holds their bytes and some zeros behind them, `position` is where it lies in the file."""

    position: int
    raw: bytes
    headers: Any
    starts: Ints
    sizes: Ints
    crcs: npt.NDArray[np.uint32]
    expected: Ints
    """Where each should begin; -1 is unknown."""
    faults: list[tuple[Fault, str] | None]

    def __len__(self) -> int:
        return len(self.starts)

    def kept(self, keep: npt.NDArray[np.bool_]) -> Batches:
        """Those batches only."""
        if keep.all():
            return self
        return Batches(
            self.position, self.raw, self.headers[keep], self.starts[keep], self.sizes[keep], self.crcs[keep],
            self.expected[keep], [fault for fault, kept in zip(self.faults, keep.tolist(), strict=True) if kept],
        )  # fmt: skip

    def part(self, first: int, last: int) -> Batches:
        """The batches from one to before another."""
        span = slice(first, last)
        return Batches(
            self.position, self.raw, self.headers[span], self.starts[span], self.sizes[span], self.crcs[span],
            self.expected[span], self.faults[span],
        )  # fmt: skip
