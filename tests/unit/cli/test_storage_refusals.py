"""What `kafka-storage` refuses, in the words of Kafka 4.3.1's, recorded in `testdata/storage-refusals-4.3.1.jsonl`; no
directory is left behind.

STO-01, STO-03: every malformed part of a list of initial controllers among them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.cli import main as kraft
from controller_runtime.cli.initial_controllers import Uncaught, parse_initial_controllers

pytestmark = pytest.mark.unit

CALLS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "testdata" / "storage-refusals-4.3.1.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(call["args"]) or "nothing")
def test_what_kafka_refuses_is_refused_with_its_words(
    call: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """TOK-15: the grammar of --add-scram among them."""
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
    assert len(CALLS) == 38
    assert {call["rc"] for call in CALLS} == {1}


@pytest.mark.parametrize(
    ("text", "voters"),
    [
        ("1@[::1]:29093:{0}", [(1, "::1", 29093)]),
        ("1@[fe80::1%eth0]:0:{0}", [(1, "fe80::1%eth0", 0)]),
        ("+1@localhost:+5:{0}", [(1, "localhost", 5)]),
        ("1@:65535:{0}", [(1, "", 65535)]),
        (" 1@localhost:29093:{0} , 2@localhost:29093:{0}", [(1, "localhost", 29093), (2, "localhost", 29093)]),
        (",1@localhost:29093:{0},,2@b:1:{0},", [(1, "localhost", 29093), (2, "b", 1)]),
    ],
)
def test_what_kafka_takes_for_initial_controllers_is_taken(text: str, voters: list[tuple[int, str, int]]) -> None:
    """STO-03: asked of Apache Kafka 4.3.1."""
    found = parse_initial_controllers(text.format("MvDxzVmcRsaTz33bUuRU6A"))
    assert [(it.node_id, it.endpoint.host, it.endpoint.port) for it in found] == voters


def test_a_negative_node_id_of_an_initial_controller_is_named() -> None:
    """STO-03: in the words of Apache Kafka's DynamicVoter."""
    with pytest.raises(Uncaught, match=r"Invalid negative node id -1 in dynamic voter string\."):
        parse_initial_controllers("-1@localhost:29093:MvDxzVmcRsaTz33bUuRU6A")
