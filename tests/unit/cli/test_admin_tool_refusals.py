"""What Kafka 4.3.1's tools refuse before they talk to anybody, ours refuse with the same first line, on the same
stream, with the same exit code.

`testdata/admin-tools-4.3.1.jsonl` was recorded from the real tools in a directory with four small files;
`group-tools-4.3.1.jsonl` is that of the tools for groups.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.cli import main as kraft

pytestmark = pytest.mark.unit

CALLS: list[dict[str, Any]] = [
    json.loads(line)
    for name in ("admin-tools", "group-tools")
    for line in (Path(__file__).parent / "testdata" / f"{name}-4.3.1.jsonl").read_text().splitlines()
]
FILES = {
    "bad.json": '{"version":1',
    "empty.properties": "",
    "v2.json": '{"version":2,"partitions":[]}',
    "nopart.json": '{"version":1}',
}
OURS = [call for call in CALLS if call["tool"].removeprefix("kafka-") in kraft.TOOLS]


def first_line(text: str) -> str:
    """Sets have no order in Java, and why a file is no JSON is said in words of its own library."""
    line = text.lstrip("\n").split("\n", 1)[0]
    line = re.sub(r"(operations \[)(.*)\]", lambda match: match[1] + str(sorted(match[2].split(", "))), line)
    line = re.sub(r"(these options: |following options: )(.*)", lambda match: str(sorted(match[2].split(", "))), line)
    return re.sub(r"Unexpected end-of-input.*", "no JSON", line).rstrip()


@pytest.mark.parametrize("call", OURS, ids=lambda call: " ".join([call["tool"], *call["args"]]))
def test_a_tool_refuses_in_kafkas_words(
    call: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    try:
        code = kraft.run(call["tool"].removeprefix("kafka-"), call["args"])
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert (code, first_line(said.out)) == (call["rc"], first_line(call["out"]))
    assert first_line(said.err) == first_line(call["err"])


def test_enough_was_compared() -> None:
    assert len(CALLS) >= 120
