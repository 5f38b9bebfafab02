"""The batches of one piece of a file with the judgement on each: what the two tables are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.headers import Bytes, Ints


@dataclass(frozen=True, slots=True)
class Batches:
    """Columns over the batches of a piece. `data` holds their bytes and some zeros behind them, `position` is where it lies in the file."""

    position: int
    data: Bytes
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
            self.position, self.data, self.headers[keep], self.starts[keep], self.sizes[keep], self.crcs[keep],
            self.expected[keep], [fault for fault, kept in zip(self.faults, keep.tolist(), strict=True) if kept],
        )  # fmt: skip
