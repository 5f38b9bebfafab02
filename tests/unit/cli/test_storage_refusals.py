"""What `kafka-storage` refuses, in the words of Kafka 4.3.1's, recorded in `testdata/storage-refusals-4.3.1.jsonl`; no
directory is left behind.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.cli import main as kraft

pytestmark = pytest.mark.unit

CALLS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "testdata" / "storage-refusals-4.3.1.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(call["args"]) or "nothing")
def test_what_kafka_refuses_is_refused_with_its_words(
    call: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.properties").write_text(call["files"]["c.properties"])
    monkeypatch.chdir(tmp_path)
    try:
        code = kraft.run("storage", call["args"])
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    said = capsys.readouterr()
    theirs = call["err"].split("\n\nDid you mean:")[0].rstrip("\n")
    assert (code, said.out, said.err.rstrip("\n")) == (call["rc"], call["out"], theirs) != (0, "", "")
    assert not (tmp_path / "data").exists()


def test_enough_was_refused() -> None:
    assert len(CALLS) == 19
    assert {call["rc"] for call in CALLS} == {1}
