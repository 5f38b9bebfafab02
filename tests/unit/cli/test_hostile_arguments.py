"""No tool answers strange arguments with a traceback: it exits with a code and words, before or after it asked a
cluster that is not there.
"""

from __future__ import annotations

import io
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_runtime.cli import main as kraft
from support.sampling import run_seed

pytestmark = pytest.mark.unit

LINES = 60 if os.environ.get("QUORATE_SOAK") else 6
"""Of each tool."""
NOT_THESE = {"quickstart", "server-start", "storage"}
TOOLS = sorted(set(kraft.TOOLS) - NOT_THESE)
STRANGE = (
    "", " ", "-", "--", "---", "=", "--=", "-1", "0", "99999999999999999999999", "1e9", "\0", "a\0b", "\udcff", "ä€😀",
    "a" * 5000, "[", "{", "(", "*", "\\", "'", '"', ",", ",,,", ":", ":::", "a:b:c", "t:1-2-3", "..", "/", "/dev/null",
    "%s%n", "{0}", "User:", ":x", "User:a:b", "NaN", "inf", "-inf", "null", "true", "1,2,x", "[a=b", "a=[b,c", "=[,]",
    "SCRAM-SHA-256=[password=\udcff]", "topics", "brokers", "users", "localhost:0", "localhost:99999",
)  # fmt: skip
FLAGS = {
    "acls": "add remove list topic group cluster operation allow-principal deny-host principal producer consumer force "
    "resource-pattern-type idempotent transactional-id user-principal",
    "configs": "alter describe all entity-type entity-name entity-default topic broker user client ip group add-config "
    "delete-config add-config-file user-defaults broker-logger client-metrics",
    "client-metrics": "alter delete describe list name generate-name interval match metrics",
    "delegation-tokens": "create renew expire describe owner-principal hmac max-life-time-period renew-time-period",
    "reassign-partitions": "generate execute verify cancel list reassignment-json-file topics-to-move-json-file "
    "throttle broker-list timeout additional preserve-throttles",
    "leader-election": "topic partition all-topic-partitions election-type path-to-json-file",
    "log-dirs": "describe topic-list broker-list",
    "get-offsets": "topic partitions topic-partitions time exclude-internal-topics",
    "consumer-groups": "list describe delete reset-offsets delete-offsets group all-groups topic all-topics to-offset "
    "shift-by to-datetime by-duration from-file to-earliest dry-run execute export state type members verbose timeout "
    "validate-regex",
    "groups": "list group-type protocol consumer share streams",
    "transactions": "topic partition start-offset transactional-id producer-id duration-filter broker-id",
    "delete-records": "offset-json-file",
    "dump-log": "files print-data-log max-bytes offsets-decoder key-decoder-class verify-index-only",
    "metadata-shell": "snapshot bootstrap-controller",
    "topics": "create delete describe list alter topic partitions replica-assignment config if-exists topic-id",
}


def command_lines(tool: str, quick: Path) -> Iterator[list[str]]:
    dice = random.Random(f"{run_seed()} {tool}")
    flags = [f"--{name}" for name in FLAGS.get(tool, "describe").split()]
    for _ in range(LINES):
        words = []
        for _ in range(dice.randrange(1, 7)):
            words.append(dice.choice(flags))
            if dice.random() < 0.7:
                words.append(dice.choice(STRANGE))
        if tool == "metadata-shell":
            words += ["--command-config", str(quick)]
        elif dice.random() < 0.8 and tool != "dump-log":
            words += ["--bootstrap-server", dice.choice(["127.0.0.1:1", "127.0.0.1:1", *STRANGE])]
            words += ["--command-config", str(quick)]
        yield words


@pytest.mark.parametrize("tool", TOOLS)
def test_strange_arguments_are_answered_in_words(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = tmp_path / "quick.properties"
    quick.write_text("default.api.timeout.ms=30\n")
    monkeypatch.setattr("controller_runtime.cli.leader_election._TIMEOUT_SECONDS", 0.03)
    for words in command_lines(tool, quick):
        monkeypatch.setattr(sys, "stdin", io.StringIO("ls\n"))
        try:
            code = kraft.run(tool, words)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        said = capsys.readouterr()
        assert code in {0, 1}, words
        assert said.out or said.err or code == 0, words
        assert "Traceback" not in said.err


@pytest.mark.parametrize("text", [
    "", "[]", "1", "null", '{"partitions":1}', '{"partitions":[1]}', "[" * 100_000, "{" * 9,
    '{"partitions":[{"topic":1,"partition":"x"}]}', '{"version":"1","partitions":[]}', '{"topics":[{}]}', "\udcff",
    '{"partitions":[{"topic":"a","partition":true,"replicas":[1.5],"offset":1e99}]}'])  # fmt: skip
def test_strange_files_are_answered_in_words(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    quick = tmp_path / "quick.properties"
    quick.write_text("default.api.timeout.ms=30\n")
    at = ["--bootstrap-server", "127.0.0.1:1", "--command-config", str(quick)]
    for words in (
        ["reassign-partitions", *at, "--generate", "--broker-list", "1", "--topics-to-move-json-file", str(path)],
        ["reassign-partitions", *at, "--execute", "--reassignment-json-file", str(path)],
        ["delete-records", *at, "--offset-json-file", str(path)],
        ["leader-election", *at, "--election-type", "preferred", "--path-to-json-file", str(path)],
    ):
        if 'partitions":[]' in text and words[0] != "reassign-partitions":
            continue  # a list of nothing is asked for
        assert kraft.run(words[0], words[1:]) == 1
        said = capsys.readouterr()
        assert (said.out or said.err).strip()
        assert "Traceback" not in said.err
