"""What a leader tells and notices, and what a replica does when it is told of a leader, or loses one."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Endpoint, Epoch, NodeId, Offset
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import Failure, Resign, Shutdown
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from controller_runtime.raft.voter_set import Listeners
from support.nodes.one_replica import LISTENER, One, at, endpoint, fetch, key, listeners, vote

pytestmark = pytest.mark.unit


def begin(node: int, epoch: int, more: Listeners = ()) -> m.BeginQuorumEpochRequest:
    return m.BeginQuorumEpochRequest(NodeId(node), Epoch(epoch), listeners(node) + more, key(1))


def error(one: One, request: m.Request) -> RaftError:
    answer = one.ask(request)
    assert isinstance(answer, m.BeginQuorumEpochResponse | m.EndQuorumEpochResponse | m.FetchResponse), answer
    return answer.error


def fetching(one: One, *nodes: int) -> None:
    """These voters fetch from it, having all that it has."""
    for node in nodes:
        one.ask(fetch(node, one.epoch, one.end))


def announced(one: One) -> list[e.RaftEffect]:
    return [effect for effect in one.out if isinstance(effect, e.StartLeading | e.StopLeading)]


@pytest.mark.parametrize("log", [(), ((7, 3),)], ids=["an empty log", "records of an earlier leader"])
def test_an_application_hears_that_it_leads_only_when_a_record_of_the_epoch_is_committed(
    log: tuple[tuple[int, int], ...],
) -> None:
    """FET-21: everything before is committed then, too."""
    one = One(log=log, saved=ElectionState(Epoch(3)))
    one.become_leader()
    start = one.replica.log.epoch_starts[-1][1]
    assert (start, one.end > start) == (7 if log else 0, True)
    one.ask(fetch(2, one.epoch, 0, 0) if not log else fetch(2, one.epoch, 7, 3))
    assert announced(one) == [], "what earlier leaders left is held by a majority, nothing of the epoch is"
    one.ask(fetch(2, one.epoch, one.end))
    assert announced(one) == [e.StartLeading(one.epoch)]
    assert (one.replica.high_watermark or 0) > start
    one.append()
    one.ask(fetch(3, one.epoch, one.end))
    assert announced(one) == [e.StartLeading(one.epoch)], "once"


def test_an_application_hears_at_once_that_it_leads_no_more_and_nothing_while_it_resigns() -> None:
    """FET-21: follower and unattached at once; a leader that was never announced is not taken back, nor one that
    resigned announced.
    """
    for deposed in (True, False):
        one = One()
        one.become_leader()
        fetching(one, 2)
        epoch = one.epoch
        if deposed:
            one.follow(3, epoch + 1)
        else:
            one.step(Resign(epoch))
        assert announced(one) == [e.StartLeading(epoch), e.StopLeading(epoch)]
    one = One()
    one.become_leader()
    epoch = one.epoch
    one.step(Resign(epoch))
    assert isinstance(one.role, Resigned)
    fetching(one, 2, 3)
    assert e.StartLeading(epoch) not in one.out


# Being told of a leader.


def test_whoever_is_told_of_the_leader_of_its_epoch_follows_it() -> None:
    """RFT-29: unattached, asking, standing; the vote of the epoch is kept."""
    unattached = One(saved=ElectionState(Epoch(4)))
    asking = One(saved=ElectionState(Epoch(4)))
    asking.stand()
    standing = One(saved=ElectionState(Epoch(3)))
    standing.become_candidate()
    for one, before in ((unattached, Unattached), (asking, Prospective), (standing, Candidate)):
        assert isinstance(one.role, before)
        assert error(one, begin(2, 4)) is RaftError.NONE
        assert isinstance(one.role, Follower)
        assert (one.epoch, one.role.leader_id) == (4, 2)
    assert isinstance(standing.role, Follower)
    assert standing.role.voted == key(1), "it voted for itself in this epoch"


def test_more_addresses_of_the_leader_are_taken_and_fewer_are_not() -> None:
    """RFT-30."""
    one = One()
    one.follow(2, 3)
    more = (("EXTERNAL", Endpoint("outside", 1)),)
    assert error(one, begin(2, 3, more)) is RaftError.NONE
    assert one.replica.leader_listeners == listeners(2) + more
    assert error(one, begin(2, 3)) is RaftError.NONE
    other = m.BeginQuorumEpochRequest(
        NodeId(2), Epoch(3), ((LISTENER, Endpoint("x", 1)), ("B", Endpoint("y", 1))), None
    )
    assert error(one, other) is RaftError.NONE
    assert one.replica.leader_listeners == listeners(2) + more, "equal in number, and not taken"


def test_a_second_leader_of_an_epoch_is_not_followed() -> None:
    one = One()
    one.follow(2, 3)
    assert error(one, begin(3, 3)) is RaftError.FENCED_LEADER_EPOCH
    assert one.replica.leader_id == 2


# Leading.


def test_a_leader_tells_voters_of_its_epoch_until_they_fetch() -> None:
    """RFT-31: at once, every half fetch timeout, and no more who has fetched."""
    one = One()
    one.become_leader()
    assert [send.to for send in one.asked(m.BeginQuorumEpochRequest)] == [2, 3]
    for send in one.asked(m.BeginQuorumEpochRequest):
        one.fail(send)
    one.elapse(600)
    fetching(one, 2)
    one.elapse(390)
    assert not one.asked(m.BeginQuorumEpochRequest)
    one.elapse(20)
    assert [send.to for send in one.asked(m.BeginQuorumEpochRequest)] == [3]


def test_a_leader_that_no_majority_fetches_from_resigns_after_one_and_a_half_timeouts() -> None:
    """RFT-37."""
    one = One()
    one.become_leader()
    one.elapse(2990)
    assert isinstance(one.role, Leader)
    one.elapse(20)
    assert isinstance(one.role, Resigned)
    assert one.epoch == 1


def test_one_of_two_others_is_enough_to_go_on() -> None:
    """RFT-37."""
    one = One()
    one.become_leader()
    for _ in range(10):
        one.elapse(1000)
        fetching(one, 2)
    assert isinstance(one.role, Leader)


def test_a_sole_voter_needs_nobody() -> None:
    """RFT-37."""
    one = One(voters=(1,))
    one.elapse(60_000)
    assert isinstance(one.role, Leader)


def test_fetching_a_snapshot_is_a_sign_of_life() -> None:
    """RFT-38: even one that does not exist any more is asked for by somebody alive; here it exists."""
    one = One()
    one.become_leader()
    fetching(one, 2, 3)
    one.append(5)
    fetching(one, 2, 3)
    one.replica.log.snapshots.append(at(3, 1))
    for _ in range(6):
        one.elapse(1000)
        one.ask(m.FetchSnapshotRequest(key(2), one.epoch, at(3, 1), 0))
    assert isinstance(one.role, Leader)


def test_the_majority_is_counted_by_whole_keys() -> None:
    """RFT-39: node 2 with another disk is no voter."""
    one = One()
    one.become_leader()
    for _ in range(4):
        one.elapse(900)
        one.ask(fetch(2, one.epoch, one.end, replica=key(2, other_disk=True)))
    assert not isinstance(one.role, Leader)


def test_the_majority_follows_the_voters_of_the_moment() -> None:
    """RFT-39: of three that become two, the one that is left has to fetch."""
    one = One()
    one.become_leader()
    fetching(one, 2, 3)
    one.append()
    fetching(one, 2, 3)
    one.ask(m.RemoveVoterRequest(key(3)))
    assert [v.key.node_id for v in one.replica.voters.voters] == [1, 2]
    for _ in range(4):
        one.elapse(900)
        fetching(one, 3)
    assert not isinstance(one.role, Leader), "node 3 does not count any more"


def test_resigning_from_an_older_epoch_does_nothing_and_from_one_not_led_neither() -> None:
    """RFT-36: the application asks only for an epoch that it was told to lead; anything else is late."""
    one = One()
    one.become_leader()
    for epoch in (one.epoch - 1, one.epoch + 1):
        one.step(Resign(Epoch(epoch)))
        assert isinstance(one.role, Leader)
    one.step(Resign(one.epoch))
    assert isinstance(one.role, Resigned)
    follower = One()
    follower.follow(2, 3)
    follower.step(Resign(Epoch(3)))
    assert isinstance(follower.role, Follower)


# The end of an epoch.


def end(node: int, epoch: int, *preferred: int) -> m.EndQuorumEpochRequest:
    return m.EndQuorumEpochRequest(NodeId(node), Epoch(epoch), tuple(key(n) for n in preferred))


def test_the_end_of_an_old_epoch_is_ignored() -> None:
    """RFT-33: by a candidate and by a leader."""
    standing = One(saved=ElectionState(Epoch(3)))
    standing.become_candidate()
    leading = One(saved=ElectionState(Epoch(3)))
    leading.become_leader()
    for one in (standing, leading):
        role, deadlines = one.role, one.replica.next_deadline()
        assert error(one, end(2, 3, 1)) is RaftError.FENCED_LEADER_EPOCH
        assert (one.role, one.replica.next_deadline()) == (role, deadlines)


def test_of_those_that_are_named_the_first_stands_at_once_and_the_others_wait() -> None:
    """RFT-32: 0, 500 and 1000 ms for the first, the second of three, and who is not named."""
    delays = {}
    for name, preferred in (("first", (1, 2, 3)), ("second", (2, 1, 3)), ("third", (2, 3, 1)), ("not named", (2, 3))):
        one = One()
        one.follow(2, 3)
        before = one.now
        assert error(one, end(2, 3, *preferred)) is RaftError.NONE
        while isinstance(one.role, Follower):
            one.elapse(1)
        delays[name] = round((one.now - before) * 1000, -1)
    assert delays == {"first": 0, "second": 250, "third": 500, "not named": 1000}


# Losing the leader.


def test_a_leader_that_cannot_be_reached_is_looked_for_at_other_nodes() -> None:
    """RFT-43: after a timeout, and after BROKER_NOT_AVAILABLE."""
    one = One()
    one.follow(2, 3)
    (first,) = one.asked(m.FetchRequest)
    assert first.to == 2
    one.fail(first, Failure.TIMED_OUT)
    (second,) = one.asked(m.FetchRequest)
    assert second.to == 3, "while the leader is left alone for a moment"
    one.answer(second, m.FetchResponse(RaftError.NOT_LEADER_OR_FOLLOWER, Epoch(3), NodeId(2)))
    one.elapse(20)
    (third,) = one.asked(m.FetchRequest)
    assert third.to == 2
    one.answer(third, m.FetchResponse(RaftError.BROKER_NOT_AVAILABLE, Epoch(3), NodeId(2)))
    (fourth,) = one.asked(m.FetchRequest)
    assert fourth.to == 3
    one.answer(
        fourth, m.FetchResponse(RaftError.NOT_LEADER_OR_FOLLOWER, Epoch(4), NodeId(3), leader_endpoint=endpoint(3))
    )
    assert (one.epoch, one.replica.leader_id) == (4, 3)


def test_an_observer_without_voters_asks_one_server_after_another() -> None:
    """RFT-42."""
    one = One(voters=(), can_vote=False, bootstrap=(5, 6))
    hosts = []
    for _ in range(3):
        (send,) = one.asked(m.FetchRequest)
        hosts.append(send.endpoint.host)
        one.fail(send, Failure.TIMED_OUT)
        one.elapse(20)
    assert set(hosts) == {"n5", "n6"}
    (send,) = one.asked(m.FetchRequest)
    told = m.FetchResponse(RaftError.NOT_LEADER_OR_FOLLOWER, Epoch(9), NodeId(6), leader_endpoint=endpoint(6))
    one.answer(send, told)
    assert isinstance(one.role, Follower)
    assert (one.epoch, one.role.leader_id) == (9, 6)


def test_being_refused_for_lack_of_rights_is_fatal() -> None:
    """RFT-44: Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch."""
    refused = RaftError.CLUSTER_AUTHORIZATION_FAILED
    voting = One()
    voting.stand()
    voting.answer(voting.asked(m.VoteRequest)[0], m.VoteResponse(refused, Epoch(-1), None, False))
    leading = One()
    leading.become_leader()
    leading.answer(leading.asked(m.BeginQuorumEpochRequest)[0], m.BeginQuorumEpochResponse(refused, Epoch(-1), None))
    ending = One()
    ending.become_leader()
    ending.step(Resign(ending.epoch))
    ending.answer(ending.asked(m.EndQuorumEpochRequest)[0], m.EndQuorumEpochResponse(refused, Epoch(-1), None))
    fetching_one = One()
    fetching_one.follow(2, 3)
    fetching_one.answer(fetching_one.asked(m.FetchRequest)[0], m.FetchResponse(refused, Epoch(-1), None))
    for one in (voting, leading, ending, fetching_one):
        (fault,) = one.seen(e.Fault)
        assert "grant this node ClusterAction" in fault.reason


def test_who_shuts_down_still_votes() -> None:
    """RFT-41: its vote may be the one that makes the next leader."""
    one = One()
    one.become_leader()
    fetching(one, 2, 3)
    one.step(Shutdown())
    assert isinstance(one.role, Resigned)
    answer = one.ask(vote(2, one.epoch + 1, at(one.end, one.epoch), to=key(1)))
    assert isinstance(answer, m.VoteResponse)
    assert (answer.error, answer.granted) == (RaftError.NONE, True)


def test_every_role_shuts_down_in_good_order() -> None:
    """RFT-40: at once, but for a leader, which waits for its successor to know."""
    follower, watcher, sole = One(), One(can_vote=False, voters=(2, 3)), One(voters=(1,))
    follower.follow(2, 3)
    watcher.follow(2, 3)
    for one in (follower, watcher, sole):
        one.step(Shutdown())
        assert one.seen(e.ReadyToStop)
    leader = One()
    leader.become_leader()
    leader.step(Shutdown())
    assert not leader.seen(e.ReadyToStop)
    for send in leader.asked(m.EndQuorumEpochRequest):
        leader.answer(send, m.EndQuorumEpochResponse(RaftError.NONE, leader.epoch, None))
    assert leader.seen(e.ReadyToStop)
    forsaken = One(config={"shutdown_timeout_ms": 700})
    forsaken.become_leader()
    forsaken.step(Shutdown())
    forsaken.elapse(699)
    assert not forsaken.seen(e.ReadyToStop)
    forsaken.elapse(2)
    assert forsaken.seen(e.ReadyToStop), "nobody answers: it goes all the same"


def test_the_offset_decides_who_is_named_first() -> None:
    """RFT-34: by what they have fetched; and it repeats itself until they know."""
    one = One()
    one.become_leader()
    fetching(one, 2, 3)
    one.append(5)
    one.ask(fetch(3, one.epoch, Offset(one.end)))
    one.step(Resign(one.epoch))
    (to_two, to_three) = one.asked(m.EndQuorumEpochRequest)
    assert isinstance(to_two.request, m.EndQuorumEpochRequest)
    assert [k.node_id for k in to_two.request.preferred] == [3, 2]
    one.answer(to_three, m.EndQuorumEpochResponse(RaftError.NONE, one.epoch, None))
    one.fail(to_two, Failure.TIMED_OUT)
    one.elapse(25)
    assert [send.to for send in one.asked(m.EndQuorumEpochRequest)] == [2]
