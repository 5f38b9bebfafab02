"""What `kafka-dump-log` makes of the keys and values of records: text, numbers, or the records of Kafka's coordinators.

Coordinators write a type before the key and a version before the value, two bytes each. A record that is none is said
to be one and passed over, as in Kafka; only a record without a key, which no coordinator writes, ends the tool.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from controller_runtime.cli.dump_remote import remote_text
from controller_runtime.metadata.dump_lines import json_text, metadata_payload
from controller_runtime.protocol.codec import decode_prefix
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from controller_runtime.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from controller_runtime.protocol.messages.group_metadata_value import GroupMetadataValue
from controller_runtime.protocol.record_batch import Record
from controller_runtime.protocol.schema import Message

Decoder = Callable[[Record], list[str]]
"""The parts of a line: `key: ...` and `payload: ...`, each if there is one."""

STRING_DECODER: Final = "org.apache.kafka.tools.api.StringDecoder"
_SHORT: Final = struct.Struct(">h")
_NUMBERS: Final = {
    "org.apache.kafka.tools.api.LongDecoder": struct.Struct(">q"),
    "org.apache.kafka.tools.api.IntegerDecoder": struct.Struct(">i"),
}

GROUP_RECORDS: Final = {
    0: "LegacyOffsetCommit",
    1: "OffsetCommit",
    2: "GroupMetadata",
    3: "ConsumerGroupMetadata",
    4: "ConsumerGroupPartitionMetadata",
    5: "ConsumerGroupMemberMetadata",
    6: "ConsumerGroupTargetAssignmentMetadata",
    7: "ConsumerGroupTargetAssignmentMember",
    8: "ConsumerGroupCurrentMemberAssignment",
    10: "ShareGroupMemberMetadata",
    11: "ShareGroupMetadata",
    12: "ShareGroupTargetAssignmentMetadata",
    13: "ShareGroupTargetAssignmentMember",
    14: "ShareGroupCurrentMemberAssignment",
    15: "ShareGroupStatePartitionMetadata",
    16: "ConsumerGroupRegularExpression",
    17: "StreamsGroupMetadata",
    19: "StreamsGroupMemberMetadata",
    20: "StreamsGroupTargetAssignmentMetadata",
    21: "StreamsGroupTargetAssignmentMember",
    22: "StreamsGroupCurrentMemberAssignment",
    23: "StreamsGroupTopology",
}
TRANSACTION_RECORDS: Final = {0: "TransactionLog"}
SHARE_RECORDS: Final = {0: "ShareSnapshot", 1: "ShareUpdate"}


class Undecodable(Exception):
    """The decoder cannot go on: Java ends with this exception."""


class _Skipped(Exception):
    """Not a record of this coordinator, for this reason."""


def offsets_decoder() -> Decoder:
    return partial(_coordinator_parts, GROUP_RECORDS)


def transaction_decoder() -> Decoder:
    return partial(_coordinator_parts, TRANSACTION_RECORDS)


def share_decoder() -> Decoder:
    return partial(_coordinator_parts, SHARE_RECORDS)


def metadata_decoder() -> Decoder:
    return lambda record: [metadata_payload(record)]


def remote_decoder() -> Decoder:
    return lambda record: [f"payload: {remote_text(record)}"]


def plain_decoder(key_class: str, value_class: str) -> Decoder:
    """Raises Undecodable for a class that is not one of Kafka's own."""
    key, value = _of_class(key_class), _of_class(value_class)

    def parts(record: Record) -> list[str]:
        said = [] if record.key is None else [f"key: {key(record.key)}"]
        return said if record.value is None else [*said, f"payload: {value(record.value)}"]

    return parts


def _of_class(name: str) -> Callable[[bytes], str]:
    if name == STRING_DECODER:
        return lambda data: data.decode(errors="replace")
    if name not in _NUMBERS:
        own = ", ".join([STRING_DECODER, *_NUMBERS])
        raise Undecodable(
            f"java.lang.RuntimeException: Failed to load decoder class {name}: classes of Java cannot be run here. "
            f"Choose one of {own}, or dump with Apache Kafka's tool"
        )
    return partial(_number, _NUMBERS[name])


def _number(layout: struct.Struct, data: bytes) -> str:
    if len(data) < layout.size:
        raise Undecodable("java.nio.BufferUnderflowException")
    return str(layout.unpack_from(data)[0])


# Coordinators.


def _coordinator_parts(names: Mapping[int, str], record: Record) -> list[str]:
    if record.key is None:
        why = "using the specified decoder (message had a missing key)"
        raise Undecodable(f"java.lang.RuntimeException: Failed to decode message at offset {record.offset} {why}")
    try:
        return _decoded(names, record.key, record.value)
    except _UnknownType as unknown:
        return [f"key: Unknown record type {unknown} at offset {record.offset}, skipping."]
    except _Skipped as skipped:
        return [f"key: Error at offset {record.offset}, skipping. {skipped}"]


class _UnknownType(Exception):
    pass


def _decoded(names: Mapping[int, str], key: bytes, value: bytes | None) -> list[str]:
    kind = _version(key, "key")
    if kind not in names:
        raise _UnknownType(kind)
    found = _read(message_class(f"{names[kind]}Key"), key, 0, kind, "key")
    said = f"key: {json_text({'type': str(kind), 'data': to_json(found, 0)})}"
    if value is None:
        return [said, "payload: <DELETE>"]
    version, shape = _version(value, "value"), message_class(f"{names[kind]}Value")
    if version not in shape.VERSIONS:
        raise _Skipped(f"Found an unknown record version {version} for {kind} type")
    content = _read(shape, value, version, version, "value")
    return [said, f"payload: {json_text({'version': str(version), 'data': _shown(content, version)})}"]


def _version(data: bytes, what: str) -> int:
    if len(data) < _SHORT.size:
        raise _Skipped(f"Could not read version from {what}'s buffer.")
    return int(_SHORT.unpack_from(data)[0])


def _read(shape: type[Message], data: bytes, version: int, named: int, what: str) -> Message:
    try:
        return decode_prefix(shape, data, version, _SHORT.size)[0]
    except ProtocolError as error:
        raise _Skipped(f"Could not read record with version {named} from {what}'s buffer due to: {error}.") from error


def _shown(content: Message, version: int) -> dict[str, Any]:
    """Members of a classic group of consumers carry bytes whose meaning is known."""
    shown = to_json(content, version)
    if isinstance(content, GroupMetadataValue) and content.protocol_type == "consumer":
        for member, each in zip(content.members, shown["members"], strict=True):
            for name, shape, data in (
                ("subscription", ConsumerProtocolSubscription, member.subscription),
                ("assignment", ConsumerProtocolAssignment, member.assignment),
            ):
                each[name] = _nested(shape, data, each[name])
    return shown


def _nested(shape: type[Message], data: bytes, otherwise: Any) -> Any:
    try:
        version = _version(data, "value")
        if version not in shape.VERSIONS:
            return otherwise
        return to_json(decode_prefix(shape, data, version, _SHORT.size)[0], version)
    except (_Skipped, ProtocolError):
        return otherwise
