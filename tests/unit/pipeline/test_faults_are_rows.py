"""Whatever is wrong with a file is a row that says so, and the rows around it are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import Record, encode_batch, restamp
from metadata_pipeline.schemas import Level
from metadata_pipeline.sources import chunks, payload
from metadata_pipeline.sources.faults import ListingError
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.reading import FileRange, read_batches, read_range, read_ranges, read_records
from metadata_pipeline.sources.segments import Segment, list_segments
from support.pipeline.logs import log_directory, rows_of, with_crc

LEVELS: tuple[Level, ...] = ("records", "batches")
NOOP = encode_record(NoOpRecord(), 0)


def batch(base: int, count: int = 3, **more: Any) -> bytes:
    return encode_batch(
        [Record(base + index, 1_795_220_082_135, None, NOOP) for index in range(count)],
        partition_leader_epoch=4,
        **more,
    )


def log(*batches: bytes) -> bytes:
    return b"".join(batches)


def flipped(data: bytes, at: int, bit: int = 1) -> bytes:
    changed = bytearray(data)
    changed[at] ^= bit
    return bytes(changed)


def faults(path: Path, level: str = "batches") -> list[tuple[Any, ...]]:
    return [(row["position"], row["fault"]) for row in rows_of(path, level=level)]


def offsets(path: Path) -> list[tuple[int | None, str | None]]:
    return [(row["offset"], row["fault"]) for row in rows_of(path)]


def test_a_flipped_bit_costs_its_batch_and_no_other(tmp_path: Path) -> None:
    """LOG-05: a batch that does not keep its CRC."""
    size = len(batch(0))
    path = log_directory(tmp_path, log(batch(0), flipped(batch(3), 70), batch(6)))
    assert faults(path) == [(0, None), (size, "crc"), (2 * size, None)]
    assert offsets(path) == [(0, None), (1, None), (2, None), (3, "crc"), (6, None), (7, None), (8, None)]
    row = rows_of(path, level="batches")[1]
    assert (row["crc_ok"], row["valid"], row["base_offset"]) == (False, False, 3)
    assert "CRC is" in row["detail"]


@pytest.mark.parametrize("wrong", [1, 999])
def test_a_damaged_base_offset_is_seen_though_the_checksum_holds(tmp_path: Path, wrong: int) -> None:
    middle = bytearray(batch(3))
    restamp(middle, wrong, 4)
    path = log_directory(tmp_path, log(batch(0), bytes(middle), batch(6), batch(9)))
    rows = rows_of(path, level="batches")
    assert [(row["base_offset"], row["expected_offset"], row["crc_ok"], row["fault"]) for row in rows] == [
        (0, 0, True, None), (wrong, 3, True, "offset"), (6, 6, True, None), (9, 9, True, None),
    ]  # fmt: skip
    assert [fault for _, fault in offsets(path)] == [None] * 3 + ["offset"] * 3 + [None] * 6


def test_the_check_of_offsets_goes_on_from_chunk_to_chunk(tmp_path: Path) -> None:
    middle = bytearray(batch(150))
    restamp(middle, 7, 4)
    path = log_directory(
        tmp_path,
        log(*(batch(base) for base in range(0, 150, 3)), bytes(middle), *(batch(base) for base in range(153, 300, 3))),
    )
    options = ReadOptions(chunk_bytes=4096)
    assert [row["base_offset"] for row in rows_of(path, options, level="batches") if row["fault"]] == [7]


def test_after_a_gap_only_the_first_batch_is_marked(tmp_path: Path) -> None:
    path = log_directory(tmp_path, log(batch(0), batch(30), batch(33)))
    assert [(row["base_offset"], row["fault"]) for row in rows_of(path, level="batches")] == [
        (0, None),
        (30, "offset"),
        (33, None),
    ]


def test_the_first_batch_is_compared_with_the_name_of_the_file(tmp_path: Path) -> None:
    path = log_directory(tmp_path, batch(5), name="00000000000000000004.log")
    assert [(row["expected_offset"], row["fault"]) for row in rows_of(path, level="batches")] == [(4, "offset")]


@pytest.mark.parametrize("cut", [1, 50, 100])
def test_a_torn_tail_is_a_fact(tmp_path: Path, cut: int) -> None:
    data = log(batch(0), batch(3))
    path = log_directory(tmp_path, data[:-cut] if cut < 100 else data[: len(batch(0)) + 5])
    assert faults(path) == [(0, None), (len(batch(0)), "torn")]
    assert offsets(path)[-1] == (None, "torn")


def test_an_impossible_length_ends_the_file_with_one_row(tmp_path: Path) -> None:
    broken = bytearray(batch(3))
    broken[8:12] = (-7).to_bytes(4, "big", signed=True)
    path = log_directory(tmp_path, log(batch(0), bytes(broken), batch(6)))
    rows = rows_of(path, level="batches")
    assert [(row["fault"], row["size"]) for row in rows] == [(None, len(batch(0))), ("length", 2 * len(batch(0)))]


def test_zeros_behind_the_log_are_told_apart(tmp_path: Path) -> None:
    path = log_directory(tmp_path, batch(0) + bytes(5000))
    assert faults(path) == [(0, None), (len(batch(0)), "zeros")]


def test_a_batch_of_another_format_is_stepped_over(tmp_path: Path) -> None:
    old = bytearray(batch(3))
    old[16], old[26] = 1, 77
    path = log_directory(tmp_path, log(batch(0), bytes(old), batch(6)))
    assert [fault for _, fault in faults(path)] == [None, "magic", None]
    row = rows_of(path, level="batches")[1]
    assert (row["crc"], row["epoch"], row["detail"]) == (None, None, "magic 1 is not 2")


@pytest.mark.parametrize("codec", [each for each in Compression if each])
def test_compressed_batches_are_unpacked_and_broken_ones_are_faults(tmp_path: Path, codec: Compression) -> None:
    packed = batch(3, 100, compression=codec)
    broken = with_crc(packed[:61] + bytes(20) + packed[81:])
    path = log_directory(tmp_path, log(batch(0), packed, broken, batch(203)))
    found = offsets(path)
    assert [offset for offset, fault in found if fault is None][:103] == list(range(103))
    assert (3, "compression") in found


def test_what_unpacks_to_too_much_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "UNPACKED_LIMIT", 2000)
    big = encode_batch(
        [Record(3, 5, None, encode_record(TopicRecord(name="a" * 5000), 0))], compression=Compression.GZIP
    )
    path = log_directory(tmp_path, log(batch(0), big, batch(4)))
    assert offsets(path) == [(0, None), (1, None), (2, None), (3, "compression"), (4, None), (5, None), (6, None)]


def test_many_compressed_batches_are_unpacked_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "UNPACKED_LIMIT", 3000)
    path = log_directory(
        tmp_path, log(*(batch(base, 100, compression=Compression.GZIP) for base in range(0, 2000, 100)))
    )
    assert offsets(path) == [(offset, None) for offset in range(2000)]


def test_a_batch_larger_than_a_chunk_is_read_whole(tmp_path: Path) -> None:
    large = encode_batch(
        [Record(3 + index, 5, None, encode_record(TopicRecord(name="a" * 90), 0)) for index in range(900)]
    )
    path = log_directory(tmp_path, log(batch(0), large, batch(903)))
    rows = rows_of(path, ReadOptions(chunk_bytes=4096))
    assert [row["offset"] for row in rows] == list(range(906))
    assert {row["name"] for row in rows[3:-3]} == {"a" * 90}


def test_a_batch_that_nobody_could_hold_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LARGEST_BATCH", 10_000)
    large = encode_batch(
        [Record(3 + index, 5, None, encode_record(TopicRecord(name="a" * 90), 0)) for index in range(900)]
    )
    path = log_directory(tmp_path, log(batch(0), large, batch(903)))
    found = rows_of(path, ReadOptions(chunk_bytes=4096), level="batches")
    assert [(row["position"], row["fault"]) for row in found] == [
        (0, None),
        (len(batch(0)), "length"),
        (len(batch(0)) + len(large), None),
    ]


def test_an_empty_segment_is_a_row(tmp_path: Path) -> None:
    path = log_directory(tmp_path, b"")
    assert faults(path) == [(0, "empty")]
    assert offsets(path) == [(None, "empty")]


def test_a_file_that_shrinks_while_it_is_read_gives_what_was_there(tmp_path: Path) -> None:
    path = log_directory(tmp_path, log(batch(0), batch(3)))
    segment = Segment(str(path), "log", path.stat().st_size + 400)
    rows = [row for each in read_range("batches", FileRange.whole(segment), ReadOptions()) for row in each.to_pylist()]
    assert [(row["base_offset"], row["fault"], row["size"]) for row in rows][-1] == (None, "shrunk", 400)
    assert [row["fault"] for row in rows] == [None, None, "shrunk"]


def test_a_file_that_vanishes_is_a_row_and_the_others_are_read(tmp_path: Path) -> None:
    log_directory(tmp_path / "a", batch(0))
    log_directory(tmp_path / "b", batch(0), node=2)
    log_directory(tmp_path / "c", batch(0), node=3)
    parts = [FileRange.whole(segment) for segment in list_segments(str(tmp_path)).segments]
    (tmp_path / "b" / "__cluster_metadata-0" / "00000000000000000000.log").unlink()
    rows = [row for each in read_ranges("batches", parts, ReadOptions()) for row in each.to_pylist()]
    assert [(row["node_id"], row["fault"]) for row in rows] == [(1, None), (2, "unreadable"), (3, None)]


def test_small_files_that_are_decoded_together_keep_apart(tmp_path: Path) -> None:
    for node in range(1, 6):
        log_directory(
            tmp_path / f"n{node}", log(batch(0), batch(3, node, compression=Compression(node % 5))), node=node
        )
        log_directory(tmp_path / f"n{node}", batch(0), node=node, name="00000000000000000003-0000000004.checkpoint")
    parts = [FileRange.whole(segment) for segment in list_segments(str(tmp_path)).segments]
    for level in LEVELS:
        alone = [row for part in parts for each in read_range(level, part, ReadOptions()) for row in each.to_pylist()]
        found = [each.to_pylist() for each in read_ranges(level, parts, ReadOptions(from_offset=0))]
        assert [row for rows in found for row in rows] == alone
    in_order = sorted(parts, key=lambda part: part.segment.kind)
    assert len(list(read_ranges("records", in_order, ReadOptions()))) == 2, "one block of logs, one of snapshots"


class Refusing(fs.FileSystemHandler):  # type: ignore[misc]
    """A local file system in which one file cannot be opened and another fails in the middle."""

    def __init__(self, refused: str) -> None:
        self.local, self.refused = fs.LocalFileSystem(), refused

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def get_type_name(self) -> str:
        return "refusing"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return self.local.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        return self.local.get_file_info(selector)

    def open_input_file(self, path: str) -> Any:
        if self.refused in path:
            raise PermissionError(13, "Permission denied", path)
        return self.local.open_input_file(path)

    def _not_here(self, *_: object, **__: object) -> Any:
        raise NotImplementedError

    open_input_stream = open_output_stream = open_append_stream = create_dir = delete_dir = delete_dir_contents = (
        _not_here
    )
    delete_root_dir_contents = delete_file = move = copy_file = _not_here


def test_an_unreadable_file_is_a_row_and_the_rest_of_the_fleet_is_read(tmp_path: Path) -> None:
    for node in (1, 2, 3):
        log_directory(tmp_path / f"n{node}", batch(0), node=node)
    system = fs.PyFileSystem(Refusing("n2/__cluster_metadata-0/00000000000000000000.log"))
    rows = [row for each in read_batches(str(tmp_path), filesystem=system) for row in each.to_pylist()]
    assert [(row["node_id"], row["fault"]) for row in rows] == [(1, None), (2, "unreadable"), (3, None)]
    assert "Permission denied" in rows[1]["detail"]


def test_a_directory_that_is_no_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "stuff").mkdir()
    (tmp_path / "stuff" / "readme.txt").write_text("no log")
    with pytest.raises(ListingError, match=r"stuff.*nothing below it is a metadata log"):
        list(read_records(str(tmp_path / "stuff")))


def test_of_several_paths_the_one_that_is_no_log_is_a_row(tmp_path: Path) -> None:
    log_directory(tmp_path / "a", batch(0))
    rows = [row for each in read_batches([str(tmp_path / "none"), str(tmp_path / "a")]) for row in each.to_pylist()]
    assert [(row["fault"], row["base_offset"]) for row in rows] == [("unreadable", None), (None, 0)]
    assert rows[0]["file"].endswith("none")


def test_two_clusters_in_one_path_stay_apart(tmp_path: Path) -> None:
    log_directory(tmp_path / "a", batch(0), cluster="AAAAAAAAAAAAAAAAAAAAAA")
    log_directory(tmp_path / "b", batch(0), cluster="BBBBBBBBBBBBBBBBBBBBBA")
    rows = [row for each in read_batches(str(tmp_path)) for row in each.to_pylist()]
    assert [row["cluster_id"] for row in rows] == ["AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBA"]
    only = [
        row
        for each in read_batches(str(tmp_path), ReadOptions(clusters=frozenset(["BBBBBBBBBBBBBBBBBBBBBA"])))
        for row in each.to_pylist()
    ]
    assert [row["cluster_id"] for row in only] == ["BBBBBBBBBBBBBBBBBBBBBA"]


def test_a_broken_identity_is_told_and_the_log_is_read(tmp_path: Path) -> None:
    log_directory(tmp_path / "a", batch(0))
    (tmp_path / "a" / "meta.properties").write_text("version=7\n")
    rows = [row for each in read_batches(str(tmp_path)) for row in each.to_pylist()]
    assert [(row["fault"], row["cluster_id"]) for row in rows] == [("identity", None), (None, None)]
