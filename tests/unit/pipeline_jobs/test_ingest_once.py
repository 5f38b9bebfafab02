"""Ingest reads every byte of a fleet exactly once, whatever the files do between two runs. No Spark: the same tasks in
this process.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from metadata_pipeline.canon.from_lake import evidence
from metadata_pipeline.jobs.ingest import Ingested, ingest, lake_state
from metadata_pipeline.jobs.plan import PACK_BYTES
from metadata_pipeline.problems import PipelineError
from support.disks.log_fleet import Disk, History, disks, topic
from support.pipeline.canaries import canaries_below, canaries_in, canary_log
from support.pipeline.logs import log_directory


def history(topics: int = 10) -> History:
    made = History("fleet-a")
    made.lead(1)
    for number in range(topics):
        made.append(topic(number))
        made.idle(2)
    return made


def offsets(lake: Path, table: str = "records") -> Counter[tuple[int, int]]:
    """(node, offset) of every log row that counts, and how often."""
    found: Counter[tuple[int, int]] = Counter()
    name = "offset" if table == "records" else "base_offset"
    for live in lake_state(lake).of(table):
        dead = {(key.node, key.directory): offset for key, offset in live.dead_from.items()}
        for row in pq.read_table(lake / live.file.path, partitioning=None).to_pylist():
            cut = dead.get((row["node_id"], row["directory_id"]))
            if row["kind"] == "log" and (cut is None or row[name] < cut):
                found[row["node_id"], row[name]] += 1
    return found


def exactly(node_ends: dict[int, int]) -> Counter[tuple[int, int]]:
    return Counter({(node, offset): 1 for node, end in node_ends.items() for offset in range(end)})


def run(root: Path, lake: Path, pack_bytes: int = PACK_BYTES) -> Ingested:
    return ingest(str(root), lake, pack_bytes=pack_bytes)


def test_a_growing_log_is_read_on_where_it_ended(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    fleet = disks(root, "fleet-a", (1, 2))
    fleet[1].write(log, end=20)
    fleet[2].write(log, end=8)
    assert run(root, lake).rows["records"] == 28
    assert run(root, lake).commit is None
    for disk in fleet.values():
        disk.write(log, segments=(15,))
    run(root, lake)
    assert offsets(lake) == exactly({1: log.end, 2: log.end})


def test_a_torn_tail_is_named_and_read_when_it_is_whole(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    disk = disks(root, "fleet-a", (1,))[1]
    disk.write(log)
    whole = disk.segment(0).read_bytes()
    last = len(log.batches[-1].data)
    disk.segment(0).write_bytes(whole[:-5])
    done = run(root, lake)
    assert [(it.fault, it.position, it.size) for it in done.troubles] == [("torn", len(whole) - last, last - 5)]
    assert offsets(lake) == exactly({1: log.end - 1})
    disk.segment(0).write_bytes(whole)
    assert run(root, lake).troubles == ()
    assert offsets(lake) == exactly({1: log.end})


def test_a_truncated_suffix_stops_counting_and_its_replacement_is_read_once(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    fleet = disks(root, "fleet-a", (1, 2))
    other = log.fork(20)
    other.lead(2)
    other.append(topic(77))
    for disk in fleet.values():
        disk.write(log)
    run(root, lake)
    fleet[1].write(other)
    done = run(root, lake)
    assert [(it.copy.node, it.offset) for it in done.truncations] == [(1, 20)]
    assert offsets(lake) == exactly({1: other.end, 2: log.end})
    assert run(root, lake).commit is None
    copies = {copy.key.node: copy for copy in evidence(lake_state(lake), "fleet-a").copies}
    assert [(run.start, run.end, run.epoch) for piece in copies[1].pieces for run in piece.runs] == [
        (0, 20, 1),
        (20, 22, 2),
    ]


def test_a_suffix_that_is_only_cut_off_is_forgotten_and_then_read_on(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    disk = disks(root, "fleet-a", (1,))[1]
    disk.write(log)
    run(root, lake)
    disk.write(log, end=12)
    run(root, lake)
    assert offsets(lake) == exactly({1: 12})
    disk.write(log)
    run(root, lake)
    assert offsets(lake) == exactly({1: log.end})


def test_segments_that_vanish_at_the_end_are_a_truncation_and_at_the_beginning_retention(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    disk = disks(root, "fleet-a", (1,))[1]
    disk.write(log, segments=(8, 20))
    run(root, lake)
    disk.segment(0).unlink()
    assert run(root, lake).commit is None
    disk.segment(20).unlink()
    assert [it.offset for it in run(root, lake).truncations] == [20]
    assert offsets(lake) == exactly({1: 20})


def test_two_clusters_in_one_path_and_a_new_disk_of_a_node_stay_apart(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    Disk(root / "one", "fleet-a", 1).write(log)
    Disk(root / "two", "fleet-b", 1).write(log, end=5)
    Disk(root / "one-new", "fleet-a", 1, number=2).write(log, end=9)
    run(root, lake)
    assert {(key.cluster, key.node): 0 for key in lake_state(lake).copies} == {("fleet-a", 1): 0, ("fleet-b", 1): 0}
    assert len(lake_state(lake).copies) == 3
    assert all("cluster=fleet-" in path for path in lake_state(lake).files)


def test_what_cannot_be_read_is_named_and_the_rest_of_the_fleet_is_read(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    fleet = disks(root, "fleet-a")
    for disk in fleet.values():
        disk.write(log)
    (fleet[2].home / "meta.properties").unlink()
    fleet[3].segment(0).write_bytes(b"")
    os.mkdir(root / "empty")
    done = run(root, lake)
    assert offsets(lake) == exactly({1: log.end})
    assert [it.fault for it in done.troubles] == ["identity"], "an empty segment is what a roll leaves"


def test_a_directory_that_is_no_log_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    with pytest.raises(PipelineError, match="__cluster_metadata-0"):
        run(tmp_path / "pictures", tmp_path / "lake")
    assert not (tmp_path / "lake").exists(), "where nothing was read there is no lake"


def test_a_place_that_is_no_directory_cannot_be_a_lake(tmp_path: Path) -> None:
    disks(tmp_path / "fleet", "fleet-a", (1,))[1].write(history())
    (tmp_path / "lake").write_text("a file")
    with pytest.raises(PipelineError, match="lake cannot be a lake: "):
        run(tmp_path / "fleet", tmp_path / "lake")


def test_the_same_file_of_the_same_disk_is_read_once(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    disk = disks(root, "fleet-a", (1,))[1]
    disk.write(log, end=14)
    shutil.copytree(disk.home, root / "archive")
    disk.write(log)
    done = run(root, lake)
    assert offsets(lake) == exactly({1: log.end})
    assert [it.fault for it in done.troubles] == ["twice"]


def test_many_small_files_cost_few_tasks(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history(30)
    disk = disks(root, "fleet-a", (1,))[1]
    disk.write(log, segments=tuple(range(3, log.end - 1, 3)))
    run(root, lake)
    assert len(list(disk.log_dir.glob("*.log"))) > 25
    assert len(lake_state(lake).of("records")) == 1
    shutil.rmtree(lake)
    run(root, lake, pack_bytes=500)
    assert len(lake_state(lake).of("records")) > 10
    assert offsets(lake) == exactly({1: log.end})


def test_a_damaged_batch_is_a_row_and_what_follows_is_read(tmp_path: Path) -> None:
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    disk = disks(root, "fleet-a", (1,))[1]
    disk.write(log)
    data = bytearray(disk.segment(0).read_bytes())
    hit = sum(len(it.data) for it in log.batches[:5]) + 70
    data[hit] ^= 1
    disk.segment(0).write_bytes(bytes(data))
    run(root, lake)
    assert len(offsets(lake, "batches")) == len(log.batches)
    copy = evidence(lake_state(lake), "fleet-a").copies[0]
    lost = log.batches[5]
    assert [(run.start, run.end) for piece in copy.pieces for run in piece.runs] == [
        (0, lost.base),
        (lost.end, log.end),
    ]
    assert len(copy.pieces) == 1


def test_a_log_full_of_faults_and_secrets_is_read_beside_a_healthy_one_and_tells_none(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Records that are no records, in sound batches: also control records that should name voters."""
    root, lake, log = tmp_path / "fleet", tmp_path / "lake", history()
    disks(root, "fleet-a", (1,))[1].write(log)
    log_directory(root / "broken", canary_log(), cluster="broken", node=9)
    done = run(root, lake)
    assert sum(node == 1 for node, _ in offsets(lake)) == log.end
    assert [it.fault for it in done.troubles] == ["torn"]
    assert canaries_below(lake) == []
    assert canaries_in((repr(done) + "".join(capfd.readouterr())).encode()) == []
