"""`kraft-pipeline dump` beside Apache Kafka's own kafka-dump-log, run on the same files now."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from controller_runtime.metadata.records import encode_record, record_class
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.record_batch import Record, encode_batch
from metadata_pipeline import dump
from support.apache_kafka.java_kafka import require_java, run_tool
from support.pipeline.logs import VERSIONS, log_directory, random_struct


def test_a_log_of_every_record_type_and_version_is_dumped_as_java_dumps_it(
    tmp_path: Path, run_seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    require_java()
    dice = random.Random(run_seed)
    values = [
        encode_record(random_struct(dice, record_class(key), version, tags=0.0), version)
        for key, version in VERSIONS for _ in range(3)
    ]  # fmt: skip
    records = [Record(offset, 1_795_220_082_135, None, value) for offset, value in enumerate(values)]
    batches = [
        encode_batch(records[first : first + 40], compression=dice.choice(list(Compression)))
        for first in range(0, len(records), 40)
    ]
    path = log_directory(tmp_path, b"".join(batches))
    java = run_tool("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(path))
    assert java.rc == 0, java.err
    assert dump.main([str(path), "--include-secrets"]) == 0
    assert capsys.readouterr().out.splitlines() == java.out.splitlines()
