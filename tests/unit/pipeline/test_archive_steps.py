"""What is done next with an archive's copy in a store: one value for each state of both."""

from __future__ import annotations

from dataclasses import replace

from metadata_pipeline.archive.manifest import FAN, History, Manifest, Piece, Snapshot, Stored
from metadata_pipeline.archive.memory import Verified, is_unproven
from metadata_pipeline.archive.steps import (
    COMPARED,
    Asked,
    BeginAnew,
    Found,
    Here,
    Merge,
    Moment,
    PutPiece,
    PutSnapshot,
    Read,
    Verify,
    compared,
    next_step,
)
from metadata_pipeline.wire.leader import Mark

ASKED = Asked(piece_seconds=30.0, piece_bytes=100)
PROVEN = Moment(proven=10)


def pieces(count: int) -> tuple[Piece, ...]:
    return tuple(Piece(at, at + 5, 1, 10, 0, Stored(f"log/{at}", 10, "d")) for at in range(0, 5 * count, 5))


def there(count: int = 2, *snapshots: int) -> Manifest:
    taken = tuple(Snapshot(Mark(each, 1), 0.0, ()) for each in snapshots)
    return Manifest("cluster", 1, now=History("1", 0, pieces(count), taken))


def here(end: int, *snapshots: int, start: int = 0, begun: str = "1") -> Here:
    return Here(begun, start, Mark(end, 1), tuple(Mark(each, 1) for each in snapshots))


def test_another_beginning_or_a_gap_begins_anew_with_the_snapshots_that_the_log_needs() -> None:
    assert next_step(there(), here(30, begun="2"), None, ASKED, PROVEN) == BeginAnew(())
    gap = here(30, 5, 11, 20, start=11)
    assert next_step(there(), gap, None, ASKED, PROVEN) == BeginAnew((Mark(11, 1), Mark(20, 1)))
    assert not isinstance(next_step(there(), here(30, start=10), None, ASKED, PROVEN), BeginAnew), "it goes on"


def test_small_pieces_become_one_before_more_are_put() -> None:
    full = there(FAN)
    assert next_step(full, here(200), None, ASKED, PROVEN) == Merge(full.now.pieces)


def test_a_piece_is_put_when_it_is_large_or_has_waited_or_is_the_last() -> None:
    seen = here(20)
    assert next_step(there(), seen, None, ASKED, PROVEN) == Read(10, 20)
    small, half = Found(b"x" * 49, Mark(20, 1)), Found(b"x" * 50, Mark(15, 1))
    assert next_step(there(), seen, small, ASKED, PROVEN) is None
    assert next_step(there(), seen, half, ASKED, PROVEN) == PutPiece(half)
    whole = replace(half, mark=Mark(20, 1))
    assert next_step(there(), seen, whole, ASKED, PROVEN) is None, "what comes next may be put with it"
    assert next_step(there(), seen, small, ASKED, replace(PROVEN, waited=30.0)) == PutPiece(small)
    assert next_step(there(), seen, small, ASKED, replace(PROVEN, last=True)) == PutPiece(small)
    gone = Found(b"", Mark(10))
    assert next_step(there(), seen, gone, ASKED, Moment(waited=99.0, last=True, proven=10)) is None


def test_a_snapshot_is_put_when_the_log_reaches_it_and_each_once() -> None:
    seen = here(10, 4, 8, 12)
    assert next_step(there(), seen, None, ASKED, PROVEN) == PutSnapshot(Mark(4, 1))
    assert next_step(there(2, 4), seen, None, ASKED, PROVEN) == PutSnapshot(Mark(8, 1))
    assert next_step(there(2, 8), seen, None, ASKED, PROVEN) is None


def test_the_copy_is_looked_at_when_its_first_piece_is_there_and_then_in_its_time() -> None:
    assert next_step(there(0), here(0), None, ASKED, Moment()) is None, "there is nothing to prove"
    for proven in (-1, 0):
        assert next_step(there(1), here(5), None, ASKED, Moment(proven=proven)) == Verify()
    assert next_step(there(), here(10), None, ASKED, Moment(proven=5)) is None
    assert next_step(there(), here(10), None, ASKED, Moment(proven=5, verify=True)) == Verify()


def test_what_is_compared_are_the_last_pieces_that_both_have_in_part_at_least() -> None:
    every = pieces(20)
    assert compared(every, here(100)) == every[-COMPARED:]
    assert compared(every, here(12)) == every[:3]
    assert compared(every, here(100, start=92)) == every[-2:]
    assert compared(every, here(300, start=100)) == ()


def test_an_archive_is_unproven_until_something_of_its_log_was_read_from_the_disk() -> None:
    def seen(end: int) -> Verified:
        return Verified(3, end, 1, "d", 0.0)

    assert [is_unproven(each, 3, 9) for each in (None, seen(3), seen(4), seen(9))] == [True, True, False, False]
    assert not is_unproven(None, 3, 3), "there is no log yet"
