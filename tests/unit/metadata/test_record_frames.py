"""IMG-07: what is not a record of this version is refused, never skipped."""

from __future__ import annotations

import pytest

from controller_runtime.metadata.records import (
    RECORD_NAMES,
    MalformedRecord,
    decode_record,
    encode_record,
    record_class,
)
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord

pytestmark = pytest.mark.unit

NO_OP = encode_record(NoOpRecord(), 0)


def test_a_frame_is_version_key_and_record_version() -> None:
    assert bytes([1, 20, 0, 0]) == NO_OP
    assert decode_record(NO_OP) == (NoOpRecord(), 0)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"", "ends inside its frame"),
        (b"\x01", "ends inside its frame"),
        (bytes([0, 20, 0, 0]), "frame version 0"),
        (bytes([2, 20, 0, 0]), "frame version 2"),
        (bytes([2, 1, 0, 0]), "frame version 2"),
        (bytes([0x81]), "ends inside its frame"),
        (bytes([0x81, 0x00, 20]), "ends inside its frame"),
        (bytes([1, 0x94]), "ends inside its frame"),
        (bytes([1, 0x94, 0x00]), "ends inside its frame"),
        (bytes([1, 20, 0x80]), "ends inside its frame"),
        (bytes([1, 0xAC, 0x02, 0, 0]), "unknown metadata record key 300"),
        (bytes([1, 0x80, 0x81, 0x01, 0, 0]), "unknown metadata record key 16512"),
        (bytes([1, 20, 0x80, 0x01, 0]), "NoOpRecord version 128"),
        (bytes([1, 6, 0, 0]), "unknown metadata record key 6"),
        (bytes([1, 29, 0, 0]), "unknown metadata record key 29"),
        (bytes([1, 20, 1, 0]), "NoOpRecord version 1"),
        (bytes([1, 3, 3, 0]), "PartitionRecord version 3"),
        (NO_OP + b"\0", "1 bytes follow a NoOpRecord"),
        (b"\xff" * 6, "longer than five bytes"),
    ],
)
def test_anything_unexpected_is_malformed(value: bytes, words: str) -> None:
    with pytest.raises(MalformedRecord, match=words):
        decode_record(value)


def test_a_record_cut_short_is_malformed() -> None:
    value = encode_record(TopicRecord(name="stock"), 0)
    for end in range(3, len(value)):
        with pytest.raises(ProtocolError):
            decode_record(value[:end])


@pytest.mark.parametrize(
    "frame", ["8100 14 00", "8180808000 14 00", "01 9400 00", "01 948000 00", "01 14 8000", "8100 9400 8000"]
)
def test_a_varint_may_be_written_longer_than_needed(frame: str) -> None:
    assert decode_record(bytes.fromhex(frame) + b"\0") == (NoOpRecord(), 0)


@pytest.mark.parametrize("frame", ["01 8000 00", "01 00 8000"])
def test_a_padded_zero_is_a_zero(frame: str) -> None:
    registration = RegisterBrokerRecord(broker_id=7)
    body = encode_record(registration, 0)[3:]
    assert decode_record(bytes.fromhex(frame) + body) == (registration, 0)


def test_every_key_has_a_class_with_that_key() -> None:
    assert len(RECORD_NAMES) == 26
    for key, name in RECORD_NAMES.items():
        cls = record_class(key)
        assert (cls.__name__, cls.KEY, cls.KIND) == (name, key, "metadata")
