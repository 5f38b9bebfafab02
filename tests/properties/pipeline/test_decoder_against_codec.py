"""The column decoder and the runtime's own codec say the same of every record; hostile bytes give rows, never an
exception.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller_runtime.metadata.records import encode_record, record_class
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from metadata_pipeline.redaction import Redactor
from metadata_pipeline.sources import record_rows
from metadata_pipeline.sources.describe import describe
from metadata_pipeline.sources.layouts import program
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.segments import list_segments
from support.pipeline.logs import VERSIONS, log_directory, random_log, random_record, rows_of, with_crc
from support.pipeline.oracle import expected_rows

SETTINGS = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
KEY = b"0123456789abcdef"


def differences(data: bytes, options: ReadOptions) -> list[tuple[Any, ...]]:
    """(row, column, ours, expected) wherever the decoder and the oracle differ; of faults the words may differ."""
    with tempfile.TemporaryDirectory() as root:
        path = log_directory(Path(root), data)
        (segment,) = list_segments(str(path)).segments
        ours = rows_of(path, options)
        wanted = list(expected_rows(segment, data, options.redactor))
    found: list[tuple[Any, ...]] = []
    if len(ours) != len(wanted):
        found.append((len(ours), "rows, not", len(wanted)))
    for index, (mine, other) in enumerate(zip(ours, wanted, strict=False)):
        skipped = {"detail"} if other["fault"] else set()
        found += [
            (index, name, mine[name], other[name])
            for name in other
            if name not in skipped and mine[name] != other[name]
        ]
    return found


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=str)
def test_every_record_type_and_version_decodes_as_the_runtime_decodes_it(key: int, version: int, run_seed: int) -> None:
    dice = random.Random(f"{run_seed} {key} {version}")
    records = [Record(offset, 5, None, random_record(dice, key, version)) for offset in range(120)]
    data = encode_batch(records[:70]) + encode_batch(records[70:])
    for redactor in (Redactor(KEY), Redactor(include_secrets=True)):
        assert differences(data, ReadOptions(redactor=redactor)) == []


def test_the_common_records_are_decoded_as_columns() -> None:
    """The test above would hold for a decoder that only ever goes the slow way."""
    fast = {record_class(key).__name__ for key, version in VERSIONS if program(key, version) is not None}
    assert fast >= {
        "PartitionRecord", "PartitionChangeRecord", "TopicRecord", "ConfigRecord", "NoOpRecord", "RemoveTopicRecord",
        "BrokerRegistrationChangeRecord", "ProducerIdsRecord", "FeatureLevelRecord", "FenceBrokerRecord",
        "BeginTransactionRecord",
        "RegisterBrokerRecord", "RegisterControllerRecord", "ClientQuotaRecord", "AccessControlEntryRecord",
    }  # fmt: skip
    assert not fast & {"UserScramCredentialRecord", "DelegationTokenRecord", "RemoveDelegationTokenRecord"}


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=str)
def test_records_laid_out_alike_and_nearly_alike_decode_as_the_runtime_decodes_them(
    key: int, version: int, run_seed: int
) -> None:
    """Hundreds of one shape, so that they are sliced; among them some with another byte anywhere, length and tag bytes
    too.
    """
    dice = random.Random(f"{run_seed} {key} {version}")
    models = [random_record(dice, key, version) for _ in range(3)]
    records = []
    for offset in range(400):
        value = bytearray(dice.choice(models))
        if dice.random() < 0.3:
            value[dice.randrange(len(value))] = dice.choice((0, 1, 2, 0x7F, 0x80, 0xC3, 0xFF, dice.randrange(256)))
        records.append(Record(offset, 5, None, bytes(value)))
    data = encode_batch(records)
    for redactor in (Redactor(KEY), Redactor(include_secrets=True)):
        assert differences(data, ReadOptions(redactor=redactor)) == []


def test_what_has_no_column_is_told_once_for_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers register again and again with the same endpoints and features: no work for each record."""
    asked = []

    def counted(*arguments: Any, **named: Any) -> Any:
        asked.append(arguments)
        return describe(*arguments, **named)

    monkeypatch.setattr(record_rows, "describe", counted)
    values = []
    for number in range(600):
        endpoint = BrokerEndpoint(name="PLAIN", host=f"told-once-{number % 3}.example", port=9092)
        record = RegisterBrokerRecord(
            broker_id=number % 3, broker_epoch=number, end_points=(endpoint,) * (1 + number % 2)
        )
        values.append(encode_record(record, 4))
    path = log_directory(tmp_path, encode_batch([Record(n, 5, None, value) for n, value in enumerate(values)]))
    rows = rows_of(path)
    assert [row["broker_epoch"] for row in rows] == list(range(600))
    assert {len(json.loads(row["extra"])["endPoints"]) for row in rows} == {1, 2}
    assert len(asked) == 6


@SETTINGS
@given(
    seed=st.integers(0, 1 << 32),
    batches=st.sampled_from((1, 3, 40, 120)),
    chunk=st.sampled_from((4096, 30_000, 4 << 20)),
)
def test_random_logs_decode_as_the_runtime_decodes_them(seed: int, batches: int, chunk: int) -> None:
    data = random_log(random.Random(seed), batches)
    assert differences(data, ReadOptions(redactor=Redactor(KEY), chunk_bytes=chunk)) == []


@SETTINGS
@given(seed=st.integers(0, 1 << 32), codec=st.sampled_from(list(Compression)))
def test_broken_records_inside_of_good_batches_are_faults_of_single_rows(seed: int, codec: Compression) -> None:
    """The checksum is right, so the bytes were written so: cut, flipped and invented values must not disturb their
    neighbours.
    """
    dice = random.Random(seed)
    records = []
    for offset in range(150):
        value = bytearray(random_record(dice, *dice.choice(VERSIONS)))
        match dice.randrange(5):
            case 0:
                value[dice.randrange(len(value))] ^= 1 << dice.randrange(8)
            case 1:
                del value[dice.randrange(len(value)) :]
            case 2:
                value += dice.randbytes(dice.randrange(1, 4))
            case 3:
                at = dice.randrange(len(value))
                value[at : at + 1] = dice.randbytes(3)
            case _:
                pass
        records.append(Record(offset, 5, None, bytes(value)))
    data = encode_batch(records, compression=codec)
    assert differences(data, ReadOptions(redactor=Redactor(KEY))) == []


@SETTINGS
@given(seed=st.integers(0, 1 << 32))
def test_batches_whose_records_lie_with_a_right_checksum_are_one_row_each(seed: int) -> None:
    """Lengths, counts and varints inside of a batch are wrong while its checksum holds."""
    dice = random.Random(seed)
    parts = []
    offset = 0
    for _ in range(60):
        records = [
            Record(offset + index, 5, None, random_record(dice, 20, 0)) for index in range(dice.choice((1, 3, 80)))
        ]
        batch = bytearray(encode_batch(records))
        if dice.random() < 0.6:
            batch[dice.randrange(61, len(batch))] = dice.randrange(256)
        if dice.random() < 0.2:
            batch[57:61] = dice.choice((0, 1, 1 << 20, (1 << 31) - 1, len(records) + 1)).to_bytes(4, "big")
        parts.append(with_crc(bytes(batch)))
        offset += len(records)
    assert differences(b"".join(parts), ReadOptions(redactor=Redactor(KEY))) == []


def wide(number: int, more: int = 0) -> bytes:
    """A signed varint, some bytes longer than it need be."""
    rest = (number << 1) ^ (number >> 63)
    groups: list[int] = []
    while rest >= 128 or not groups:
        groups.append(rest & 127)
        rest >>= 7
    groups += [rest, *(0 for _ in range(more))]
    if len(groups) > 1 and not more and groups[-1] == 0:
        groups.pop()
    return bytes(group | 128 for group in groups[:-1]) + bytes(groups[-1:])


@settings(SETTINGS, max_examples=4)
@given(seed=st.integers(0, 1 << 32))
def test_numbers_in_front_of_records_may_be_of_any_length(seed: int) -> None:
    """Lengths of one to three bytes, numbers longer than need be, offsets with gaps, keys, headers, large times: all in
    one chunk.
    """
    dice = random.Random(seed)
    parts, offset = [], 0
    for _ in range(70):
        body, count = b"", dice.choice((1, 2, 70, 130))
        index = 0
        for _ in range(count):
            more = dice.choice((1, 2)) if dice.random() < 0.02 else 0
            name = "n" * dice.choice((5, 40, 41, 42, 43, 44, 45, 46, 60))
            if dice.random() < 0.01:
                name = "n" * dice.choice((8150, 8160, 8170, 8180, 9000))
            value = encode_record(ClearElrRecord(topic_name=name), 0)
            key = b"k" if dice.random() < 0.01 else None
            stamp = dice.choice((0, 3, 70, 1 << 40)) if dice.random() < 0.05 else 0
            record = b"\0" + wide(stamp) + wide(index, more) + (b"\1" if key is None else wide(1) + key)
            record += wide(-1) if dice.random() < 0.01 else wide(len(value), more) + value
            record += wide(0) if dice.random() > 0.005 else wide(1) + wide(1) + b"h" + wide(-1)
            body += wide(len(record), more) + record
            index += 1 if dice.random() > 0.01 else dice.choice((2, 9000))
        batch = bytearray(encode_batch([Record(offset, 5, None, b"")])[:61])
        batch[8:12] = (len(body) + 49).to_bytes(4, "big")
        batch[23:27] = (index - 1).to_bytes(4, "big")
        batch[57:61] = count.to_bytes(4, "big")
        parts.append(with_crc(bytes(batch) + body))
        offset += index
    assert differences(b"".join(parts), ReadOptions(redactor=Redactor(KEY))) == []


@SETTINGS
@given(seed=st.integers(0, 1 << 32))
def test_flipped_cut_and_invented_files_give_rows(seed: int) -> None:
    """Whatever the bytes: every batch is a row, every row is valid Arrow, positions ascend and nothing is raised."""
    dice = random.Random(seed)
    data = bytearray(random_log(dice, 30))
    for _ in range(dice.randrange(12)):
        at = dice.randrange(len(data))
        match dice.randrange(4):
            case 0:
                data[at] ^= 1 << dice.randrange(8)
            case 1:
                data[at : at + 4] = dice.randbytes(4)
            case 2:
                del data[at : at + dice.randrange(1, 200)]
            case _:
                data[at:at] = dice.randbytes(dice.randrange(1, 100))
        if not data:
            break
    with tempfile.TemporaryDirectory() as root:
        path = log_directory(Path(root), bytes(data))
        options = ReadOptions(redactor=Redactor(KEY), chunk_bytes=dice.choice((4096, 1 << 20)))
        records = rows_of(path, options)
        batches = rows_of(path, options, level="batches")
    positions = [row["position"] for row in batches]
    assert positions == sorted(set(positions))
    assert sum(row["size"] for row in batches) == len(data), "every byte belongs to a row"
    assert {row["position"] for row in records if row["fault"] not in (None, "offset")} >= {
        row["position"] for row in batches if row["fault"] not in (None, "offset")
    }
