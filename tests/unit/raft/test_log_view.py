"""SNP-01 and FET-08: where two logs part, from epochs alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

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


def test_an_epoch_begins_once_however_many_batches_it_has() -> None:
    view = log((3, 1), (5, 1), (6, 4), (9, 4))
    assert view.epoch_starts == [(1, 0), (4, 5)]


def test_a_log_that_a_snapshot_replaces_knows_no_epoch_but_the_snapshots() -> None:
    view = log((3, 1), (9, 4))
    view.reset(at(20, 7))
    assert (view.epoch_starts, view.last) == ([], at(20, 7))


def test_a_log_that_begins_where_an_epoch_does_begins_with_that_epoch() -> None:
    view = log((3, 1), (9, 4))
    view.taken(at(3, 1))
    view.delete_before(at(3, 1))
    assert view.epoch_starts == [(4, 3)]
    view = log((3, 1), (9, 4))
    view.taken(at(5, 4))
    view.delete_before(at(5, 4))
    assert view.epoch_starts == [(4, 5)]


def histories(length: int) -> Iterator[tuple[int, ...]]:
    """Every sequence of epochs 1 to 3 that never falls: the epoch of each record."""
    return (epochs for epochs in product((1, 2, 3), repeat=length) if list(epochs) == sorted(epochs))


@pytest.mark.parametrize("length", range(1, 6))
def test_a_log_that_is_shortened_anywhere_still_knows_which_epoch_wrote_what_is_left(length: int) -> None:
    for epochs in histories(length):
        for start in range(1, length + 1):
            view = log(*((end, epoch) for end, epoch in enumerate(epochs, 1)))
            view.taken(at(start, epochs[start - 1]))
            view.delete_before(at(start, epochs[start - 1]))
            left = {epoch: offset for offset, epoch in reversed(list(enumerate(epochs))) if offset >= start}
            assert view.epoch_starts == [(epoch, max(start, offset)) for epoch, offset in sorted(left.items())]
            assert (view.start_offset, view.end_offset) == (start, length)
            for offset in range(start + 1, length + 1):
                assert view.epoch_before(Offset(offset)) == epochs[offset - 1]


def test_an_empty_log_asks_for_nothing_that_it_could_get() -> None:
    """Offset 0 fits into every log that begins there, whatever epoch is named with it."""
    assert log((3, 1), (9, 4)).validate(Offset(0), Epoch(3)) == Valid()
    assert log((3, 1), (9, 4)).validate(Offset(1), Epoch(0)) == Diverging(at(0, 0))


def test_who_is_at_the_start_by_another_epoch_or_behind_it_needs_the_snapshot() -> None:
    assert with_snapshot().validate(Offset(20), Epoch(6)) == NeedsSnapshot(at(20, 5))
    assert with_snapshot().validate(Offset(25), Epoch(4)) == NeedsSnapshot(at(20, 5))
    view = LogView()
    view.reset(at(1, 5))
    view.append(Offset(1), Offset(9), Epoch(6))
    assert view.validate(Offset(2), Epoch(4)) == NeedsSnapshot(at(1, 5))


def test_a_log_from_the_beginning_knows_every_epoch_itself_though_it_has_a_snapshot() -> None:
    view = log((3, 1), (9, 4))
    view.taken(at(5, 4))
    assert view.validate(Offset(2), Epoch(1)) == Valid()


def test_the_end_of_an_epoch_before_the_log_is_its_start_by_the_snapshots_epoch_if_that_is_not_above() -> None:
    view = with_snapshot()
    assert view.end_of(Epoch(4)) == at(20, 4)
    assert view.end_of(Epoch(5)) == at(20, 5)
    view = LogView()
    view.reset(at(20, 5))
    view.append(Offset(20), Offset(30), Epoch(9))
    assert view.end_of(Epoch(7)) == at(20, 5)
    view.taken(at(25, 9))
    assert view.end_of(Epoch(7)) == at(20, 5)
