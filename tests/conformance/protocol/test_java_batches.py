"""Batches written by Apache Kafka 4.3.1's own builder (JavaBatches.java), in every codec and in several compressed
blocks.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

import pytest

from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch
from support.golden import json_lines

pytestmark = pytest.mark.conformance

BATCHES: Final = json_lines("codec/java-batches.jsonl.gz")


def name(row: dict[str, Any]) -> str:
    return f"{row['codec']}-{row['records']}"


def what_java_wrote(count: int) -> tuple[Record, ...]:
    return tuple(
        Record(
            offset=100 + index,
            timestamp=1_700_000_000_000 + index * (1000 if index % 2 else 1),
            key=None if index % 3 == 0 else b"key-%d" % index,
            value=None if index % 5 == 4 else b"value %d of record %d" % (index * 7919 % 1000, index),
            headers=((f"h{index}", b"x%d" % index), ("null", None)) if index % 4 == 1 else (),
        )
        for index in range(count)
    )


def test_every_codec_and_size_is_there() -> None:
    assert {name(row) for row in BATCHES} == {
        f"{codec.name.lower()}-{n}" for codec in Compression for n in (1, 7, 3000)
    }


@pytest.mark.parametrize("row", BATCHES, ids=name)
def test_records_read_as_java_wrote_them(row: dict[str, Any]) -> None:
    (batch,) = decode_batches(b64decode(row["base64"]))
    assert batch.header.compression.name.lower() == row["codec"]
    assert batch.records == what_java_wrote(row["records"])


@pytest.mark.parametrize("row", [row for row in BATCHES if row["codec"] == "none"], ids=name)
def test_we_write_the_bytes_that_java_wrote(row: dict[str, Any]) -> None:
    written = encode_batch(what_java_wrote(row["records"]), partition_leader_epoch=7)
    assert written == b64decode(row["base64"])


@pytest.mark.parametrize("codec", Compression)
def test_a_compressed_batch_of_ours_reads_back(codec: Compression) -> None:
    records = what_java_wrote(3000)
    (batch,) = decode_batches(encode_batch(records, compression=codec))
    assert batch.records == records
