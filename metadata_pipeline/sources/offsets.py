"""Whether base offsets follow one another: the only check there is for a number that no checksum covers.

Within one file each batch begins where the one before it ended. A batch that does not is marked. If the next one fits
the place where the marked one should have been, the marked one alone was damaged; if it fits the marked one, a stretch
is missing and only its first batch is marked. Which of two replicas is right, a single file cannot say.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metadata_pipeline.sources.arrays import Ints
from metadata_pipeline.sources.lockstep import Bools


class OffsetCheck:
    """Goes along one file, or a part of it that begins with `expected` (None: not known)."""

    def __init__(self, expected: int | None) -> None:
        self._expected = expected
        self._other: int | None = None

    def lost(self) -> None:
        """A stretch could not be read: what follows may begin anywhere above."""
        self._expected = self._other = None

    def step(self, headers: Any, trusted: Bools) -> tuple[Ints, Bools]:
        """For the next batches: where each should begin (-1: unknown), and which do not.

        Batches that are not `trusted` (a wrong checksum, another format) say nothing reliable about where they end.
        """
        bases = headers["base_offset"].astype(np.int64)
        spans = headers["last_offset_delta"].astype(np.int64) + 1
        ends = bases + spans
        expected = np.empty(len(bases), np.int64)
        expected[1:] = ends[:-1]
        expected[0] = bases[0] if self._expected is None else self._expected
        odd = bases != expected
        if self._other is not None and odd[0] and bases[0] == self._other:
            odd[0], expected[0] = False, self._other
        doubtful = np.flatnonzero(odd[1:] & ~trusted[:-1]) + 1
        odd[doubtful], expected[doubtful] = False, -1
        for index in np.flatnonzero(odd[:-1]).tolist():
            if odd[index] and odd[index + 1] and bases[index + 1] == expected[index] + spans[index]:
                odd[index + 1] = False
                expected[index + 1] = bases[index + 1]
        if self._expected is None:
            expected[0] = -1
        self._expected = int(ends[-1])
        self._other = int(expected[-1] + spans[-1]) if odd[-1] else None
        if not trusted[-1]:
            self.lost()
        return expected, odd & trusted
