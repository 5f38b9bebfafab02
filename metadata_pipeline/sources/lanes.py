"""Positions of very many small batches, found in several places of a chunk at once.

Where a batch begins, the one before it says, so the walk is one step for each. But what a batch's beginning looks
like is known: so many places are guessed from where to walk, all walks go on together, and a guess is proven when the
walk before it arrives exactly there. From the first guess that is not proven on nothing is believed, so bytes that only
look like a batch, and damage, cost time and nothing else.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from controller_runtime.protocol.record_batch import HEADER_BYTES, LENGTH_END, MAGIC
from metadata_pipeline.sources.arrays import Bytes, Ints

LANES: Final = 256
WORTH: Final = 16
"""Batches in a lane, from which on lanes are quicker than a loop."""
_WINDOW: Final = 256
"""How far behind a lane's place its first batch is looked for."""
_LENGTH_AT: Final = 8
_MAGIC_AT: Final = 16
_LEAST: Final = HEADER_BYTES - LENGTH_END
_LOOK_UP: Final = 32
"""So many steps are taken until it is looked whether all walks have arrived."""
_NONE: Final = np.zeros(0, np.int64)


def walked(data: bytes, start: int, batch_bytes: float) -> Ints:
    """Positions of neighbouring batches from `start` on, where one begins; the next begins behind the last of them.
    None where it is not worth it.

    `batch_bytes` is about how large a batch is.
    """
    last = len(data) - 2 * HEADER_BYTES - _WINDOW
    if (last - start) / batch_bytes < LANES * WORTH or batch_bytes > _WINDOW:
        return _NONE
    view = np.frombuffer(data, np.uint8)
    lengths = np.ndarray((len(data) - 3,), ">i4", view, strides=(1,))
    begins = _guessed(view, lengths, start, last)
    at, limits = begins[:-1], begins[1:]
    seen = []
    while (at < limits).any():
        for _ in range(_LOOK_UP):
            seen.append(at)
            length = np.maximum(lengths[at + _LENGTH_AT], _LEAST)
            at = np.minimum(at + np.add(length, LENGTH_END, dtype=np.int64), last)
    seen.append(at)
    walks = np.stack(seen, axis=1)
    arrived = (walks == limits[:, None]).any(axis=1)
    proven = len(arrived) if arrived.all() else int(arrived.argmin())
    walks = walks[:proven]
    found: Ints = walks[walks < limits[:proven, None]]
    sound = lengths[found + _LENGTH_AT].min(initial=_LEAST) >= _LEAST
    return found if sound else _NONE


def _guessed(data: Bytes, lengths: Any, start: int, last: int) -> Ints:
    """`start`, and where in each further lane a batch seems to begin, and one behind it; lanes without such a place are
    left out.
    """
    places = start + np.arange(1, LANES) * ((last - start) // LANES)
    windows = (places[:, None] + np.arange(_WINDOW)).reshape(-1)
    likely = windows[(data[windows + _MAGIC_AT] == MAGIC) & (lengths[windows] == lengths[start])]
    length = lengths[likely + _LENGTH_AT].astype(np.int64)
    after = likely + (LENGTH_END + length)
    good = np.flatnonzero((length >= _LEAST) & (after <= last))
    good = good[data[after[good] + _MAGIC_AT] == MAGIC]
    _, first = np.unique(np.searchsorted(places, likely[good], side="right"), return_index=True)
    return np.concatenate(([start], likely[good][first]))
