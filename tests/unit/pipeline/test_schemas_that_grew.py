"""A cluster newer than this release: record types, versions and tagged fields that nobody here knows are rows that say
so, and nothing beside them suffers.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from support.pipeline.logs import log_directory, rows_of

KNOWN = encode_record(TopicRecord(name="before"), 0)
NEW_TYPE = b"\x01\x7d\x00what only the future knows"
NEW_VERSION = b"\x01\x02\x05what only the future knows"
NEW_TAG = KNOWN[:-1] + b"\x01\x28\x1cwhat only the future knows.."


def written(root: Path, *values: bytes) -> Path:
    return log_directory(root, encode_batch([Record(n, 5, None, value) for n, value in enumerate(values)]))


@pytest.mark.parametrize(
    ("value", "type_", "version", "words"),
    [
        (NEW_TYPE, None, 0, "record type 125 is not known"),
        (NEW_VERSION, "TopicRecord", 5, "version 5 is not known"),
    ],
)
def test_a_type_or_version_of_the_future_is_one_row_that_says_so(
    value: bytes, type_: str | None, version: int, words: str, tmp_path: Path
) -> None:
    before, new, after = rows_of(written(tmp_path, KNOWN, value, KNOWN))
    assert (new["type"], new["version"], new["fault"], new["redacted"]) == (type_, version, "unknown", True)
    assert words in new["detail"]
    assert "future" not in json.dumps(new, default=str), "nobody knows whether it is a secret"
    assert before["name"] == after["name"] == "before"
    assert before["fault"] is after["fault"] is None


def test_a_tagged_field_of_the_future_is_told_beside_the_fields_that_are_known(tmp_path: Path) -> None:
    _, new, _ = rows_of(written(tmp_path, KNOWN, NEW_TAG, KNOWN))
    assert (new["name"], new["fault"], new["redacted"]) == ("before", None, True)
    assert [it["tag"] for it in json.loads(new["extra"])["unknownTaggedFields"]] == [40]
    assert "future" not in json.dumps(new, default=str)
