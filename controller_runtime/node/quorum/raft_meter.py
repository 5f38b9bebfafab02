"""What happens to a replica, counted as Kafka's raft-metrics count it (KIP-595), and what peers did that they should
not.

Fed by `MetadataReplica` with every step: a few comparisons of integers. Rates are for who reads: a counter and the time
are enough. Averages and maxima are those of the last half minute to minute, as the sensors of Kafka keep them. Nothing
here decides anything.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import Instant, NodeId, Offset
from controller_runtime.raft.messages import FetchRequest, FetchResponse, LogBatch
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.roles import Candidate, Follower, Leader, Prospective, RaftRole

WINDOW_S: Final = 30.0
MAX_KINDS: Final = 200
"""Of refusals: kinds are (request, error), so there are not that many; a bound all the same."""


class Timing:
    """Average and maximum over the window that is running and the one before it; None while both are empty."""

    __slots__ = ("_before", "_running", "_until")

    def __init__(self) -> None:
        self._running = (0, 0.0, 0.0)
        self._before = (0, 0.0, 0.0)
        self._until = 0.0

    def record(self, seconds: float, now: Instant) -> None:
        self._turn(now)
        count, total, most = self._running
        self._running = (count + 1, total + seconds, max(most, seconds))

    def average_and_maximum(self, now: Instant) -> tuple[float, float] | None:
        self._turn(now)
        count = self._running[0] + self._before[0]
        if count == 0:
            return None
        return (self._running[1] + self._before[1]) / count, max(self._running[2], self._before[2])

    def _turn(self, now: Instant) -> None:
        if now < self._until:
            return
        self._before = self._running if now < self._until + WINDOW_S else (0, 0.0, 0.0)
        self._running = (0, 0.0, 0.0)
        self._until = now + WINDOW_S


class RaftMeter:
    __slots__ = (
        "_awaited",
        "_awaited_since",
        "_election_since",
        "_leader_id",
        "_role",
        "appended_records",
        "bad_answers",
        "commits",
        "diverging_fetches",
        "elections",
        "fetched_records",
        "new_leaders",
    )

    def __init__(self) -> None:
        self.appended_records = 0
        """Written by this node as the leader, control records not counted."""
        self.fetched_records = 0
        """Taken from a leader."""
        self.new_leaders = 0
        """How often this node learnt of a leader that it did not know before; Kafka's NewActiveControllersCount."""
        self.commits = Timing()
        """From append to commit, one append at a time, as Kafka measures it."""
        self.elections = Timing()
        """From standing to a leader, this node or another."""
        self.bad_answers: dict[tuple[str, str], int] = {}
        """Answers of peers that were not used, by request and what is wrong with them."""
        self.diverging_fetches = 0
        """Answered with the point where the histories part."""
        self._awaited: Offset | None = None
        self._awaited_since = Instant(0.0)
        self._election_since: Instant | None = None
        self._leader_id: NodeId | None = None
        self._role: RaftRole | None = None

    # Fed by the replica.

    def appended(self, records: int, end_offset: Offset, now: Instant) -> None:
        self.appended_records += records
        if self._awaited is None:
            self._awaited, self._awaited_since = end_offset, now

    def stepped(self, replica: Replica, now: Instant) -> None:
        """After every step."""
        role = replica.role
        if role is not self._role:
            self._role_changed(role, replica.leader_id, now)
        if self._awaited is not None and (replica.high_watermark or 0) >= self._awaited:
            self.commits.record(now - self._awaited_since, now)
            self._awaited = None

    def _role_changed(self, role: RaftRole, leader_id: NodeId | None, now: Instant) -> None:
        self._role = role
        match role:
            case Prospective() | Candidate():
                if self._election_since is None:
                    self._election_since = now
            case Leader() | Follower() if self._election_since is not None:
                self.elections.record(now - self._election_since, now)
                self._election_since = None
            case _:
                pass
        if not isinstance(role, Leader):
            self._awaited = None
        if leader_id is not None and leader_id != self._leader_id:
            self.new_leaders += 1
        self._leader_id = leader_id

    def bad_answer(self, request: str, reason: str) -> None:
        _count(self.bad_answers, (request, reason))

    def answered(self, asked: FetchRequest, answer: FetchResponse) -> None:
        """A Fetch was answered: batches that do not continue the log are counted, whoever ignores them."""
        expected, epoch = asked.offset, asked.last_epoch
        for batch in answer.batches:
            if reason := _misfit(batch, expected, epoch, asked.epoch):
                self.bad_answer("Fetch", reason)
                return
            expected, epoch = batch.end_offset, batch.epoch


def _misfit(batch: LogBatch, expected: Offset, last_epoch: int, own_epoch: int) -> str:
    if batch.base_offset != expected:
        return "gap"
    return "" if last_epoch <= batch.epoch <= own_epoch else "epoch"


def _count(counts: dict[tuple[str, str], int], kind: tuple[str, str]) -> None:
    if kind in counts or len(counts) < MAX_KINDS:
        counts[kind] = counts.get(kind, 0) + 1
