"""What is done next with an archive's copy in a store, as a value. Pure: `shipping` reads, puts and asks again.

The order is the policy. A log that is not the one that is there sets that one aside. Small pieces become one before
more are put. A snapshot is put when the log reaches it. All is seen to be there as soon as the first piece is, and then
in its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from metadata_pipeline.archive.manifest import Manifest, Piece, due_for_merging
from metadata_pipeline.wire.leader import Mark

COMPARED: Final = 8
"""So many of the last pieces are compared with what is on the disk when the store is taken over."""


@dataclass(frozen=True, slots=True)
class Here:
    """What is synced on the archive's own disk."""

    begun: str
    start: int
    mark: Mark
    snapshots: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """Whole batches on the disk, from where the copy ends to `mark`; none: the disk has none there now."""

    data: bytes
    mark: Mark


@dataclass(frozen=True, slots=True)
class Asked:
    """Of whoever runs it: how long a record may wait, and how large a piece is at most."""

    piece_seconds: float
    piece_bytes: int


@dataclass(frozen=True, slots=True)
class Moment:
    waited: float = 0.0
    """So many seconds the oldest record has that is not in the store."""
    last: bool = False
    """Nothing comes any more: all that is here is put."""
    proven: int = -1
    """Up to where every object was last seen to be there; negative: nobody has looked."""
    verify: bool = False
    """It is time to look again."""


@dataclass(frozen=True, slots=True)
class BeginAnew:
    """With these snapshots of the disk; what is there goes aside."""

    snapshots: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    run: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """From the disk, from `start` on, no further than `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PutPiece:
    found: Found


@dataclass(frozen=True, slots=True)
class PutSnapshot:
    mark: Mark


@dataclass(frozen=True, slots=True)
class Verify:
    """Every object is asked for, and what is old goes."""


Step = BeginAnew | Merge | Read | PutPiece | PutSnapshot | Verify


def next_step(there: Manifest, here: Here, found: Found | None, asked: Asked, moment: Moment) -> Step | None:
    """`found`: what the step before has read; None: it was another one. None: nothing is due."""
    known = there.now
    if known.begun != here.begun or here.start > known.mark.end:
        return BeginAnew(tuple(each for each in here.snapshots if each.end >= here.start > 0))
    if run := due_for_merging(known.pieces):
        return Merge(run)
    end = known.mark.end
    if end < here.mark.end:
        if found is None:
            return Read(end, here.mark.end)
        if found.data and _is_due(found, here, asked, moment):
            return PutPiece(found)
    newest = max((each.mark.end for each in known.snapshots), default=-1)
    for each in here.snapshots:
        if each.end > newest and known.start <= each.end <= end:
            return PutSnapshot(each)
    unproven = moment.proven <= known.start < end
    return Verify() if moment.verify or unproven else None


def _is_due(found: Found, here: Here, asked: Asked, moment: Moment) -> bool:
    full = len(found.data) >= asked.piece_bytes // 2 and found.mark.end < here.mark.end
    return full or moment.last or moment.waited >= asked.piece_seconds


def compared(pieces: tuple[Piece, ...], here: Here) -> tuple[Piece, ...]:
    """The last of those that are here, too, in part at least: logs that agree on a batch agree on all before it."""
    both = tuple(each for each in pieces if each.start < here.mark.end and each.end > here.start)
    return both[-COMPARED:]
