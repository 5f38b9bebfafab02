"""`dump` against what Apache Kafka 4.3.1 printed of every golden log and snapshot: the same but for secrets, and the
same with them.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from controller_runtime.metadata.records import RECORD_NAMES
from controller_runtime.protocol.json_form import from_json
from controller_runtime.protocol.messages import message_class
from metadata_pipeline import dump
from metadata_pipeline.redaction import SECRET_FIELDS, Redactor, is_secret_config
from metadata_pipeline.schemas import FIELD_COLUMNS
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.reading import read_batches
from support.golden import GOLDEN, METADATA_LOGS
from support.pipeline.logs import rows_of
from support.pipeline.oracle import columns

DUMPS = sorted(GOLDEN.glob("*/dump-log/*.txt.gz"))
LABELS = {"LeaderChange": "LeaderChangeMessage", "SnapshotHeader": "SnapshotHeaderRecord",
    "SnapshotFooter": "SnapshotFooterRecord",
          "KRaftVersion": "KRaftVersionRecord", "KRaftVoters": "VotersRecord"}  # fmt: skip
every_dump = pytest.mark.parametrize("recorded", DUMPS, ids=lambda path: f"{path.parent.parent.name}/{path.name}")


def file_of(recorded: Path) -> Path:
    node, name = recorded.name.removesuffix(".txt.gz").split("-0", 1)
    return recorded.parent.parent / node / "__cluster_metadata-0" / f"0{name}"


def java_lines(recorded: Path) -> list[str]:
    with gzip.open(recorded, "rt") as lines:
        return lines.read().splitlines()


def our_lines(recorded: Path, capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    path = file_of(recorded)
    assert dump.main([*more, str(path)]) == 0
    said = capsys.readouterr()
    java_path = java_lines(recorded)[0].removeprefix("Dumping ")
    return (said.out + said.err).replace(str(path), java_path).splitlines()


@every_dump
def test_with_secrets_the_dump_is_javas_letter_for_letter(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert our_lines(recorded, capsys, "--include-secrets") == java_lines(recorded)


@every_dump
def test_without_secrets_only_secret_fields_differ(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, java = our_lines(recorded, capsys), java_lines(recorded)
    assert len(ours) == len(java)
    for mine, theirs in zip(ours, java, strict=True):
        assert mine == hidden(theirs)


def hidden(line: str) -> str:
    """Java's line with its secrets replaced, found by the names in its JSON."""
    head, mark, text = line.partition("payload: ")
    if not mark:
        return line
    shown = json.loads(text)
    data = shown["data"]
    name = "".join(word.capitalize() for word in shown["type"].split("_"))
    for field in SECRET_FIELDS.get(name, ()):
        data[re.sub(r"_(\w)", lambda found: found[1].upper(), field)] = "redacted"
    if name == "ConfigRecord" and data["value"] is not None and is_secret_config(data["resourceType"], data["name"]):
        data["value"] = "redacted"
    return head + mark + json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


def test_golden_logs_hold_secrets_to_hide() -> None:
    """The test above would hold for a dump that hides nothing if there were nothing to hide."""
    lines = [line for recorded in DUMPS for line in java_lines(recorded)]
    assert any(hidden(line) != line for line in lines if "USER_SCRAM_CREDENTIAL_RECORD" in line)
    assert any(hidden(line) != line for line in lines if '"type":"DELEGATION_TOKEN_RECORD"' in line)


@every_dump
def test_the_table_says_of_every_record_what_java_printed(recorded: Path) -> None:
    """Offset, time, type, version and all values, from the columns and `extra` together."""
    redactor = Redactor(include_secrets=True)
    rows = iter(rows_of(file_of(recorded), ReadOptions(redactor=redactor)))
    seen = 0
    for line in java_lines(recorded):
        found = re.match(r"\| offset: (\d+) CreateTime: (\d+) .*? headerKeys: \[\] (.*)", line)
        if found is None:
            continue
        row = next(rows)
        assert (row["offset"], row["timestamp_ms"], row["fault"]) == (int(found[1]), int(found[2]), None)
        name, version, data = record_of(found[3])
        assert (row["type"], row["version"]) == (name, version)
        wanted = columns(from_json(message_class(name), data, version), version, redactor)
        assert {column: row[column] for column in wanted} == wanted
        assert wanted.keys() - {"extra", "redacted"} <= set(FIELD_COLUMNS.get(name, {}).values())
        seen += 1
    assert next(rows, None) is None
    assert seen > 0


def record_of(text: str) -> tuple[str, int, Any]:
    if text.startswith("payload: "):
        shown = json.loads(text.removeprefix("payload: "))
        name = next(
            each for each in RECORD_NAMES.values() if re.sub(r"(?<=[a-z])(?=[A-Z])", "_", each).upper() == shown["type"]
        )
        return name, shown["version"], shown["data"]
    label, _, data = text.partition(" ")
    shown = json.loads(data)
    return LABELS[label.rstrip(":")], 0, shown


@pytest.mark.parametrize("directory", METADATA_LOGS, ids=lambda path: str(path.parent.relative_to(GOLDEN)))
def test_every_golden_batch_is_valid_and_in_its_place(directory: Path) -> None:
    table = pa.Table.from_batches(list(read_batches(str(directory))))
    assert table["valid"].to_pylist() == [True] * table.num_rows
    assert table["crc_ok"].to_pylist() == [True] * table.num_rows
    assert table["expected_offset"].to_pylist() == table["base_offset"].to_pylist()
