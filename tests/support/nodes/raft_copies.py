"""A small model of Raft as KRaft does it (a follower's high watermark is cut at its own end), whose survivors' disks
are given to the verdict.

Every step is one that a correct node may take; who is slow, who leads and what is lost is the history's choice. The
model remembers every entry that was ever committed and in which epoch, which no survivor can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from kraft_operator.operations.verdict import CopyRole, LogCopy, VoterKey, common_start, compared_at

Entry = tuple[int, int]
"""Epoch, and a number that is never used twice."""


@dataclass(slots=True)
class Replica:
    log: list[Entry] = field(default_factory=list)
    epoch: int = 0
    known: int = 0


class Raft:
    def __init__(self, voters: int, brokers: int = 0) -> None:
        self.voters = range(1, voters + 1)
        self.replicas = {node: Replica() for node in range(1, voters + brokers + 1)}
        self.leaders: dict[int, int] = {}
        """Epoch to its leader."""
        self.committed: dict[Entry, int] = {}
        """Each committed entry, to the epoch whose leader committed it first."""
        self.count = 0
        self.fetched: dict[tuple[int, int], int] = {}
        """(leader's epoch, follower) to how far the leader knows it to hold its log."""

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def elect(self, candidate: int, asked: set[int]) -> bool:
        """The candidate stands; those asked hear of its epoch, and vote if its log is no shorter than theirs."""
        me = self.replicas[candidate]
        epoch = me.epoch = max((self.replicas[each].epoch for each in {candidate, *asked}), default=0) + 1
        votes = {candidate}
        for each in asked - {candidate}:
            other = self.replicas[each]
            other.epoch = epoch
            if reach(me) >= reach(other):
                votes.add(each)
        if len(votes) < self.majority or epoch in self.leaders:
            return False
        self.leaders[epoch] = candidate
        self.append(candidate)  # LeaderChange
        return True

    def append(self, node: int) -> None:
        me = self.replicas[node]
        if self.leaders.get(me.epoch) == node:
            self.count += 1
            me.log.append((me.epoch, self.count))
            self._commit(node)

    def fetch(self, follower: int, leader: int, most: int) -> None:
        """A fetch at its own end (after its diverging tail was cut), `most` entries, and the leader's high
        watermark.
        """
        me, head = self.replicas[follower], self.replicas[leader]
        if self.leaders.get(head.epoch) != leader or head.epoch < me.epoch or follower == leader:
            return
        me.epoch = head.epoch
        common = next(
            (at for at, pair in enumerate(zip(me.log, head.log, strict=False)) if pair[0] != pair[1]),
            min(len(me.log), len(head.log)),
        )
        del me.log[common:]
        me.log += head.log[common : common + most]
        self.fetched[head.epoch, follower] = len(me.log)
        self._commit(leader)
        me.known = max(me.known, min(head.known, len(me.log)))

    def _commit(self, node: int) -> None:
        me = self.replicas[node]
        ends = sorted(
            (len(me.log) if each == node else self.fetched.get((me.epoch, each), 0) for each in self.voters),
            reverse=True,
        )
        end = ends[self.majority - 1]
        if end > me.known and me.log[end - 1][0] == me.epoch:
            me.known = end
            for entry in me.log[:end]:
                self.committed.setdefault(entry, me.epoch)

    def directory(self, node: int) -> str:
        return f"d{node}"

    def copies(self, survivors: set[int], forgets: set[int]) -> list[LogCopy]:
        """The disks of the survivors; those that forget have no checkpoint and no process that could tell a high
        watermark.
        """
        voters: tuple[VoterKey, ...] = tuple((each, self.directory(each)) for each in self.voters)
        found = []
        for node in sorted(survivors):
            me = self.replicas[node]
            role = CopyRole.VOTER if node in self.voters else CopyRole.BROKER
            known = 0 if node in forgets else me.known
            last = me.log[-1][0] if me.log else 0
            found.append(LogCopy(node, role, "k", self.directory(node), len(me.log), last, 0, known, me.epoch, voters))
        return [self.compared(each, found) for each in found]

    def compared(self, copy: LogCopy, copies: list[LogCopy]) -> LogCopy:
        log, start = self.replicas[copy.node_id].log, common_start(copies)
        points = {at: sha256(str(log[start:at]).encode()).hexdigest() for at in compared_at(copies) if at <= len(log)}
        return LogCopy(
            copy.node_id, copy.role, copy.cluster_id, copy.directory_id, copy.end, copy.last_epoch, copy.start,
            copy.known, copy.promised, copy.voters, points,
        )  # fmt: skip


def reach(replica: Replica) -> tuple[int, int]:
    return (replica.log[-1][0] if replica.log else 0), len(replica.log)
