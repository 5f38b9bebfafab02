"""What the lake's commits say of a cluster, as the rule wants it: copies in pieces, snapshots, voter sets. Reads no
data, only the state of the lake.

Ranges of one disk are put in the order of its files. Two neighbours belong to one piece when the second begins where
the first ends, or when one of them has damaged batches (then the hole is damage); else the disk was given another log
in between, by a snapshot. Which epochs are believed is judged over a whole piece.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from metadata_pipeline.canon.choice import decide
from metadata_pipeline.canon.credible import believed_runs
from metadata_pipeline.canon.model import Canon, Copy, Piece, Proof, SnapshotMark
from metadata_pipeline.copies import Claim, CopyKey, ReplicaKey, Run, VoterSet
from metadata_pipeline.lake.entries import SourceRange
from metadata_pipeline.lake.state import LakeState


@dataclass(frozen=True, slots=True, order=True)
class SnapshotFile:
    """A whole snapshot that the lake holds."""

    end: int
    epoch: int
    copy: CopyKey
    file: str
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one cluster's log."""

    copies: tuple[Copy, ...]
    snapshots: tuple[SnapshotFile, ...]
    voters: tuple[VoterSet, ...]
    told: tuple[Proof, ...] = ()
    """What leaders said is committed, in replies that were read over the wire."""

    def canon(self, earlier: Iterable[Proof] = ()) -> Canon:
        marks = [SnapshotMark(it.end, it.epoch) for it in self.snapshots]
        return decide(self.copies, marks, self.voters, (*earlier, *self.told))


def evidence(state: LakeState, cluster: str) -> Evidence:
    ranges = _live_ranges(state, cluster)
    logs: dict[CopyKey, list[SourceRange]] = defaultdict(list)
    snapshots: set[SnapshotFile] = set()
    voters: set[VoterSet] = set()
    for one in ranges:
        voters.update(it for it in one.voters)
        if one.file.endswith(".checkpoint"):
            end, epoch = int(one.file[:20]), int(one.file[21:31])
            snapshots.add(SnapshotFile(end, epoch, one.copy, one.file, one.damaged))
        else:
            logs[one.copy].append(one)
    keys = {key for key in state.copies if key.cluster == cluster}
    copies = tuple(Copy(key, tuple(_pieces(logs.get(key, []))), state.copies[key].epoch) for key in sorted(keys))
    static = [
        VoterSet(-1, 0, tuple(ReplicaKey(node) for node in facts.voters), from_record=False)
        for facts in state.copies.values()
        if facts.copy.cluster == cluster and facts.voters
    ]
    told = tuple(sorted(Proof(*said) for key in keys if (said := state.copies[key].told) is not None))
    return Evidence(copies, tuple(sorted(snapshots)), (*sorted(voters, key=repr), *dict.fromkeys(static)), told)


def _live_ranges(state: LakeState, cluster: str) -> list[SourceRange]:
    """What the lake read of the cluster and no truncation killed. Ranges that end above a cut are shortened to it."""
    found = []
    for live in state.of("batches"):
        for one in live.file.ranges:
            if one.copy.cluster != cluster:
                continue
            dead = live.dead_from.get(one.copy)
            found.append(one if dead is None or one.file.endswith(".checkpoint") else _shortened(one, dead))
    return found


def _shortened(one: SourceRange, dead: int) -> SourceRange:
    runs = tuple(Run(run.start, min(run.end, dead), run.epoch) for run in one.runs if run.start < dead)
    voters = tuple(it for it in one.voters if it.offset < dead)
    claims = tuple(replace(it, end=min(it.end, dead)) for it in one.claims if it.start < dead)
    end = min(one.end_offset, dead)
    return replace(one, end_offset=end, runs=runs, voters=voters, claims=claims)


def _pieces(ranges: Iterable[SourceRange]) -> list[Piece]:
    ranges = sorted(ranges, key=lambda it: (it.file, it.start_position))
    judged = not all(one.claims for one in ranges if one.runs)
    pieces: list[list[Run | Claim]] = []
    damaged_before = False
    for one in ranges:
        held: Sequence[Run | Claim] = one.runs if judged else one.claims
        if not held:
            damaged_before = damaged_before or one.damaged
            continue
        last = pieces[-1][-1].end if pieces else None
        first = held[0].start
        joined = last is not None and (first == last or (first > last and (damaged_before or one.damaged)))
        if joined:
            pieces[-1] += held
        else:
            pieces.append([*held])
        damaged_before = one.damaged
    return [Piece(tuple(part)) for piece in pieces for part in _ascending(_runs(piece))]


def _runs(piece: Sequence[Run | Claim]) -> list[Run]:
    """What a lake's older commits judged is believed as it was."""
    claims = [it for it in piece if isinstance(it, Claim)]
    return believed_runs(claims) if claims else [it for it in piece if isinstance(it, Run)]


def _ascending(runs: list[Run]) -> list[list[Run]]:
    """A piece's offsets and epochs only grow; where they do not (files swapped, offsets damaged), it is
    another piece.
    """
    parts: list[list[Run]] = []
    for run in runs:
        last = parts[-1][-1] if parts else None
        if last is not None and run.start >= last.end and run.epoch >= last.epoch:
            if run.start == last.end and run.epoch == last.epoch:
                parts[-1][-1] = Run(last.start, run.end, run.epoch)
            else:
                parts[-1].append(run)
        else:
            parts.append([run])
    return parts
