"""The records of `__transaction_state`, as Kafka's coordinators write them: bytes to values and back.

A key is an int16 type and the transactional id, a value an int16 version and fields; no value is a tombstone. Values
have version 0 until the cluster has `transaction.version` 1. `read` gives None for types that nobody knows.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from controller_runtime.coordinator.transactions.states import State, Transaction
from controller_runtime.protocol.codec import decode_prefix, encode
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.transaction_log_key import TransactionLogKey
from controller_runtime.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.values import dataclass

_SHORT: Final = struct.Struct(">h")
_KEY: Final = 0
_FIRST_FLEXIBLE: Final = 1
"""`transaction.version` from which on values have version 1."""


class BadTransactionRecord(Exception):
    """A record that says its type and is none of it."""


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    name: str
    transaction: Transaction | None
    """None: a tombstone."""


def key_of(name: str) -> bytes:
    return _SHORT.pack(_KEY) + encode(TransactionLogKey(transactional_id=name), 0)


def value_of(one: Transaction, transaction_version: int) -> bytes:
    """`transaction_version`: the cluster's."""
    version = 1 if transaction_version >= _FIRST_FLEXIBLE else 0
    grouped: dict[str, list[int]] = {}
    for topic, index in sorted(one.partitions):
        grouped.setdefault(topic, []).append(index)
    partitions = tuple(PartitionsSchema(topic=topic, partition_ids=tuple(ids)) for topic, ids in grouped.items())
    message = TransactionLogValue(
        producer_id=one.producer_id,
        previous_producer_id=one.previous_producer_id if version else -1,
        next_producer_id=one.next_producer_id if version else -1,
        producer_epoch=one.epoch,
        transaction_timeout_ms=one.timeout_ms,
        transaction_status=int(one.state),
        transaction_partitions=None if one.state is State.EMPTY else partitions,
        transaction_last_update_timestamp_ms=one.updated_ms,
        transaction_start_timestamp_ms=one.started_ms,
        client_transaction_version=one.version if version else 0,
    )
    return _SHORT.pack(version) + encode(message, version)


def batch_of(records: Sequence[TransactionRecord], timestamp: int, transaction_version: int) -> bytes:
    """One batch: no codec, no producer."""
    lines = [
        Record(
            place,
            timestamp,
            key_of(each.name),
            None if each.transaction is None else value_of(each.transaction, transaction_version),
        )
        for place, each in enumerate(records)
    ]
    return encode_batch(lines)


def read(key: bytes | None, value: bytes | None) -> TransactionRecord | None:
    """Raises BadTransactionRecord."""
    try:
        return _read(key, value)
    except (ProtocolError, ValueError, struct.error) as error:
        raise BadTransactionRecord(str(error)) from error


def _read(key: bytes | None, value: bytes | None) -> TransactionRecord | None:
    if key is None:
        raise BadTransactionRecord("it has no key")
    kind: int = _SHORT.unpack_from(key)[0]
    if kind != _KEY:
        return None
    name = decode_prefix(TransactionLogKey, key, 0, _SHORT.size)[0].transactional_id
    if value is None:
        return TransactionRecord(name, None)
    version: int = _SHORT.unpack_from(value)[0]
    if version not in TransactionLogValue.VERSIONS:
        raise BadTransactionRecord(f"its value has the unknown version {version}")
    found = decode_prefix(TransactionLogValue, value, version, _SHORT.size)[0]
    one = Transaction(
        producer_id=found.producer_id,
        previous_producer_id=found.previous_producer_id,
        next_producer_id=found.next_producer_id,
        epoch=found.producer_epoch,
        timeout_ms=found.transaction_timeout_ms,
        state=State(found.transaction_status),
        partitions=frozenset(
            (topic.topic, index) for topic in found.transaction_partitions or () for index in topic.partition_ids
        ),
        updated_ms=found.transaction_last_update_timestamp_ms,
        started_ms=found.transaction_start_timestamp_ms,
        version=found.client_transaction_version,
    )
    return TransactionRecord(name, one)
