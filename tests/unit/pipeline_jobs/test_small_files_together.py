"""Small files are decoded together and share row groups, and still each is told apart: what is wrong with one is said
of that one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from metadata_pipeline.copies import CopyKey
from metadata_pipeline.jobs.ingest import lake_key
from metadata_pipeline.jobs.ingest_task import TaskResult, run_task
from metadata_pipeline.jobs.plan import Part, packs
from metadata_pipeline.sources.segments import Segment, list_segments
from support.disks.log_fleet import Disk, History, topic


def fleet(root: Path) -> list[Part]:
    """Nine disks: whole, torn, empty, corrupt, of another magic, longer when they were listed, and lagging ones."""
    log = History("fleet-a")
    log.lead(1)
    for number in range(20):
        log.append(topic(number))
    log.lead(2)
    log.idle(5)
    for node in range(1, 10):
        Disk(root / f"n{node}", "fleet-a", node).write(log, end=log.end - (node if node > 6 else 0))
    files = {node: root / f"n{node}/__cluster_metadata-0/{0:020d}.log" for node in range(1, 10)}
    size = sum(len(batch.data) for batch in log.batches[:8])
    for node, change in {2: _torn, 3: _empty, 4: _flipped(size + 30), 5: _flipped(size + 16)}.items():
        files[node].write_bytes(change(files[node].read_bytes()))
    parts = []
    for directory in list_segments(str(root)).directories:
        for segment in directory.segments:
            key = CopyKey("fleet-a", directory.node_id or 0, directory.directory_id or "")
            parts.append(Part(key, segment, 0, segment.size))
    data = files[6].read_bytes()
    files[6].write_bytes(data[: len(data) // 2])  # behind our back: the plan knows the longer one
    return sorted(parts, key=lambda part: part.copy)


def _torn(data: bytes) -> bytes:
    return data[:-7]


def _empty(data: bytes) -> bytes:
    return data[:0]


def _flipped(at: int) -> Any:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def rows(lake: Path, result: TaskResult, level: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for file in result.files:
        if file.table == level:
            found += pq.read_table(lake / file.path, partitioning=None).to_pylist()
    return found


def test_files_read_together_say_what_they_say_alone(tmp_path: Path) -> None:
    parts = fleet(tmp_path / "fleet")
    lake = tmp_path / "lake"
    key = lake_key(lake)
    together = run_task(lake, parts, key)
    alone = [run_task(lake, [part], key) for part in parts]
    for level in ("batches", "records"):
        expected = [row for result in alone for row in rows(lake, result, level)]
        assert rows(lake, together, level) == expected
        assert len({row["node_id"] for row in expected}) == 8
    assert list(together.troubles) == [it for result in alone for it in result.troubles]
    assert [(it.copy.node if it.copy else 0, it.fault) for it in together.troubles] == [
        (2, "torn"),
        (3, "empty"),
        (6, "shrunk"),
    ]
    ranges = {it.copy.node: it for it in together.files[0].ranges}
    assert ranges == {it.copy.node: it for result in alone if result.files for it in result.files[0].ranges}
    assert {node for node, it in ranges.items() if it.damaged} == {4, 5}


def test_files_read_together_share_a_row_group(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    together = run_task(lake, fleet(tmp_path / "fleet"), lake_key(lake))
    assert [pq.read_metadata(lake / file.path).num_row_groups for file in together.files] == [1, 1]


def planned(*sizes: int) -> list[int]:
    """How many tasks parts of these sizes become, by the size of each."""
    parts = [
        Part(CopyKey("fleet-a", node, ""), Segment(f"/n{node}/{0:020d}.log", "log", size), 0, size)
        for node, size in enumerate(sizes)
    ]
    return [sum(part.size for part in pack) for pack in packs(parts)]


def test_there_is_work_for_every_core_and_few_tasks_for_small_files() -> None:
    assert planned(*[16 << 20] * 8) == [16 << 20] * 8, "two cores share eight segments"
    assert planned(*[200_000] * 20) == [4_000_000], "a task costs more than a small file"
    assert all(size <= 64 << 20 for size in planned(*[200_000] * 3000))
    assert len(planned(*[200_000] * 3000)) < 12
    assert planned(200 << 20, 1 << 20) == [200 << 20, 1 << 20], "a file is never cut"
