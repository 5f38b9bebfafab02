"""What a store holds of an archive, as a value: read as it was written, contradictions named, small pieces merged."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from metadata_pipeline.archive.manifest import (
    FAN,
    MERGED_BYTES,
    BadManifest,
    History,
    Manifest,
    Piece,
    Snapshot,
    Stored,
    decode,
    due_for_merging,
    encode,
    without_outlived,
)
from metadata_pipeline.archive.retention import Started
from metadata_pipeline.wire.leader import Mark


def stored(name: str) -> Stored:
    return Stored(name, 10, "digest", "2026-11")


def pieces(count: int, *, start: int = 0, size: int = 10, level: int = 0) -> tuple[Piece, ...]:
    return tuple(Piece(at, at + 5, 1, size, level, stored(f"log/{at}")) for at in range(start, start + 5 * count, 5))


def snapshot(end: int, taken: float) -> Snapshot:
    return Snapshot(Mark(end, 1), taken, (stored(f"snapshots/{end}"),))


ASIDE = History("0", 0, pieces(2), (snapshot(5, 50.0),), ended=100.0)
WHOLE = Manifest("cluster", 3, "nonce", 7, 4, History("1", 20, pieces(4, start=20), (snapshot(20, 200.0),)), (ASIDE,))


def test_it_is_read_as_it_was_written() -> None:
    assert decode(encode(WHOLE)) == WHOLE
    assert (WHOLE.now.mark, len(WHOLE.objects), WHOLE.size_bytes) == (Mark(40, 1), 8, 80)


def test_what_contradicts_itself_is_refused() -> None:
    first, second, *_ = WHOLE.now.pieces
    wrong = {
        "is followed by offset": (first, replace(second, start=26)),
        "is said to begin at offset 20": (second,),
        "ends at": (replace(first, end=20),),
    }
    for why, some in wrong.items():
        with pytest.raises(BadManifest, match=why):
            decode(encode(replace(WHOLE, now=replace(WHOLE.now, pieces=some))))
    with pytest.raises(BadManifest, match="no snapshot has what came before"):
        decode(encode(replace(WHOLE, now=replace(WHOLE.now, snapshots=()))))
    with pytest.raises(BadManifest, match="cannot be understood"):
        decode(encode(replace(WHOLE, now=replace(WHOLE.now, pieces=(replace(first, stored=stored("../x")),)))))
    for text in (b"", b"[]", b'"x"', encode(WHOLE)[:-9], encode(WHOLE).replace(b'"writer":3', b'"writer":"x"')):
        with pytest.raises(BadManifest):
            decode(text)
    with pytest.raises(BadManifest, match="version 2"):
        decode(json.dumps({**json.loads(encode(WHOLE)), "version": 2}).encode())


def test_small_pieces_of_one_level_become_one_and_large_ones_stay() -> None:
    assert due_for_merging(pieces(FAN - 1)) == ()
    assert due_for_merging(pieces(FAN)) == pieces(FAN)
    assert due_for_merging(pieces(FAN, size=MERGED_BYTES // FAN + 1)) == ()
    assert due_for_merging((*pieces(1, level=1), *pieces(FAN - 1, start=5))) == ()


def test_a_clock_that_jumps_lets_go_of_nothing_early() -> None:
    taken = (snapshot(20, 200.0), snapshot(31, 300.0))
    behind = replace(WHOLE, now=replace(WHOLE.now, snapshots=(*taken[:1], snapshot(31, 3.0))))
    assert without_outlived(behind, 250.0, 100.0).now == behind.now, "no older than the one before it"
    assert without_outlived(behind, 301.0, 100.0).now.start == 30, "with that one it goes"
    ahead = replace(WHOLE, now=replace(WHOLE.now, snapshots=taken))
    process = Started(wall=310.0, monotonic=5.0)
    assert process.now(310.0 + 1e8, 65.0) == 370.0
    assert without_outlived(ahead, process.now(310.0 + 1e8, 65.0), 600.0) == ahead
    assert process.now(0.0, 65.0) == 0.0, "set back: nothing is old"


def test_what_no_moment_that_shall_be_kept_needs_goes() -> None:
    held = replace(WHOLE, now=replace(WHOLE.now, snapshots=(snapshot(20, 200.0), snapshot(31, 300.0))))
    assert without_outlived(held, 1e9, None) == held
    assert without_outlived(held, 320.0, 110.0).asides == ()
    assert without_outlived(held, 320.0, 221.0).asides == (ASIDE,)
    left = without_outlived(held, 1000.0, 600.0).now
    assert (left.start, [each.mark.end for each in left.snapshots]) == (30, [31])
    assert [each.start for each in left.pieces] == [30, 35]
    assert decode(encode(replace(held, now=left))).now == left
