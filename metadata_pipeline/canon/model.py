"""A copy of a log as runs of epochs: all that the rule needs to know of millions of batches.

By Raft's log matching, two copies that hold a record of the same (offset, epoch) hold the same records below it; so a
copy is known by where its epochs begin and end. A `Piece` is a part of a copy without a restart: damaged batches may
leave holes in it, but what stands before a hole and what stands behind it were written as one log. Offsets end
exclusively.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from metadata_pipeline.copies import CopyKey, Run


@dataclass(frozen=True, slots=True)
class Piece:
    runs: tuple[Run, ...]

    @property
    def start(self) -> int:
        return self.runs[0].start

    @property
    def end(self) -> int:
        return self.runs[-1].end

    def epoch_at(self, offset: int) -> int | None:
        """The epoch of the record at the offset. In a hole it is known when both sides agree, since epochs never fall;
        else None.
        """
        at = bisect_right(self.runs, offset, key=lambda run: run.start) - 1
        if at < 0:
            return None
        here = self.runs[at]
        if offset < here.end:
            return here.epoch
        after = self.runs[at + 1] if at + 1 < len(self.runs) else None
        return here.epoch if after is not None and after.epoch == here.epoch else None


@dataclass(frozen=True, slots=True)
class Copy:
    """One node's log. `epoch` is the one in its quorum-state, read not before the log; None when it is not known."""

    key: CopyKey
    pieces: tuple[Piece, ...] = ()
    epoch: int | None = None

    def epoch_at(self, offset: int) -> int | None:
        return next((found for piece in self.pieces if (found := piece.epoch_at(offset)) is not None), None)


@dataclass(frozen=True, slots=True, order=True)
class SnapshotMark:
    """That a snapshot exists: everything below `end` was committed, and the record before `end` has this epoch."""

    end: int
    epoch: int


@dataclass(frozen=True, slots=True, order=True)
class Proof:
    """Everything below `end` on the log whose record before `end` has `epoch` is committed."""

    end: int
    epoch: int
    why: str


@dataclass(frozen=True, slots=True)
class Part:
    """Offsets that are read from one copy."""

    copy: CopyKey
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Suffix:
    """Records of one epoch that no proof covers, and who holds them."""

    start: int
    end: int
    epoch: int
    holders: tuple[CopyKey, ...]


@dataclass(frozen=True, slots=True)
class Canon:
    """What is known of a cluster's committed log. `holes` are committed offsets that no copy has whole."""

    end: int = 0
    epoch: int = 0
    proofs: tuple[Proof, ...] = ()
    parts: tuple[Part, ...] = ()
    runs: tuple[Run, ...] = ()
    holes: tuple[tuple[int, int], ...] = ()
    open: tuple[Suffix, ...] = ()
    """Above `end`, or not on any proven log while `end` does not reach them: may still be committed or truncated."""
    refuted: tuple[Suffix, ...] = ()
    """Below `end` with another epoch than the committed record: they never were committed."""

    def epoch_at(self, offset: int) -> int | None:
        return next((run.epoch for run in self.runs if run.start <= offset < run.end), None)
