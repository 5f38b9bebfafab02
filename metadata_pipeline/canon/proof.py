"""When is a record committed? The rule, over copies that were taken at different times and may be too few.

1. A snapshot of (end, epoch) exists on any disk: nodes snapshot committed records only (KIP-630), so everything below
   its end is committed.
2. A majority of the voters in force hold a record whose epoch is the newest that any copy holds. A record of an older
   epoch on a majority proves nothing: a leader of a later epoch may still replace it (Raft thesis, figure 3.7, "figure
   8" of the paper).

3. The leader of a living quorum said so: its high watermark, in the very reply that carried the record
   (`Evidence.told` in `canon.from_lake`). It is the quorum's own word, so it needs no other copy.

A copy counts for 2 only while its own epoch (quorum-state) is not newer than the record's. It then stored the record
during that very epoch, so every later leader needs a vote of one who held it. Without that, a copy that got the record
from a leader of a later epoch would count as if it had acknowledged it to the leader that wrote it, which is figure 8
again with the later leader's disk not at hand. A copy whose quorum-state is missing counts by its log alone.

The rule proves less than the quorum knows, never more: what it leaves open is `provisional`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metadata_pipeline.canon.model import Copy, Proof, SnapshotMark
from metadata_pipeline.copies import CopyKey, ReplicaKey, VoterSet


def prove(copies: Sequence[Copy], snapshots: Iterable[SnapshotMark], voter_sets: Sequence[VoterSet]) -> list[Proof]:
    """Every proof, the farthest last."""
    found = [Proof(mark.end, mark.epoch, "snapshot") for mark in set(snapshots) if mark.end > 0]
    if (majority := _majority(copies, voter_sets)) is not None:
        found.append(majority)
    return sorted(found)


def _majority(copies: Sequence[Copy], voter_sets: Sequence[VoterSet]) -> Proof | None:
    newest = max((piece.runs[-1].epoch for copy in copies for piece in copy.pieces), default=None)
    if newest is None:
        return None
    reached = {copy.key: end for copy in copies if (end := _reach(copy, newest)) is not None}
    for end in sorted(set(reached.values()), reverse=True):
        holder = next(copy for copy in copies if reached.get(copy.key) == end)
        voters = in_force(holder, end, voter_sets)
        if voters is None:
            continue
        holding = [voter.node for voter in voters.voters if _holds(voter, end, copies, reached)]
        if 2 * len(holding) > len(voters.voters):
            nodes = ", ".join(map(str, sorted(holding)))
            return Proof(end, newest, f"majority: {nodes} of {len(voters.voters)} voters")
    return None


def _reach(copy: Copy, newest: int) -> int | None:
    """Where the copy's records of the newest epoch end; None when it has none of them or knows of a newer epoch."""
    if copy.epoch is not None and copy.epoch > newest:
        return None
    return max((run.end for piece in copy.pieces for run in piece.runs if run.epoch == newest), default=None)


def _holds(voter: ReplicaKey, end: int, copies: Sequence[Copy], reached: Mapping[CopyKey, int]) -> bool:
    """Whether the voter's disk holds the record before `end`; with several disks of one id and no directory known,
    every one must.
    """
    disks = [copy for copy in copies if copy.key.node == voter.node and voter.directory in (None, copy.key.directory)]
    return bool(disks) and all(reached.get(copy.key, 0) >= end for copy in disks)


def in_force(holder: Copy, end: int, voter_sets: Sequence[VoterSet]) -> VoterSet | None:
    """The voter set that the holder's log says is in force for the record before `end`: the last one on that log."""
    on_log = [it for it in voter_sets if it.offset < end and _on_log(holder, it)]
    return max(on_log, key=lambda it: (it.from_record, it.offset), default=None)


def _on_log(holder: Copy, voters: VoterSet) -> bool:
    at = holder.epoch_at(voters.offset)
    begin = min((piece.start for piece in holder.pieces), default=0)
    return voters.offset < begin or at == voters.epoch
