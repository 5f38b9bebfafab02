"""`kraft-pipeline tables` on a disk that is full: two lines, no stack, and a lake as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metadata_pipeline import cli
from metadata_pipeline.jobs.ingest import ingest, lake_state
from support.golden import GOLDEN
from support.pipeline.kept_session import Kept

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A lake on a file system of its own, that has no byte left. Skipped for who may not mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode()}")
    try:
        ingest(str(GOLDEN / "cluster"), place / "lake")
        with (place / "full").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while file.write(bytes(4096)):
                pass
        yield place / "lake"
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)  # the JVM may hold what it could not write


def said(err: str) -> list[str]:
    """What was said, without Spark's words about its start."""
    return [line for line in err.splitlines() if line.startswith(("kraft-pipeline", "  next:", "Traceback", "\tat "))]


def test_two_lines_say_it_and_nothing_is_committed(full: Path, spark: object) -> None:
    """`spark` skips it where there is no Java."""
    del spark
    environment = {**os.environ, "XDG_CACHE_HOME": str(full.parent / "no-cache")}
    command = [sys.executable, "-m", "metadata_pipeline.cli", "tables", "--only", "topics", "--output", str(full)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 2
    lines = said(done.stderr)
    assert done.stderr.splitlines()[-2:] == lines, "the last lines, and the only ones"
    assert lines[0].startswith("kraft-pipeline tables: table topics cannot be written"), lines
    assert lines[0].endswith("No space left on device")
    assert lines[1] == "  next: nothing was committed; mend the cause and run again"
    assert [live.file.table for live in lake_state(full).files.values()] == ["batches", "records"]


def test_so_they_do_when_spark_writes(
    full: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("metadata_pipeline.session.open_session", lambda *_, **__: Kept(spark))
    monkeypatch.setattr("metadata_pipeline.tables.build.FEW_ROWS", 0)
    assert cli.main(["tables", "--only", "topics,acls", "--output", str(full)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2, lines
    assert "cannot be made" in lines[0]
    assert "No space left on device" in lines[0]
    assert lines[1] == "  next: nothing was committed; mend the cause and run again"
    assert {live.file.table for live in lake_state(full).files.values()} == {"batches", "records"}
