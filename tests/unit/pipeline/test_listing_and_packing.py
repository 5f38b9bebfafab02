"""What counts as a metadata log, whose it is, where it may lie, and how files become tasks."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from pyarrow import fs

from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.packing import OPENING_BYTES, SMALLEST_TASK, TASK_BYTES, pack, split
from metadata_pipeline.sources.reading import FileRange, chosen, read_range, read_records
from metadata_pipeline.sources.segments import Segment, list_segments
from metadata_pipeline.sources.voters import voters_of
from support.golden import GOLDEN, broker_data
from support.pipeline.logs import log_directory

CLUSTER = GOLDEN / "cluster"


def noops(base: int, count: int) -> bytes:
    value = encode_record(NoOpRecord(), 0)
    return encode_batch([Record(base + index, 5, None, value) for index in range(count)])


def test_a_controllers_directory_is_listed_with_its_owner() -> None:
    listing = list_segments(str(CLUSTER / "controller-2"))
    bootstrap, metadata = listing.directories
    assert (metadata.node_id, metadata.partition) == (2, "__cluster_metadata-0")
    assert (metadata.cluster_id, metadata.directory_id) == ("b7XFcyEkSgSBsv7c2XVvyg", "znxhPGuVRvawaXsGLtBq9w")
    assert metadata.quorum_state is not None
    assert {segment.kind for segment in metadata.segments} == {"log", "snapshot"}
    assert [segment.kind for segment in bootstrap.segments] == ["bootstrap"]
    assert listing.problems == ()
    last = metadata.segments[-1]
    assert last.name == f"{last.snapshot_offset:020d}-{last.snapshot_epoch:010d}.checkpoint"
    assert last.size == Path(last.file).stat().st_size


def test_static_voters_are_known_from_the_quorum_state() -> None:
    listing = list_segments(str(GOLDEN / "static-voters" / "before-upgrade"))
    voters = {voter.node_id for directory in listing.directories for voter in directory.static_voters}
    assert voters == {1, 2, 3}


def test_the_last_voter_set_is_found_in_snapshot_or_log(tmp_path: Path) -> None:
    listing = list_segments(
        [str(GOLDEN / "cluster" / f"controller-{node}" / "__cluster_metadata-0") for node in (2, 4)]
    )
    sets = [{voter.node_id for voter in voters_of(directory)} for directory in listing.directories]
    assert sets[0] == {2, 4}, "controllers 1 and 3 left the voter set"
    directory_ids = {str(voter.directory_id) for voter in voters_of(listing.directories[0])}
    assert directory_ids == {directory.directory_id for directory in listing.directories}
    static = list_segments(str(GOLDEN / "static-voters" / "before-upgrade" / "controller-1"))
    assert {voter.node_id for voter in voters_of(static.directories[-1])} == {1, 2, 3}
    log_directory(tmp_path, noops(0, 3))
    assert voters_of(list_segments(str(tmp_path)).directories[0]) == ()


def test_topics_beside_the_metadata_log_are_left_alone(tmp_path: Path) -> None:
    """A broker's log directory holds hundreds of other logs whose records are not metadata."""
    listing = list_segments(str(broker_data(11, tmp_path)))
    assert {directory.partition for directory in listing.directories if directory.segments[0].kind != "bootstrap"} == {
        "__cluster_metadata-0"
    }


def test_a_single_file_is_enough_and_knows_its_owner() -> None:
    path = CLUSTER / "controller-2" / "__cluster_metadata-0" / "00000000000000000000.log"
    path = path if path.exists() else next((CLUSTER / "controller-2" / "__cluster_metadata-0").glob("*.log"))
    (segment,) = list_segments(str(path)).segments
    assert (segment.node_id, segment.partition) == (2, "__cluster_metadata-0")


def test_an_archive_may_name_its_directories_freely(tmp_path: Path) -> None:
    log_directory(tmp_path / "x", noops(0, 3))
    flat = tmp_path / "archive" / "cluster-7" / "node-1"
    flat.mkdir(parents=True)
    (tmp_path / "x" / "__cluster_metadata-0" / "00000000000000000000.log").rename(flat / "00000000000000000000.log")
    (tmp_path / "x" / "meta.properties").rename(flat / "meta.properties")
    (segment,) = list_segments(str(tmp_path)).segments
    assert (segment.node_id, segment.partition) == (1, "node-1")


def rows(*paths: str, system: object = None) -> list[dict[str, object]]:
    return [row for batch in read_records(paths, ReadOptions(), filesystem=system) for row in batch.to_pylist()]


def test_anything_that_pyarrow_opens_is_read_alike() -> None:
    directory = str(CLUSTER / "controller-4" / "__cluster_metadata-0")
    wanted = [row | {"file": None} for row in rows(directory)]
    by_uri = rows(f"file://{directory}")
    assert [row | {"file": None} for row in by_uri] == wanted
    assert all(str(row["file"]).startswith("file:///") for row in by_uri)
    below = fs.SubTreeFileSystem(str(CLUSTER), fs.LocalFileSystem())
    assert [row | {"file": None} for row in rows("controller-4/__cluster_metadata-0", system=below)] == wanted
    memory = fs._MockFileSystem()
    memory.create_dir("bucket/n4/__cluster_metadata-0")
    for source in [*Path(directory).iterdir(), CLUSTER / "controller-4" / "meta.properties"]:
        place = "bucket/n4/" if source.name == "meta.properties" else "bucket/n4/__cluster_metadata-0/"
        with memory.open_output_stream(place + source.name) as out:
            out.write(source.read_bytes())
    in_memory = [row | {"file": None} for row in rows("bucket", system=memory)]
    assert sorted(map(repr, in_memory)) == sorted(map(repr, wanted))


def test_a_scheme_that_nobody_opens_is_named() -> None:
    with pytest.raises(Exception, match="carrier-pigeon"):
        rows("carrier-pigeon://x/y")


def segment(name: int, size: int) -> Segment:
    return Segment(f"/n/{name:020d}.log", "log", size, base_offset=name)


def test_small_files_share_a_task_and_no_byte_is_lost_or_read_twice() -> None:
    files = [segment(index, 200_000) for index in range(3000)]
    tasks = pack(files)
    assert [part for task in tasks for part in task] == [FileRange.whole(each) for each in files]
    assert len(tasks) <= 3000 * (200_000 + OPENING_BYTES) // TASK_BYTES + 2
    assert all(sum(part.end - part.start for part in task) <= TASK_BYTES for task in tasks)


def test_a_little_data_is_still_cut_for_several_cores() -> None:
    tasks = pack([segment(index, SMALLEST_TASK) for index in range(10)])
    assert len(tasks) >= 8


def test_a_large_file_is_cut_at_batches_that_its_index_names(tmp_path: Path) -> None:
    parts, index, offset, position = [], [], 0, 0
    for _ in range(400):
        made = noops(offset, 10)
        index.append(struct.pack(">ii", offset + 9, position))
        parts.append(made)
        offset, position = offset + 10, position + len(made)
    path = log_directory(tmp_path, b"".join(parts))
    (whole,) = list_segments(str(path)).segments
    assert split(whole, part_bytes=5000, over=10_000) == [FileRange.whole(whole)], "without an index it stays whole"
    path.with_suffix(".index").write_bytes(b"".join(index) + bytes(80))
    ranges = split(whole, part_bytes=5000, over=10_000)
    assert len(ranges) > 4
    assert [part.start for part in ranges[1:]] == [part.end for part in ranges[:-1]]
    found = [
        row["offset"]
        for part in ranges
        for batch in read_range("records", part, ReadOptions())
        for row in batch.to_pylist()
    ]
    assert found == list(range(4000))
    path.with_suffix(".index").write_bytes(b"".join(struct.pack(">ii", 7, place * 1000 + 3) for place in range(1, 30)))
    assert split(whole, part_bytes=5000, over=10_000) == [FileRange.whole(whole)], "an index that lies is not believed"


def test_files_that_cannot_hold_what_was_asked_for_are_not_opened() -> None:
    listing = list_segments(str(CLUSTER / "controller-2"))
    names = [each.name for each in chosen(listing, ReadOptions(kinds=frozenset(["log"])))]
    later = [each.name for each in chosen(listing, ReadOptions(kinds=frozenset(["log"]), to_offset=1))]
    assert later == [name for name in names if int(name[:20]) < 1]
    snapshots = [
        each.snapshot_offset for each in chosen(listing, ReadOptions(kinds=frozenset(["snapshot"]), from_offset=900))
    ]
    assert snapshots
    assert all(end is not None and end >= 900 for end in snapshots)
