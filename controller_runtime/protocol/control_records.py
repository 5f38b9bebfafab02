"""Records that speak to the log's readers themselves: transaction markers, leader changes, snapshot ends, the voter
set.

    record = control_record(LeaderChangeMessage(version=0, leader_id=1), offset=7, timestamp=now)
    batch = encode_batch([record], partition_leader_epoch=2, is_control=True)
    control = decode_control(record)        # Control(ControlType.LEADER_CHANGE, LeaderChangeMessage(...))

The key is int16 version 0 and int16 type; the value is the message at version 0, transaction markers with an int16
version before them. Apache Kafka 4.3.1 writes all of them at version 0 and stops at a type it does not know, so does
`decode_control`.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.records import Record
from controller_runtime.values import dataclass

if TYPE_CHECKING:
    from controller_runtime.protocol.schema import Message

_key: Final = struct.Struct(">hh")
_version: Final = struct.Struct(">h")


class ControlType(IntEnum):
    """What a control record says; the number in its key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


MESSAGES: Final = {
    ControlType.ABORT: "EndTxnMarker",
    ControlType.COMMIT: "EndTxnMarker",
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}

_types: Final = {name: each for each, name in MESSAGES.items() if name != "EndTxnMarker"}
MARKERS: Final = (ControlType.ABORT, ControlType.COMMIT)


class UnknownControlRecord(ProtocolError):
    """A control record that this version of Kafka does not have."""


@dataclass(frozen=True, slots=True)
class Control:
    """A decoded control record."""

    type: ControlType
    message: Message


def control_record(
    message: Message, *, offset: int, timestamp: int, marker: ControlType | None = None, version: int = 0
) -> Record:
    """The record that carries a control message; `marker` says which one an EndTxnMarker is."""
    kind = marker if marker is not None else _types[type(message).__name__]
    value = encode(message, version)
    if kind in MARKERS:
        value = _version.pack(version) + value
    return Record(offset, timestamp, _key.pack(0, kind), value)


def control_type(key: bytes | None) -> ControlType:
    """The type in a control record's key. Raises UnknownControlRecord."""
    if key is None or len(key) < _key.size:
        raise UnknownControlRecord(f"a control record's key has 4 bytes, not {key!r}")
    version, number = _key.unpack_from(key)
    if version < 0:
        raise UnknownControlRecord(f"control record key version {version}")
    try:
        return ControlType(number)
    except ValueError:
        raise UnknownControlRecord(f"control record type {number}") from None


def decode_control(record: Record) -> Control:
    """What a control record says. Raises UnknownControlRecord or MalformedMessage."""
    kind = control_type(record.key)
    value = record.value
    if value is None:
        raise UnknownControlRecord(f"a {kind.name} record has no value")
    cls = message_class(MESSAGES[kind])
    if kind in MARKERS:
        return Control(kind, decode(cls, value[2:], 0))
    # The first field repeats the version; bodies of later versions only add tagged fields or fields guarded by it.
    version = _version.unpack_from(value)[0] if len(value) >= 2 else 0
    return Control(kind, decode(cls, value, version if version in cls.VERSIONS else cls.VERSIONS.highest))
