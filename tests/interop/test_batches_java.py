"""Our record batches, in every codec, read by Apache Kafka 4.3.1's dump tool and by kafka-python's decoder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.record_batch import Record, encode_batch
from support.apache_kafka.java_kafka import require_java, run_tool
from support.apache_kafka.kafka_python import MemoryRecords

pytestmark = pytest.mark.interop

COUNT = 2500
"""Enough for several blocks of snappy and lz4."""


def records(base: int) -> list[Record]:
    return [
        Record(base + n, 1_700_000_000_000 + n, b"key-%d" % n, b"value %d of %d" % (n * 7919 % 1000, n), (("h", b"x"),))
        for n in range(COUNT)
    ]


def batches() -> bytes:
    return b"".join(
        encode_batch(records(codec * COUNT), compression=codec, partition_leader_epoch=codec) for codec in Compression
    )


def test_java_reads_every_record_of_every_codec(tmp_path: Path) -> None:
    require_java()
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(batches())
    done = run_tool("kafka-dump-log", "--files", str(segment), "--deep-iteration", "--print-data-log")
    assert done.rc == 0, done.err
    headers = re.findall(r"baseOffset: (\d+) .* compresscodec: (\w+) .* isvalid: (\w+)", done.out)
    assert headers == [(str(codec * COUNT), codec.name.lower(), "true") for codec in Compression]
    found = re.findall(r"\| offset: (\d+) CreateTime: (\d+) .* key: (\S+) payload: (.*)", done.out)
    expected = [
        (str(each.offset), str(each.timestamp), (each.key or b"").decode(), (each.value or b"").decode())
        for codec in Compression
        for each in records(codec * COUNT)
    ]
    assert found == expected


def test_kafka_python_reads_every_record_of_every_codec() -> None:
    found = []
    reader = MemoryRecords(batches())
    while (batch := reader.next_batch()) is not None:
        assert batch.validate_crc()
        found += [(each.offset, each.timestamp, each.key, each.value, tuple(each.headers)) for each in batch]
    assert found == [tuple(each) for codec in Compression for each in records(codec * COUNT)]
