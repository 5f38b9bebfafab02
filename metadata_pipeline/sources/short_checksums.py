"""CRC-32C of many short stretches of one buffer, in lockstep.

An idle cluster's log has a record, hence a checksum, in every batch, and calling for each costs more than computing it.
So the stretches go together, eight bytes at a step, through tables of two bytes each. They are aligned at their ends:
to a register that begins with zeros, zeros in front change nothing, so what a stretch lacks of its first eight bytes is
zeros, and the ones that the register should begin with are put upon its first four bytes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from metadata_pipeline.sources.arrays import Bytes, Ints

Words = npt.NDArray[np.uint32]

SHORTEST: Final = 12
"""Fewer bytes may have their first four in three words; nobody needs them."""
LONGEST: Final = 256
"""From there on a call for each is cheaper."""
_POLYNOMIAL: Final = np.uint32(0x82F63B78)
_ONES: Final = np.uint64(0xFFFFFFFF)
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_AT_ONCE: Final = 1 << 13
"""What the processor's nearest cache holds, beside the tables."""


def _tables() -> tuple[Words, ...]:
    """Of each two bytes of eight: what they leave in the register when the others have passed."""
    passed = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        passed = np.where(passed & 1, (passed >> 1) ^ _POLYNOMIAL, passed >> 1)
    one, behind = passed, [passed]
    for _ in range(7):
        behind.append(one[behind[-1] & 0xFF] ^ (behind[-1] >> 8))
    pairs = np.arange(1 << 16)
    low, high = pairs & 0xFF, pairs >> 8
    return tuple(behind[left + 1][low] ^ behind[left][high] for left in (6, 4, 2, 0))


_TABLES: Final = _tables()


def short_checksums(data: Bytes, starts: Ints, ends: Ints) -> Words:
    """The CRC-32C of each stretch. Each is at least SHORTEST long and lies behind the buffer's first seven bytes."""
    found = np.empty(len(starts), np.uint32)
    words = (ends - starts + 7) // 8
    for count in np.flatnonzero(np.bincount(words)).tolist():
        rows = np.flatnonzero(words == count)
        for first in range(0, len(rows), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            found[some] = _of_words(data, starts[some], ends[some], count)
    return found


def _of_words(data: Bytes, starts: Ints, ends: Ints, count: int) -> Words:
    """Of stretches that all take so many steps."""
    at = ends - 8 * count
    blocks = np.ndarray((len(data) - 8 * count + 1,), f"V{8 * count}", data, strides=(1,))
    words = blocks[at].view("<u8").reshape(-1, count)
    lacking = ((starts - at) << 3).view(np.uint64)
    second = np.where(lacking > 32, _ONES >> (np.uint64(64) - np.maximum(lacking, np.uint64(1))), np.uint64(0))
    register = _passed((words[:, 0] & (_ALL << lacking)) ^ (_ONES << lacking))
    for step in range(1, count):
        word = words[:, step] ^ register
        register = _passed(word ^ second if step == 1 else word)
    return ~register


def _passed(words: Any) -> Words:
    """The register after these eight bytes each, upon the first four of which it was put before."""
    pairs = words.view("<u2").reshape(-1, 4)
    found: Words = _TABLES[0].take(pairs[:, 0], mode="wrap")  # which looks for nothing out of range
    for index in (1, 2, 3):
        found ^= _TABLES[index].take(pairs[:, index], mode="wrap")
    return found
