"""Who votes at which offset, and which role may follow which."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import (
    DirectoryId,
    Endpoint,
    Epoch,
    Instant,
    NodeId,
    Offset,
    ReplicaKey,
    Uuid,
)
from controller_runtime.raft import following
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.effects import Fault
from controller_runtime.raft.events import Tick
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.roles import (
    Ballot,
    Candidate,
    Follower,
    Leader,
    Prospective,
    RaftRole,
    Resigned,
    Unattached,
)
from controller_runtime.raft.transitions import TRANSITIONS, Epochs, IllegalTransition, check_transition
from controller_runtime.raft.voter_set import BOOTSTRAP_OFFSET, Voter, VoterHistory, VoterSet, static_voters

pytestmark = pytest.mark.unit


def key(node: int, directory: int = 1) -> ReplicaKey:
    return ReplicaKey(NodeId(node), DirectoryId(Uuid.of(directory, node)))


def voters(*nodes: int) -> VoterSet:
    return VoterSet.of(Voter(key(node), ()) for node in nodes)


def test_a_voter_is_its_node_id_and_its_directory() -> None:
    assert voters(1, 2, 3).match(key(2)) is not None
    assert voters(1, 2, 3).match(key(2, directory=9)) is None
    static = static_voters("CONTROLLER", [(NodeId(2), Endpoint("a", 1))])
    assert static.match(key(2, directory=9)) is not None


@pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half(count: int, majority: int) -> None:
    assert voters(*range(1, count + 1)).majority == majority


def test_consecutive_sets_must_share_a_majority() -> None:
    assert voters(1, 2, 3).overlaps(voters(1, 2, 3, 4))
    assert voters(1, 2, 3).overlaps(voters(1, 2))
    assert not voters(1, 2, 3).overlaps(voters(1, 2, 4))


def test_a_set_takes_effect_when_written_and_is_given_up_when_truncated() -> None:  # RCF-11
    history = VoterHistory()
    history.reset(BOOTSTRAP_OFFSET, 1, voters(1))
    history.add_voters(Offset(5), voters(1, 2))
    history.add_voters(Offset(9), voters(1, 2, 3))
    assert history.latest == voters(1, 2, 3)
    assert history.at(Offset(9)) == (1, voters(1, 2))
    history.truncate(Offset(9))
    assert history.latest == voters(1, 2)
    history.truncate(Offset(0))
    assert (history.latest, history.latest_offset, history.kraft_version) == (voters(1), -1, 1)


def test_versions_go_with_their_offsets_as_voters_do() -> None:
    """What a snapshot says, and what is left of what was written below the start of the log."""
    history = VoterHistory()
    for offset, level in ((3, 1), (6, 2), (9, 3)):
        history.add_version(Offset(offset), level)
        history.add_voters(Offset(offset), voters(*range(1, level + 1)))
    assert [history.at(Offset(end))[0] for end in (3, 4, 6, 7, 9, 10)] == [0, 1, 1, 2, 2, 3]
    history.forget_before(Offset(3))
    assert [offset for offset, _ in history.versions] == [offset for offset, _ in history.sets] == [3, 6, 9]
    history.forget_before(Offset(9))
    assert [offset for offset, _ in history.versions] == [offset for offset, _ in history.sets] == [6, 9]
    assert history.at(Offset(9)) == (2, voters(1, 2))
    history.forget_before(Offset(20))
    assert [offset for offset, _ in history.versions] == [offset for offset, _ in history.sets] == [9]


def test_static_voters_count_only_until_the_log_names_some() -> None:  # RCF-03
    static = static_voters("CONTROLLER", [(NodeId(7), Endpoint("a", 1))])
    history = VoterHistory(static)
    assert (history.latest, history.latest_offset, history.kraft_version) == (static, None, 0)
    history.add_version(Offset(1), 1)
    history.add_voters(Offset(2), voters(1))
    assert (history.latest, history.kraft_version) == (voters(1), 1)


def test_only_a_prospective_becomes_a_candidate_and_only_a_candidate_a_leader() -> None:  # RFT-08
    assert {row.source for row in TRANSITIONS if row.target is Candidate} == {Prospective}
    assert {row.source for row in TRANSITIONS if row.target is Leader} == {Candidate}


def role(kind: type[RaftRole], epoch: int, voted: ReplicaKey | None = None) -> RaftRole:
    at = Instant(1.0)
    match kind.__name__:
        case "Unattached":
            return Unattached(Epoch(epoch), at, voted=voted)
        case "Prospective":
            return Prospective(Epoch(epoch), at, Ballot(), voted=voted)
        case "Candidate":
            return Candidate(Epoch(epoch), at, Ballot())
        case "Leader":
            return Leader(Epoch(epoch), Offset(0), ())
        case "Follower":
            return Follower(Epoch(epoch), NodeId(2), (), at, voted)
        case _:
            return Resigned(Epoch(epoch), at, (), set(), voted)


KINDS = (Unattached, Prospective, Candidate, Leader, Follower, Resigned)
GROWTH = {Epochs.SAME: {0}, Epochs.NEXT: {1}, Epochs.HIGHER: {1, 2}, Epochs.ANY: {0, 1, 2}}


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_a_change_of_role_is_legal_only_as_the_table_says(source: type[RaftRole], target: type[RaftRole]) -> None:
    """RFT-08, RFT-09, RFT-10: by roles, by epochs, and for observers."""
    rows = [row for row in TRANSITIONS if (row.source, row.target) == (source, target)]
    legal = GROWTH[rows[0].epochs] if rows else set()
    for growth in (-1, 0, 1, 2):
        for is_voter in (True, False):
            left, entered = role(source, 5), role(target, 5 + growth)
            if growth in legal and (is_voter or target not in (Prospective, Candidate, Leader)):
                check_transition(left, entered, None, is_voter=is_voter)
            else:
                with pytest.raises(IllegalTransition, match=f"{source.__name__} of epoch 5 -> {target.__name__} of"):
                    check_transition(left, entered, None, is_voter=is_voter)


@pytest.mark.parametrize("target", [Unattached, Prospective, Follower])
def test_a_vote_is_kept_while_its_epoch_lasts(target: type[RaftRole]) -> None:
    """RFT-11."""
    left = role(Unattached, 5, key(3))
    check_transition(left, role(target, 5, key(3)), key(3), is_voter=True)
    for other in (None, key(2)):
        with pytest.raises(IllegalTransition, match="must be kept"):
            check_transition(left, role(target, 5, other), key(3), is_voter=True)


def test_an_illegal_change_stops_the_replica_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours, made on purpose: nothing of the step leaves but the fault."""
    listeners = (("CONTROLLER", Endpoint("n1", 1)),)
    history = VoterHistory()
    history.reset(BOOTSTRAP_OFFSET, 1, VoterSet.of([Voter(key(1), listeners), Voter(key(2), listeners)]))
    config = RaftConfig(NodeId(1), key(1).directory_id, listeners=listeners)
    replica = Replica(config, None, LogView(), history, Instant(0.0), lambda: 0.0)
    replica.start(Instant(0.0))

    def skip_the_pre_vote(q: Quorum, now: Instant) -> None:
        q.enter(Candidate(Epoch(q.epoch + 1), now, Ballot()))

    monkeypatch.setattr(following, "become_prospective", skip_the_pre_vote)
    effects = replica.step(Tick(), Instant(10.0))
    words = "illegal transition Unattached of epoch 0 -> Candidate of epoch 1: there is no such transition"
    assert effects == [Fault(words)]
