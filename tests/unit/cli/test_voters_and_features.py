"""`kafka-metadata-quorum add-controller | remove-controller` and `kafka-features` beside the recorded words of Kafka
4.3.1's.

Each row of `testdata/voters-and-features-4.3.1.jsonl` has the files that lay in the working directory, and what the
real tool said there; nothing of it reaches a cluster (KIP-853, KIP-584).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.admin.results import FeaturesDescription, FeatureUpdate
from controller_runtime.cli import features
from controller_runtime.cli import main as kraft
from controller_runtime.cli.java_errors import parse_uuid
from controller_runtime.metadata.features import parse_release
from support.golden import json_lines

pytestmark = pytest.mark.unit

CALLS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "testdata" / "voters-and-features-4.3.1.jsonl").read_text().splitlines()
]
RECORDED = [call for call in json_lines("cluster/tools.jsonl.gz") if call["tool"] == "kafka-features"]


def without_stack(text: str) -> str:
    return re.split(r"\n(?:java\.lang|org\.apache\.kafka\.common)\.", text, maxsplit=1)[0].rstrip("\n")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join([call["tool"], *call["args"]]))
def test_the_tool_says_and_exits_as_kafkas(
    call: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in call["files"].items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    try:
        code = kraft.run(call["tool"].removeprefix("kafka-"), call["args"])
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    said = capsys.readouterr()
    assert (code, said.out, said.err.rstrip("\n")) == (call["rc"], call["out"], without_stack(call["err"]))


def test_enough_was_compared() -> None:
    added = [call for call in CALLS if "add-controller" in call["args"] and call["rc"] == 0]
    assert len(CALLS) >= 60
    assert len(added) >= 8


def test_features_are_described_as_kafka_does() -> None:
    described = [call["out"].rstrip("\n").split("\n") for call in RECORDED if call["args"][-1] == "describe"]
    assert len(described) >= 2
    for transcript in described:
        supported, finalized, epoch = {}, {}, 0
        for line in transcript:
            words = line.split()
            name = words[1]
            supported[name] = (level(words[3]), level(words[5]))
            finalized[name] = level(words[7])
            epoch = int(words[9])
        found = FeaturesDescription(supported, finalized, epoch, {})
        assert list(features.description(found)) == transcript


def level(text: str) -> int:
    return int(text) if text.isdigit() else parse_release(text, unstable=True).level


def test_the_outcome_of_an_update_is_told_as_kafka_does() -> None:
    def told(command: str, refusal: str | None = None, *, dry_run: bool = False, **levels: int) -> list[str]:
        updates = {f"{name}.version": FeatureUpdate(f"{name}.version", at) for name, at in levels.items()}
        return list(features.outcome(command, updates, refusal, dry_run=dry_run))

    said = "".join(call["out"] for call in RECORDED).splitlines()
    for line in (
        *told("upgrade", transaction=2), *told("downgrade", transaction=1), *told("disable", streams=0),
        *told("upgrade", dry_run=True, streams=1),
    ):  # fmt: skip
        assert line in said
    why = (
        "The update failed for all features since the following feature had an error: Unsupported "
        "metadata.version downgrade from 30 to 29. Refusing to perform the requested downgrade "
        "because it might delete metadata information."
    )
    assert told("downgrade", why, metadata=29)[0] in said
    assert told("upgrade", "No.", dry_run=True, b=1, a=1) == [
        "Can not upgrade a.version to 1. No.",
        "Can not upgrade b.version to 1. No.",
    ]


def test_a_release_raises_every_feature_that_it_brings(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = features._parser().parse_args(["upgrade", "--release-version", "4.3"])
    wanted = features.wanted(arguments)
    transcript = next(call["out"].split() for call in RECORDED if "4.3" in call["args"])
    named = {transcript[at]: int(transcript[at + 4].rstrip(".")) for at in range(0, len(transcript), 5)}
    assert {name: one.level for name, one in wanted.items()} == named
    assert {one.kind for one in wanted.values()} == {features.UPGRADE}
    lowered = features.wanted(features._parser().parse_args(["downgrade", "--release-version", "3.9"]))
    assert lowered["transaction.version"] == FeatureUpdate("transaction.version", 0, features.SAFE_DOWNGRADE)


def test_padding_and_length_of_ids_are_read_as_java_reads_them() -> None:
    assert str(parse_uuid("HicD3j6ebzCx6rlWrdITbw==")) == "HicD3j6ebzCx6rlWrdITbw"
    with pytest.raises(ValueError, match="decoded as 1 bytes"):
        parse_uuid("Hi")
