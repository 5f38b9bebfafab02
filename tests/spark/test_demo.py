"""`make demo-pipeline`, as it is run: real clusters, one damaged disk, the four jobs, the report."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.nodes.processes import REPOSITORY


@pytest.mark.timeout(1200)
def test_the_demo_runs_to_its_end_and_finds_the_damaged_disk(spark: object, tmp_path: Path) -> None:
    """`spark` skips it where there is no Java. The command is what `make` would run last, in this environment."""
    del spark
    make = ["make", "--dry-run", "--no-print-directory", "demo-pipeline", f"BIN={Path(sys.executable).parent}"]
    told = subprocess.run(make, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=True).stdout
    command = [*shlex.split(told.splitlines()[-1]), "--output", str(tmp_path / "demo"), "--master", "local[2]"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=1100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "damaged epoch" in done.stdout
    lake = tmp_path / "demo" / "lake"
    report = json.loads((lake / "report.json").read_text())
    assert report["severities"]["error"] >= 1
    assert len(report["clusters"]) >= 1
    assert "<!DOCTYPE html>" in (lake / "report.html").read_text()
