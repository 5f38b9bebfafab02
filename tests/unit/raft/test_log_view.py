"""SNP-01 and FET-08: where two logs part, from epochs alone."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, Offset, OffsetAndEpoch
from controller_runtime.raft.log_view import Diverging, LogView, NeedsSnapshot, Valid

pytestmark = pytest.mark.unit


def at(offset: int, epoch: int) -> OffsetAndEpoch:
    return OffsetAndEpoch(Offset(offset), Epoch(epoch))


def log(*ends: tuple[int, int]) -> LogView:
    """`log((3, 1), (9, 4))`: epoch 1 up to offset 3, epoch 4 up to offset 9."""
    view = LogView()
    for end, epoch in ends:
        view.append(view.end_offset, Offset(end), Epoch(epoch))
    return view


@pytest.mark.parametrize(
    ("offset", "epoch", "answer"),
    [
        (0, 0, Valid()),
        (9, 4, Valid()),
        (5, 4, Valid()),
        (3, 1, Valid()),
        (4, 1, Diverging(at(3, 1))),
        (10, 4, Diverging(at(9, 4))),
        (7, 3, Diverging(at(3, 1))),
        (9, 7, Diverging(at(9, 4))),
        (2, 0, Diverging(at(0, 0))),
    ],
)
def test_a_fetch_is_judged_by_the_epoch_of_its_last_record(offset: int, epoch: int, answer: object) -> None:
    assert log((3, 1), (9, 4)).validate(Offset(offset), Epoch(epoch)) == answer


def with_snapshot() -> LogView:
    view = LogView()
    view.reset(at(20, 5))
    view.append(Offset(20), Offset(30), Epoch(6))
    return view


@pytest.mark.parametrize(
    ("offset", "epoch", "answer"),
    [
        (0, 0, NeedsSnapshot(at(20, 5))),
        (12, 5, NeedsSnapshot(at(20, 5))),
        (20, 4, NeedsSnapshot(at(20, 5))),
        (20, 5, Valid()),
        (25, 6, Valid()),
        (31, 6, Diverging(at(30, 6))),
    ],
)
def test_what_lies_before_the_log_is_in_the_snapshot(offset: int, epoch: int, answer: object) -> None:
    assert with_snapshot().validate(Offset(offset), Epoch(epoch)) == answer


@pytest.mark.parametrize(
    ("leader_end", "point"),
    [(at(3, 1), 3), (at(2, 1), 2), (at(5, 1), 3), (at(7, 3), 3), (at(6, 4), 6), (at(4, 0), 4), (at(40, 0), 9)],
)
def test_a_follower_cuts_where_its_log_and_the_leaders_part(leader_end: OffsetAndEpoch, point: int) -> None:
    assert log((3, 1), (9, 4)).truncation_point(leader_end) == point


def test_truncating_forgets_epochs_and_what_was_flushed() -> None:
    view = log((3, 1), (9, 4))
    view.flushed_offset = Offset(9)
    view.truncate(Offset(3))
    assert (view.end_offset, view.flushed_offset, view.last_epoch) == (3, 3, 1)
    view.append(Offset(3), Offset(4), Epoch(5))
    assert view.epoch_starts == [(1, 0), (5, 3)]


def test_an_empty_log_after_a_snapshot_has_the_snapshots_epoch() -> None:
    view = LogView()
    view.reset(at(20, 5))
    assert view.last == at(20, 5)
