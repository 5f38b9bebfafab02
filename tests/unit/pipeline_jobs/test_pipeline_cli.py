"""What the command line answers before any Spark is started: its errors say what to do next."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from metadata_pipeline.cli import main
from metadata_pipeline.points import parse_point
from metadata_pipeline.problems import PipelineError, reason
from metadata_pipeline.progress import bar
from metadata_pipeline.rendering import render_rows
from metadata_pipeline.session import find_java, settings
from support.disks.log_fleet import History, disks


def test_a_fleet_is_ingested_in_this_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = History("fleet-a")
    log.lead(1)
    log.idle(5)
    disks(tmp_path / "fleet", "fleet-a", (1,))[1].write(log)
    command = ["ingest", str(tmp_path / "fleet"), "--output", str(tmp_path / "lake"), "--master", "none"]
    assert main(command) == 0
    assert "commit 0" in capsys.readouterr().out
    assert main(command) == 0
    assert "nothing new" in capsys.readouterr().out
    assert main(["vacuum", "--output", str(tmp_path / "lake")]) == 0
    assert "removed 0 files" in capsys.readouterr().out


def test_few_new_bytes_are_ingested_without_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Starting Spark costs more than reading them; who names a master gets it, and so does who has much to read."""
    opened: list[str | None] = []

    def refused(master: str | None, *_: object, **__: object) -> None:
        opened.append(master)
        raise PipelineError("a session", "none here")

    monkeypatch.setattr("metadata_pipeline.session.open_session", refused)
    log = History("fleet-a")
    log.lead(1)
    log.idle(5)
    disks(tmp_path / "fleet", "fleet-a", (1,))[1].write(log)
    command = ["ingest", str(tmp_path / "fleet"), "--output", str(tmp_path / "lake")]
    assert main([*command, "--master", "local[2]"]) == 2
    monkeypatch.setattr("metadata_pipeline.jobs.ingest.ALONE_BYTES", 10)
    assert main(command) == 2
    assert opened == ["local[2]", None]
    monkeypatch.undo()
    monkeypatch.setattr("metadata_pipeline.session.open_session", refused)
    assert main(command) == 0
    assert "commit 0" in capsys.readouterr().out
    assert len(opened) == 2


@pytest.mark.parametrize("job", ["tables", "audit", "report", "sql x", "diff a b", "as-of topics a"])
def test_a_lake_with_nothing_in_it_starts_no_session(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr("metadata_pipeline.session.open_session")
    assert main([*job.split(), "--output", str(tmp_path / "lake")]) == 2
    error = capsys.readouterr().err
    assert "holds nothing yet" in error
    assert "next: kraft-pipeline ingest" in error


def test_settings_of_a_small_lake_give_way_to_the_callers() -> None:
    small = settings("local[2]", {"spark.sql.shuffle.partitions": "7"}, small=True)
    assert small["spark.sql.shuffle.partitions"] == "7"
    assert small["spark.sql.codegen.wholeStage"] == "false"
    assert "-XX:TieredStopAtLevel=1" in small["spark.driver.extraJavaOptions"]
    assert "log4j2" in small["spark.driver.extraJavaOptions"]
    assert "spark.sql.codegen.wholeStage" not in settings("local[2]", {})


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["ingest", "/nowhere/at/all", "--master", "none"], "__cluster_metadata-0"),
        (["vacuum", "--output", "/nowhere/at/all"], "--output"),
        (["diff", "c@soon", "c"], "ISO time"),
        (["tables", "--conf", "nonsense"], "NAME=VALUE"),
    ],
)
def test_errors_say_what_to_do_next(
    command: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--output" not in command:
        command = [*command, "--output", str(tmp_path / "lake")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "next:" in error
    assert told in error


@pytest.mark.parametrize(
    "job", ["ingest x", "tables", "audit", "report", "diff c d", "as-of topics c", "sql SELECT", "vacuum"]
)
def test_secrets_are_shown_by_dump_and_by_no_job(job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*job.split(), "--output", str(tmp_path / "lake"), "--include-secrets"])
    assert "unrecognized arguments: --include-secrets" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_java_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metadata_pipeline.session._USUAL_PLACES", (str(tmp_path),))
    with pytest.raises(PipelineError, match="openjdk-17-jre-headless"):
        find_java({"PATH": str(tmp_path)})


def test_a_java_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setattr("metadata_pipeline.session._USUAL_PLACES", ("/nowhere",))
    with pytest.raises(PipelineError, match="is Java 8"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})


def test_what_the_caller_sets_wins() -> None:
    assert settings("local[*]", {"spark.driver.memory": "9g"})["spark.driver.memory"] == "9g"
    assert settings("local[*]", {})["spark.sql.session.timeZone"] == "UTC"


def test_points_are_offsets_or_times() -> None:
    assert parse_point("c") == ("c", None, None)
    assert parse_point("c@12") == ("c", 12, None)
    assert parse_point("c@2026-11-01T03:00") == ("c", None, datetime(2026, 11, 1, 3, tzinfo=UTC))
    with pytest.raises(PipelineError):
        parse_point("c@tomorrow")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (
            (
                "An error occurred while calling o1.parquet.\n"
                ": org.x.SparkException: failed\n"
                "\tat a.b\n"
                "Caused by: java.io.IOException: no\n"
                "\tat c.d\n"
                "Caused by: java.io.IOException: error=2, chmod\n"
                "\t... 3 more"
            ),
            "java.io.IOException: error=2, chmod",
        ),
        (
            "An error occurred while calling o1.sql.\n: org.x.AnalysisException: no such column\n\tat a.b",
            "org.x.AnalysisException: no such column",
        ),
        ("[TABLE_NOT_FOUND] x\nmore", "[TABLE_NOT_FOUND] x"),
        ("", "ValueError"),
    ],
)
def test_a_failure_inside_spark_is_told_by_its_innermost_cause(told: str, why: str) -> None:
    assert reason(ValueError(told)) == why


def test_the_bar_shows_how_far_it_is() -> None:
    assert bar("ingest", 5, 10, 3.2) == "ingest [###############---------------] 5/10 tasks, 3 s"
    assert bar("ingest", 0, 0, 3.2) == "ingest ... 3 s"


def test_no_rows_are_told_as_such() -> None:
    assert render_rows([]) == "(no rows)"
