"""Who provides which offsets of the committed log: each offset once, from a copy that is proven to lie on it.

A copy that holds the record of a proof lies on the committed log in the whole piece below it (log matching). So every
proof opens the pieces that hold it; from the top down, each offset goes to the piece that reaches lowest without a
hole, and a hole of one is filled from another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from metadata_pipeline.canon.model import Canon, Copy, Part, Piece, Proof, SnapshotMark, Suffix
from metadata_pipeline.canon.proof import prove
from metadata_pipeline.copies import CopyKey, Run, VoterSet


def decide(
    copies: Sequence[Copy],
    snapshots: Iterable[SnapshotMark],
    voter_sets: Sequence[VoterSet],
    earlier: Iterable[Proof] = (),
) -> Canon:
    """The committed log of one cluster, as far as these copies prove it, or did at an earlier look: what is committed
    remains so.
    """
    copies = sorted(copies, key=lambda copy: copy.key)
    now = prove(copies, snapshots, voter_sets)
    known = {(proof.end, proof.epoch) for proof in now}
    proofs = sorted({*now, *(proof for proof in earlier if (proof.end, proof.epoch) not in known)})
    if not proofs:
        return Canon(open=tuple(_suffixes(copies, [])))
    top = proofs[-1]
    covered = _covered(copies, proofs)
    parts, runs = _assign(covered, top.end)
    canon = Canon(
        end=top.end, epoch=top.epoch, proofs=tuple(proofs), parts=parts, runs=runs, holes=_holes(runs, top.end)
    )
    left = _suffixes(copies, runs)
    return Canon(
        canon.end, canon.epoch, canon.proofs, parts=parts, runs=runs, holes=canon.holes,
        open=tuple(it for it in left if it.start >= top.end or not _contradicted(it, runs)),
        refuted=tuple(it for it in left if it.start < top.end and _contradicted(it, runs)),
    )  # fmt: skip


def _covered(copies: Sequence[Copy], proofs: Sequence[Proof]) -> list[tuple[Run, CopyKey]]:
    """Every run that lies on the committed log, cut at the highest proof its piece holds."""
    found = []
    for copy in copies:
        for piece in copy.pieces:
            high = max((proof.end for proof in proofs if piece.epoch_at(proof.end - 1) == proof.epoch), default=0)
            low = _contradiction(piece, proofs, high)
            for run in piece.runs:
                start, end = max(run.start, low), min(run.end, high)
                if start < end:
                    found.append((Run(start, end, run.epoch), copy.key))
    return found


def _contradiction(piece: Piece, proofs: Sequence[Proof], high: int) -> int:
    """A proof below that the piece contradicts: the piece was joined from two logs there, and only what lies above it
    counts.
    """
    wrong = (
        proof.end
        for proof in proofs
        if proof.end < high and (seen := piece.epoch_at(proof.end - 1)) is not None and seen != proof.epoch
    )
    return max(wrong, default=0)


def _assign(covered: list[tuple[Run, CopyKey]], top: int) -> tuple[tuple[Part, ...], tuple[Run, ...]]:
    """From the top down: at each offset the run that reaches lowest, a lower node id first among equals."""
    parts: list[Part] = []
    runs: list[Run] = []
    at = top
    while at > 0:
        holding = [(run, key) for run, key in covered if run.start < at <= run.end]
        if not holding:
            at = max((run.end for run, _ in covered if run.end < at), default=0)
            continue
        run, key = min(holding, key=lambda pair: (pair[0].start, pair[1] != _last_key(parts), pair[1]))
        runs.append(Run(run.start, at, run.epoch))
        parts.append(Part(key, run.start, at))
        at = run.start
    return _merged_parts(parts[::-1]), _merged_runs(runs[::-1])


def _last_key(parts: list[Part]) -> CopyKey | None:
    return parts[-1].copy if parts else None


def _merged_parts(parts: list[Part]) -> tuple[Part, ...]:
    merged: list[Part] = []
    for part in parts:
        if merged and merged[-1].copy == part.copy and merged[-1].end == part.start:
            merged[-1] = Part(part.copy, merged[-1].start, part.end)
        else:
            merged.append(part)
    return tuple(merged)


def _merged_runs(runs: list[Run]) -> tuple[Run, ...]:
    merged: list[Run] = []
    for run in runs:
        if merged and merged[-1].epoch == run.epoch and merged[-1].end == run.start:
            merged[-1] = Run(merged[-1].start, run.end, run.epoch)
        else:
            merged.append(run)
    return tuple(merged)


def _holes(runs: Sequence[Run], top: int) -> tuple[tuple[int, int], ...]:
    """Committed offsets that nobody has, above the first that somebody has; below it the log was trimmed, which is no
    loss.
    """
    if not runs:
        return ()
    found, at = [], runs[0].start
    for run in runs:
        if run.start > at:
            found.append((at, run.start))
        at = run.end
    return (*found, (at, top)) if at < top else tuple(found)


def _suffixes(copies: Sequence[Copy], canonical: Sequence[Run]) -> list[Suffix]:
    """What copies hold beside the canonical runs, equal ranges of several holders as one."""
    holders: dict[tuple[int, int, int], set[CopyKey]] = {}
    for copy in copies:
        for piece in copy.pieces:
            for run in piece.runs:
                for start, end in _minus(run, canonical):
                    holders.setdefault((start, end, run.epoch), set()).add(copy.key)
    cut = sorted({point for start, end, _ in holders for point in (start, end)})
    split: dict[tuple[int, int, int], set[CopyKey]] = {}
    for (start, end, epoch), keys in holders.items():
        points = [point for point in cut if start <= point <= end]
        for low, high in pairwise(points):
            split.setdefault((low, high, epoch), set()).update(keys)
    return [Suffix(*span, tuple(sorted(keys))) for span, keys in sorted(split.items())]


def _minus(run: Run, canonical: Sequence[Run]) -> list[tuple[int, int]]:
    """The parts of the run that are not on the canonical log."""
    left, at = [], run.start
    for known in canonical:
        if known.epoch != run.epoch or known.end <= at or known.start >= run.end:
            continue
        if known.start > at:
            left.append((at, known.start))
        at = max(at, known.end)
    return [*left, (at, run.end)] if at < run.end else left


def _contradicted(suffix: Suffix, canonical: Sequence[Run]) -> bool:
    return any(run.start < suffix.end and suffix.start < run.end and run.epoch != suffix.epoch for run in canonical)
