"""What controllers' answers amount to: silence is never death, one voice is never a majority."""

from __future__ import annotations

import pytest

from kraft_operator.judgement import Belief, Described, Replica, Round, agreed_leader, judge, round_of
from kraft_operator.observed import Quorum, QuorumState, VoterState

pytestmark = pytest.mark.unit

DIRECTORIES = {0: "d0", 1: "d1", 2: "d2"}
VOTERS = tuple(Replica(node_id, f"d{node_id}", 10) for node_id in (0, 1, 2))
LED = Belief(1, 5)
DESCRIBED = Described(1, 5, 9, VOTERS, (Replica(100, "d100", 9),))


def test_a_majority_behind_one_leader_is_available() -> None:
    found = judge({0: LED, 1: LED, 2: LED}, DESCRIBED, DIRECTORIES)
    assert (found.state, found.leader_id, found.epoch, found.live) == (QuorumState.AVAILABLE, 1, 5, 3)
    assert [(each.node_id, each.directory_id) for each in found.observers] == [(100, "d100")]
    assert not found.proven


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


def look(
    fetched: tuple[int, int, int], ends: tuple[int, int, int], before: Round | None, silent: int = -1, epoch: int = 5
) -> Quorum:
    """One round: node 1 leads, the high watermark is the second highest end."""
    led = Belief(1, epoch)
    voters = tuple(Replica(each, f"d{each}", ends[each], fetched[each]) for each in (0, 1, 2))
    observers = (Replica(3, "d3", min(ends), fetched[0]),)
    beliefs = {each: None if each == silent else led for each in (0, 1, 2)}
    return judge(beliefs, Described(1, epoch, sorted(ends)[1], voters, observers), DIRECTORIES, before)


def first_round() -> Round:
    before = round_of(look((100, -1, 100), (10, 10, 10), None))
    assert before is not None
    return before


def states(found: Quorum) -> list[VoterState]:
    return [each.state for each in found.voters]


def test_two_rounds_prove_who_lives() -> None:
    found = look((103, -1, 103), (14, 14, 14), first_round())
    assert states(found) == [VoterState.LIVE] * 3
    assert (found.proven, found.advanced, found.settled, found.headroom) == (True, True, True, 1)
    assert found.observers[0].caught_up


def test_a_voter_that_answers_and_does_not_fetch_is_unknown_and_a_silent_one_is_dead() -> None:
    assert states(look((100, -1, 103), (10, 14, 14), first_round()))[0] is VoterState.UNKNOWN
    found = look((100, -1, 103), (10, 14, 14), first_round(), silent=0)
    assert states(found) == [VoterState.DEAD, VoterState.LIVE, VoterState.LIVE]
    assert (found.state, found.headroom) == (QuorumState.AVAILABLE, 0)


def test_a_voter_out_of_our_reach_that_fetches_from_the_leader_is_not_dead() -> None:
    assert states(look((103, -1, 103), (14, 14, 14), first_round(), silent=0))[0] is VoterState.UNKNOWN


def test_a_voter_behind_what_was_committed_a_round_ago_lags() -> None:
    assert states(look((103, -1, 103), (9, 14, 14), first_round()))[0] is VoterState.LAGGING
    assert not look((103, -1, 103), (9, 14, 14), first_round()).observers[0].caught_up


def test_another_epoch_makes_the_round_before_void() -> None:
    found = look((103, -1, 103), (14, 14, 14), first_round(), epoch=6)
    assert (found.proven, found.advanced, found.settled) == (False, False, False)
    assert not found.observers[0].caught_up


def test_a_voter_set_counts_as_committed_only_when_the_log_that_held_it_is() -> None:
    before = round_of(look((100, -1, 100), (10, 15, 10), None))
    assert not look((103, -1, 103), (14, 15, 14), before).settled
    assert look((103, -1, 103), (15, 15, 15), before).settled
    assert before is not None
    fewer = Round(before.leader_id, before.epoch, 10, 10, frozenset({(0, "d0"), (1, "d1")}), before.fetched)
    assert not look((103, -1, 103), (15, 15, 15), fewer).settled
