"""What controllers' answers amount to: silence is never death, one voice is never a majority."""

from __future__ import annotations

import pytest

from kraft_operator.judgement import Belief, Described, Replica, agreed_leader, judge
from kraft_operator.observed import QuorumState

pytestmark = pytest.mark.unit

DIRECTORIES = {0: "d0", 1: "d1", 2: "d2"}
VOTERS = tuple(Replica(node_id, f"d{node_id}", 10) for node_id in (0, 1, 2))
LED = Belief(1, 5)
DESCRIBED = Described(1, 5, 9, VOTERS, (Replica(100, "d100", 9),))


def test_a_majority_behind_one_leader_is_available() -> None:
    found = judge({0: LED, 1: LED, 2: LED}, DESCRIBED, DIRECTORIES)
    assert (found.state, found.leader_id, found.epoch, found.live) == (QuorumState.AVAILABLE, 1, 5, 3)
    assert found.observers == ((100, "d100"),)


def test_a_silent_voter_is_not_live_and_the_others_are_a_quorum() -> None:
    found = judge({0: LED, 1: LED, 2: None}, DESCRIBED, DIRECTORIES)
    assert (found.state, found.live) == (QuorumState.AVAILABLE, 2)


def test_a_leader_that_only_itself_confirms_is_unknown() -> None:
    found = judge({0: None, 1: LED, 2: None}, DESCRIBED, DIRECTORIES)
    assert found.state is QuorumState.UNKNOWN
    assert "no answer from 0, 2" in found.detail


def test_a_leader_whose_followers_have_left_it_is_unavailable() -> None:
    others = Belief(-1, 6)
    found = judge({0: others, 1: LED, 2: others}, DESCRIBED, DIRECTORIES)
    assert found.state is QuorumState.UNAVAILABLE


def test_answers_without_a_leader_are_unavailable_and_silence_is_unknown() -> None:
    lost = Belief(-1, 6)
    assert judge({0: lost, 1: lost, 2: None}, None, DIRECTORIES).state is QuorumState.UNAVAILABLE
    assert judge({0: lost, 1: None, 2: None}, None, DIRECTORIES).state is QuorumState.UNKNOWN
    assert judge({0: None, 1: None, 2: None}, None, DIRECTORIES).state is QuorumState.UNKNOWN


def test_a_description_from_another_epoch_is_not_believed() -> None:
    old = Described(1, 4, 9, VOTERS)
    assert judge({0: LED, 1: LED, 2: LED}, old, DIRECTORIES).state is QuorumState.UNKNOWN


def test_a_voter_under_a_directory_the_ledger_does_not_know_is_not_live() -> None:
    found = judge({0: LED, 1: LED, 2: LED}, DESCRIBED, {**DIRECTORIES, 2: "other"})
    assert [voter.live for voter in found.voters] == [True, True, False]


def test_the_highest_epoch_names_the_leader_to_ask() -> None:
    assert agreed_leader({0: Belief(2, 7), 1: LED, 2: None}) == Belief(2, 7)
    assert agreed_leader({0: Belief(-1, 9), 1: None}) is None
