"""The log of commits: exclusive, whole or not there, and what its commits say together."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from metadata_pipeline.copies import Claim, CopyKey, Run
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.lake.commits import CommitConflict, commit_path, read_commits, require_files, write_commit
from metadata_pipeline.lake.entries import (
    Commit,
    CopyFacts,
    LakeFile,
    SourceRange,
    Trouble,
    Truncation,
    from_json,
    to_json,
)
from metadata_pipeline.lake.files import ParquetFile, file_path, partition_name
from metadata_pipeline.lake.state import replay
from metadata_pipeline.lake.vacuum import vacuum
from metadata_pipeline.problems import PipelineError
from support.disks.log_fleet import History, disks

COPY = CopyKey("c", 1, "disk")
OTHER = CopyKey("c", 2, "disk-2")


def one_range(start: int, end: int, copy: CopyKey = COPY, file: str = "0.log") -> SourceRange:
    return SourceRange(copy, file, start * 10, end * 10, start, end, (end * 10 - 10, end - 1, 1, 77))


def added(path: str, *ranges: SourceRange) -> LakeFile:
    return LakeFile(path, "records", sum(it.end_offset - it.start_offset for it in ranges), 100, ranges)


def test_a_commit_reads_back_as_it_was_written() -> None:
    commit = Commit(
        3, "ingest", 17, (added("a", one_range(0, 5)),), ("b",),
        (Truncation(COPY, 4, one_range(0, 4)), Truncation(OTHER, 1)),
        (CopyFacts(COPY, "/x", 4, (1, 2)), CopyFacts(OTHER, "/y", None)), (Trouble("p", "torn", "d", 3, 4, COPY),),
        {"rows": 5},
    )  # fmt: skip
    assert from_json(to_json(commit)) == commit


def test_a_commit_of_an_older_release_is_read_by_a_newer_one() -> None:
    """It did not tell what all batches claim, only which runs it believed."""
    claimed = replace(one_range(0, 5), runs=(Run(0, 5, 1),), claims=(Claim(0, 1, 1, 1, leader=True), Claim(1, 5, 1, 4)))
    commit = Commit(0, "ingest", 17, (added("a", claimed),))
    assert from_json(to_json(commit)) == commit
    told = json.loads(to_json(commit))
    del told["add"][0]["ranges"][0]["claims"]
    assert from_json(json.dumps(told)).add == (added("a", replace(claimed, claims=())),)


def test_two_writers_cannot_both_make_the_same_commit(tmp_path: Path) -> None:
    write_commit(tmp_path, Commit(0, "ingest", 1))
    with pytest.raises(CommitConflict):
        write_commit(tmp_path, Commit(0, "ingest", 2))
    assert [it.time_ms for it in read_commits(tmp_path)] == [1]
    assert [entry for entry in os.listdir(tmp_path / "_commits") if entry.endswith(".tmp")] == []


def test_a_missing_commit_is_refused_and_a_temporary_one_is_not_seen(tmp_path: Path) -> None:
    for number in range(3):
        write_commit(tmp_path, Commit(number, "ingest", number))
    (tmp_path / "_commits" / ".00000000000000000003.abc.tmp").write_text("{")
    assert [it.number for it in read_commits(tmp_path)] == [0, 1, 2]
    commit_path(tmp_path, 1).unlink()
    with pytest.raises(PipelineError, match="commit 1 is missing"):
        list(read_commits(tmp_path))


def test_a_commit_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    write_commit(tmp_path, Commit(0, "ingest", 1))
    told = json.loads(commit_path(tmp_path, 0).read_text())
    commit_path(tmp_path, 0).write_text(json.dumps(told | {"version": 99}))
    with pytest.raises(PipelineError, match="newer kraft-pipeline"):
        list(read_commits(tmp_path))


def test_reading_goes_on_where_the_last_commit_ended() -> None:
    state = replay(
        [Commit(0, "ingest", 1, (added("a", one_range(0, 5)),)), Commit(1, "ingest", 2, (added("b", one_range(5, 9)),))]
    )
    assert state.read[COPY, "0.log"].end_position == 90
    assert sorted(state.files) == ["a", "b"]


def test_a_truncation_kills_the_rows_of_earlier_commits_and_of_that_copy_only() -> None:
    cut = Truncation(COPY, 4, one_range(0, 4))
    state = replay(
        [
            Commit(
                0, "ingest", 1, (added("a", one_range(0, 6), one_range(0, 6, OTHER)), added("low", one_range(0, 3)))
            ),
            Commit(1, "ingest", 2, (added("b", one_range(4, 8)),), (), (cut,)),
        ]
    )
    assert state.files["a"].dead_from == {COPY: 4}
    assert state.files["b"].dead_from == {}
    assert state.files["low"].dead_from == {}
    assert state.read[COPY, "0.log"].end_position == 80
    assert state.truncations == ((1, cut),)


def test_a_file_that_only_shrank_is_read_on_from_the_cut() -> None:
    cut = Truncation(COPY, 4, one_range(0, 4))
    state = replay([Commit(0, "ingest", 1, (added("a", one_range(0, 6)),)), Commit(1, "ingest", 2, (), (), (cut,))])
    assert state.read[COPY, "0.log"] == one_range(0, 4)


def test_a_parquet_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("n", pa.int64())])
    path = file_path("records", "c", "made", "from", 1)
    with pytest.raises(OSError, match="disk is full"), ParquetFile(tmp_path, path, schema) as file:
        file.write(pa.record_batch([pa.array([1])], schema=schema))
        raise OSError("disk is full")
    assert [entry for _, _, names in os.walk(tmp_path) for entry in names] == []
    with ParquetFile(tmp_path, path, schema) as file:
        file.write(pa.record_batch([pa.array([1])], schema=schema))
        file.commit()
    assert (tmp_path / path).exists()


def test_a_cluster_id_cannot_leave_the_lake() -> None:
    assert partition_name("b7XFcyEkSgSBsv7c2XVvyg") == "b7XFcyEkSgSBsv7c2XVvyg"
    for evil in ("../../etc", "a/b", "", ".hidden", "x" * 3 + "\0"):
        assert "/" not in partition_name(evil)
        assert not partition_name(evil).startswith(".")


def test_vacuum_removes_old_orphans_and_nothing_that_counts(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("n", pa.int64())])
    for name in ("live", "replaced", "orphan", "young"):
        with ParquetFile(tmp_path, f"data/records/cluster=c/{name}.parquet", schema) as file:
            file.write(pa.record_batch([pa.array([1])], schema=schema))
            file.commit()
    paths = {name: f"data/records/cluster=c/{name}.parquet" for name in ("live", "replaced", "orphan", "young")}
    write_commit(tmp_path, Commit(0, "ingest", 1, (added(paths["live"]), added(paths["replaced"]))))
    write_commit(tmp_path, Commit(1, "tables", 2, (), (paths["replaced"],)))
    now = (tmp_path / paths["young"]).stat().st_mtime
    for name in ("live", "replaced", "orphan"):
        os.utime(tmp_path / paths[name], (now - 100, now - 100))
    planned = vacuum(tmp_path, 50, dry_run=True, now=now)
    assert set(planned.removed) == {paths["replaced"], paths["orphan"]}
    assert (tmp_path / paths["orphan"]).exists()
    done = vacuum(tmp_path, 50, now=now)
    assert done == planned
    assert done.kept_young == 1
    assert sorted(path.name for path in tmp_path.rglob("*.parquet")) == ["live.parquet", "young.parquet"]


def test_a_vacuum_whose_clock_jumped_ahead_makes_a_job_refuse_and_loses_nothing(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("n", pa.int64())])
    made = []
    for name in ("committed", "running"):
        with ParquetFile(tmp_path, f"data/records/cluster=c/{name}.parquet", schema) as file:
            file.write(pa.record_batch([pa.array([1])], schema=schema))
            file.commit()
        made.append(added(f"data/records/cluster=c/{name}.parquet"))
    write_commit(tmp_path, Commit(0, "ingest", 1, (made[0],)))
    running = Commit(1, "ingest", 2, (made[1],))
    require_files(tmp_path, running)
    year = 365 * 24 * 3600
    assert vacuum(tmp_path, now=(tmp_path / made[1].path).stat().st_mtime - year).removed == (), "behind: all is young"
    done = vacuum(tmp_path, now=(tmp_path / made[1].path).stat().st_mtime + year)
    assert done.removed == (made[1].path,)
    with pytest.raises(PipelineError, match=r"gone from .* before it was committed"):
        require_files(tmp_path, running)
    assert (tmp_path / made[0].path).exists()
    assert [commit.number for commit in read_commits(tmp_path)] == [0]


def test_an_ingest_does_not_commit_what_a_clock_that_jumped_made_a_vacuum_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, lake = History("c"), tmp_path / "lake"
    log.lead(1)
    for disk in disks(tmp_path / "fleet", "c").values():
        disk.write(log)
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: float(len(vacuum(lake, now=4e9).removed)))
        with pytest.raises(PipelineError, match="before it was committed"):
            ingest(str(tmp_path / "fleet"), lake)
    assert lake_state(lake).version == -1
    assert ingest(str(tmp_path / "fleet"), lake).rows["records"] == 3 * log.end
