"""What was not asked for is not decoded, and what was asked for is what a filter over everything would give."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from metadata_pipeline.schemas import BATCHES, RECORDS, arrow_schema, spark_ddl
from metadata_pipeline.sources import record_rows
from metadata_pipeline.sources.faults import InvalidOption
from metadata_pipeline.sources.options import ReadOptions, parse_options, parse_time
from metadata_pipeline.sources.reading import read_records
from support.golden import GOLDEN
from support.pipeline.logs import log_directory, plain_rows, random_log, rows_of

CLUSTER = GOLDEN / "cluster"
LOG = CLUSTER / "controller-2" / "__cluster_metadata-0"


def everything(options: ReadOptions | None = None) -> list[dict[str, Any]]:
    return [row for batch in read_records(str(LOG), options) for row in plain_rows(batch)]


def test_offsets_choose_records_of_logs_and_whole_snapshots() -> None:
    given = ReadOptions(from_offset=700, to_offset=1000)
    wanted = [
        row
        for row in everything()
        if (row["kind"] == "log" and 700 <= row["offset"] < 1000)
        or (row["kind"] == "snapshot" and 700 <= row["snapshot_offset"] <= 1000)
    ]
    assert wanted
    assert {row["kind"] for row in wanted} == {"log", "snapshot"}
    assert everything(given) == wanted


def test_a_time_chooses_records_since_then() -> None:
    all_rows = everything()
    since = sorted(row["timestamp_ms"] for row in all_rows)[len(all_rows) // 2]
    assert everything(ReadOptions(from_time_ms=since)) == [row for row in all_rows if row["timestamp_ms"] >= since]


@pytest.mark.parametrize(
    "types", [{"TopicRecord"}, {"RegisterBrokerRecord", "NoOpRecord"}, {"VotersRecord"}, {"UserScramCredentialRecord"}]
)
def test_types_choose_records(types: set[str]) -> None:
    wanted = [row for row in everything() if row["type"] in types]
    assert wanted
    assert everything(ReadOptions(types=frozenset(types))) == wanted


def test_kinds_choose_files() -> None:
    assert {row["kind"] for row in everything(ReadOptions(kinds=frozenset(["log"])))} == {"log"}
    bootstrap = list(read_records(str(CLUSTER / "controller-2"), ReadOptions(kinds=frozenset(["bootstrap"]))))
    assert {row["type"] for batch in bootstrap for row in batch.to_pylist()} >= {
        "FeatureLevelRecord",
        "UserScramCredentialRecord",
    }


@pytest.mark.parametrize(
    "columns", [("offset", "type"), ("value", "name"), ("isr",), ("extra", "redacted"), ("file", "position")]
)
def test_columns_are_the_same_when_others_are_left_out(columns: tuple[str, ...], tmp_path: Path) -> None:
    path = log_directory(tmp_path, random_log(random.Random(5), 40))
    few = rows_of(path, ReadOptions(columns=columns))
    assert few == [{name: row[name] for name in row if name in columns} for row in rows_of(path)]


def test_excluded_batches_and_types_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: how many records reach a decoder. The benchmark measures what it saves."""
    decoded: list[int] = []
    whole = record_rows._Block._decode

    def counted(block: Any) -> None:
        decoded.append(len(block.rows))
        whole(block)

    monkeypatch.setattr(record_rows._Block, "_decode", counted)
    everything()
    total = sum(decoded)
    decoded.clear()
    everything(ReadOptions(from_offset=1200))
    assert 0 < sum(decoded) < total / 2
    decoded.clear()
    rows = everything(ReadOptions(types=frozenset(["TopicRecord"])))
    assert sum(decoded) < total / 2, "control records and odd ones are looked at, others are not"
    assert rows


def test_every_row_has_the_announced_schema() -> None:
    for level, columns in (("records", RECORDS), ("batches", BATCHES)):
        assert arrow_schema(level).names == [column.name for column in columns]  # type: ignore[arg-type]
        assert all(column.meaning for column in columns)
        assert spark_ddl(level).count(",") == len(columns) - 1  # type: ignore[arg-type]
    for batch in read_records(str(LOG)):
        assert batch.schema.equals(arrow_schema("records"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": "bits"}, "level: 'bits'"),
        ({"columns": "offset,nothing"}, "no column nothing"),
        ({"from_offset": "x"}, "from_offset: 'x' is no number"),
        ({"from_time": "yesterday"}, "from_time: 'yesterday'"),
        ({"types": "Topic"}, "types: Topic is unknown; there are .*TopicRecord"),
        ({"kinds": "tape"}, "kinds: tape"),
        ({"chunk_bytes": "3"}, "chunk_bytes: 3 is not between"),
        ({"redaction_key_file": "/no/such/key"}, "redaction key /no/such/key cannot be read"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(options: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        parse_options(options)


def test_a_short_key_is_refused_without_being_shown(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("tiny")
    with pytest.raises(InvalidOption, match="4 bytes, at least 16") as raised:
        parse_options({"redaction_key_file": str(key)})
    assert "tiny" not in str(raised.value)


def test_times_are_numbers_or_iso() -> None:
    assert parse_time("1795220082135") == 1795220082135
    assert parse_time("2026-11-21T00:14:42.135") == parse_time("2026-11-21T01:14:42.135+01:00") == 1795220082135
    assert parse_options({"from_time": "2026-11-21"}).from_time_ms == 1795219200000


def test_secrets_are_no_option() -> None:
    assert not parse_options({"include_secrets": "true"}).redactor.include_secrets
