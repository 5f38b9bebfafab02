"""The frame around a metadata record: varint 1 (frame version), varint key, varint record version, then the record.

The key says which class follows. Anything unexpected - another frame version, a key or version we do not know, a byte too many - is a
`MalformedRecord`: a node that skipped what it cannot read would hold another cluster than its peers (QC-04, IMG-07).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.schema import Message

FRAME_VERSION: Final = 1
_MAX_VARINT_BYTES: Final = 5

RECORD_KEYS: Final[dict[int, tuple[str, str, int]]] = {
    0: ("register_broker_record", "RegisterBrokerRecord", 4),
    1: ("unregister_broker_record", "UnregisterBrokerRecord", 0),
    2: ("topic_record", "TopicRecord", 0),
    3: ("partition_record", "PartitionRecord", 2),
    4: ("config_record", "ConfigRecord", 0),
    5: ("partition_change_record", "PartitionChangeRecord", 2),
    7: ("fence_broker_record", "FenceBrokerRecord", 0),
    8: ("unfence_broker_record", "UnfenceBrokerRecord", 0),
    9: ("remove_topic_record", "RemoveTopicRecord", 0),
    10: ("delegation_token_record", "DelegationTokenRecord", 0),
    11: ("user_scram_credential_record", "UserScramCredentialRecord", 0),
    12: ("feature_level_record", "FeatureLevelRecord", 0),
    14: ("client_quota_record", "ClientQuotaRecord", 0),
    15: ("producer_ids_record", "ProducerIdsRecord", 0),
    17: ("broker_registration_change_record", "BrokerRegistrationChangeRecord", 3),
    18: ("access_control_entry_record", "AccessControlEntryRecord", 0),
    19: ("remove_access_control_entry_record", "RemoveAccessControlEntryRecord", 0),
    20: ("no_op_record", "NoOpRecord", 0),
    21: ("zk_migration_state_record", "ZkMigrationStateRecord", 0),
    22: ("remove_user_scram_credential_record", "RemoveUserScramCredentialRecord", 0),
    23: ("begin_transaction_record", "BeginTransactionRecord", 0),
    24: ("end_transaction_record", "EndTransactionRecord", 0),
    25: ("abort_transaction_record", "AbortTransactionRecord", 0),
    26: ("remove_delegation_token_record", "RemoveDelegationTokenRecord", 0),
    27: ("register_controller_record", "RegisterControllerRecord", 0),
    28: ("clear_elr_record", "ClearElrRecord", 0),
}
"""Key -> module, class, highest version of 4.3.1."""

_KEY_OF: Final = {name: key for key, (_, name, _) in RECORD_KEYS.items()}


class MalformedRecord(ProtocolError):
    """Bytes in the metadata log that are not a record we know."""


@cache
def record_class(key: int) -> type[Message]:
    """The class of a record key, imported on first use. Raises MalformedRecord for a key that 4.3.1 does not know."""
    if key not in RECORD_KEYS:
        raise MalformedRecord(f"unknown metadata record key {key}")
    module, name, _ = RECORD_KEYS[key]
    found: type[Message] = getattr(import_module(f"controller_runtime.protocol.messages.{module}"), name)
    return found


def record_key(record: Message) -> int:
    return _KEY_OF[type(record).__name__]


def encode_record(record: Message, version: int) -> bytes:
    """The value of the log record that carries this metadata record."""
    key = record_key(record)
    assert 0 <= version <= RECORD_KEYS[key][2], f"{type(record).__name__} has no version {version}"
    return bytes((FRAME_VERSION, key, version)) + encode(record, version)  # all three are below 128: one byte each


def decode_record(value: bytes) -> tuple[Message, int]:
    """Read one metadata record and its version. The whole value must be consumed."""
    if len(value) >= 3 and value[0] == FRAME_VERSION and value[1] < 128 and value[2] < 128:
        key, version, start = value[1], value[2], 3
    else:
        key, version, start = _read_frame(value)
    cls = record_class(key)
    if version > RECORD_KEYS[key][2]:
        raise MalformedRecord(
            f"{cls.__name__} version {version} is above {RECORD_KEYS[key][2]}, the highest known here"
        )
    return decode(cls, value[start:], version), version


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
