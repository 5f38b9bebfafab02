"""The records of `__share_group_state`, as Kafka's coordinators write them: bytes to values and back.

A key is an int16 type (0 a snapshot, 1 an update), the group, the topic's id and the partition; a value an int16
version and fields; no value is a tombstone. `read` gives None for types that nobody knows.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from controller_runtime.coordinator.share_state.combining import StateBatch
from controller_runtime.coordinator.share_state.values import ShareKey, ShareState, ShareUpdate
from controller_runtime.protocol.codec import decode_prefix, encode
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages import share_snapshot_value, share_update_value
from controller_runtime.protocol.messages.share_snapshot_key import ShareSnapshotKey
from controller_runtime.protocol.messages.share_snapshot_value import ShareSnapshotValue
from controller_runtime.protocol.messages.share_update_value import ShareUpdateValue
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.values import dataclass

_SHORT: Final = struct.Struct(">h")
_SNAPSHOT: Final = 0
_UPDATE: Final = 1


class BadShareRecord(Exception):
    """A record that says its type and is none of it."""


@dataclass(frozen=True, slots=True)
class ShareRecord:
    key: ShareKey
    value: ShareState | ShareUpdate | None
    """None: the key is forgotten."""


def key_of(record: ShareRecord) -> bytes:
    key, kind = record.key, _UPDATE if isinstance(record.value, ShareUpdate) else _SNAPSHOT
    # Both keys have the same fields.
    message = ShareSnapshotKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
    return _SHORT.pack(kind) + encode(message, 0)


def value_of(value: ShareState | ShareUpdate) -> bytes:
    message: ShareSnapshotValue | ShareUpdateValue
    if isinstance(value, ShareUpdate):
        message = ShareUpdateValue(
            snapshot_epoch=value.snapshot_epoch,
            leader_epoch=value.leader_epoch,
            start_offset=value.start_offset,
            delivery_complete_count=value.complete_count,
            state_batches=tuple(
                share_update_value.StateBatch(
                    first_offset=each.first,
                    last_offset=each.last,
                    delivery_state=each.state,
                    delivery_count=each.count,
                )
                for each in value.batches
            ),
        )
    else:
        message = ShareSnapshotValue(
            snapshot_epoch=value.snapshot_epoch,
            state_epoch=value.state_epoch,
            leader_epoch=value.leader_epoch,
            start_offset=value.start_offset,
            delivery_complete_count=value.complete_count,
            create_timestamp=value.created_ms,
            write_timestamp=value.written_ms,
            state_batches=tuple(
                share_snapshot_value.StateBatch(
                    first_offset=each.first,
                    last_offset=each.last,
                    delivery_state=each.state,
                    delivery_count=each.count,
                )
                for each in value.batches
            ),
        )
    return _SHORT.pack(0) + encode(message, 0)


def batch_of(records: Sequence[ShareRecord], timestamp: int) -> bytes:
    """One batch: no codec, no producer."""
    lines = [
        Record(place, timestamp, key_of(each), None if each.value is None else value_of(each.value))
        for place, each in enumerate(records)
    ]
    return encode_batch(lines)


def read(key: bytes | None, value: bytes | None) -> ShareRecord | None:
    """Raises BadShareRecord."""
    try:
        return _read(key, value)
    except (ProtocolError, ValueError, struct.error) as error:
        raise BadShareRecord(str(error)) from error


def _read(key: bytes | None, value: bytes | None) -> ShareRecord | None:
    if key is None:
        raise BadShareRecord("it has no key")
    kind: int = _SHORT.unpack_from(key)[0]
    if kind not in (_SNAPSHOT, _UPDATE):
        return None
    named = decode_prefix(ShareSnapshotKey, key, 0, _SHORT.size)[0]
    share_key = ShareKey(named.group_id, named.topic_id, named.partition)
    if value is None:
        # Kafka forgets a state by the tombstone of its snapshot alone.
        return ShareRecord(share_key, None) if kind == _SNAPSHOT else None
    version: int = _SHORT.unpack_from(value)[0]
    if version != 0:
        raise BadShareRecord(f"its value has the unknown version {version}")
    return ShareRecord(share_key, _snapshot(value) if kind == _SNAPSHOT else _update(value))


def _snapshot(value: bytes) -> ShareState:
    found = decode_prefix(ShareSnapshotValue, value, 0, _SHORT.size)[0]
    return ShareState(
        snapshot_epoch=found.snapshot_epoch,
        state_epoch=found.state_epoch,
        leader_epoch=found.leader_epoch,
        start_offset=found.start_offset,
        complete_count=found.delivery_complete_count,
        created_ms=found.create_timestamp,
        written_ms=found.write_timestamp,
        batches=tuple(
            StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
            for each in found.state_batches
        ),
    )


def _update(value: bytes) -> ShareUpdate:
    found = decode_prefix(ShareUpdateValue, value, 0, _SHORT.size)[0]
    return ShareUpdate(
        snapshot_epoch=found.snapshot_epoch,
        leader_epoch=found.leader_epoch,
        start_offset=found.start_offset,
        complete_count=found.delivery_complete_count,
        batches=tuple(
            StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
            for each in found.state_batches
        ),
    )
