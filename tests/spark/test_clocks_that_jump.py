"""Leaders whose clocks are an hour behind, a year ahead, at 1970: a time is one offset of each cluster, so no answer is
half of one moment and half of another. The pipeline's own clock jumps as well: nothing is committed twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import pytest

from metadata_pipeline import cli
from metadata_pipeline.audit.job import audit
from metadata_pipeline.diff import Point, diff
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.lake.commits import read_commits
from metadata_pipeline.lake.reading import read_table
from metadata_pipeline.lake.vacuum import vacuum
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.report.job import report
from metadata_pipeline.tables.as_of import as_of, open_views
from metadata_pipeline.tables.build import build_tables
from metadata_pipeline.tables.moments import BEFORE_ALL, LATEST, Moment, moments
from support.disks.log_fleet import START_MS, History, disks
from support.pipeline.histories import RandomHistory, log_of
from support.pipeline.kept_session import Kept

pytestmark = pytest.mark.timeout(1200)

HOUR, YEAR = 3_600_000, 365 * 24 * 3_600_000
CLOCKS = (0, 0, -HOUR, YEAR, -START_MS, 0)
"""How wrong the clock of one leader after another is."""
TURN = 12
"""Batches of each."""
SILENT, SILENCE_MS = 3 * TURN + 4, 8_000
"""Before this batch, of a leader whose clock is ahead, nobody was in charge for so long."""
VOTERS = (1, 2, 3)
TABLES = ("topics", "partitions", "brokers", "configs")


def clock(batch: int) -> int:
    """What the leader of this batch reads: the last leader stays for good."""
    return START_MS + 500 * batch + SILENCE_MS * (batch >= SILENT) + CLOCKS[min(batch // TURN, len(CLOCKS) - 1)]


class Jumping:
    """Two clusters of one such history in a lake, one of them without its beginning, which a snapshot replaced."""

    def __init__(self, home: Path, seed: int, spark: Any) -> None:
        self.lake, self.spark = home / "lake", spark
        self.logs: dict[str, History] = {}
        self.begin = {"whole": 0, "trimmed": 0}
        for cluster in self.begin:
            history = RandomHistory(seed)
            history.run(120)
            log, images = log_of(history, cluster, VOTERS)
            self.logs[cluster] = log
            for disk in disks(home / "fleet", cluster, VOTERS).values():
                if cluster == "trimmed":
                    later = (it for it in log.batches[2 * TURN + 2 :] if images[it.end - 1].transaction is None)
                    self.begin[cluster] = next(later).end
                    disk.snapshot(log.fork(self.begin[cluster]), images[self.begin[cluster] - 1], self.begin[cluster])
                disk.write(log, start=self.begin[cluster])
        ingest(str(home / "fleet"), self.lake)
        build_tables(self.lake, spark)
        self.state = lake_state(self.lake)
        self.rows = {
            table: [row.asDict() for row in read_table(spark, self.lake, self.state, table).collect()]
            for table in TABLES
        }

    def moment(self, cluster: str, ms: int) -> Moment:
        """By the bytes alone: the log goes on until a record names a later time."""
        log, begin = self.logs[cluster], self.begin[cluster]
        stamps = [(it.end - 1, clock(n)) for n, it in enumerate(log.batches) if it.base >= begin]
        if begin:  # the time that `History.snapshot` gives it
            stamps.insert(0, (begin - 1, clock(len(log.batches) - len(stamps))))
        bases = {it.end - 1: it.base for it in log.batches if it.base >= begin}
        later = next((bases.get(end, end) for end, at in stamps if at > ms), None)
        offset = LATEST if later is None else later - 1
        return Moment(offset, max((end for end, at in stamps if at <= ms), default=offset))

    def committed(self, cluster: str) -> list[tuple[int, int]]:
        """Offsets in order, without those of transactions that were given up, and what their leaders' clocks read."""
        open_views(self.spark, self.lake)
        rows = self.spark.sql(f"SELECT offset FROM committed WHERE cluster_id = '{cluster}' ORDER BY offset").collect()
        clocks = {at: clock(n) for n, it in enumerate(self.logs[cluster].batches) for at in range(it.base, it.end)}
        return [(row["offset"], clocks[row["offset"]]) for row in rows]

    def valid(self, table: str, cluster: str, offset: int) -> list[str]:
        return sorted(
            repr(row)
            for row in self.rows[table]
            if row["cluster_id"] == cluster and row["valid_from"] <= offset
            and (row["valid_to"] is None or row["valid_to"] > offset)
        )  # fmt: skip

    def by_times(self, table: str, ms: int) -> list[str]:
        at = time_of(ms).replace(tzinfo=None)
        return sorted(
            repr(row)
            for row in self.rows[table]
            if row["cluster_id"] == "whole" and row["valid_from_time"] <= at
            and (row["valid_to_time"] is None or row["valid_to_time"] > at)
        )  # fmt: skip


@pytest.fixture(scope="module")
def jumping(spark: Any, tmp_path_factory: pytest.TempPathFactory, run_seed: int) -> Iterator[Jumping]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(History, "now", property(lambda self: clock(len(self.batches))))
        made = Jumping(tmp_path_factory.mktemp("jumping"), run_seed, spark)
        assert len(made.logs["whole"].batches) > TURN * (len(CLOCKS) - 1) + 4, "every clock had its turn"
        yield made


def time_of(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def test_a_time_is_the_offset_before_the_first_later_record(jumping: Jumping, run_seed: int) -> None:
    asked = sorted({clock(n) + more for n in range(0, 100, 3) for more in (-1, 0, 250)})
    asked.append(START_MS + 2 * YEAR)
    found = moments(jumping.spark, jumping.lake, jumping.state, [time_of(ms) for ms in asked])
    for ms in asked:
        for cluster in jumping.logs:
            told = found[time_of(ms)][cluster]
            assert told == jumping.moment(cluster, ms), f"seed {run_seed}: {cluster} at {time_of(ms)}"
    assert any(it["whole"].is_told_twice for it in found.values())
    last = found[time_of(asked[-1])]["whole"]
    assert last.offset == LATEST and not last.is_told_twice, "no record is later"


def test_a_state_at_a_time_is_one_state_of_the_log(jumping: Jumping, run_seed: int) -> None:
    ms = clock(TURN + 6) + 250
    for table in ("topics", "partitions"):
        found = [repr(row.asDict()) for row in as_of(jumping.spark, jumping.lake, table, time=time_of(ms)).collect()]
        expected = [
            row for cluster in jumping.logs for row in jumping.valid(table, cluster, jumping.moment(cluster, ms).offset)
        ]
        assert sorted(found) == sorted(expected), f"seed {run_seed}"
    assert any(
        jumping.by_times(table, clock(n)) != jumping.valid(table, "whole", jumping.moment("whole", clock(n)).offset)
        for table in TABLES for n in range(6 * TURN)
    ), f"seed {run_seed}: rows' own times give states that never were"  # fmt: skip
    point = Point("whole", offset=jumping.moment("whole", ms).offset)
    assert diff(jumping.lake, jumping.spark, Point("whole", time=time_of(ms)), point) == []
    assert diff(jumping.lake, jumping.spark, Point("whole", time=time_of(-1)), Point("whole", BEFORE_ALL)) == []


def test_questions_are_asked_at_one_offset_and_say_where_a_time_is_told_twice(
    jumping: Jumping, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, run_seed: int
) -> None:
    monkeypatch.setattr("metadata_pipeline.session.open_session", lambda *_, **__: Kept(jumping.spark))

    def rows(*words: str) -> tuple[list[dict[str, Any]], str]:
        assert cli.main(["ask", *words, "--format", "json", "--output", str(jumping.lake)]) == 0
        out, err = capsys.readouterr()
        return json.loads(out), err

    ms = clock(TURN + 6) + 250
    time, offset = time_of(ms).isoformat(), jumping.moment("whole", ms).offset
    at_time, told = rows("at", "--cluster", "whole", "--from", time)
    at_offset, silent = rows("at", "--cluster", "whole", "--from", str(offset))
    assert at_time == at_offset
    assert sum(row["partitions"] for row in at_time) == len(jumping.valid("partitions", "whole", offset))
    assert f"whole: give an offset to choose: {time} is offset {offset}" in told
    assert "give an offset" not in silent
    deleted, _ = rows("deleted-topics", "--cluster", "whole", "--since", time)
    assert {row["offset"] for row in deleted} == {
        row["valid_to"] for row in jumping.rows["topics"]
        if row["cluster_id"] == "whole" and row["valid_to"] is not None and row["valid_to"] > offset
    }, f"seed {run_seed}: all that came behind that offset, whatever its clock said"  # fmt: skip
    changed, _ = rows("changed", "--from", time, "--to", time)
    assert changed == []
    assert cli.main(["as-of", "topics", f"whole@{time}", "--output", str(jumping.lake)]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == len(jumping.valid("topics", "whole", offset))
    assert "give an offset" in err


def test_a_clock_that_is_wrong_is_no_silence_and_a_silence_is_told(
    jumping: Jumping, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metadata_pipeline.session.open_session", lambda *_, **__: Kept(jumping.spark))
    silent, lasted = jumping.logs["whole"].batches[SILENT].base, SILENCE_MS + 500

    def asked(*words: str) -> list[dict[str, Any]]:
        command = ["ask", "silences", "--cluster", "whole", "--output", str(jumping.lake), "--format", "json", *words]
        assert cli.main(command) == 0
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        return found

    (told,) = asked()
    assert (told["offset"], told["seconds"]) == (silent, lasted / 1000)
    assert told["since"] == time_of(clock(SILENT - 1)).isoformat(timespec="milliseconds").removesuffix("+00:00")
    assert asked("--since", time_of(clock(SILENT - 1) - 250).isoformat()) == [told]
    assert asked("--since", time_of(clock(SILENT) + 250).isoformat()) == []
    shown = json.loads(report(jumping.lake, jumping.spark).numbers.read_text())["clusters"]["whole"]
    expected = {"offset": silent, "begin": clock(SILENT - 1), "gap": lasted}
    assert (shown["silences"], shown["silences_in_all"]) == ([expected], 1)


def test_an_audit_notes_where_a_clock_went_back_and_nothing_else(jumping: Jumping, run_seed: int) -> None:
    findings = audit(jumping.lake, jumping.spark).findings
    for cluster in jumping.logs:
        told = {it.offset for it in findings if it.cluster == cluster and it.kind == "clock jump"}
        behind = {later for (_, before), (later, now) in pairwise(jumping.committed(cluster)) if now < before}
        assert told == behind, f"seed {run_seed}: {cluster}"
        assert behind
    assert {it.severity for it in findings} == {"note"}


def test_the_pipelines_own_clock_may_jump_between_and_within_jobs(
    spark: Any, tmp_path: Path, run_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = RandomHistory(run_seed)
    history.run(30)
    log, _ = log_of(history, "host", VOTERS)
    lake = tmp_path / "lake"
    times = cycle((1.8e9, 0.0, 1.8e9 + 4e7, 1.8e9 - 3600))
    for number in (1, 2):
        for disk in disks(tmp_path / "fleet", "host", VOTERS).values():
            disk.write(log, end=log.batches[len(log.batches) * number // 2 - 1].end)
        monkeypatch.setattr("time.time", lambda: next(times))
        ingest(str(tmp_path / "fleet"), lake)
        assert ingest(str(tmp_path / "fleet"), lake).commit is None, "nothing is read twice"
        build_tables(lake, spark)
        assert [it for it in audit(lake, spark).findings if it.severity != "note"] == []
        report(lake, spark)
        monkeypatch.undo()
    assert [commit.job for commit in read_commits(lake)] == ["ingest", "tables", "audit"] * 2
    version = lake_state(lake).version
    for job in (lambda: build_tables(lake, spark, anew=True), lambda: audit(lake, spark, anew=True)):
        with monkeypatch.context() as patch:
            patch.setattr("time.time", lambda: float(len(vacuum(lake, now=4e9).removed)))
            with pytest.raises(PipelineError, match="before it was committed"):
                job()
    assert lake_state(lake).version == version
    open_views(spark, lake)
    (row,) = spark.sql("SELECT count(*) AS rows, count(DISTINCT offset) AS offsets, max(offset) AS last FROM committed"
                       ).collect()  # fmt: skip
    dropped = log.end - row["rows"]
    assert row["rows"] == row["offsets"]
    assert row["last"] == log.end - 1
    assert dropped < log.end // 2, "those of aborted transactions"
