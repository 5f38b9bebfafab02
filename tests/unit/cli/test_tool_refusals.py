"""What Kafka 4.3.1's tools refuse before they talk to anybody, ours refuse with the same words and exit code.

`testdata/tool-calls-4.3.1.jsonl` was recorded from the real tools; stack frames and the prose of help texts are left
out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from controller_runtime.cli import main as kraft
from controller_runtime.cli import topics_options
from controller_runtime.cli.arguments import justify

pytestmark = pytest.mark.unit

CALLS = [
    json.loads(line)
    for line in (Path(__file__).parent / "testdata" / "tool-calls-4.3.1.jsonl").read_text().splitlines()
]


def refused_on_the_command_line(call: dict[str, object]) -> bool:
    words = str(call["err"])
    args = call["args"]
    assert isinstance(args, list)
    return (
        call["rc"] == 1
        and bool(words)
        and "org.apache.kafka" not in words
        and "nonsense" not in args[:2]
        and call["tool"] != "kafka-server-start"
    )


REFUSED = [call for call in CALLS if refused_on_the_command_line(call)]


def run(call: dict[str, object], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    args = call["args"]
    assert isinstance(args, list)
    try:
        code = kraft.run(str(call["tool"]).removeprefix("kafka-"), args)
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("call", REFUSED, ids=lambda call: " ".join([call["tool"], *call["args"]]))
def test_what_kafka_refuses_on_the_command_line_is_refused_alike(
    call: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(call, capsys)
    theirs = str(call["err"]).split("\njava.lang.")[0].split("\njoptsimple.")[0].strip("\n")
    ours = err.split("\nOption ")[0].strip("\n")
    assert (code, out, ours) == (1, "", theirs)


def test_what_kafka_says_on_standard_output_is_said_there(capsys: pytest.CaptureFixture[str]) -> None:
    (call,) = [one for one in CALLS if one["args"][-2:] == ["--partitions", "x"]]
    assert run(call, capsys) == (1, call["out"].rstrip("\n") + "\n", "")


TOPICS = [
    json.loads(line)
    for line in (Path(__file__).parent / "testdata" / "topics-calls-4.3.1.jsonl").read_text().splitlines()
]
"""`kafka-topics` with each of its options, where another one or its value is wrong."""
COMBINATION = re.compile(r'"\[(\[[a-z-]+\]), (\[[a-z-]+\])\]"')


@pytest.mark.parametrize("call", TOPICS, ids=lambda call: " ".join(call["args"]))
def test_topics_are_refused_before_anybody_is_asked_as_by_kafka(
    call: dict[str, object], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.properties").write_text("")
    code, out, err = run(call, capsys)
    said = err.split("\nOption ")[0].strip("\n")
    theirs = COMBINATION.sub(lambda found: f'"[{", ".join(sorted(found.groups()))}]"', str(call["err"]).strip("\n"))
    assert (code, out.strip(), said) == (call["rc"], str(call["out"]).strip(), theirs)


def test_every_option_of_kafkas_topics_is_named_in_a_call() -> None:
    named = {word for call in TOPICS for word in call["args"] if word.startswith("--")}
    assert {f"--{name}" for name in topics_options.OPTIONS.names} - named == {
        "--help", "--partition-size-limit-per-response",
    }  # fmt: skip


def test_enough_refusals_were_compared() -> None:
    assert len(REFUSED) >= 20


@pytest.mark.parametrize("tool", ["kafka-cluster", "kafka-metadata-quorum", "kafka-topics"])
def test_help_ends_with_the_exit_code_of_kafka(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = next(call for call in CALLS if call["tool"] == tool and call["args"] == ["--help"])
    code, out, err = run(theirs, capsys)
    assert code == theirs["rc"]
    first = (str(theirs["out"]) or str(theirs["err"])).splitlines()[0]
    assert (out or err).startswith(first)


def test_long_refusals_are_justified_as_argparse4j_does() -> None:
    text = (
        "kafka-metadata-quorum: error: invalid choice: 'frobnicate' (choose from 'describe', "
        "'add-controller', 'remove-controller')"
    )
    assert justify(text) == (
        "kafka-metadata-quorum: error:  invalid  choice:  'frobnicate'  (choose from\n"
        "'describe', 'add-controller', 'remove-controller')"
    )
