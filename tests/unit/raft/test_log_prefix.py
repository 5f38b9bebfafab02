"""What consensus knows of a log whose beginning is a snapshot: epochs, voters and versions survive forgetting, cutting
and beginning anew.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from controller_runtime.raft.effects import Fault, Truncate
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import LogShortened, RaftEvent, ResponseArrived, SnapshotTaken
from controller_runtime.raft.log_view import LogView, Valid
from controller_runtime.raft.messages import FetchResponse, RaftError
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.voter_set import Voter, VoterHistory, VoterSet

pytestmark = pytest.mark.unit


def at(offset: int, epoch: int) -> OffsetAndEpoch:
    return OffsetAndEpoch(Offset(offset), Epoch(epoch))


def log(*ends: tuple[int, int]) -> LogView:
    view = LogView()
    for end, epoch in ends:
        view.append(view.end_offset, Offset(end), Epoch(epoch))
    return view


def voters(*ids: int) -> VoterSet:
    return VoterSet.of(
        Voter(ReplicaKey(NodeId(n), DirectoryId(Uuid.of(7, n))), (("CONTROLLER", Endpoint(f"n{n}", 9093)),))
        for n in ids
    )


# Snapshots of one's own: SNP-02, SNP-08.


@pytest.mark.parametrize("bad", [at(10, 4), at(0, 0)], ids=["above the log's end", "one that is there"])
def test_only_a_snapshot_of_what_the_log_holds_is_noted(bad: OffsetAndEpoch) -> None:  # SNP-02
    view = log((3, 1), (9, 4))
    view.snapshots = [at(0, 0)]
    with pytest.raises(AssertionError):
        view.taken(bad)


def test_the_epoch_of_a_snapshot_is_that_of_its_last_record() -> None:  # SNP-02
    view = log((3, 1), (9, 4))
    assert [view.epoch_before(Offset(end)) for end in (1, 3, 4, 9)] == [1, 1, 4, 4]
    for outside in (0, 10):
        with pytest.raises(AssertionError):
            view.epoch_before(Offset(outside))
    view.taken(at(5, 4))
    view.delete_before(at(5, 4))
    with pytest.raises(AssertionError):
        view.epoch_before(Offset(5))
    assert view.epoch_before(Offset(6)) == 4


def test_a_log_begins_only_at_its_own_snapshot_above_its_start() -> None:  # SNP-08
    view = log((3, 1), (9, 4))
    view.taken(at(6, 4))
    view.taken(at(3, 1))
    assert view.snapshots == [at(3, 1), at(6, 4)]
    with pytest.raises(AssertionError):
        view.delete_before(at(5, 4))
    view.delete_before(at(6, 4))
    assert (view.start_offset, view.snapshots, view.epoch_starts) == (6, [at(6, 4)], [(4, 6)])
    with pytest.raises(AssertionError):
        view.delete_before(at(6, 4))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=8), st.data())
def test_forgetting_a_prefix_changes_no_answer_about_the_rest(runs: list[tuple[int, int]], data: st.DataObject) -> None:
    """SNP-16: epoch starts stay monotonic, and a fetch above the start is judged as before."""
    view, whole, epoch = LogView(), LogView(), 0
    for length, step in runs:
        epoch += step
        for one in (view, whole):
            one.append(one.end_offset, Offset(one.end_offset + length), Epoch(epoch))
    end = data.draw(st.integers(1, int(view.end_offset)))
    snapshot_id = OffsetAndEpoch(Offset(end), view.epoch_before(Offset(end)))
    view.taken(snapshot_id)
    view.delete_before(snapshot_id)
    starts = [start for _, start in view.epoch_starts]
    assert starts == sorted(set(starts))
    assert all(start >= end for start in starts)
    assert view.last == whole.last
    assert view.validate(snapshot_id.offset, snapshot_id.epoch) == Valid()
    for offset in range(end + 1, int(whole.end_offset) + 2):
        for asked in range(int(snapshot_id.epoch), epoch + 2):
            assert view.validate(Offset(offset), Epoch(asked)) == whole.validate(Offset(offset), Epoch(asked))


# Voters and versions: SNP-15.


def history() -> VoterHistory:
    known = VoterHistory()
    known.reset(Offset(-1), 1, voters(1))
    for offset, ids in ((10, (1, 2)), (20, (1, 2, 3)), (30, (2, 3))):
        known.add_voters(Offset(offset), voters(*ids))
    return known


@pytest.mark.parametrize(
    ("start", "kept"), [(0, 4), (5, 4), (10, 4), (11, 3), (20, 3), (21, 2), (30, 2), (31, 1), (99, 1)]
)
def test_of_what_lies_before_the_log_the_newest_voters_are_kept(start: int, kept: int) -> None:  # SNP-15
    known = history()
    before = known.at(Offset(start))
    known.forget_before(Offset(start))
    assert len(known.sets) == kept
    assert known.at(Offset(start)) == before
    assert known.latest == voters(2, 3)
    assert known.kraft_version == 1


def test_a_cut_behind_the_start_gives_back_the_voters_of_the_snapshot() -> None:  # SNP-10, SNP-15
    known = history()
    known.forget_before(Offset(25))
    known.truncate(Offset(26))
    assert known.latest == voters(1, 2, 3)
    assert known.at(Offset(25)) == (1, voters(1, 2, 3))


def test_a_snapshot_replaces_what_was_known_and_the_log_behind_it_overrides_it() -> None:  # SNP-15
    known = history()
    known.reset(Offset(49), 1, voters(5))
    assert known.at(Offset(50)) == (1, voters(5))
    known.add_voters(Offset(51), voters(5, 6))
    assert known.latest == voters(5, 6)
    known.truncate(Offset(50))
    assert known.latest == voters(5)


def test_a_log_that_was_shortened_begins_at_its_snapshot_and_knows_the_newest_voters_of_what_is_gone() -> (
    None
):  # SNP-08
    replica = following(9)
    replica.voter_history.add_voters(Offset(4), voters(1, 2, 3))
    for snapshot in (at(3, 1), at(6, 4)):
        replica.step(SnapshotTaken(snapshot), Instant(0.01))
    replica.step(LogShortened(at(6, 4)), Instant(0.01))
    assert (replica.log.start_offset, replica.log.end_offset, replica.log.snapshots) == (6, 9, [at(6, 4)])
    assert replica.voter_history.sets == [(4, voters(1, 2, 3))]


# Truncation below what is committed: SNP-10.


def following(high_watermark: int) -> Replica:
    view = log((3, 1), (9, 4))
    view.flushed_offset = Offset(9)
    known = VoterHistory()
    known.reset(Offset(-1), 1, voters(1, 2))
    me = next(one.key for one in voters(1, 2).voters if one.key.node_id == 2)
    config = RaftConfig(me.node_id, me.directory_id, "CONTROLLER", (("CONTROLLER", Endpoint("n2", 9093)),))
    replica = Replica(config, ElectionState(Epoch(4), NodeId(1), None, 1), view, known, Instant(0.0), lambda: 0.5)
    replica.start(Instant(0.0))
    replica._q.raise_high_watermark(Offset(high_watermark))
    return replica


def answer(replica: Replica, diverging: OffsetAndEpoch) -> list[object]:
    now = Instant(0.01)
    number = next(iter(replica._q.calls.in_flight))
    told = FetchResponse(RaftError.NONE, Epoch(4), NodeId(1), Offset(9), Offset(0), diverging)
    event: RaftEvent = ResponseArrived(number, told)
    return list(replica.step(event, now))


def test_a_leader_that_wants_committed_records_cut_is_not_followed() -> None:  # SNP-10
    faults = [one for one in answer(following(9), at(3, 1)) if isinstance(one, Fault)]
    assert len(faults) == 1
    assert "below the high watermark 9" in faults[0].reason


def test_what_is_not_committed_is_cut() -> None:  # SNP-10
    effects = answer(following(3), at(3, 1))
    assert Truncate(Offset(3)) in effects
    assert not [one for one in effects if isinstance(one, Fault)]
