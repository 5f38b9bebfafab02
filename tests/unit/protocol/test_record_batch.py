"""Record batches: what the header says, what is refused, and how much a small batch may cost."""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import pytest

from controller_runtime.protocol.compression import (
    XERIAL_MAGIC,
    Compression,
    CorruptCompression,
    compress,
    decompress,
)
from controller_runtime.protocol.control_records import (
    Control,
    ControlType,
    UnknownControlRecord,
    control_record,
    control_type,
    decode_control,
)
from controller_runtime.protocol.errors import MalformedMessage
from controller_runtime.protocol.messages.end_txn_marker import EndTxnMarker
from controller_runtime.protocol.messages.leader_change_message import LeaderChangeMessage, Voter
from controller_runtime.protocol.record_batch import (
    CorruptBatch,
    Record,
    batch_headers,
    decode_batches,
    encode_batch,
    read_header,
    verify_crc,
)

pytestmark = pytest.mark.unit

RECORDS = [Record(5, 1000, b"k", b"v"), Record(6, 1007, None, None, (("h", b"x"), ("n", None)))]


def with_length(data: bytes, length: int) -> bytes:
    return data[:8] + struct.pack(">i", length) + data[12:]


def test_a_header_says_what_the_batch_is() -> None:
    data = encode_batch(
        RECORDS,
        partition_leader_epoch=3,
        is_transactional=True,
        producer_id=9,
        producer_epoch=1,
        base_sequence=0x7FFFFFFF,
    )
    header = read_header(data)
    assert (header.base_offset, header.last_offset, header.next_offset) == (5, 6, 7)
    assert (header.record_count, header.partition_leader_epoch) == (2, 3)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1007)
    assert (header.producer_id, header.producer_epoch, header.last_sequence) == (9, 1, 0)
    assert (header.is_transactional, header.is_control, header.compression) == (True, False, Compression.NONE)
    assert header.end_position == header.size_in_bytes == len(data)


def test_log_append_time_overrides_the_records_timestamps() -> None:
    (batch,) = decode_batches(encode_batch(RECORDS, log_append_time=5000))
    assert batch.header.is_log_append_time
    assert [record.timestamp for record in batch.records] == [5000, 5000]


def test_records_are_decoded_once_and_on_demand() -> None:
    (batch,) = decode_batches(encode_batch(RECORDS))
    assert batch.records is batch.records
    assert batch == decode_batches(encode_batch(RECORDS))[0]


def test_an_empty_batch_is_not_written() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        encode_batch([])


def test_headers_are_read_without_a_look_at_the_records() -> None:
    data = encode_batch(RECORDS)[:-1] + b"\xff"
    (header,) = batch_headers(data)
    with pytest.raises(CorruptBatch, match=r"batch at byte 0 \(offset 5\): CRC is"):
        verify_crc(data, header)
    with pytest.raises(CorruptBatch):
        decode_batches(data)


REFUSED = {
    "half a header": (encode_batch(RECORDS)[:60], "a batch header needs 61 bytes, 60 are left"),
    "magic 1": (encode_batch(RECORDS)[:16] + b"\1" + encode_batch(RECORDS)[17:], "magic 1 is not 2"),
    "a negative length": (with_length(encode_batch(RECORDS), -1), "a length of -1 is too small"),
    "a length too small for a header": (with_length(encode_batch(RECORDS), 48), "a length of 48 is too small"),
    "a length beyond the bytes": (with_length(encode_batch(RECORDS), 0x7FFFFFFF), "are claimed"),
    "codec 7": (encode_batch(RECORDS)[:22] + b"\7" + encode_batch(RECORDS)[23:], "compression is impossible"),
}


@pytest.mark.parametrize("what", sorted(REFUSED))
def test_a_broken_header_is_refused(what: str) -> None:
    data, reason = REFUSED[what]
    with pytest.raises(CorruptBatch, match=reason):
        list(batch_headers(data))


def test_the_place_of_a_broken_batch_is_named() -> None:
    good = encode_batch(RECORDS)
    with pytest.raises(CorruptBatch, match=f"batch at byte {len(good)}"):
        list(batch_headers(good + good[:-1]))
    assert len(list(batch_headers(good + good[:-1], partial_tail=True))) == 1
    assert len(list(batch_headers(good + b"\0\0\0", partial_tail=True))) == 1


def test_a_count_of_records_without_their_bytes_is_refused() -> None:
    data = bytearray(encode_batch(RECORDS))
    data[57:61] = struct.pack(">i", 1 << 30)
    (batch,) = decode_batches(bytes(data), check_crc=False)
    with pytest.raises(CorruptBatch, match="1073741824 records are claimed"):
        _ = batch.records


def batch_of(payload: bytes, count: int = 1) -> bytes:
    header = bytearray(encode_batch([Record(0, 0, None, b"")])[:61])
    header[8:12] = struct.pack(">i", 49 + len(payload))
    header[57:61] = struct.pack(">i", count)
    return bytes(header) + payload


LIES = {
    "a record beyond the batch": b"\x7e\0\0\0\1\1\0",
    "a negative record length": b"\x01\0\0\0\1\1\0",
    "a key of length -2": b"\x0c\0\0\0\3\1\0",
    "a key beyond the record": b"\x0c\0\0\0\x20\1\0",
    "a value of length -2": b"\x0c\0\0\0\1\3\0",
    "more headers than bytes": b"\x0c\0\0\0\1\1\x7e",
    "a negative count of headers": b"\x0c\0\0\0\1\1\1",
    "a varint that never ends": b"\xff" * 20,
    "bytes after the records": b"\x0c\0\0\0\1\1\0!",
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_record_that_lies_is_refused(lie: str) -> None:
    (batch,) = decode_batches(batch_of(LIES[lie]), check_crc=False)
    with pytest.raises(CorruptBatch):
        _ = batch.records


def test_a_record_that_is_shorter_than_its_length_is_refused_though_the_next_one_fits() -> None:
    (batch,) = decode_batches(batch_of(b"\x0e\0\0\0\1\1\0" + b"\x0c\0\0\2\1\1\0", count=2), check_crc=False)
    with pytest.raises(CorruptBatch, match="a record ends at byte 68, its length says 69"):
        _ = batch.records


def test_the_made_up_batch_is_good_without_a_lie() -> None:
    (batch,) = decode_batches(batch_of(b"\x0c\0\0\0\1\1\0"), check_crc=False)
    assert batch.records == (Record(0, 0, None, None),)


@pytest.mark.parametrize("codec", [each for each in Compression if each])
def test_a_small_batch_that_unpacks_to_much_is_refused_before_it_is_held(codec: Compression) -> None:
    bomb = compress(codec, bytes(20_000_000))
    with pytest.raises(CorruptCompression):
        decompress(codec, bomb, 1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptCompression, match=r"unpacks to|are allowed"):
            decompress(codec, bomb, 1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_500_000


@pytest.mark.parametrize("codec", [each for each in Compression if each])
def test_compressed_bytes_that_are_cut_or_garbage_give_a_typed_error(codec: Compression) -> None:
    packed = compress(codec, b"some text " * 50)
    for broken in (packed[:-1], packed[: len(packed) // 2], b"\xff" * 30):
        with pytest.raises(CorruptCompression, match=codec.name.lower()):
            plain = decompress(codec, broken)
            raise AssertionError(f"read as {plain!r}")


def test_plain_snappy_without_xerials_frame_is_read() -> None:
    framed = compress(Compression.SNAPPY, b"some text " * 50)
    assert framed.startswith(XERIAL_MAGIC)
    assert decompress(Compression.SNAPPY, framed[20:]) == b"some text " * 50


def test_gzip_is_what_zlib_calls_gzip() -> None:
    assert zlib.decompress(compress(Compression.GZIP, b"abc"), wbits=31) == b"abc"


def test_a_leader_change_is_a_control_record() -> None:
    message = LeaderChangeMessage(leader_id=1, voters=(Voter(voter_id=1),), granting_voters=(Voter(voter_id=1),))
    record = control_record(message, offset=7, timestamp=1000)
    assert record.key == b"\0\0\0\2"
    assert decode_control(record) == Control(ControlType.LEADER_CHANGE, message)
    (batch,) = decode_batches(encode_batch([record], is_control=True))
    assert (batch.header.is_control, batch.records) == (True, (record,))


@pytest.mark.parametrize("marker", [ControlType.ABORT, ControlType.COMMIT])
def test_transaction_markers_carry_the_coordinators_epoch(marker: ControlType) -> None:
    record = control_record(EndTxnMarker(coordinator_epoch=4), offset=1, timestamp=2, marker=marker)
    assert (record.key, record.value) == (b"\0\0\0" + bytes([marker]), b"\0\0\0\0\0\4")
    assert decode_control(record) == Control(marker, EndTxnMarker(coordinator_epoch=4))


@pytest.mark.parametrize("key", [None, b"\0\0", b"\0\0\0\x63", b"\xff\xff\0\2"])
def test_an_unknown_control_record_is_refused(key: bytes | None) -> None:
    with pytest.raises(UnknownControlRecord):
        control_type(key)


def test_a_control_record_without_its_message_is_refused() -> None:
    with pytest.raises(UnknownControlRecord, match="LEADER_CHANGE record has no value"):
        decode_control(Record(0, 0, b"\0\0\0\2", None))
    with pytest.raises(MalformedMessage):
        decode_control(Record(0, 0, b"\0\0\0\2", b"\0\0"))
