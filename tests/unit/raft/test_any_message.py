"""Whatever a peer sends, in whatever order, a replica neither raises nor breaks a promise that can be seen from
outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest

from controller_runtime.identifiers import (
    DirectoryId,
    Endpoint,
    Epoch,
    Instant,
    NodeId,
    Offset,
    OffsetAndEpoch,
    ReplicaKey,
    Uuid,
)
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.events import (
    CallEnded,
    ConnectionLost,
    Failure,
    Flushed,
    LeaderAppend,
    RaftEvent,
    RequestArrived,
    Resign,
    ResponseArrived,
    Shutdown,
    Tick,
)
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import LogBatch, RaftError
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.voter_set import BOOTSTRAP_OFFSET, Voter, VoterHistory, VoterSet

pytestmark = pytest.mark.unit

STEPS = 250


def key(node: int) -> ReplicaKey:
    return ReplicaKey(NodeId(node), DirectoryId(Uuid.of(3, node + 10)))


def endpoint(node: int) -> Endpoint:
    return Endpoint(f"n{node}", 1)


@dataclass
class Storm:
    """One replica, and a world that says anything."""

    rng: Random
    now: Instant = Instant(1.0)
    calls: dict[int, m.Request] = field(default_factory=dict)
    tokens: set[int] = field(default_factory=set)
    end: int = 0
    token: int = 0
    saved_epoch: int = 0
    votes: dict[int, int] = field(default_factory=dict)
    calm: float = 0.0
    """How often peers are of the replica's own epoch: in a storm nobody leads for long."""

    def __post_init__(self) -> None:
        self.calm = self.rng.choice((0.0, 0.9, 0.99))
        voters = VoterSet.of(Voter(key(n), (("CONTROLLER", endpoint(n)),), 0, 1) for n in (1, 2, 3))
        history = VoterHistory()
        history.reset(BOOTSTRAP_OFFSET, 1, voters)
        config = RaftConfig(
            NodeId(1), key(1).directory_id, listeners=(("CONTROLLER", endpoint(1)),), bootstrap=(endpoint(2),)
        )
        self.replica = Replica(config, None, LogView(), history, self.now, self.rng.random)
        self.perform(self.replica.start(self.now))

    def epoch(self) -> Epoch:
        if self.rng.random() < self.calm:
            return self.replica.epoch
        return Epoch(max(-1, self.replica.epoch + self.rng.choice((-2, -1, 0, 0, 0, 0, 1, 3))))

    def offset(self) -> Offset:
        return Offset(self.rng.choice((-1, 0, self.end, self.end, self.end + 1, self.rng.randint(0, self.end + 3))))

    def node(self) -> NodeId:
        return NodeId(self.rng.choice((-1, 1, 2, 2, 3, 3, 9)))

    def request(self) -> m.Request:
        rng = self.rng
        last = OffsetAndEpoch(self.offset(), self.epoch())
        match rng.randrange(8):
            case 0:
                return m.VoteRequest(
                    key(self.node()), self.epoch(), last, rng.random() < 0.5, rng.choice((None, key(1), key(2)))
                )
            case 1:
                listeners = (("CONTROLLER", endpoint(2)),) if rng.random() < 0.5 else ()
                return m.BeginQuorumEpochRequest(
                    self.node(), self.epoch(), listeners, rng.choice((None, key(1), key(3)))
                )
            case 2:
                return m.EndQuorumEpochRequest(self.node(), self.epoch(), (key(3), key(1)))
            case 3 | 4:
                return m.FetchRequest(
                    key(self.node()),
                    self.epoch(),
                    self.offset(),
                    self.epoch(),
                    self.offset(),
                    rng.choice((0, 500)),
                    100,
                )
            case 5:
                return m.AddVoterRequest(
                    Voter(key(rng.choice((4, 4, self.node()))), (("CONTROLLER", endpoint(7)),)), rng.random() < 0.5
                )
            case 6:
                return m.RemoveVoterRequest(key(self.node()))
            case _:
                return m.UpdateVoterRequest(
                    self.epoch(), Voter(key(self.node()), (("CONTROLLER", endpoint(7)),), 0, rng.randrange(2))
                )

    def response(self, asked: m.Request) -> m.Response:
        rng = self.rng
        error = rng.choice(
            (RaftError.NONE, RaftError.NONE, RaftError.NONE, *(x for x in RaftError if "AUTHORIZATION" not in x.name))
        )
        leader = rng.choice((None, self.node()))
        leader = None if leader is not None and leader < 0 else leader
        at = rng.choice((None, endpoint(2), endpoint(3)))
        match asked:
            case m.VoteRequest():
                return m.VoteResponse(error, self.epoch(), leader, rng.random() < 0.6, at)
            case m.BeginQuorumEpochRequest():
                return m.BeginQuorumEpochResponse(error, self.epoch(), leader, at)
            case m.EndQuorumEpochRequest():
                return m.EndQuorumEpochResponse(error, self.epoch(), leader, at)
            case m.FetchRequest():
                return self.fetched(error, leader, at)
            case m.FetchSnapshotRequest():
                return m.FetchSnapshotResponse(
                    error, self.epoch(), leader, asked.snapshot_id, 10, rng.randrange(3), b"x" * rng.randrange(4)
                )
            case m.UpdateVoterRequest():
                return m.UpdateVoterResponse(error, self.epoch(), leader, at)
            case m.AddVoterRequest():
                return m.AddVoterResponse(error)
            case m.RemoveVoterRequest():
                return m.RemoveVoterResponse(error)
            case m.ApiVersionsRequest():
                return m.ApiVersionsResponse(error, rng.choice((None, (0, 1), (0, 0))))

    def fetched(self, error: RaftError, leader: NodeId | None, at: Endpoint | None) -> m.FetchResponse:
        rng = self.rng
        base = self.end if rng.random() < 0.8 else self.end + rng.randint(-2, 2)
        batches = tuple(
            LogBatch(Offset(base + n), Offset(base + n + 1), self.epoch(), b"") for n in range(rng.randrange(3))
        )
        diverging = OffsetAndEpoch(self.offset(), self.epoch()) if rng.random() < 0.1 else None
        snapshot = OffsetAndEpoch(self.offset(), self.epoch()) if rng.random() < 0.05 else None
        return m.FetchResponse(error, self.epoch(), leader, self.offset(), Offset(0), diverging, snapshot, batches, at)

    def event(self) -> RaftEvent:
        rng = self.rng
        kind = rng.randrange(12)
        if kind < 4:
            self.token += 1
            self.tokens.add(self.token)
            return RequestArrived(self.token, self.request())
        if kind < 8 and self.calls:
            call = rng.choice(sorted(self.calls))
            asked = self.calls.pop(call)
            return (
                ResponseArrived(call, self.response(asked))
                if rng.random() < 0.8
                else CallEnded(call, rng.choice(list(Failure)))
            )
        match rng.randrange(7):
            case 0:
                return ConnectionLost(endpoint(rng.randint(1, 3)))
            case 1:
                return Flushed(Offset(self.end))
            case 2 if self.replica.is_leader:
                base = Offset(self.end)
                self.end += 1
                return LeaderAppend(self.replica.epoch, (LogBatch(base, Offset(base + 1), self.replica.epoch, b""),))
            case 3 if rng.random() < 0.2:
                return Resign(self.replica.epoch)
            case 4 if rng.random() < 0.01:
                return Shutdown()
            case _:
                self.now = Instant(self.now + rng.choice((0.0, 0.01, 0.3, 2.5)))
                return Tick()

    def step(self) -> bool:
        """False when the replica saw a broken promise and stopped."""
        return self.perform(self.replica.step(self.event(), self.now))

    def perform(self, effects: list[e.RaftEffect]) -> bool:
        for effect in effects:
            match effect:
                case e.SaveElection(state):
                    assert state.epoch >= self.saved_epoch
                    self.saved_epoch = state.epoch
                    if state.voted_key is not None:
                        assert self.votes.setdefault(state.epoch, state.voted_key.node_id) == state.voted_key.node_id
                case e.Send(call, _, _, _, request):
                    self.calls[call] = request
                case e.Abandon(call):
                    self.calls.pop(call, None)
                case e.Append(batches):
                    assert batches[0].base_offset == self.end
                    self.end = batches[-1].end_offset
                case e.AppendControl(base, _, records):
                    assert base == self.end
                    self.end += len(records)
                case e.Truncate(end):
                    assert end >= (self.replica.high_watermark or 0)
                    self.end = end
                case e.Reply(token, m.VoteResponse() as answer) if answer.granted:
                    self.tokens.remove(token)
                    assert self.saved_epoch == self.replica.epoch, "a vote is told before its epoch is on disk"
                case e.Reply(token) | e.ReplyRecords(token) | e.ReplySnapshot(token):
                    self.tokens.remove(token)
                case e.Fault():
                    return False
                case _:
                    pass
        assert self.replica.log.end_offset == self.end
        return True


@pytest.mark.parametrize("batch", range(10))
def test_nothing_that_peers_say_makes_a_replica_raise(batch: int, run_seed: int) -> None:
    for seed in range(run_seed + 10 * batch, run_seed + 10 * (batch + 1)):
        storm = Storm(Random(seed))
        for _ in range(STEPS):
            if not storm.step():
                break
