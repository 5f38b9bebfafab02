"""A new high watermark travels with the next records; alone it is told only when none come."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, Instant, NodeId, Offset, ReplicaKey, Uuid
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.effects import RaftEffect, ReplyRecords, Send
from controller_runtime.raft.events import Flushed, LeaderAppend, RequestArrived, ResponseArrived, Tick
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import (
    HIGH_WATERMARK_UNUSED,
    FetchRequest,
    LogBatch,
    RaftError,
    VoteRequest,
    VoteResponse,
)
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.voter_set import Voter, VoterHistory, VoterSet

pytestmark = pytest.mark.unit

LINGER_MS = 5


def key(node: int) -> ReplicaKey:
    return ReplicaKey(NodeId(node), DirectoryId(Uuid.of(3, node)))


class LeaderOfThree:
    """Node 1 leads epoch 1 of voters 1 to 3; its first record, at offset 0, is on its disk."""

    def __init__(self, linger_ms: int = LINGER_MS) -> None:
        self.now = Instant(100.0)
        voters = VoterSet.of(Voter(key(n), (("CONTROLLER", Endpoint(f"n{n}", 9093)),)) for n in (1, 2, 3))
        config = RaftConfig(
            NodeId(1),
            key(1).directory_id,
            listeners=(("CONTROLLER", Endpoint("n1", 9093)),),
            high_watermark_linger_ms=linger_ms,
        )
        self.replica = Replica(config, None, LogView(), VoterHistory(voters), self.now, lambda: 0.0)
        self.replica.start(self.now)
        self._token = 0
        for _ in range(200):
            if self.replica.is_leader:
                break
            self.now = Instant(self.now + 0.05)
            self.grant(self.replica.step(Tick(), self.now))
        assert self.replica.is_leader
        self.end = self.replica.log.end_offset
        self.step(Flushed(self.end))

    def grant(self, effects: list[RaftEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.request, VoteRequest) and effect.to == 2:
                answer = VoteResponse(RaftError.NONE, effect.request.epoch, None, True)
                self.grant(self.replica.step(ResponseArrived(effect.call, answer), self.now))

    def step(self, event: Flushed | Tick | RequestArrived | LeaderAppend) -> list[tuple[int, int | None]]:
        """The fetches that were answered: token, and the high watermark they were told."""
        effects = self.replica.step(event, self.now)
        return [(e.token, e.response.high_watermark) for e in effects if isinstance(e, ReplyRecords)]

    def fetch(self, node: int, offset: int, known: int = 0) -> list[tuple[int, int | None]]:
        self._token += 1
        request = FetchRequest(
            key(node), self.replica.epoch, Offset(offset), self.replica.epoch, Offset(known), 500, 1 << 20
        )
        return self.step(RequestArrived(self._token, request))

    def wait(self, milliseconds: float) -> list[tuple[int, int | None]]:
        self.now = Instant(self.now + milliseconds / 1000)
        return self.step(Tick())


def test_a_commit_alone_is_told_after_the_linger_and_once() -> None:
    leader = LeaderOfThree()
    assert leader.fetch(3, leader.end) == []
    assert leader.fetch(2, leader.end) == []
    assert leader.replica.high_watermark == leader.end, "the commit itself waits for nothing"
    assert leader.replica.next_deadline() == pytest.approx(leader.now + LINGER_MS / 1000)
    assert leader.wait(LINGER_MS - 1) == []
    assert sorted(leader.wait(1.1)) == [(1, leader.end), (2, leader.end)]
    assert leader.fetch(2, leader.end, leader.end) == []
    assert leader.wait(LINGER_MS * 4) == []


def test_records_carry_the_high_watermark_at_once() -> None:
    leader = LeaderOfThree()
    leader.fetch(3, leader.end)
    leader.fetch(2, leader.end)
    batch = LogBatch(leader.end, Offset(leader.end + 1), Epoch(leader.replica.epoch), b"x")
    told = leader.step(LeaderAppend(Epoch(leader.replica.epoch), (batch,)))
    assert sorted(told) == [(1, leader.end), (2, leader.end)]
    assert leader.wait(LINGER_MS * 4) == []


def test_who_comes_with_an_old_high_watermark_waits_the_linger_too() -> None:
    leader = LeaderOfThree()
    leader.fetch(2, leader.end)
    leader.wait(LINGER_MS * 4)
    assert leader.fetch(3, leader.end, 0) == []
    assert leader.wait(LINGER_MS - 1) == []
    assert leader.wait(1.1) == [(2, leader.end)]


def test_who_does_not_say_what_it_knows_is_told_as_well() -> None:
    """Versions of Fetch before KIP-1166."""
    leader = LeaderOfThree()
    leader.fetch(3, leader.end, HIGH_WATERMARK_UNUSED)
    leader.fetch(2, leader.end)
    leader.wait(0)
    assert (1, leader.end) in leader.wait(LINGER_MS + 0.1)


def test_without_a_linger_it_is_told_at_once() -> None:
    leader = LeaderOfThree(linger_ms=0)
    assert leader.fetch(3, leader.end) == [(1, leader.end)]
    assert leader.fetch(2, leader.end) == [(2, leader.end)]
