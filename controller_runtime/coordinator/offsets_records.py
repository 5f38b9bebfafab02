"""The records of `__consumer_offsets`, as Kafka's coordinators write them: bytes to values and back.

A key is an int16 type and fields, a value an int16 version and fields; no value is a tombstone. Offsets are written at
version 4, groups of the classic protocol at version 3; records of groups of the consumer protocol are in
`consumer.records`, of share groups in `share.records`, of streams groups in `streams.records`. Types that nobody knows
are passed over: `read` gives None for them. `BadGroupRecord` says what is wrong with those that are damaged.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from controller_runtime.coordinator.consumer import records as of_consumers
from controller_runtime.coordinator.consumer.records import ConsumerRecord
from controller_runtime.coordinator.share import records as of_shares
from controller_runtime.coordinator.share.records import ShareGroupRecord
from controller_runtime.coordinator.streams import records as of_streams
from controller_runtime.coordinator.streams.records import StreamsRecord
from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.codec import decode_prefix, encode
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.group_metadata_key import GroupMetadataKey
from controller_runtime.protocol.messages.group_metadata_value import GroupMetadataValue
from controller_runtime.protocol.messages.legacy_offset_commit_key import LegacyOffsetCommitKey
from controller_runtime.protocol.messages.offset_commit_key import OffsetCommitKey
from controller_runtime.protocol.messages.offset_commit_value import OffsetCommitValue
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.values import dataclass

_SHORT: Final = struct.Struct(">h")
LEGACY_OFFSET: Final = 0
OFFSET: Final = 1
GROUP: Final = 2
_OFFSET_VERSION: Final = 4
_GROUP_VERSION: Final = 3
_NO_TIME: Final = -1


class BadGroupRecord(Exception):
    """A record that says its type and is none of it."""


@dataclass(frozen=True, slots=True)
class Committed:
    """An offset that a group has committed for a partition. Times are milliseconds since 1970."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int = _NO_TIME
    """Only from clients that ask for it (OffsetCommit up to version 4)."""
    topic_id: Uuid = ZERO_UUID


@dataclass(frozen=True, slots=True)
class OffsetPlace:
    group_id: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class OffsetRecord:
    place: OffsetPlace
    committed: Committed | None
    """None: a tombstone."""


@dataclass(frozen=True, slots=True)
class GroupRecord:
    group_id: str
    value: GroupMetadataValue | None
    """None: a tombstone."""


OtherRecord = ConsumerRecord | ShareGroupRecord | StreamsRecord
"""Of a group of another protocol than the classic one."""
GroupLogRecord = OffsetRecord | GroupRecord | OtherRecord


def key_of(record: GroupLogRecord) -> bytes:
    if isinstance(record, ConsumerRecord):
        return of_consumers.key_of(record)
    if isinstance(record, ShareGroupRecord):
        return of_shares.key_of(record)
    if isinstance(record, StreamsRecord):
        return of_streams.key_of(record)
    if isinstance(record, OffsetRecord):
        group_id, topic, partition = record.place.group_id, record.place.topic, record.place.partition
        return _SHORT.pack(OFFSET) + encode(OffsetCommitKey(group=group_id, topic=topic, partition=partition), 0)
    return _SHORT.pack(GROUP) + encode(GroupMetadataKey(group=record.group_id), 0)


def value_of(record: GroupLogRecord) -> bytes | None:
    if isinstance(record, ConsumerRecord):
        return of_consumers.value_of(record)
    if isinstance(record, ShareGroupRecord):
        return of_shares.value_of(record)
    if isinstance(record, StreamsRecord):
        return of_streams.value_of(record)
    if isinstance(record, GroupRecord):
        value = record.value
        return None if value is None else _SHORT.pack(_GROUP_VERSION) + encode(value, _GROUP_VERSION)
    found = record.committed
    if found is None:
        return None
    # Only version 1 has the time at which an offset expires.
    version = _OFFSET_VERSION if found.expire_timestamp == _NO_TIME else 1
    message = OffsetCommitValue(
        offset=found.offset,
        leader_epoch=found.leader_epoch,
        metadata=found.metadata,
        commit_timestamp=found.commit_timestamp,
        expire_timestamp=found.expire_timestamp,
        topic_id=found.topic_id,
    )
    return _SHORT.pack(version) + encode(message, version)


def batch_of(
    records: Sequence[GroupLogRecord], timestamp: int, codec: int, producer_id: int = -1, epoch: int = -1
) -> bytes:
    """One batch, as Kafka's coordinators write them: sequence 0; with a producer it is of his transaction."""
    lines = [Record(place, timestamp, key_of(each), value_of(each)) for place, each in enumerate(records)]
    return encode_batch(
        lines,
        compression=Compression(codec),
        base_sequence=0,
        producer_id=producer_id,
        producer_epoch=epoch,
        is_transactional=producer_id >= 0,
    )


def read(key: bytes | None, value: bytes | None) -> GroupLogRecord | None:
    """Raises BadGroupRecord."""
    try:
        return _read(key, value)
    except (ProtocolError, struct.error, ValueError) as error:
        raise BadGroupRecord(str(error)) from error


def _read(key: bytes | None, value: bytes | None) -> GroupLogRecord | None:
    if key is None:
        raise BadGroupRecord("it has no key")
    kind: int = _SHORT.unpack_from(key)[0]
    if kind == GROUP:
        group_id = decode_prefix(GroupMetadataKey, key, 0, _SHORT.size)[0].group
        if value is None:
            return GroupRecord(group_id, None)
        found = decode_prefix(GroupMetadataValue, value, _version(value, GroupMetadataValue), _SHORT.size)[0]
        return GroupRecord(group_id, found)
    if kind == OFFSET:
        named = decode_prefix(OffsetCommitKey, key, 0, _SHORT.size)[0]
        place = OffsetPlace(named.group, named.topic, named.partition)
        return OffsetRecord(place, None if value is None else _committed(value))
    if kind == LEGACY_OFFSET:
        old = decode_prefix(LegacyOffsetCommitKey, key, 0, _SHORT.size)[0]
        place = OffsetPlace(old.group, old.topic, old.partition)
        return OffsetRecord(place, None if value is None else _committed(value))
    others = (of_consumers.read, of_shares.read, of_streams.read)
    return next((known for each in others if (known := each(kind, key, value)) is not None), None)


def _version(value: bytes, shape: type[GroupMetadataValue | OffsetCommitValue]) -> int:
    version: int = _SHORT.unpack_from(value)[0]
    if version not in shape.VERSIONS:
        raise BadGroupRecord(f"its value has the unknown version {version}")
    return version


def _committed(value: bytes) -> Committed:
    """Both types of keys have values of the same versions."""
    found = decode_prefix(OffsetCommitValue, value, _version(value, OffsetCommitValue), _SHORT.size)[0]
    return Committed(
        found.offset,
        found.leader_epoch,
        found.metadata,
        commit_timestamp=found.commit_timestamp,
        expire_timestamp=found.expire_timestamp,
        topic_id=found.topic_id,
    )
