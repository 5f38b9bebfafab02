"""The frame around a metadata record: varint 1 (frame version), varint key, varint record version, then the record.

The key says which class follows. Anything unexpected - another frame version, a key or version we do not know, a byte
too many - is a `MalformedRecord`: a node that skipped what it cannot read would hold another cluster than its peers
(QC-04, IMG-07).
"""

from __future__ import annotations

from functools import cache
from typing import Final

from controller_runtime.protocol.codec import decode_prefix, encode
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.schema import Message

FRAME_VERSION: Final = 1
_MAX_VARINT_BYTES: Final = 5

RECORD_NAMES: Final = {
    0: "RegisterBrokerRecord",
    1: "UnregisterBrokerRecord",
    2: "TopicRecord",
    3: "PartitionRecord",
    4: "ConfigRecord",
    5: "PartitionChangeRecord",
    7: "FenceBrokerRecord",
    8: "UnfenceBrokerRecord",
    9: "RemoveTopicRecord",
    10: "DelegationTokenRecord",
    11: "UserScramCredentialRecord",
    12: "FeatureLevelRecord",
    14: "ClientQuotaRecord",
    15: "ProducerIdsRecord",
    17: "BrokerRegistrationChangeRecord",
    18: "AccessControlEntryRecord",
    19: "RemoveAccessControlEntryRecord",
    20: "NoOpRecord",
    21: "ZkMigrationStateRecord",
    22: "RemoveUserScramCredentialRecord",
    23: "BeginTransactionRecord",
    24: "EndTransactionRecord",
    25: "AbortTransactionRecord",
    26: "RemoveDelegationTokenRecord",
    27: "RegisterControllerRecord",
    28: "ClearElrRecord",
}
"""Every record of 4.3.1 by its key; 6, 13 and 16 were never released."""


class MalformedRecord(ProtocolError):
    """Bytes in the metadata log that are not a record we know."""


@cache
def record_class(key: int) -> type[Message]:
    """The class of a record key, imported on first use. Raises MalformedRecord for a key that 4.3.1 does not know."""
    if key not in RECORD_NAMES:
        raise MalformedRecord(f"unknown metadata record key {key}")
    return message_class(RECORD_NAMES[key])


def encode_record(record: Message, version: int) -> bytes:
    """The value of the log record that carries this metadata record."""
    key = record.KEY
    assert key in RECORD_NAMES, f"{type(record).__name__} is not a metadata record"
    assert version in record.VERSIONS, f"{type(record).__name__} has no version {version}"
    return bytes((FRAME_VERSION, key, version)) + encode(record, version)  # all three are below 128: one byte each


def decode_record(value: bytes) -> tuple[Message, int]:
    """Read one metadata record and its version. The whole value must be consumed."""
    if len(value) >= 3 and value[0] == FRAME_VERSION and value[1] < 128 and value[2] < 128:
        key, version, start = value[1], value[2], 3
    else:
        key, version, start = _read_frame(value)
    cls = record_class(key)
    if version not in cls.VERSIONS:
        raise MalformedRecord(f"{cls.__name__} version {version} is outside of {cls.VERSIONS}, the range known here")
    record, end = decode_prefix(cls, value, version, start)
    if end != len(value):
        raise MalformedRecord(f"{len(value) - end} bytes follow a {cls.__name__}")
    return record, version


def _read_frame(value: bytes) -> tuple[int, int, int]:
    frame, position = _read_varint(value, 0)
    if frame != FRAME_VERSION:
        raise MalformedRecord(f"metadata record frame version {frame}, only {FRAME_VERSION} is known")
    key, position = _read_varint(value, position)
    version, position = _read_varint(value, position)
    return key, version, position


def _read_varint(value: bytes, position: int) -> tuple[int, int]:
    number = 0
    for index in range(_MAX_VARINT_BYTES):
        if position + index >= len(value):
            raise MalformedRecord(f"a metadata record of {len(value)} bytes ends inside its frame")
        byte = value[position + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number, position + index + 1
    raise MalformedRecord("a varint in the frame of a metadata record is longer than five bytes")
