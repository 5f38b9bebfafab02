"""Record batches of any records, in any codec; and what happens to them when bytes change."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.record_batch import (
    CorruptBatch,
    Record,
    batch_headers,
    decode_batches,
    encode_batch,
    encode_values,
    encode_written,
    restamp,
)
from controller_runtime.protocol.records import write_values

pytestmark = pytest.mark.properties

SETTINGS: Final = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
blobs = (
    st.none() | st.binary(max_size=40) | st.binary(min_size=60, max_size=70) | st.binary(min_size=8190, max_size=8194)
)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)


@st.composite
def runs(draw: st.DrawFn) -> list[Record]:
    """Records with ascending offsets, gaps allowed as compaction leaves them, and timestamps in any order."""
    offset = draw(st.integers(0, 1 << 40))
    records = []
    for gap in draw(st.lists(st.sampled_from([1, 1, 1, 2, 70, 9000]), min_size=1, max_size=12)):
        timestamp = draw(st.integers(-1, 1 << 45))
        records.append(Record(offset, timestamp, draw(blobs), draw(blobs), draw(headers)))
        offset += gap
    return records


@SETTINGS
@given(records=runs(), codec=st.sampled_from(Compression), epoch=st.integers(-1, 1 << 30))
def test_records_survive_the_round_trip(records: list[Record], codec: Compression, epoch: int) -> None:
    data = encode_batch(records, compression=codec, partition_leader_epoch=epoch)
    (batch,) = decode_batches(data)
    assert batch.records == tuple(records)
    assert (batch.header.base_offset, batch.header.last_offset) == (records[0].offset, records[-1].offset)
    assert (batch.header.partition_leader_epoch, batch.header.max_timestamp) == (
        epoch,
        max(r.timestamp for r in records),
    )
    assert batch.header.size_in_bytes == len(data)


@SETTINGS
@given(
    values=st.lists(st.binary(max_size=200) | st.binary(min_size=60, max_size=70), min_size=1, max_size=300),
    base=st.integers(0, 1 << 40),
    epoch=st.integers(0, 1 << 30),
    now=st.integers(0, 1 << 45),
)
def test_the_short_way_for_values_makes_the_same_batch(values: list[bytes], base: int, epoch: int, now: int) -> None:
    records = [Record(base + delta, now, None, value) for delta, value in enumerate(values)]
    batch = encode_batch(records, partition_leader_epoch=epoch)
    assert encode_values(values, base, epoch, now) == batch
    cut = len(values) // 3
    written = write_values(values[:cut]) + write_values(values[cut:], cut)
    assert encode_written(written, len(values), base, epoch, now) == batch


@settings(SETTINGS, max_examples=25)
@given(parts=st.lists(runs(), min_size=1, max_size=4), cut=st.integers(0, 200))
def test_batches_in_a_row_are_found_and_a_cut_tail_is_seen(parts: list[list[Record]], cut: int) -> None:
    batches = [encode_batch(records) for records in parts]
    data = b"".join(batches)
    assert [header.size_in_bytes for header in batch_headers(data)] == [len(batch) for batch in batches]
    cut = min(cut, len(batches[-1]) - 1)
    short = data[: len(data) - cut]
    found = list(batch_headers(short, partial_tail=True))
    assert len(found) == len(batches) - (1 if cut else 0)
    if cut:
        with pytest.raises(CorruptBatch):
            list(batch_headers(short))


@SETTINGS
@given(records=runs(), bit=st.integers(0, 1 << 30))
def test_a_flipped_bit_is_seen_by_header_or_checksum(records: list[Record], bit: int) -> None:
    """Only base offset and leader epoch are outside of the checksum, so that a leader may set them."""
    data = bytearray(encode_batch(records))
    bit %= len(data) * 8
    position = bit // 8
    if position < 8 or 12 <= position < 16:
        return
    data[position] ^= 1 << bit % 8
    with pytest.raises(CorruptBatch):
        decode_batches(bytes(data))


@SETTINGS
@given(records=runs(), seed=st.integers(0, 1 << 30))
def test_records_that_lie_give_a_typed_error_without_a_checksum_too(records: list[Record], seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(encode_batch(records))
    for _ in range(dice.randrange(1, 4)):
        data[dice.randrange(61, len(data))] = dice.choice([0, 1, 2, 3, 0x7F, 0x80, 0xFF, dice.randrange(256)])
    (batch,) = decode_batches(bytes(data), check_crc=False)
    with suppress(CorruptBatch):
        assert len(batch.records) == batch.header.record_count


@SETTINGS
@given(records=runs(), offset=st.integers(0, 1 << 60), epoch=st.integers(0, 1 << 30))
def test_a_leader_may_stamp_offset_and_epoch_without_a_new_checksum(
    records: list[Record], offset: int, epoch: int
) -> None:
    data = bytearray(encode_batch(records))
    restamp(data, offset, epoch)
    (batch,) = decode_batches(data)
    assert (batch.header.base_offset, batch.header.partition_leader_epoch) == (offset, epoch)
    assert [r.offset - offset for r in batch.records] == [r.offset - records[0].offset for r in records]
