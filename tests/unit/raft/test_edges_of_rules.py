"""Where rules begin and end: the first node id, the last epoch, the very moment, the answer that comes when nobody
waits any more.

Each was found by `tools/mutate.py`: the rule could be off by one, or half of it missing, and nobody noticed.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.identifiers import Endpoint, Epoch, Instant, NodeId, Offset
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft.calls import Calls, SentRequest
from controller_runtime.raft.counters import Allowance
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.epoch_claims import LAST_EPOCH
from controller_runtime.raft.events import ConnectionLost, Resign, ResponseArrived, Tick
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from controller_runtime.raft.voter_set import VoterSet
from support.nodes.one_replica import One, at, batch, endpoint, fetch, key, listeners, vote, voter

pytestmark = pytest.mark.unit


def told(one: One, request: m.VoteRequest) -> tuple[RaftError, bool]:
    answer = one.ask(request)
    assert isinstance(answer, m.VoteResponse)
    return answer.error, answer.granted


def following(hw: int | None = None) -> One:
    """Four records of epoch 5; node 2 leads it."""
    one = One(log=((4, 5),), saved=ElectionState(Epoch(5)))
    one.follow(2, 5)
    if hw is not None:
        one.fetched(hw=hw)
    return one


def sole_leader(**config: int) -> One:
    one = One(voters=(1,), config=config)
    one.elapse(3000)
    assert one.replica.is_leader
    return one


# Adding.


def versions_of_4(one: One, answer: m.ApiVersionsResponse) -> m.AddVoterResponse | None:
    token = one.token + 1
    assert one.ask(m.AddVoterRequest(voter(4))) is None
    (asked,) = one.asked(m.ApiVersionsRequest)
    one.answer(asked, answer)
    said = one.answer_to(token)
    assert said is None or isinstance(said, m.AddVoterResponse)
    return said


def test_an_error_in_place_of_versions_ends_an_addition_at_once() -> None:
    one = sole_leader()
    said = versions_of_4(one, m.ApiVersionsResponse(RaftError.UNKNOWN_SERVER_ERROR, None))
    assert said is not None
    assert said.error is RaftError.REQUEST_TIMED_OUT
    assert said.message == ("Aborted add voter operation for since API_VERSIONS returned an error UNKNOWN_SERVER_ERROR")


@pytest.mark.parametrize("levels", [(1, 1), (0, 1), (1, 2)])
def test_a_range_of_versions_includes_both_its_ends(levels: tuple[int, int]) -> None:
    one = sole_leader()
    for _ in range(2):
        one.ask(fetch(4, one.epoch, one.end))
    versions_of_4(one, m.ApiVersionsResponse(RaftError.NONE, levels))
    assert one.replica.voters.has_exactly(key(4))


def test_versions_that_arrive_when_the_leadership_is_lost_are_of_no_interest() -> None:
    one = One()
    one.become_leader()
    for node in (2, 4):
        one.ask(fetch(node, one.epoch, one.end))
    assert one.ask(m.AddVoterRequest(voter(4))) is None
    (asked,) = one.asked(m.ApiVersionsRequest)
    one.follow(3, one.epoch + 1)
    one.step(ResponseArrived(asked.call, m.ApiVersionsResponse(RaftError.NONE, (0, 1))))
    assert isinstance(one.role, Follower)
    assert one.replica.voters.ids == (1, 2, 3)


# Calls and allowances.


def test_a_call_that_was_answered_ends_the_back_off_of_its_destination() -> None:
    calls = Calls()
    call = SentRequest(e.Lane.FETCH, NodeId(2), endpoint(2), fetch(1, 1, 0), Epoch(1))
    calls.pause(endpoint(2), e.Lane.FETCH, Instant(9.0))
    calls.end(calls.begin(call))
    assert calls.ready_at(endpoint(2), e.Lane.FETCH) is None
    calls.end(calls.begin(call), Instant(11.0))
    assert calls.ready_at(endpoint(2), e.Lane.FETCH) == 11.0


def test_back_offs_that_are_over_are_forgotten_when_there_are_more_than_64() -> None:
    calls = Calls()
    for number in range(64):
        calls.pause(Endpoint(f"n{number}", 1), e.Lane.CONTROL, Instant(float(number)))
    calls.forget_expired(Instant(40.0))
    assert calls.ready_at(Endpoint("n0", 1), e.Lane.CONTROL) == 0.0, "few of them harm nobody"
    calls.pause(Endpoint("n64", 1), e.Lane.CONTROL, Instant(64.0))
    calls.forget_expired(Instant(40.0))
    left = [n for n in range(65) if calls.ready_at(Endpoint(f"n{n}", 1), e.Lane.CONTROL) is not None]
    assert left == list(range(41, 65))


def test_an_allowance_grows_with_the_time_since_it_was_last_asked() -> None:
    allowance = Allowance(10, 2.0, 10.0)
    assert allowance.take(10, Instant(1000.0))
    assert not allowance.take(3, Instant(1001.0))
    assert allowance.take(2, Instant(1001.0))
    assert not allowance.take(1, Instant(1001.4))
    assert allowance.take(10, Instant(2000.0))
    assert not allowance.take(1, Instant(2000.0)), "never more than the most"


# What is described.


def test_who_asks_for_pre_votes_having_voted_says_so() -> None:
    one = One(saved=ElectionState(Epoch(4)))
    one.stand()
    assert one.replica.status(one.now).state == "prospective"
    assert told(one, vote(2, 4, at(0, 0))) == (RaftError.NONE, True)
    assert one.replica.status(one.now).state == "prospective-voted"


def test_offsets_that_nobody_knows_are_described_as_minus_one() -> None:
    one = One()
    one.become_leader()
    seen = one.replica.describe(one.now)
    assert seen is not None
    assert (seen.high_watermark, [one.end_offset for one in seen.voters]) == (-1, [3, -1, -1])
    one.ask(fetch(2, one.epoch, one.end))
    seen = one.replica.describe(one.now)
    assert seen is not None
    assert (seen.high_watermark, [one.end_offset for one in seen.voters]) == (3, [3, 3, -1])


def test_an_observer_is_listed_until_five_minutes_have_passed_since_its_fetch() -> None:
    one = sole_leader()
    one.ask(fetch(4, one.epoch, one.end))
    one.elapse(299_999)
    assert one.replica.status(one.now).observers == 1
    assert isinstance(one.role, Leader)
    one.now = Instant(one.role.observers[key(4)].last_contact + 300)
    assert one.replica.status(one.now).observers == 0


def test_a_change_of_the_voters_is_uncommitted_until_the_high_watermark_is_behind_it() -> None:
    one = One(voters=(1, 2))
    one.become_leader()
    one.ask(fetch(2, one.epoch, one.end))
    assert one.replica.status(one.now).uncommitted_voter_change is False
    for _ in range(2):
        one.ask(fetch(4, one.epoch, one.end))
    versions_of_4(one, m.ApiVersionsResponse(RaftError.NONE, (0, 1)))
    assert one.replica.high_watermark == one.end - 1
    assert one.replica.status(one.now).uncommitted_voter_change is True
    one.ask(fetch(2, one.epoch, one.end))
    assert one.replica.high_watermark == one.end
    assert one.replica.status(one.now).uncommitted_voter_change is False


def test_voters_that_moved_are_uncommitted_while_the_high_watermark_is_just_at_their_record() -> None:
    one = One(voters=(1, 2))
    one.become_leader()
    one.ask(fetch(2, one.epoch, one.end))
    one.ask(m.UpdateVoterRequest(one.epoch, replace(voter(2), listeners=listeners(9))))
    assert (one.replica.high_watermark, one.replica.voters.by_id(NodeId(2))) == (
        one.end - 1, replace(voter(2), listeners=listeners(9)),
    )  # fmt: skip
    assert one.replica.status(one.now).uncommitted_voter_change is True
    one.ask(fetch(2, one.epoch, one.end))
    assert one.replica.status(one.now).uncommitted_voter_change is False


# Votes.


def test_node_0_is_a_node_like_any_other() -> None:
    one = One(voters=(0, 1, 2))
    assert told(one, vote(0, 3, at(0, 0))) == (RaftError.NONE, True)
    assert told(One(), vote(2, 3, at(0, 0), to=key(0))) == (RaftError.INVALID_VOTER_KEY, False)


def test_the_first_lost_vote_costs_the_shortest_back_off_and_the_next_one_twice_as_much() -> None:
    one = One(saved=ElectionState(Epoch(4)))
    one.become_candidate()
    one.grant(2, 3, granted=False)
    assert isinstance(one.role, Candidate)
    assert one.role.election_deadline - one.now == pytest.approx(0.075)
    one.elapse(75)
    one.grant(2)
    one.grant(2, 3, granted=False)
    assert isinstance(one.role, Candidate)
    assert one.role.election_deadline - one.now == pytest.approx(0.150)


def test_a_vote_is_lost_when_one_refuses_and_the_others_do_not_answer() -> None:
    one = One(saved=ElectionState(Epoch(4)))
    one.become_candidate()
    one.grant(2, granted=False)
    assert isinstance(one.role, Candidate)
    assert not one.role.lost
    one.fail(one.asked(m.VoteRequest)[0])
    assert isinstance(one.role, Candidate)
    assert one.role.lost


def test_a_pre_vote_is_lost_with_the_first_refusal_when_the_leader_is_the_silent_one() -> None:
    one = following(hw=4)
    one.elapse(2000)
    assert isinstance(one.role, Prospective)
    one.grant(3, granted=False)
    assert isinstance(one.role, Follower)
    assert one.role.losses == 1
    one.fetched(hw=4)
    assert one.role.losses == 0, "and its answer makes good for it"


def test_a_leader_that_is_no_voter_is_returned_to_where_it_said_that_it_is() -> None:
    one = One(log=((4, 5),), saved=ElectionState(Epoch(5)))
    one.follow(9, 5)
    one.elapse(2000)
    one.grant(2, 3, granted=False)
    assert isinstance(one.role, Follower)
    assert (one.role.leader_id, one.replica.leader_listeners) == (9, listeners(9))


def test_the_last_epoch_but_one_is_the_last_that_a_candidate_stands_in() -> None:
    one = One(saved=ElectionState(Epoch(LAST_EPOCH - 2)))
    one.become_candidate()
    assert (one.epoch, one.seen(e.Fault)) == (LAST_EPOCH - 1, [])
    one = One(saved=ElectionState(Epoch(LAST_EPOCH - 1)))
    one.become_candidate()
    assert len(one.seen(e.Fault)) == 1
    assert one.epoch == LAST_EPOCH - 1


def test_the_last_epoch_of_all_is_believed_of_nobody_however_near() -> None:
    one = One(saved=ElectionState(Epoch(LAST_EPOCH - 2)))
    assert told(one, vote(2, LAST_EPOCH, at(9, 5)))[0] is RaftError.UNKNOWN_LEADER_EPOCH
    assert told(one, vote(2, LAST_EPOCH - 1, at(9, 5)))[0] is RaftError.NONE
    one = One(saved=ElectionState(Epoch(LAST_EPOCH - 3)))
    send = one.asked(m.FetchRequest)[0]
    one.answer(send, m.FetchResponse(RaftError.FENCED_LEADER_EPOCH, LAST_EPOCH, NodeId(2), leader_endpoint=endpoint(2)))
    assert one.epoch == LAST_EPOCH - 3


def test_what_is_believed_is_the_distance_between_two_epochs() -> None:
    high = 1_000_000_000
    one = One(saved=ElectionState(Epoch(high)))
    assert told(one, vote(2, high + 3, at(9, 5))) == (RaftError.NONE, True)
    one = One(saved=ElectionState(Epoch(high)))
    send = one.asked(m.FetchRequest)[0]
    leader = m.FetchResponse(RaftError.FENCED_LEADER_EPOCH, Epoch(high + 3), NodeId(2), leader_endpoint=endpoint(2))
    one.answer(send, leader)
    assert (one.epoch, one.replica.leader_id) == (high + 3, 2)


# Following.


def test_who_looks_for_a_leader_waits_for_no_records() -> None:
    one = One()
    assert [send.request.max_wait_ms for send in one.asked(m.FetchRequest)] == [0]  # type: ignore[union-attr]
    one.follow(2, 3)
    assert [send.request.max_wait_ms for send in one.asked(m.FetchRequest)] == [500]  # type: ignore[union-attr]


def test_records_are_taken_from_the_leader_alone() -> None:
    one = following()
    one.fail(one.asked(m.FetchRequest)[0])
    (other,) = one.asked(m.FetchRequest)
    assert other.to == 3
    records = m.FetchResponse(RaftError.NONE, Epoch(5), NodeId(2), Offset(4), batches=(batch(4, 5, 5),))
    one.answer(other, records)
    assert one.seen(e.Append) == []
    assert (one.end, one.replica.high_watermark) == (4, None)


def answered(one: One, response: m.FetchResponse) -> None:
    one.answer(one.asked(m.FetchRequest)[0], response)


RESPONSE = m.FetchResponse(RaftError.NONE, Epoch(5), NodeId(2), Offset(4))


def test_a_log_that_ends_where_histories_part_is_not_cut() -> None:
    one = following()
    answered(one, replace(RESPONSE, diverging=at(9, 5)))
    assert one.seen(e.Truncate) == []


@pytest.mark.parametrize(
    ("snapshot", "hw", "taken"),
    [
        ((0, 3), None, False),
        ((3, -1), None, False),
        ((1, 0), None, True),
        ((1, 3), None, True),
        ((3, 3), 4, False),
        ((4, 3), 4, False),
        ((5, 3), 4, True),
    ],
)
def test_a_snapshot_is_fetched_only_if_it_can_be_one_and_goes_beyond_what_is_committed(
    snapshot: tuple[int, int], hw: int | None, taken: bool
) -> None:
    one = following(hw)
    answered(one, replace(RESPONSE, snapshot_id=at(*snapshot)))
    assert isinstance(one.role, Follower)
    assert (one.role.snapshot is not None) is taken


def test_nothing_behind_a_batch_that_is_not_taken_is_taken() -> None:
    one = following()
    answered(one, replace(RESPONSE, batches=(batch(4, 5, 6), batch(4, 5, 5))))
    assert one.seen(e.Append) == []
    one = following(hw=4)
    change = replace(batch(4, 5, 5), control=((Offset(4), one.replica.voters.updated(voter(9)).updated(voter(8))),))
    other = replace(batch(4, 5, 5), control=((Offset(4), one.replica.voters),))
    answered(one, replace(RESPONSE, batches=(other,)))
    seen = len(one.seen(e.Append))
    far = replace(batch(5, 6, 5), control=tuple((Offset(5), record) for _, record in change.control))
    answered(one, replace(RESPONSE, batches=(far, batch(5, 6, 5))))
    assert len(one.seen(e.Append)) == seen, "voters that share no majority with those before them"


def test_a_high_watermark_of_zero_is_known_and_one_below_is_not() -> None:
    one = following()
    one.fetched(hw=-1)
    assert one.replica.high_watermark is None
    one.fetched(hw=0)
    assert one.replica.high_watermark == 0


def suspicion_ms(voters: tuple[int, ...], losses: int = 0) -> float:
    """How soon node 1 stands when the connection to its leader, node 2, is lost."""
    one = One(voters=voters, log=((4, 5),), saved=ElectionState(Epoch(5)))
    one.follow(2, 5)
    one.fetched(hw=4)
    assert isinstance(one.role, Follower)
    one.role.losses = losses
    before = one.role.fetch_deadline
    one.step(ConnectionLost(endpoint(3)))
    assert one.role.fetch_deadline == before, "the connection of somebody else"
    one.step(ConnectionLost(endpoint(2)))
    return round((one.role.fetch_deadline - one.now) * 1000, 3)


def test_a_lost_connection_makes_followers_stand_in_turns_and_later_each_time_it_was_in_vain() -> None:
    assert suspicion_ms((1, 2, 3)) == 12 * 1.25
    assert suspicion_ms((0, 1, 2, 3)) == 12 * 3.25
    assert suspicion_ms((1, 2, 3), losses=1) == 12 * 1.25 * 2
    assert suspicion_ms((1, 2, 3), losses=3) == 12 * 1.25 * 8
    assert suspicion_ms((1, 2, 3), losses=50) == 12 * 1.25 * 128, "doubled seven times at most"


def test_a_leader_is_heard_until_its_time_is_up() -> None:
    one = following(hw=4)
    assert isinstance(one.role, Follower)
    until = one.role.fetch_deadline
    assert one.replica.hears_leader(Instant(until - 0.001))
    assert not one.replica.hears_leader(until)


# Leading.


def first_batch(one: One) -> tuple[m.ControlRecord, ...]:
    one.become_leader()
    return one.seen(e.AppendControl)[-1].records


def test_a_leader_that_is_reached_elsewhere_now_writes_its_own_entry_anew_with_its_first_batch() -> None:
    moved = (("CONTROLLER", Endpoint("elsewhere", 9093)),)
    for now_at, written in ((moved, moved), (listeners(1), None), ((), None)):
        one = One(log=((4, 5),), saved=ElectionState(Epoch(5)))
        one.replica._q.history.add_voters(Offset(3), one.replica.voters)  # of the log, not of the bootstrap snapshot
        one.replica._q.config = replace(one.replica._q.config, listeners=now_at)
        records = first_batch(one)
        sets = [record for record in records if isinstance(record, VoterSet)]
        assert [found.listeners for one_set in sets for found in [one_set.by_id(NodeId(1))] if found] == (
            [written] if written else []
        )


def test_a_voter_that_was_removed_is_an_observer_of_whom_everything_is_still_known() -> None:
    one = One()
    one.become_leader()
    for node in (2, 3):
        one.ask(fetch(node, one.epoch, one.end))
    known = one.end
    one.ask(m.RemoveVoterRequest(key(3)))
    assert one.replica.voters.ids == (1, 2)
    seen = one.replica.describe(one.now)
    assert seen is not None
    assert [(found.key, found.end_offset) for found in seen.observers] == [(key(3), known)]


def test_a_leader_that_voted_itself_out_needs_a_majority_of_the_others() -> None:
    one = One()
    one.become_leader()
    for node in (2, 3):
        one.ask(fetch(node, one.epoch, one.end))
    one.ask(m.RemoveVoterRequest(key(1)))
    assert one.replica.voters.ids == (2, 3)
    for _ in range(4):
        one.elapse(700)
        one.ask(fetch(2, one.epoch, one.end))
    assert one.replica.is_leader
    one.elapse(300)
    assert isinstance(one.role, Resigned), "node 3 is silent, node 2 alone is no majority of the two"


def begin(one: One, leader: int, epoch: int, *, reachable: bool = True) -> RaftError:
    said = one.ask(
        m.BeginQuorumEpochRequest(NodeId(leader), Epoch(epoch), listeners(leader) if reachable else (), key(1))
    )
    assert isinstance(said, m.BeginQuorumEpochResponse)
    return said.error


def test_a_leader_has_an_id_and_may_have_the_first_of_all_ids_and_epochs() -> None:
    assert begin(One(), -1, 3) is RaftError.INVALID_REQUEST
    one = One(voters=(0, 1, 2))
    assert begin(one, 0, 0) is RaftError.NONE
    assert (one.epoch, one.replica.leader_id) == (0, 0)


def test_nobody_else_leads_an_epoch_that_this_node_has_won() -> None:
    one = One()
    one.become_leader()
    assert begin(one, 2, one.epoch) is RaftError.FENCED_LEADER_EPOCH
    assert begin(one, 1, one.epoch + 1) is RaftError.FENCED_LEADER_EPOCH, "another process by its id"
    assert one.replica.is_leader
    one.step(Resign(one.epoch))
    assert begin(one, 2, one.epoch) is RaftError.FENCED_LEADER_EPOCH
    assert isinstance(one.role, Resigned)


def test_a_leader_that_cannot_be_reached_is_known_by_its_name() -> None:
    one = One(saved=ElectionState(Epoch(4)))
    assert begin(one, 9, 4, reachable=False) is RaftError.NONE
    role = one.role
    assert isinstance(role, Unattached)
    assert (one.epoch, one.replica.leader_id) == (4, 9)
    assert begin(one, 9, 4, reachable=False) is RaftError.NONE
    assert one.role is role, "nothing new"
    one = One(saved=ElectionState(Epoch(4)))
    one.follow(2, 4)
    assert begin(one, 9, 6, reachable=False) is RaftError.NONE
    assert isinstance(one.role, Unattached)
    assert (one.epoch, one.replica.leader_id) == (6, 9)


def end(one: One, leader: int, epoch: int, *preferred: int) -> RaftError:
    said = one.ask(m.EndQuorumEpochRequest(NodeId(leader), Epoch(epoch), tuple(map(key, preferred))))
    assert isinstance(said, m.EndQuorumEpochResponse)
    return said.error


def test_the_end_of_an_epoch_is_told_by_a_node_and_teaches_who_led_it() -> None:
    assert end(One(), -1, 3) is RaftError.INVALID_REQUEST
    one = One(voters=(0, 1, 2))
    assert begin(one, 0, 0) is RaftError.NONE
    assert end(one, 0, 0, 1) is RaftError.NONE
    assert isinstance(one.role, Prospective)
    one = One(saved=ElectionState(Epoch(4)))
    assert end(one, 2, 6) is RaftError.NONE
    assert (one.epoch, one.replica.leader_id) == (6, 2)


def test_who_knows_a_leader_by_name_alone_stands_when_it_is_named_first() -> None:
    one = One(saved=ElectionState(Epoch(4)))
    begin(one, 9, 4, reachable=False)
    assert end(one, 9, 4, 1, 2) is RaftError.NONE
    assert isinstance(one.role, Prospective)


def test_a_log_of_which_nothing_is_known_to_be_committed_may_be_cut_to_nothing() -> None:
    one = following()
    answered(one, replace(RESPONSE, high_watermark=Offset(-1), diverging=at(0, 0)))
    assert (one.seen(e.Truncate), one.seen(e.Fault)) == ([e.Truncate(Offset(0))], [])


@pytest.mark.parametrize(("hw", "can_vote", "stands"), [(4, True, True), (5, True, False), (4, False, False)])
def test_who_is_voted_out_stands_until_that_is_committed(hw: int, can_vote: bool, stands: bool) -> None:
    one = One(log=((4, 5),), saved=ElectionState(Epoch(5)), can_vote=can_vote)
    one.follow(2, 5)
    without = replace(batch(4, 5, 5), control=((Offset(4), one.replica.voters.without(NodeId(1))),))
    one.fetched(without, hw=hw)
    assert one.replica.voters.ids == (2, 3)
    one.elapse(2100)
    assert isinstance(one.role, Prospective) is stands


def test_who_was_never_a_voter_does_not_stand_whatever_the_newest_set_is() -> None:
    one = One(voters=(2, 3, 4), log=((4, 5),), saved=ElectionState(Epoch(5)))
    one.follow(2, 5)
    one.fetched(replace(batch(4, 5, 5), control=((Offset(4), one.replica.voters.without(NodeId(4))),)), hw=4)
    one.elapse(2100)
    assert isinstance(one.role, Follower)


def test_the_ways_to_the_leader_are_those_of_whoever_leads() -> None:
    one = One()
    assert one.replica.leader_listeners == ()
    one.become_leader()
    assert one.replica.leader_listeners == listeners(1)
    assert one.replica.leader_endpoint("CONTROLLER") == endpoint(1)
    one.follow(2, one.epoch + 1)
    assert one.replica.leader_listeners == listeners(2)


# What stays when a role or the voters change.


def fetching_a_snapshot(taken: bytes) -> One:
    one = following()
    answered(one, replace(RESPONSE, snapshot_id=at(20, 5)))
    if taken:
        (send,) = one.asked(m.FetchSnapshotRequest)
        part = m.FetchSnapshotResponse(RaftError.NONE, Epoch(5), NodeId(2), at(20, 5), 10, 0, taken)
        one.answer(send, part)
    return one


@pytest.mark.parametrize(("taken", "dropped"), [(b"", 0), (b"x", 1)])
def test_the_part_of_a_snapshot_that_was_fetched_goes_with_its_leader_if_there_is_any(
    taken: bytes, dropped: int
) -> None:
    one = fetching_a_snapshot(taken)
    one.follow(3, 6)
    assert one.seen(e.DropSnapshotPart) == [e.DropSnapshotPart(at(20, 5))] * dropped


def test_a_higher_epoch_gives_nobody_more_time_before_it_stands() -> None:
    """RFT-22: unattached, asking or standing."""
    waiting = One(saved=ElectionState(Epoch(4)))
    asking, standing = One(saved=ElectionState(Epoch(4))), One(saved=ElectionState(Epoch(4)))
    asking.stand()
    standing.become_candidate()
    for one in (waiting, asking, standing):
        one.elapse(100)
        assert isinstance(one.role, Unattached | Prospective | Candidate)
        before = one.role.election_deadline
        assert told(one, vote(2, 9, at(0, 0), to=key(2)))[0] is RaftError.INVALID_VOTER_KEY
        assert isinstance(one.role, Unattached)
        assert (one.epoch, one.role.election_deadline) == (9, before)


def hears(one: One, epoch: int, leader: int, at_endpoint: Endpoint | None) -> None:
    (send,) = one.asked(m.FetchRequest)
    one.answer(
        send,
        m.FetchResponse(RaftError.FENCED_LEADER_EPOCH, Epoch(epoch), NodeId(leader), leader_endpoint=at_endpoint),
    )


def test_who_is_told_that_it_leads_a_later_epoch_follows_nobody() -> None:
    one = following()
    hears(one, 7, 1, endpoint(1))
    assert isinstance(one.role, Unattached)
    assert (one.epoch, one.replica.leader_id) == (7, None)


def test_a_later_leader_is_known_by_name_though_the_earlier_one_could_be_reached() -> None:
    one = following()
    hears(one, 7, 9, None)
    assert isinstance(one.role, Unattached)
    assert (one.epoch, one.replica.leader_id) == (7, 9)


def test_a_leader_that_leaves_the_voters_is_still_fetched_from() -> None:
    one = One(log=((4, 5),), saved=ElectionState(Epoch(5)))
    hears(one, 5, 2, None)
    assert isinstance(one.role, Follower)
    without = one.replica.voters.without(NodeId(2))
    one.fetched(replace(batch(4, 5, 5), control=((Offset(4), without),)), hw=4)
    assert one.replica.voters.ids == (1, 3)
    assert [send.endpoint for send in one.asked(m.FetchRequest)] == [endpoint(2)]


def test_a_leader_whose_membership_is_cut_off_the_log_is_still_fetched_from() -> None:
    one = One(log=((4, 5),), saved=ElectionState(Epoch(5)))
    one.replica._q.history.add_voters(Offset(3), VoterSet.of([*one.replica.voters.voters, voter(4)]))
    hears(one, 6, 4, None)
    assert isinstance(one.role, Follower)
    answer = m.FetchResponse(RaftError.NONE, Epoch(6), NodeId(4), Offset(-1), diverging=at(2, 5))
    answered(one, answer)
    assert (one.end, one.replica.voters.ids) == (2, (1, 2, 3))
    assert [send.endpoint for send in one.asked(m.FetchRequest)] == [endpoint(4)]


def test_a_hundred_different_things_are_noted_once_each_and_no_more() -> None:
    one = One()
    for _ in range(2):
        for number in range(150):
            one.replica._q.note_once(f"thing {number}")
    one.step(Tick())
    assert [note.text for note in one.seen(e.Note)] == [f"thing {number}" for number in range(100)]


def test_the_asker_of_a_change_hears_in_time_that_it_takes_too_long_and_node_0_may_be_added() -> None:
    one = sole_leader(request_timeout_ms=1700)
    for _ in range(2):
        one.ask(fetch(0, one.epoch, one.end))
    token = one.token + 1
    assert one.ask(m.AddVoterRequest(voter(0))) is None
    (asked,) = one.asked(m.ApiVersionsRequest)
    one.answer(asked, m.ApiVersionsResponse(RaftError.NONE, (0, 1)))
    assert one.replica.voters.ids == (0, 1)
    assert one.answer_to(token) is None
    one.elapse(1700)
    assert one.answer_to(token) == m.AddVoterResponse(RaftError.REQUEST_TIMED_OUT)
