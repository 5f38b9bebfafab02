"""The lines in which Apache Kafka's DumpLogSegments shows batches and records of a metadata log, letter for letter.

Pure text: who reads files, which of them, and what happens to secrets is the caller's business. `shown` turns a decoded
record into the JSON that is printed, so a caller may hide fields; `explained` words the error of a record that cannot
be decoded.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from controller_runtime.metadata.records import MalformedRecord, decode_record
from controller_runtime.protocol.control_records import MARKERS, ControlType, decode_control
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages.end_txn_marker import EndTxnMarker
from controller_runtime.protocol.record_batch import BatchHeader, Record
from controller_runtime.protocol.schema import Message

Shown = Callable[[Message, int], dict[str, Any]]

_CONTROL_LABELS: Final = {
    ControlType.LEADER_CHANGE: "LeaderChange: ",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader ",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter ",
    ControlType.KRAFT_VERSION: "KRaftVersion ",
    ControlType.KRAFT_VOTERS: "KRaftVoters ",
}


_NUMBER: Final = re.compile(r'"\\u0000([-0-9.E]+)\\u0000"')


def batch_line(header: BatchHeader, position: int, *, valid: bool) -> str:
    horizon = f"OptionalLong[{header.base_timestamp}]" if header.has_delete_horizon else "OptionalLong.empty"
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} producerId: {header.producer_id} "
        f"producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"isTransactional: {_java(header.is_transactional)} isControl: {_java(header.is_control)} "
        f"deleteHorizonMs: {horizon} position: {position} {_time_label(header)}: {header.max_timestamp} "
        f"size: {header.size_in_bytes} magic: {header.magic} compresscodec: {header.compression.name.lower()} "
        f"crc: {header.crc} isvalid: {_java(valid)}"
    )


def record_line(header: BatchHeader, record: Record) -> str:
    """What is shown of a record before its content."""
    after_first = record.offset - header.base_offset
    sequence = -1 if header.base_sequence < 0 else (header.base_sequence + after_first) & 0x7FFFFFFF
    keys = ",".join(name for name, _ in record.headers)
    return (
        f"| offset: {record.offset} {_time_label(header)}: {record.timestamp} "
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)} sequence: {sequence} headerKeys: [{keys}]"
    )


def control_text(record: Record, shown: Shown = to_json) -> str:
    """A control record's content. Raises ProtocolError."""
    control = decode_control(record)
    if control.type in MARKERS:
        marker: Any = control.message
        assert isinstance(marker, EndTxnMarker), "markers are EndTxnMarkers"
        return f"endTxnMarker: {control.type.name} coordinatorEpoch: {marker.coordinator_epoch}"
    return _CONTROL_LABELS[control.type] + json_text(shown(control.message, 0))


def metadata_payload(record: Record, shown: Shown = to_json, explained: Callable[[Exception], str] = str) -> str:
    """A metadata record's content, or why it cannot be shown."""
    try:
        if record.value is None:
            raise MalformedRecord("the record has no value")
        message, version = decode_record(record.value)
    except ProtocolError as error:
        return f"payload: Error at {record.offset}, skipping. {explained(error)}"
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(message).__name__).upper()
    return "payload: " + json_text({"type": name, "version": version, "data": shown(message, version)})


def _time_label(header: BatchHeader) -> str:
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def _size(value: bytes | None) -> int:
    return -1 if value is None else len(value)


def _java(value: bool) -> str:
    return "true" if value else "false"


def json_text(value: object) -> str:
    """As Jackson writes it: no blanks, numbers as Java prints them."""
    text = json.dumps(_marked(value), separators=(",", ":"), ensure_ascii=False)
    return _NUMBER.sub(r"\1", text)


def _marked(value: Any) -> Any:
    """Doubles as text between marks that become the numbers Java prints; JSON's own writer would print Python's."""
    match value:
        case float():
            return f"\0{java_double(value)}\0" if math.isfinite(value) else java_double(value)
        case dict():
            return {name: _marked(each) for name, each in value.items()}
        case list():
            return [_marked(each) for each in value]
        case _:
            return value


def java_double(value: float) -> str:
    """As Double.toString: decimals from 0.001 to 10,000,000, else a mantissa and an exponent."""
    if not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int), "finite"
    text = "".join(map(str, digits))
    power = len(text) + exponent - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:].rstrip('0') or '0'}E{power}"
