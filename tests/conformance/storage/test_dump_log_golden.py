"""`kafka-dump-log` prints every golden log and snapshot as Apache Kafka 4.3.1 printed it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from controller_runtime.cli import dump_log
from support.disks import strange_log
from support.golden import GOLDEN

pytestmark = pytest.mark.conformance

DUMPS = sorted(GOLDEN.glob("*/dump-log/*.txt.gz"))


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: f"{path.parent.parent.name}/{path.name}")
def test_a_golden_file_prints_as_java_printed_it(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gzip.open(dump, "rt") as lines:
        java = lines.read()
    node, name = dump.name.removesuffix(".txt.gz").split("-0", 1)
    path = dump.parent.parent / node / "__cluster_metadata-0" / f"0{name}"
    assert dump_log.main(["--cluster-metadata-decoder", "--files", str(path)]) == 0
    java_path = java.split("\n", 1)[0].removeprefix("Dumping ")
    said = capsys.readouterr()
    ours = (said.out + said.err).replace(str(path), java_path)
    assert ours.splitlines() == java.splitlines()


@pytest.mark.parametrize("name", strange_log.logs())
def test_what_no_golden_log_has_is_printed_as_java_prints_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, options = strange_log.logs()[name]
    path = tmp_path / strange_log.NAME
    path.write_bytes(log)
    java_out, java_err = strange_log.recorded()[name]
    assert dump_log.main([*options, "--files", str(path)]) == 0
    said = capsys.readouterr()
    assert (without_reasons(said.out.replace(str(path), path.name)), said.err) == (without_reasons(java_out), java_err)


def without_reasons(text: str) -> str:
    """Why a record cannot be decoded is said in our words."""
    return re.sub(r"(?<=, skipping\. ).*", "...", text)


def test_without_record_metadata_only_payloads_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    path = GOLDEN / "static-voters/controller-1/__cluster_metadata-0/00000000000000000044-0000000001.checkpoint"
    assert dump_log.main(["--cluster-metadata-decoder", "--skip-record-metadata", "--files", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Dumping {path}"
    records = [line for line in lines[2:] if not line.startswith("baseOffset")]
    assert "" in records, "a control record is an empty line"
    assert all(line == "" or line.startswith('| payload: {"type":"') for line in records)


def test_a_file_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert dump_log.main(["--files", "/nowhere/00000000000000000000.log"]) == 1
    assert "/nowhere/00000000000000000000.log" in capsys.readouterr().err


def test_bytes_after_the_last_batch_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden = GOLDEN / "cluster/controller-4/__cluster_metadata-0/00000000000000000612.log"
    torn = tmp_path / golden.name
    torn.write_bytes(golden.read_bytes()[:-7])
    assert dump_log.main(["--files", str(torn)]) == 0
    assert f"invalid bytes at the end of {golden.name}" in capsys.readouterr().out
