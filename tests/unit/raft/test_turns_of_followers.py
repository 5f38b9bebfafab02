"""The followers of a leader that falls silent stand one after another, so that they do not split the vote."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, Instant, NodeId, Offset, ReplicaKey, Uuid
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.effects import RaftEffect, Send
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import Flushed, ResponseArrived, Tick
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import FetchRequest, FetchResponse, RaftError, VoteRequest
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.voter_set import Voter, VoterHistory, VoterSet

pytestmark = pytest.mark.unit

TIMEOUT_MS, STAGGER_MS = 800, 40
START = Instant(100.0)


def key(node: int) -> ReplicaKey:
    return ReplicaKey(NodeId(node), DirectoryId(Uuid.of(3, node)))


def follower(node: int) -> Replica:
    """A follower of node 1 that fetched at START, and hears nothing from then on."""
    voters = VoterSet.of(Voter(key(n), (("CONTROLLER", Endpoint(f"n{n}", 9093)),)) for n in (1, 2, 3))
    config = RaftConfig(
        NodeId(node),
        key(node).directory_id,
        listeners=(("CONTROLLER", Endpoint(f"n{node}", 9093)),),
        fetch_timeout_ms=TIMEOUT_MS,
        fetch_stagger_ms=STAGGER_MS,
    )
    replica = Replica(config, ElectionState(Epoch(4), NodeId(1)), LogView(), VoterHistory(voters), START, lambda: 0.5)
    (fetch,) = [e for e in replica.start(START) if isinstance(e, Send) and isinstance(e.request, FetchRequest)]
    heard = FetchResponse(RaftError.NONE, Epoch(4), NodeId(1), Offset(0), Offset(0))
    replica.step(ResponseArrived(fetch.call, heard), START)
    return replica


def stands(effects: list[RaftEffect]) -> bool:
    return any(isinstance(e, Send) and isinstance(e.request, VoteRequest) for e in effects)


@pytest.mark.parametrize(("node", "after_ms"), [(2, TIMEOUT_MS), (3, TIMEOUT_MS + STAGGER_MS)])
def test_each_follower_has_its_turn(node: int, after_ms: int) -> None:
    replica = follower(node)
    for now_ms in range(10, after_ms, 10):
        assert not stands(replica.step(Tick(), Instant(START + now_ms / 1000)))
        deadline = replica.next_deadline()
        assert deadline is not None
        assert deadline <= START + after_ms / 1000 + 1e-6
    assert stands(replica.step(Tick(), Instant(START + after_ms / 1000 + 1e-6)))


def test_silence_is_judged_at_a_tick_only_because_what_waits_unread_is_heard_before_it() -> None:
    """After a long pause of its own the first event may be anything; the leader's answer may stand right behind it."""
    replica = follower(2)
    late = Instant(START + 10)
    assert not stands(replica.step(Flushed(Offset(0)), late))
    deadline = replica.next_deadline()
    assert deadline is not None
    assert deadline <= late
    assert stands(replica.step(Tick(), late))
