"""A snapshot on its way: which chunks are taken, what they say of who sends and who asks, and what the log and the
voters are afterwards.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.identifiers import Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import ConnectionLost, SnapshotFetched, SnapshotTaken
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.roles import Follower, Prospective, Resigned
from controller_runtime.raft.voter_set import VoterSet
from support.nodes.one_replica import One, at, batch, endpoint, fetch, key, voter

pytestmark = pytest.mark.unit

SNAPSHOT = at(20, 5)
OFFER = m.FetchResponse(RaftError.NONE, Epoch(5), NodeId(2), Offset(30), snapshot_id=SNAPSHOT)


def chunk(position: int, data: bytes, size: int = 6, of: OffsetAndEpoch = SNAPSHOT) -> m.FetchSnapshotResponse:
    return m.FetchSnapshotResponse(RaftError.NONE, Epoch(5), NodeId(2), of, size, position, data)


def fetching(*taken: bytes, offer: m.FetchResponse = OFFER, hw: int = 4) -> One:
    """Four records of epoch 5; node 2 leads it, and offers a snapshot of six bytes, of which some are taken."""
    one = One(log=((4, 5),), saved=ElectionState(Epoch(5)))
    one.follow(2, 5)
    if hw >= 0:
        one.fetched(hw=hw)
    (asked,) = one.asked(m.FetchRequest)
    one.answer(asked, offer)
    for data in taken:
        takes(one, chunk(position_asked(one), data, of=offer.snapshot_id or SNAPSHOT))
    return one


def takes(one: One, response: m.FetchSnapshotResponse) -> None:
    (asked,) = one.asked(m.FetchSnapshotRequest)
    one.answer(asked, response)


def position_asked(one: One) -> int:
    (asked,) = one.asked(m.FetchSnapshotRequest)
    assert isinstance(asked.request, m.FetchSnapshotRequest)
    return asked.request.position


# The follower.


def test_each_chunk_is_asked_for_at_once_and_written_and_the_last_one_is_said_to_be() -> None:
    one = fetching(b"abc")
    assert position_asked(one) == 3
    takes(one, chunk(3, b"def"))
    assert one.seen(e.WriteSnapshot) == [
        e.WriteSnapshot(SNAPSHOT, 0, b"abc", last=False),
        e.WriteSnapshot(SNAPSHOT, 3, b"def", last=True),
    ]
    assert not one.calls, "nothing more is asked until the snapshot is frozen"


@pytest.mark.parametrize(
    "response",
    [
        chunk(3, b"def", of=at(21, 5)),
        chunk(0, b"abc"),
        chunk(4, b"ef"),
        chunk(3, b""),
        chunk(3, b"defg"),
        replace(chunk(3, b"def"), error=RaftError.SNAPSHOT_NOT_FOUND),
        replace(chunk(3, b"def"), error=RaftError.UNKNOWN_SERVER_ERROR, epoch=Epoch(-1), leader_id=None),
    ],
    ids=["another snapshot", "the same again", "a gap", "nothing", "more than there is", "not found", "Kafka's any"],
)
def test_a_chunk_that_does_not_continue_the_file_ends_the_transfer(response: m.FetchSnapshotResponse) -> None:
    """KIP-630: then Fetch says which snapshot is wanted now. Not at once: who sends such chunks may do so again."""
    one = fetching(b"abc")
    takes(one, response)
    assert one.seen(e.WriteSnapshot) == [e.WriteSnapshot(SNAPSHOT, 0, b"abc", last=False)]
    assert one.seen(e.DropSnapshotPart) == [e.DropSnapshotPart(SNAPSHOT)]
    assert [send.to for send in one.asked(m.FetchRequest)] == [3], "the others, meanwhile"
    one.elapse(25)
    assert isinstance(one.role, Follower)
    assert one.role.snapshot is None


def test_a_chunk_from_an_earlier_epoch_is_not_taken() -> None:
    one = fetching(b"abc")
    takes(one, replace(chunk(3, b"def"), epoch=Epoch(4)))
    assert len(one.seen(e.WriteSnapshot)) == 1


def test_every_chunk_is_a_sign_of_life_of_the_leader() -> None:
    """Kafka: each chunk resets the fetch timer."""
    one = fetching()
    for position in range(5):
        one.elapse(1500)
        assert isinstance(one.role, Follower)
        takes(one, chunk(position, b"x"))
        assert one.replica.hears_leader(one.now)
    one.elapse(1999)
    assert isinstance(one.role, Follower)
    one.elapse(1)
    assert isinstance(one.role, Prospective)


def test_a_chunk_shows_that_a_leader_whose_connection_was_lost_is_still_there() -> None:
    one = fetching()
    one.step(ConnectionLost(endpoint(2)))
    assert not one.replica.hears_leader(one.now)
    takes(one, chunk(0, b"abc"))
    assert one.replica.hears_leader(one.now)
    one.elapse(1999)
    assert isinstance(one.role, Follower)


def test_with_a_snapshot_the_log_the_voters_and_what_is_committed_begin_anew() -> None:
    """Kafka deems the voters of a snapshot written by its last record."""
    one = fetching(b"abcdef")
    others = VoterSet.of([voter(1), voter(2)])
    one.step(SnapshotFetched(SNAPSHOT, 1, others))
    assert (one.seen(e.ResetLog), one.seen(e.LoadSnapshot)) == ([e.ResetLog(SNAPSHOT)], [e.LoadSnapshot(SNAPSHOT)])
    assert one.seen(e.AdvanceHighWatermark)[-1] == e.AdvanceHighWatermark(Offset(20))
    assert (one.replica.high_watermark, one.end, one.replica.log.start_offset) == (20, 20, 20)
    history = one.replica.voter_history
    assert (history.latest, history.latest_offset, history.versions) == (others, 19, [(19, 1)])
    (asked,) = one.asked(m.FetchRequest)
    assert isinstance(asked.request, m.FetchRequest)
    assert (asked.to, asked.request.offset, asked.request.last_epoch) == (2, 20, 5)


def test_a_leader_that_is_none_of_the_snapshots_voters_is_still_fetched_from() -> None:
    one = One(log=((4, 5),), saved=ElectionState(Epoch(5), NodeId(2), None, 1))
    (asked,) = one.asked(m.FetchRequest)
    one.answer(asked, OFFER)
    takes(one, chunk(0, b"abcdef"))
    one.step(SnapshotFetched(SNAPSHOT, 1, VoterSet.of([voter(1), voter(3)])))
    assert [(send.to, send.endpoint) for send in one.asked(m.FetchRequest)] == [(2, endpoint(2))]


def test_the_first_record_of_a_log_may_be_in_a_snapshot_that_nobody_knew_to_be_committed() -> None:
    first = at(1, 5)
    one = fetching(b"abcdef", offer=replace(OFFER, snapshot_id=first), hw=-1)
    one.step(SnapshotFetched(first, 1, one.replica.voters))
    assert one.seen(e.ResetLog) == [e.ResetLog(first)]


def test_a_snapshot_that_is_frozen_when_nobody_wants_it_any_more_changes_nothing() -> None:
    unattached, following, half = One(log=((4, 5),)), fetching(b"ab"), fetching(b"ab")
    following.follow(3, 6)
    for one in (unattached, following, half):
        one.step(SnapshotFetched(SNAPSHOT, 1, VoterSet.of([voter(2)])))
        assert (one.seen(e.ResetLog), one.end, one.replica.voters.ids) == ([], 4, (1, 2, 3))


@pytest.mark.parametrize(("snapshot", "begins_anew"), [(5, False), (6, False), (7, True)])
def test_a_snapshot_is_of_no_use_when_as_much_was_committed_while_it_was_fetched(
    snapshot: int, begins_anew: bool
) -> None:
    """A leader that tells a better address is asked there too, and its two answers may come in any order."""
    one = One(log=((4, 5),), saved=ElectionState(Epoch(5)))
    one.follow(2, 5)
    two_ways = (("CONTROLLER", Endpoint("better", 1)), ("OTHER", Endpoint("other", 1)))
    one.ask(m.BeginQuorumEpochRequest(NodeId(2), Epoch(5), two_ways, key(1)))
    better, first = one.asked(m.FetchRequest)
    assert (better.endpoint.host, first.endpoint.host) == ("better", "n2")
    one.answer(first, replace(OFFER, snapshot_id=at(snapshot, 5)))
    one.answer(better, m.FetchResponse(RaftError.NONE, Epoch(5), NodeId(2), Offset(6), batches=(batch(4, 6, 5),)))
    assert one.replica.high_watermark == 6
    takes(one, chunk(0, b"abcdef", of=at(snapshot, 5)))
    one.step(SnapshotFetched(at(snapshot, 5), 1, one.replica.voters))
    assert one.seen(e.ResetLog) == [e.ResetLog(at(snapshot, 5))] * begins_anew
    assert one.replica.log.start_offset == (snapshot if begins_anew else 0)
    assert one.asked(m.FetchRequest), "and goes on"


# The leader.


def leading() -> One:
    """Its log ends with a snapshot; nobody has fetched for 100 ms, and both others know that it leads."""
    one = One()
    one.become_leader()
    for node in (2, 3):
        one.ask(fetch(node, one.epoch, one.end))
    one.step(SnapshotTaken(at(3, 1)))
    for send in one.asked(m.BeginQuorumEpochRequest):
        one.answer(send, m.BeginQuorumEpochResponse(RaftError.NONE, one.epoch, NodeId(1)))
    one.elapse(100)
    return one


def asks_for_chunk(one: One, node: int, *, other_disk: bool = False) -> None:
    said = one.ask(m.FetchSnapshotRequest(key(node, other_disk=other_disk), one.epoch, at(3, 1), 7, 100))
    assert said == e.ReplySnapshot(one.token, one.epoch, NodeId(1), at(3, 1), 7, 100)


def told_to_begin(one: One) -> list[NodeId | None]:
    return [send.to for send in one.asked(m.BeginQuorumEpochRequest)]


def test_who_asks_for_a_chunk_knows_the_leader_for_half_a_fetch_timeout() -> None:
    one = leading()
    asks_for_chunk(one, 2)
    one.elapse(900)
    assert told_to_begin(one) == [3], "it has asked for nothing since"
    one.elapse(99)
    assert told_to_begin(one) == [3]
    one.elapse(1)
    assert told_to_begin(one) == [2, 3]


def test_a_chunk_that_another_disk_asks_for_is_no_sign_of_life_of_the_voter() -> None:
    """As a Fetch is none (RFT-39)."""
    one = leading()
    asks_for_chunk(one, 2, other_disk=True)
    one.elapse(900)
    assert told_to_begin(one) == [2, 3]
    for _ in range(3):
        asks_for_chunk(one, 2, other_disk=True)
        one.elapse(700)
    assert isinstance(one.role, Resigned)


@pytest.mark.parametrize("node", [1, 9])
def test_anybody_may_ask_for_a_chunk_also_who_calls_itself_the_leader(node: int) -> None:
    asks_for_chunk(leading(), node)


def test_a_snapshot_that_is_gone_or_a_place_before_its_beginning_is_refused() -> None:
    """KIP-630; FetchSnapshot's errors 98 and 99. The border knows the size, and refuses what is behind the end."""
    one = leading()
    for snapshot, position, error in (
        (at(2, 1), 0, RaftError.SNAPSHOT_NOT_FOUND),
        (at(3, 1), -1, RaftError.POSITION_OUT_OF_RANGE),
    ):
        said = one.ask(m.FetchSnapshotRequest(key(2), one.epoch, snapshot, position))
        assert said == m.FetchSnapshotResponse(error, one.epoch, NodeId(1), snapshot)
