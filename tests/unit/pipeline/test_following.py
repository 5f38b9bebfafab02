"""A growing log is read once, whatever happens between two looks: growth, torn tails, truncation, a replaced tail,
restarts.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from metadata_pipeline.sources.batch_rows import flaw_table
from metadata_pipeline.sources.following import Limit, advance, between
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.reading import read_range
from metadata_pipeline.sources.segments import list_segments
from support.pipeline.logs import log_directory

Row = tuple[int | None, int | None, str | None]


def batch(base: int, epoch: int = 1, count: int = 5) -> bytes:
    value = encode_record(NoOpRecord(), 0)
    return encode_batch([Record(base + index, 5, None, value) for index in range(count)], partition_leader_epoch=epoch)


class Follower:
    """A stream that looks at one file when told to."""

    def __init__(self, root: Path) -> None:
        self.path = log_directory(root, b"")
        self.root = root
        self.marks: dict[str, str] = {}

    def write(self, data: bytes, *, at: int | None = None) -> None:
        with self.path.open("r+b") as file:
            file.seek(0, 2) if at is None else file.truncate(at)
            if at is not None:
                file.seek(at)
            file.write(data)

    def look(self, limit: Limit | None = None) -> list[Row]:
        segments = list_segments(str(self.root)).segments
        end = advance(segments, self.marks, limit or Limit())
        ranges, events = between(segments, self.marks, end)
        self.marks = end
        found: list[Row] = []
        tables = [flaw_table("records", segment, flaw, ReadOptions()) for segment, flaw in events]
        tables += [table for part in ranges for table in read_range("records", part, ReadOptions())]
        for table in tables:
            found += [(row["offset"], row["epoch"], row["fault"]) for row in table.to_pylist()]
        return found


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path)


def plain(offsets: range, epoch: int = 1) -> list[Row]:
    return [(offset, epoch, None) for offset in offsets]


def test_each_look_brings_what_is_new(follower: Follower) -> None:
    assert follower.look() == []
    follower.write(batch(0) + batch(5))
    assert follower.look() == plain(range(10))
    assert follower.look() == []
    follower.write(batch(10))
    assert follower.look() == plain(range(10, 15))


def test_a_torn_tail_is_waited_for(follower: Follower) -> None:
    whole = batch(5)
    follower.write(batch(0) + whole[:40])
    assert follower.look() == plain(range(5))
    assert follower.look() == []
    follower.write(whole[40:])
    assert follower.look() == plain(range(5, 10))


def test_a_truncated_file_is_an_event_and_is_read_on(follower: Follower) -> None:
    follower.write(batch(0) + batch(5) + batch(10))
    follower.look()
    follower.write(b"", at=len(batch(0)))
    assert follower.look() == [(None, None, "shrunk")]
    assert follower.look() == []
    follower.write(batch(5, epoch=2))
    assert follower.look() == plain(range(5, 10), epoch=2)


def test_a_tail_that_was_replaced_unseen_is_an_event_though_the_file_grew(follower: Follower) -> None:
    """A follower may truncate and be filled again between two looks; sizes alone would not tell."""
    follower.write(batch(0) + batch(5))
    follower.look()
    follower.write(batch(5, epoch=2) + batch(10, epoch=2), at=len(batch(0)))
    assert follower.look() == [(None, None, "shrunk"), *plain(range(5)), *plain(range(5, 15), epoch=2)]
    assert follower.look() == []


def test_a_replaced_tail_of_the_same_size_is_seen_too(follower: Follower) -> None:
    follower.write(batch(0) + batch(5))
    follower.look()
    follower.write(batch(5, epoch=2), at=len(batch(0)))
    assert follower.look()[0] == (None, None, "shrunk")


@pytest.mark.parametrize("limit", [Limit(size=len(batch(0)) * 2), Limit(rows=10)])
def test_a_limit_lets_whole_batches_through(follower: Follower, limit: Limit) -> None:
    follower.write(b"".join(batch(base) for base in range(0, 25, 5)))
    assert follower.look(limit) == plain(range(10))
    assert follower.look(limit) == plain(range(10, 20))
    assert follower.look(limit) == plain(range(20, 25))
    assert follower.look(limit) == []


def test_a_limit_smaller_than_a_batch_still_goes_on(follower: Follower) -> None:
    follower.write(batch(0) + batch(5))
    assert follower.look(Limit(size=1)) == plain(range(5))
    assert follower.look(Limit(size=1)) == plain(range(5, 10))


def test_files_are_limited_too(tmp_path: Path) -> None:
    for node in (1, 2, 3):
        log_directory(tmp_path / str(node), batch(0), node=node)
    segments = list_segments(str(tmp_path)).segments
    first = advance(segments, {}, Limit(files=2))
    assert len(first) == 2
    assert len(advance(segments, first, Limit(files=2))) == 3


def test_garbage_is_told_once(follower: Follower) -> None:
    broken = bytearray(batch(5))
    broken[8:12] = (-7).to_bytes(4, "big", signed=True)
    follower.write(batch(0) + bytes(broken))
    assert follower.look() == [*plain(range(5)), (None, None, "length")]
    assert follower.look() == []


def test_a_file_that_goes_away_is_forgotten_and_one_that_goes_before_it_is_read_is_told(follower: Follower) -> None:
    follower.write(batch(0))
    segments = list_segments(str(follower.root)).segments
    end = advance(segments, {}, Limit())
    _, events = between([], {}, end)
    assert [flaw.fault for _, flaw in events] == ["unreadable"]
    follower.look()
    assert advance([], follower.marks, Limit()) == {}
