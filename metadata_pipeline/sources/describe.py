"""What one record says, as values for columns: the slow way, with the project's own codec, one record at a time.

Everything the column decoder (`layouts`) does not take comes through here: record types with lists of structures,
control records, unknown types, broken bytes. It is also what the fast way is compared with: both must give the same
values for every record. Secrets are replaced here, before a value leaves; what could not be decoded is shown as length
and fingerprint.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Final

from controller_runtime.metadata.records import FRAME_VERSION, RECORD_NAMES, MalformedRecord, record_class
from controller_runtime.protocol.codec import decode_prefix
from controller_runtime.protocol.control_records import MESSAGES, ControlType, UnknownControlRecord, control_type
from controller_runtime.protocol.errors import MalformedMessage, ProtocolError
from controller_runtime.protocol.json_form import shown_field, to_json
from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.primitives import Invalid, read_uvarint
from controller_runtime.protocol.schema import Message, spec_of
from metadata_pipeline.redaction import Redactor
from metadata_pipeline.schemas import FIELD_COLUMNS, FLAG_CHANGES, NO_CHANGE
from metadata_pipeline.sources.faults import Fault

_FLAGS: Final = {1: True, -1: False, 0: None}


@dataclass(slots=True)
class Described:
    """One record. `values` has the typed columns; uuids are bytes of 16, lists are tuples."""

    type: str | None = None
    type_id: int | None = None
    version: int | None = None
    values: dict[str, Any] = field(default_factory=dict)
    extra: str | None = None
    redacted: bool = False
    raw: bytes | None = None
    fault: Fault | None = None
    detail: str | None = None


def describe(key: bytes | None, value: bytes | None, *, control: bool, redactor: Redactor) -> Described:
    """A record's row. Never raises for bytes, whatever they are."""
    return _describe_control(key, value, redactor) if control else _describe_metadata(value, redactor)


def _describe_metadata(value: bytes | None, redactor: Redactor) -> Described:
    found = Described()
    if value is None:
        return _broken(found, b"", Fault.MALFORMED, "the record has no value", redactor)
    try:
        frame, position = read_uvarint(value, 0)
        if frame != FRAME_VERSION:
            return _broken(
                found, value, Fault.UNKNOWN, f"frame version {frame}, only {FRAME_VERSION} is known", redactor
            )
        number, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    except (IndexError, Invalid):
        return _broken(found, value, Fault.MALFORMED, "the frame of the record is broken", redactor)
    found.type_id, found.version = _signed(number), _signed(version)
    if number not in RECORD_NAMES:
        return _broken(found, value, Fault.UNKNOWN, f"record type {number} is not known", redactor)
    found.type = RECORD_NAMES[number]
    try:
        cls = record_class(number)
        if version not in cls.VERSIONS:
            why = f"version {version} is not known, only {cls.VERSIONS}"
            return _broken(found, value, Fault.UNKNOWN, why, redactor)
        record, end = decode_prefix(cls, value, version, position)
        if end != len(value):
            return _broken(found, value, Fault.MALFORMED, f"{len(value) - end} bytes follow the record", redactor)
    except (ProtocolError, MalformedRecord) as error:
        return _broken(found, value, Fault.MALFORMED, _place(error), redactor)
    return _filled(found, record, version, redactor)


def _describe_control(key: bytes | None, value: bytes | None, redactor: Redactor) -> Described:
    found = Described()
    if key is not None and len(key) >= 4:
        found.type_id = int.from_bytes(key[2:4], "big", signed=True)
    data = value or b""
    try:
        kind = control_type(key)
    except UnknownControlRecord:
        return _broken(found, data, Fault.CONTROL, "the type of the control record is not known", redactor)
    found.type = MESSAGES[kind]
    if len(data) < 2:
        return _broken(found, data, Fault.CONTROL, "the control record is too short", redactor)
    number = int.from_bytes(data[:2], "big", signed=True)
    cls = message_class(found.type)
    marker = kind in (ControlType.ABORT, ControlType.COMMIT)
    version = 0 if marker else number if number in cls.VERSIONS else cls.VERSIONS.highest
    found.version = number
    try:
        message, end = decode_prefix(cls, data, version, 2 if marker else 0)
    except ProtocolError as error:
        return _broken(found, data, Fault.CONTROL, _place(error), redactor)
    if end != len(data):
        return _broken(found, data, Fault.CONTROL, f"{len(data) - end} bytes follow the record", redactor)
    return _filled(found, message, version, redactor)


def _filled(found: Described, record: Message, version: int, redactor: Redactor) -> Described:
    name = type(record).__name__
    changes = redactor.changes(record)
    shown: dict[str, Any] = {}
    columns = FIELD_COLUMNS.get(name, {})
    for spec in record.FIELDS:
        if version not in spec.versions:
            continue
        value = changes.get(spec.name, getattr(record, spec.name))
        column = columns.get(spec.name)
        if column is not None and (name != FLAG_CHANGES[0] or spec.name not in FLAG_CHANGES[1] or value in _FLAGS):
            if name == FLAG_CHANGES[0] and spec.name in FLAG_CHANGES[1]:
                value = _FLAGS[value]
            found.values[column] = None if NO_CHANGE.get((name, spec.name)) == value else value
        elif spec.name in changes:
            shown[spec.json_name] = value
        elif not (spec.is_tagged(version) and value == spec.default):
            shown[spec.json_name] = shown_field(spec, value, version)
    if record.unknown_tagged_fields:
        shown["unknownTaggedFields"] = [_tagged(tag, data, redactor) for tag, data in record.unknown_tagged_fields]
    found.redacted = bool(changes) or (bool(record.unknown_tagged_fields) and not redactor.include_secrets)
    found.extra = to_text(shown) if shown else None
    return found


def json_of(record: Message, version: int, redactor: Redactor) -> dict[str, Any]:
    """The whole record as Kafka's tools print it, without its secrets."""
    record, changes = redactor.hidden(record)
    shown = to_json(record, version)
    for name, text in changes.items():
        shown[spec_of(type(record), name).json_name] = text
    return shown


def to_text(shown: Any) -> str:
    """JSON as Kafka writes it: compact, text as it is, numbers that JSON does not have as strings."""
    try:
        return json.dumps(shown, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(shown), separators=(",", ":"), ensure_ascii=False)


def _finite(shown: Any) -> Any:
    if isinstance(shown, dict):
        return {name: _finite(value) for name, value in shown.items()}
    if isinstance(shown, list):
        return [_finite(value) for value in shown]
    if isinstance(shown, float) and not math.isfinite(shown):
        return "NaN" if math.isnan(shown) else "Infinity" if shown > 0 else "-Infinity"
    return shown


def _broken(found: Described, data: bytes, fault: Fault, detail: str, redactor: Redactor) -> Described:
    found.fault, found.detail = fault, detail
    if redactor.include_secrets:
        found.raw = data
    else:
        found.redacted = True
    found.extra = to_text({"unreadable": redactor.unknown(data)})
    return found


def _tagged(tag: int, data: bytes, redactor: Redactor) -> dict[str, Any]:
    shown: dict[str, Any] = {"tag": tag}
    return shown | ({"bytes": data.hex()} if redactor.include_secrets else redactor.unknown(data))


def _place(error: Exception) -> str:
    """Where a message is broken, without the words of the error, which may quote what was read."""
    if isinstance(error, MalformedMessage):
        return f"{error.message} v{error.version}: {error.field} at byte {error.position} does not fit the layout"
    return "the bytes do not fit the layout"


def _signed(number: int) -> int:
    """A varint of 32 bits as an int column can hold it."""
    return number - (1 << 32) if number >= 1 << 31 else number
