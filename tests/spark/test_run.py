"""`kraft-pipeline run`: the four jobs in one session say and make what they do one by one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from metadata_pipeline import cli
from metadata_pipeline.archive.memory import Memory, save
from metadata_pipeline.jobs.ingest import KEY, lake_state
from metadata_pipeline.lake.commits import read_commits
from metadata_pipeline.lake.reading import read_table
from metadata_pipeline.tables.build import build_tables
from metadata_pipeline.tables.queries import TABLES
from metadata_pipeline.wire.leader import Mark
from support.disks.log_fleet import Disk, History
from support.golden import GOLDEN
from support.pipeline.canaries import canaries_below, canaries_in, secret_records
from support.pipeline.everything import GOLDEN_CLUSTER, Everything
from support.pipeline.kept_session import Kept

pytestmark = pytest.mark.timeout(3600)


def rows(spark: Any, lake: Path) -> dict[str, list[str]]:
    state = lake_state(lake)
    return {
        table: sorted(repr(row.asDict()) for row in read_table(spark, lake, state, table).collect()) for table in TABLES
    }


def test_a_run_makes_what_the_four_jobs_make_one_by_one(
    everything: Everything, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[bool] = []

    def opened(*_: Any, small: bool, brief: bool) -> Any:
        asked.extend((small, brief))
        return Kept(everything.spark)

    monkeypatch.setattr("metadata_pipeline.session.open_session", opened)
    lake = tmp_path / "lake"
    lake.mkdir()
    shutil.copy(everything.lake / KEY, lake)  # fingerprints of secrets are those of a lake's own key
    line = tmp_path / "line"
    assert cli.main(["run", str(GOLDEN / "cluster"), "--output", str(lake), "--summary", str(line)]) == 0
    said = capsys.readouterr()
    assert asked == [True, True], "one session, made for few records"
    assert f"{GOLDEN_CLUSTER}: committed up to offset 1266" in said.out
    assert "2 findings, 0 of them errors" in said.err
    assert [part.split()[0] for part in said.err.splitlines()[-1].removeprefix("seconds: ").split(", ")] == [
        "ingest", "session", "tables", "audit", "report",
    ]  # fmt: skip
    expected = {name: sorted(map(repr, found)) for name, found in everything.rows[GOLDEN_CLUSTER].items()}
    assert rows(everything.spark, lake) == expected
    summed = json.loads(line.read_text())
    assert (summed["ends"], summed["counts"]) == ({GOLDEN_CLUSTER: 1266}, {"error": 0, "warning": 0, "note": 2})
    assert (summed["names"], summed["worst"]) == ([], []), "notes come and go"
    told = json.loads((lake / "report.json").read_text())
    assert told["findings_in_all"] == 2
    assert told["clusters"][GOLDEN_CLUSTER]["span"]["last"] == 1265
    assert [commit.job for commit in read_commits(lake)] == ["ingest", "tables", "audit"]

    monkeypatch.setattr("metadata_pipeline.tables.views.FEW_ROWS", 0)
    monkeypatch.setattr("metadata_pipeline.tables.views.KEPT_ROWS", 0)
    build_tables(lake, everything.spark)
    assert rows(everything.spark, lake) == expected, "a large lake is written by Spark, and nothing of it is held"


def test_a_run_over_an_archive_tells_what_is_wrong_and_no_secret_of_the_log(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the operator's CronJob runs it: finding something is no failure."""
    monkeypatch.setattr("metadata_pipeline.session.open_session", lambda *_, **__: Kept(spark))
    home, lake, line = tmp_path / "archive", tmp_path / "lake", tmp_path / "termination-log"
    log = History("fleet-a")
    log.lead(1)
    log.append(*secret_records())
    log.idle(3)
    disk = Disk(home, "fleet-a", 9)
    disk.write(log)
    identity = home / "meta.properties"
    identity.write_text(identity.read_text().replace("node.id=9", "node.id=-1"))
    save(home, Memory("fleet-a", "1.0", Mark(log.end, log.epoch), 1))
    command = ["run", str(home), "--output", str(lake), "--summary", str(line)]
    segment = disk.segment(0)
    bytes_ = bytearray(segment.read_bytes())
    bytes_[-3] ^= 1
    segment.write_bytes(bytes_)
    assert cli.main(command) == 0, "what an audit finds is no failure of the run"
    told = json.loads(line.read_text())
    assert told["ends"] == {"fleet-a": log.end}
    assert told["counts"]["error"] >= 1
    assert told["worst"][0]["severity"] == "error"
    assert [each["name"] for each in told["worst"]] == told["names"]
    said = capsys.readouterr()
    assert canaries_in(line.read_bytes() + (said.out + said.err).encode()) == []
    assert canaries_below(lake) == []
