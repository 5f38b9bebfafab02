"""What the rule calls committed is never lost: against a small model of Raft with copies of different times, and
against our own controllers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.record_batch import decode_batches
from metadata_pipeline.canon.choice import decide
from metadata_pipeline.canon.model import Canon, Copy, Piece, SnapshotMark
from metadata_pipeline.copies import CopyKey, ReplicaKey, Run, VoterSet
from support.simulation.machine import LOG, Machine
from support.simulation.stage import Stage


def copy_of(node: int, epochs: list[int], epoch: int) -> Copy:
    """A log told by the epoch of each of its records."""
    runs: list[Run] = []
    for offset, one in enumerate(epochs):
        if runs and runs[-1].epoch == one:
            runs[-1] = Run(runs[-1].start, offset + 1, one)
        else:
            runs.append(Run(offset, offset + 1, one))
    return Copy(CopyKey("c", node, f"disk-{node}"), (Piece(tuple(runs)),) if runs else (), epoch)


@dataclass
class Disk:
    epoch: int = 0
    log: list[int] = field(default_factory=list)


class Raft:
    """The paper's rules and nothing else: who may be elected, what a leader appends and replicates, what a follower
    truncates.
    """

    def __init__(self, voters: int, rng: Random) -> None:
        self.rng = rng
        self.disks = {node: Disk() for node in range(1, voters + 1)}
        self.leader: dict[int, int] = {}
        self.claims: list[tuple[int, int]] = []
        self.stored: dict[tuple[int, int], set[int]] = {}
        """(offset, epoch) -> who stored that record while being in that epoch: a majority of them is what Raft calls
        committed.
        """
        self.voters = VoterSet(-1, 0, tuple(ReplicaKey(node, f"disk-{node}") for node in self.disks))

    def elect(self) -> None:
        candidate = self.rng.choice(list(self.disks))
        epoch = self.disks[candidate].epoch + 1
        mine = self.disks[candidate].log
        willing = [
            node
            for node, disk in self.disks.items()
            if disk.epoch < epoch and (mine[-1:], len(mine)) >= (disk.log[-1:], len(disk.log))
        ]
        asked = {candidate, *self.rng.sample(list(self.disks), self.rng.randint(1, len(self.disks)))}
        granted = [node for node in willing if node in asked]
        for node in granted:
            self.disks[node].epoch = epoch
        if 2 * len(granted) > len(self.disks):
            for end, of in self.claims:
                assert len(mine) >= end, f"{end}@{of} was called committed; epoch {epoch} is led without it: {mine}"
                assert mine[end - 1] == of, f"{end}@{of} was called committed; epoch {epoch} is led without it: {mine}"
            self.leader[epoch] = candidate
            self.append(candidate, epoch)

    def append(self, node: int, epoch: int) -> None:
        disk = self.disks[node]
        disk.log.append(epoch)
        if epoch == disk.epoch:
            self.stored.setdefault((len(disk.log) - 1, epoch), set()).add(node)

    def claim(self, canon: Canon) -> None:
        if canon.end:
            holders = self.stored[canon.end - 1, canon.epoch]
            assert 2 * len(holders) > len(self.disks), f"{canon.end}@{canon.epoch} was acknowledged by {holders} alone"
            self.claims.append((canon.end, canon.epoch))

    def lead(self) -> None:
        """A leader that does not know better appends a record, or sends one follower its log."""
        live = [(epoch, node) for epoch, node in self.leader.items() if self.disks[node].epoch == epoch]
        if not live:
            return
        epoch, leader = self.rng.choice(live)
        if self.rng.random() < 0.2:
            self.append(leader, epoch)
            return
        follower = self.rng.choice(list(self.disks))
        disk, mine = self.disks[follower], self.disks[leader].log
        if follower == leader or disk.epoch > epoch:
            return
        disk.epoch = epoch
        common = next(
            (at for at, pair in enumerate(zip(disk.log, mine, strict=False)) if pair[0] != pair[1]),
            min(len(disk.log), len(mine)),
        )
        if common < len(disk.log):
            del disk.log[common:]
        if len(mine) > common:
            self.append(follower, mine[common])

    def copy(self, node: int) -> Copy:
        return copy_of(node, self.disks[node].log, self.disks[node].epoch)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), voters=st.sampled_from([1, 2, 3, 4, 5]))
def test_no_later_leader_lacks_what_was_called_committed(seed: int, voters: int) -> None:
    """Copies are taken one by one while the quorum goes on, and some not at all."""
    rng = Random(seed)
    raft = Raft(voters, rng)
    copies: dict[int, Copy] = {}
    for _ in range(250):
        match rng.random():
            case chance if chance < 0.06:
                raft.elect()
            case chance if chance < 0.85:
                raft.lead()
            case chance if chance < 0.95:
                node = rng.choice(list(raft.disks))
                copies[node] = raft.copy(node)
            case _:
                raft.claim(decide(list(copies.values()), [], [raft.voters]))


def test_the_model_commits_something() -> None:
    """The property above is not true for want of claims."""
    claimed = 0
    for seed in range(20):
        rng = Random(seed)
        raft = Raft(3, rng)
        for _ in range(200):
            raft.elect() if rng.random() < 0.03 else raft.lead()
        claimed += decide([raft.copy(node) for node in raft.disks], [], [raft.voters]).end > 0
    assert claimed > 10


def machine_copy(machine: Machine) -> tuple[Copy, list[SnapshotMark]]:
    """What the files of a simulated machine say: its log's epochs, its quorum-state, its snapshots."""
    runs: list[Run] = []
    marks = []
    disk = machine.disk
    for name in sorted(disk.list_directory(LOG)):
        if name.endswith(".checkpoint"):
            marks.append(SnapshotMark(int(name[:20]), int(name[21:31])))
        if not name.endswith(".log"):
            continue
        file = disk.open(f"{LOG}/{name}", write=False)
        for batch in decode_batches(file.read_at(0, file.size())):
            header = batch.header
            end = header.base_offset + header.last_offset_delta + 1
            runs.append(Run(header.base_offset, end, header.partition_leader_epoch))
    epoch = None if machine.persisted is None else int(machine.persisted.epoch)
    key = CopyKey("c", int(machine.id), str(machine.directory))
    return Copy(key, (Piece(tuple(runs)),) if runs else (), epoch), marks


@pytest.mark.parametrize("seed", [3, 7, 11, *(pytest.param(n, marks=pytest.mark.slow) for n in range(20, 26))])
def test_our_controllers_never_lose_what_the_rule_calls_committed(seed: int) -> None:
    """Three controllers are killed, cut off and healed; disks are copied at different moments; the final log has every
    claim.
    """
    stage = Stage(seed, 3)
    rng = Random(seed)
    voters = VoterSet(-1, 0, tuple(ReplicaKey(int(node), str(stage.machine(node).directory)) for node in stage.nodes))
    copies: dict[NodeId, tuple[Copy, list[SnapshotMark]]] = {}
    claims: list[Canon] = []
    stage.wait_for_progress()
    for _ in range(25):
        stage.for_a_while(rng.random() * 0.7)
        node = rng.choice(stage.nodes)
        match rng.randrange(6):
            case 0 if len(stage.world.up) > 1 and stage.machine(node).is_up:
                stage.world.kill(node, power_loss=False)
            case 1:
                stage.world.network.isolate(node, stage.nodes)
            case 2:
                stage.world.network.heal()
            case _:
                copies[node] = machine_copy(stage.machine(node))
        for down in stage.nodes:
            if not stage.machine(down).is_up and rng.random() < 0.4:
                stage.world.boot(down)
        marks = [mark for _, some in copies.values() for mark in some]
        claims.append(decide([copy for copy, _ in copies.values()], marks, [voters]))
    stage.world.network.heal()
    for down in stage.nodes:
        if not stage.machine(down).is_up:
            stage.world.boot(down)
    stage.wait_for_progress()
    stage.wait_until_all_agree()
    final, _ = machine_copy(stage.machine(stage.wait_for_leader()))
    assert max(claim.end for claim in claims) > 0
    for claim in claims:
        for run in claim.runs:
            assert final.epoch_at(run.start) in (run.epoch, None)
            assert final.epoch_at(run.end - 1) == run.epoch, f"{run} was called committed; the log has {final.pieces}"
