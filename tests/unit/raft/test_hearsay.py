"""Epochs that others claim: no stranger uses them up, no removed voter disturbs, and who is honestly behind still learns."""

from __future__ import annotations

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
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.counters import Allowance
from controller_runtime.raft.effects import Append, Fault, RaftEffect, Reply, SaveElection, Send
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import Flushed, RequestArrived, ResponseArrived, Tick
from controller_runtime.raft.hearsay import LAST_EPOCH
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    LogBatch,
    RaftError,
    Request,
    VoteRequest,
    VoteResponse,
)
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.roles import Follower, Leader, Unattached
from controller_runtime.raft.voter_set import BOOTSTRAP_OFFSET, Voter, VoterHistory, VoterSet

pytestmark = pytest.mark.unit


def key(node: int, directory: int = 3) -> ReplicaKey:
    return ReplicaKey(NodeId(node), DirectoryId(Uuid.of(directory, node)))


def endpoint(node: int) -> Endpoint:
    return Endpoint(f"n{node}", 9093)


def voter_set(*nodes: int) -> VoterSet:
    return VoterSet.of(Voter(key(node), (("CONTROLLER", endpoint(node)),), 0, 1) for node in nodes)


class Node1:
    """Node 1 of three, alone with a test."""

    def __init__(self, epoch: int = 5, voters: VoterSet | None = None) -> None:
        self.now = Instant(100.0)
        history = VoterHistory()
        history.reset(BOOTSTRAP_OFFSET, 1, voters or voter_set(1, 2, 3))
        config = RaftConfig(NodeId(1), key(1).directory_id, listeners=(("CONTROLLER", endpoint(1)),))
        saved = ElectionState(Epoch(epoch), kraft_version=1)
        log = LogView(Offset(0), Offset(4), Offset(4), [(Epoch(epoch), Offset(0))])
        self.replica = Replica(config, saved, log, history, self.now, lambda: 0.0)
        self.sent: dict[int, Send] = {}
        self.effects = self.note(self.replica.start(self.now))
        self._token = 0

    def note(self, effects: list[RaftEffect]) -> list[RaftEffect]:
        self.sent |= {effect.call: effect for effect in effects if isinstance(effect, Send)}
        return effects

    def ask(self, request: Request) -> RaftError:
        self._token += 1
        self.effects = self.note(self.replica.step(RequestArrived(self._token, request), self.now))
        (answer,) = [effect for effect in self.effects if isinstance(effect, Reply)]
        return answer.response.error

    def vote(self, candidate: ReplicaKey, epoch: int, *, pre_vote: bool = False) -> RaftError:
        last = OffsetAndEpoch(Offset(9), Epoch(min(epoch - 1, self.replica.epoch)))
        return self.ask(VoteRequest(candidate, Epoch(epoch), last, pre_vote, key(1)))

    def follow(self, leader: int = 2) -> None:
        """BeginQuorumEpoch of this epoch, and a Fetch that the leader answers."""
        request = BeginQuorumEpochRequest(
            NodeId(leader), self.replica.epoch, (("CONTROLLER", endpoint(leader)),), key(1)
        )
        assert self.ask(request) is RaftError.NONE
        self.answer_fetch(FetchResponse(RaftError.NONE, self.replica.epoch, NodeId(leader), Offset(4)))
        assert isinstance(self.replica.role, Follower)

    def answer_fetch(self, response: FetchResponse) -> list[RaftEffect]:
        call = max(call for call, send in self.sent.items() if isinstance(send.request, FetchRequest))
        del self.sent[call]
        return self.note(self.replica.step(ResponseArrived(call, response), self.now))

    def lead(self) -> None:
        self.pass_time(1.1)
        for pre_vote in (True, False):
            call, send = next((c, s) for c, s in self.sent.items() if _is_vote(s.request, pre_vote=pre_vote))
            del self.sent[call]
            assert send.to is not None
            granted = VoteResponse(RaftError.NONE, self.replica.epoch, None, granted=True)
            self.note(self.replica.step(ResponseArrived(call, granted), self.now))
        self.replica.step(Flushed(self.replica.log.end_offset), self.now)
        assert isinstance(self.replica.role, Leader)

    def pass_time(self, seconds: float) -> None:
        self.now = Instant(self.now + seconds)
        self.note(self.replica.step(Tick(), self.now))


def _is_vote(request: Request, *, pre_vote: bool) -> bool:
    return isinstance(request, VoteRequest) and request.pre_vote is pre_vote


@pytest.mark.parametrize("pre_vote", [True, False])
@pytest.mark.parametrize("sender", [key(2), key(9)], ids=["a voter", "a stranger"])
@pytest.mark.parametrize("leader", ["none", "followed", "itself"])
def test_the_last_epoch_is_refused_and_the_node_lives(sender: ReplicaKey, pre_vote: bool, leader: str) -> None:
    """Apache Kafka 4.3.1 ends on this request."""
    node = Node1()
    if leader == "followed":
        node.follow()
    if leader == "itself":
        node.lead()
    before = (node.replica.epoch, node.replica.role)
    assert node.vote(sender, LAST_EPOCH, pre_vote=pre_vote) is RaftError.UNKNOWN_LEADER_EPOCH
    assert (node.replica.epoch, node.replica.role) == before
    assert not any(isinstance(effect, SaveElection | Fault) for effect in node.effects)
    assert node.replica.status(node.now).counters.refused_epochs == 1


def test_nobody_uses_the_epochs_up() -> None:
    """Whoever asks as fast as it can, claiming to be a voter, gains a thousand epochs and then ten in a second."""
    node = Node1()
    for _ in range(3000):
        node.vote(key(2), node.replica.epoch + 1)
    assert node.replica.epoch == 5 + 1000
    for _ in range(100):
        node.now = Instant(node.now + 0.1)
        node.vote(key(2), node.replica.epoch + 1)
        node.vote(key(2), node.replica.epoch + 1)
    assert node.replica.epoch <= 5 + 1000 + 101


@pytest.mark.parametrize("leads", [True, False], ids=["leader", "follower"])
def test_who_is_no_voter_cannot_depose_a_leader_that_is_heard(leads: bool) -> None:
    """A removed voter that does not know it yet, a stranger, and a voter's id with another disk."""
    node = Node1()
    if leads:
        node.lead()
    else:
        node.follow()
    epoch, role = node.replica.epoch, node.replica.role
    for stranger in (key(9), key(2, directory=8)):
        assert node.vote(stranger, epoch + 1) is RaftError.UNKNOWN_LEADER_EPOCH
        assert node.vote(stranger, epoch + 1, pre_vote=True) is RaftError.UNKNOWN_LEADER_EPOCH
    begin = BeginQuorumEpochRequest(NodeId(9), Epoch(epoch + 1), (("CONTROLLER", endpoint(9)),), key(1))
    assert node.ask(begin) is RaftError.UNKNOWN_LEADER_EPOCH
    assert node.ask(EndQuorumEpochRequest(NodeId(9), Epoch(epoch + 1), ())) is RaftError.UNKNOWN_LEADER_EPOCH
    assert (node.replica.epoch, node.replica.role) == (epoch, role)


def test_a_voter_that_a_majority_encouraged_is_believed() -> None:
    """PV-08, RFT-20: within the voter set epochs are as in Kafka."""
    node = Node1()
    node.follow()
    assert node.vote(key(3), 6) is RaftError.NONE
    assert node.replica.epoch == 6
    leader = Node1()
    leader.lead()
    assert leader.vote(key(3), leader.replica.epoch + 1, pre_vote=True) is RaftError.NONE
    assert isinstance(leader.replica.role, Unattached)


def test_without_a_leader_a_stranger_may_know_a_newer_voter_set() -> None:
    """RFT-21: refusing it could leave the quorum without a leader for ever."""
    node = Node1()
    assert node.vote(key(9), 6) is RaftError.NONE
    assert [effect.state.voted_key for effect in node.effects if isinstance(effect, SaveElection)] == [key(9)]


def test_a_follower_whose_leader_falls_silent_believes_strangers_again() -> None:
    node = Node1()
    node.follow()
    node.now = Instant(node.now + 2.5)
    assert node.vote(key(9), 6) is RaftError.NONE


def test_who_is_far_behind_learns_the_epoch_from_an_answer() -> None:
    """A request from far ahead is refused; the node's own next question brings the truth."""
    node = Node1()
    begin = BeginQuorumEpochRequest(NodeId(2), Epoch(90_000), (("CONTROLLER", endpoint(2)),), key(1))
    assert node.ask(begin) is RaftError.UNKNOWN_LEADER_EPOCH
    node.answer_fetch(FetchResponse(RaftError.FENCED_LEADER_EPOCH, Epoch(90_000), NodeId(2)))
    assert (node.replica.epoch, node.replica.leader_id) == (90_000, 2)


def test_an_answer_from_beyond_all_epochs_is_not_believed() -> None:
    node = Node1()
    for claimed in (LAST_EPOCH, Epoch(2**31 - 2), Epoch(5 + (1 << 20) + 1)):
        node.answer_fetch(FetchResponse(RaftError.FENCED_LEADER_EPOCH, claimed, NodeId(2)))
        assert node.replica.epoch == 5
        node.pass_time(0.05)


def test_a_node_in_the_last_epoch_but_one_stops_with_a_name_for_it() -> None:
    node = Node1(epoch=2**31 - 2)
    node.pass_time(1.1)
    call, _ = next((c, s) for c, s in node.sent.items() if _is_vote(s.request, pre_vote=True))
    granted = VoteResponse(RaftError.NONE, node.replica.epoch, None, granted=True)
    effects = node.replica.step(ResponseArrived(call, granted), node.now)
    assert any(isinstance(effect, Fault) and "used up" in effect.reason for effect in effects)


def test_an_allowance_refills_up_to_its_size() -> None:
    allowance = Allowance(most=10, per_second=2.0, left=10)
    assert allowance.take(10, Instant(0.0))
    assert not allowance.take(1, Instant(0.4))
    assert allowance.take(1, Instant(0.5))
    assert not allowance.take(11, Instant(1000.0))
    assert allowance.take(10, Instant(1000.0))


@pytest.mark.parametrize("directory", [3, 8], ids=["the same disk", "another disk"])
def test_a_second_process_with_the_leaders_id_is_noticed(directory: int) -> None:
    """It is served, and counts for nothing."""
    node = Node1()
    node.lead()
    fetch = FetchRequest(key(1, directory), node.replica.epoch, Offset(0), Epoch(0))
    node._token += 1
    notes = [str(effect) for effect in node.replica.step(RequestArrived(node._token, fetch), node.now)]
    assert any("node ids must differ" in note for note in notes)
    seen = node.replica.status(node.now)
    assert (seen.counters.impostors, seen.observers) == (1, 0)
    assert node.vote(key(1, directory), node.replica.epoch) is RaftError.NONE
    assert node.ask(BeginQuorumEpochRequest(NodeId(1), node.replica.epoch)) is RaftError.FENCED_LEADER_EPOCH
    assert node.replica.status(node.now).counters.impostors == 3


def test_voters_that_share_no_majority_with_those_before_are_not_taken() -> None:
    """RCF-12: a lying leader's set is not appended; the first set of the log may differ from the bootstrap snapshot's (RCF-02)."""
    node = Node1()
    node.follow()
    first = LogBatch(Offset(4), Offset(5), Epoch(5), b"", ((Offset(4), voter_set(1, 2, 3, 4, 5)),))
    worse = LogBatch(Offset(5), Offset(6), Epoch(5), b"", ((Offset(5), voter_set(4, 5)),))
    empty = LogBatch(Offset(5), Offset(6), Epoch(5), b"", ((Offset(5), voter_set()),))
    for bad in (worse, empty):
        answer = FetchResponse(RaftError.NONE, Epoch(5), NodeId(2), Offset(4), batches=(first, bad))
        effects = node.answer_fetch(answer)
        appended = [batch for effect in effects if isinstance(effect, Append) for batch in effect.batches]
        assert bad not in appended
        assert node.replica.voters == voter_set(1, 2, 3, 4, 5)
        node.note(node.replica.step(Flushed(node.replica.log.end_offset), node.now))
