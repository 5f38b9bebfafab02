"""`kafka-dump-log` with each of its decoders and limits, beside what Apache Kafka 4.3.1's said of the same files.

Each row of `testdata/dump-log-4.3.1.jsonl.gz` is a call of the real tool on a log that was made for it (`log`, base64),
with records of every type of every coordinator and such that are none, or on the logs of a golden broker.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.cli import main as kraft
from support.golden import broker_data

pytestmark = pytest.mark.conformance

NAME = f"{0:020d}.log"
CALLS: list[dict[str, Any]] = [
    json.loads(line)
    for line in gzip.decompress(
        (Path(__file__).parent / "testdata" / "dump-log-4.3.1.jsonl.gz").read_bytes()
    ).splitlines()
]
OBJECTS_OF_JAVA = "DefaultDecoder"
"""Prints where Java keeps an array of bytes."""
MADE = [call for call in CALLS if call["log"] is not None and OBJECTS_OF_JAVA not in str(call["options"])]
OTHERS = [call for call in CALLS if call["log"] is None]


def without_reasons(text: str) -> str:
    """Why something cannot be decoded is said in our words."""
    text = re.sub(r"(buffer due to: ).*", r"\1...", text)
    return re.sub(r"(payload: Error at offset \d+, skipping\. ).*", r"\1...", text).rstrip("\n")


def said_by(call: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    files = [] if call["files"] is None else ["--files", call["files"]]
    try:
        code = kraft.run("dump-log", [*call["options"], *files])
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    said = capsys.readouterr()
    return code, without_reasons(said.out), without_options(said.err)


def without_options(text: str) -> str:
    return text.split("\nOption ", maxsplit=1)[0].rstrip("\n")


def error_of(call: dict[str, Any]) -> str:
    return without_options(call["err"])


@pytest.mark.parametrize("call", MADE, ids=lambda call: call["name"])
def test_a_log_is_printed_as_kafka_prints_it(
    call: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_bytes(base64.b64decode(call["log"]))
    code, out, err = said_by(call, capsys)
    assert (code, out) == (call["rc"], without_reasons(call["out"]))
    assert err.startswith(error_of(call).partition(" from FileRecords")[0])


@pytest.mark.parametrize("call", OTHERS, ids=lambda call: " ".join([*call["options"], str(call["files"])])[:60])
def test_files_of_a_broker_are_printed_as_kafka_prints_them(
    call: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unpacked = broker_data(11, tmp_path).parent
    monkeypatch.chdir(unpacked)
    code, out, err = said_by(call, capsys)
    assert (code, out) == (call["rc"], without_reasons(call["out"]))
    assert err == error_of(call)


def test_enough_was_compared() -> None:
    assert len(MADE) >= 30
    assert len(OTHERS) >= 12
    assert sum(call["out"].count('"data":') for call in CALLS) > 500


def test_a_decoder_of_somebody_else_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"")
    assert kraft.run("dump-log", ["--key-decoder-class", "my.Decoder", "--files", str(path)]) == 1
    assert "Failed to load decoder class my.Decoder: classes of Java cannot be run here" in capsys.readouterr().err
