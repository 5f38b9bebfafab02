"""`kafka-metadata-shell` beside what Apache Kafka 4.3.1's says of the same snapshots.

Each row of `testdata/metadata-shell-4.3.1.jsonl` is one call of the real tool: SNAPSHOT and OLD stand for two golden
snapshots, `stdin` is what was typed into it. The trees and lists of `golden/.../shell` are whole.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.cli import main as kraft
from controller_runtime.cli.metadata_shell import texts
from controller_runtime.cli.metadata_shell.columns import in_columns
from controller_runtime.cli.metadata_shell.commands import Session, completions
from controller_runtime.cli.metadata_shell.glob import compile_component
from controller_runtime.cli.metadata_shell.source import Files
from support.golden import GOLDEN

pytestmark = pytest.mark.unit

DIRECTORY = GOLDEN / "cluster" / "controller-2" / "__cluster_metadata-0"
SNAPSHOT = DIRECTORY / "00000000000000001261-0000000005.checkpoint"
OLD = DIRECTORY / "00000000000000000155-0000000001.checkpoint"
CALLS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "testdata" / "metadata-shell-4.3.1.jsonl").read_text().splitlines()
]
WHOLE = sorted((GOLDEN / "cluster" / "shell").iterdir())
NAMELESS = "Unexpected error: Expected  to be a valid child of /image/clientQuotas"


def called(*arguments: str) -> int:
    words = [word.replace("SNAPSHOT", str(SNAPSHOT)).replace("OLD", str(OLD)) for word in arguments]
    try:
        return kraft.run("metadata-shell", words)
    except SystemExit as exit_:
        return int(exit_.code or 0)


def first_line_or_all(text: str) -> str:
    return text.split("\n", 1)[0] if text.startswith("Unexpected error") else text.rstrip("\n")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(call["args"]) + call["stdin"][:10])
def test_the_shell_says_and_exits_as_kafkas(
    call: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(call["stdin"]))
    code = called(*call["args"])
    said = capsys.readouterr()
    out = said.out.split("\ninstead of a snapshot file:")[0] if "--help" in call["args"] else said.out
    assert (code, out) == (call["rc"], call["out"])
    assert first_line_or_all(said.err) == first_line_or_all(call["err"])


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_the_whole_tree_is_kafkas(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, _, command = path.name.removesuffix(".txt.gz").removeprefix("controller-2-").rpartition(".")
    golden = gzip.decompress(path.read_bytes()).decode()
    assert called("--snapshot", str(DIRECTORY / name), command, "/") == 0
    ours = capsys.readouterr().out
    if command == "find":  # Kafka's ends at the first quota of a default entity; ours goes on
        golden = golden.split(NAMELESS)[0]
        assert ours.count("\n") > golden.count("\n")
        ours = ours[: len(golden)]
    assert ours == golden


def test_enough_was_compared() -> None:
    assert len(CALLS) >= 40
    assert len(WHOLE) == 4


def test_a_directory_is_its_newest_snapshot_and_the_log_behind_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("-s", str(DIRECTORY), "cat", "/image/provenance", "/image/topics/byName/s7-last/name") == 0
    assert capsys.readouterr().out == "offset 1265, epoch 5, time 2026-11-21T00:18:11.884Z[UTC]\ns7-last\n"
    assert called("-s", str(DIRECTORY.parent), "cat", "/image/provenance") == 0
    assert capsys.readouterr().out.startswith("offset 1265, ")


@pytest.mark.parametrize(
    ("prepared", "words"),
    [
        (b"", "is empty"),
        (b"x" * 200, "no whole batch at byte 0: magic 120, not 2"),
        (SNAPSHOT.read_bytes()[:500] + b"\xff" * 30 + SNAPSHOT.read_bytes()[530:], "checksum of the batch"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused_by_name(
    prepared: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "0.checkpoint"
    path.write_bytes(prepared)
    assert called("-s", str(path), "ls") == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"Unexpected error: {path}")
    assert words in said.err
    assert len(said.err.splitlines()) == 1


def test_a_directory_without_a_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("-s", str(tmp_path), "ls") == 1
    assert capsys.readouterr().err.endswith(
        "holds no snapshot and no segment of a metadata log: name the directory of one\n"
    )


def test_a_snapshot_beside_a_running_node_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from controller_runtime.storage.filesystem import OsLock

    below = tmp_path / "__cluster_metadata-0"
    below.mkdir()
    (below / SNAPSHOT.name).write_bytes(SNAPSHOT.read_bytes())
    lock = OsLock(str(tmp_path / ".lock"))
    try:
        for path in (below / SNAPSHOT.name, below, tmp_path):
            assert called("-s", str(path), "ls") == 1
            assert capsys.readouterr().err.startswith(f"Unexpected error: Unable to lock {tmp_path}. Please ensure")
    finally:
        lock.release()
    assert called("-s", str(tmp_path), "ls") == 0


@pytest.mark.parametrize(
    ("typed", "candidates"),
    [
        ([""], ["cat", "cd", "exit", "find", "help", "history", "ls", "man", "pwd", "tree"]),
        (["h"], ["help", "history"]),
        (["cat", "/l"], ["/local/"]),
        (["cat", "im"], ["image/"]),
        (["ls", "x", "/local/"], ["/local/commitId", "/local/version"]),
        (["ls", "image/../local/v"], ["image/../local/version"]),
        (["cd", "x", "/l"], []),
        (["man", "p"], ["pwd"]),
        (["cat", "/nope/"], []),
        (["cat", "/local/version/"], []),
        (["history", ""], []),
        (["nope", ""], []),
        (["ls", ""], ["image/", "local/"]),
    ],
)
def test_a_word_is_completed(typed: list[str], candidates: list[str]) -> None:
    assert completions(Session(Files(str(OLD)).root(), interactive=True), typed) == candidates


def test_names_are_put_into_as_many_columns_as_fit() -> None:
    names = ["ABCD", "EFGH", "IJKL", "MNOP", "QRST"]
    assert list(in_columns(names, None)) == names
    assert list(in_columns(names, 13)) == ["ABCD  MNOP", "EFGH  QRST", "IJKL  "]
    assert list(in_columns(names, 80)) == ["ABCD  EFGH  IJKL  MNOP  QRST"]


@pytest.mark.parametrize("name", ["a", "a(b)", "\\", "x)_user(y", "a_b", ""])
def test_a_quota_is_found_by_the_name_that_is_shown(name: str) -> None:
    entity = (("client-id", name), ("user", "u"))
    assert texts.parse_quota_entity(texts.quota_entity(entity)) == entity
    assert texts.parse_quota_entity(texts.quota_entity(entity) + "_") is None


def test_what_is_no_glob_is_a_name() -> None:
    assert [compile_component(one) for one in ("a.b", "{a", "{a,{b}}", "a,b", "a}", "\\*")] == [None] * 6
    found = compile_component("a{b,c?}[0]*")
    assert found is not None
    assert found.fullmatch("acx[0]y")
    assert not found.fullmatch("acx0y")
