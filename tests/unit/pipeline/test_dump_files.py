"""What `dump` leaves behind: a whole file or none, and words that say what went wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from metadata_pipeline import dump
from metadata_pipeline.schemas import arrow_schema
from support.golden import GOLDEN
from support.pipeline.logs import plain_rows, rows_of

LOG = GOLDEN / "cluster" / "controller-2" / "__cluster_metadata-0"
ROOT = Path(__file__).parent.parent.parent.parent


def test_a_parquet_file_holds_the_rows_and_the_schema_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "records.parquet"
    assert dump.main([str(LOG), "--format", "parquet", "--output", str(target)]) == 0
    table = pq.read_table(target)
    assert table.schema.equals(arrow_schema("records"))
    assert [row for batch in table.to_batches() for row in plain_rows(batch)] == rows_of(LOG)
    assert capsys.readouterr().out == f"{table.num_rows} rows in {target}\n"


def test_json_lines_leave_out_what_is_null_and_nest_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        dump.main(
            [
                str(LOG),
                "--format",
                "json",
                "--types",
                "RegisterBrokerRecord",
                "--columns",
                "offset,extra,timestamp,value",
            ]
        )
        == 0
    )
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["timestamp"].startswith("2026-11-21T00:")
    assert first["extra"]["endPoints"]
    assert "value" not in first


@pytest.mark.parametrize("form", dump.FORMATS)
def test_a_full_disk_leaves_no_half_written_file(tmp_path: Path, form: str) -> None:
    """The system refuses bytes beyond the first kilobytes of any file, as a full disk does."""
    target = tmp_path / "records"
    command = f"ulimit -f 8; exec {sys.executable} -B -m metadata_pipeline.dump {LOG} --format {form} --output {target}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"cannot write {target}: " in done.stderr
    assert "File too large" in done.stderr
    assert "next: free space" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["/no/such/log"], "/no/such/log: does not exist"),
        ([str(LOG), "--format", "parquet"], "output: parquet needs a file"),
        ([str(LOG), "--format", "json", "--columns", "nothing"], "has no column nothing"),
        ([str(LOG), "--redaction-key-file", "/no/key"], "redaction key /no/key cannot be read"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line_and_what_to_do_in_another(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dump.main(arguments) == 1
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 2
    assert "\n  next: " in said
