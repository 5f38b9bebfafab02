"""What the pipeline's tables should say of a log: one record at a time, by the runtime's own codec, into plain
dictionaries.

Nothing here knows numpy or Arrow. A record's columns come from `decode_record` and the table of fields; only what that
codec refuses is left to the pipeline's own words.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.records import decode_record
from controller_runtime.protocol.compression import CorruptCompression, decompress
from controller_runtime.protocol.control_records import decode_control
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.record_batch import (
    HEADER_BYTES,
    CorruptBatch,
    Record,
    RecordBatch,
    batch_headers,
    verify_crc,
)
from controller_runtime.protocol.schema import Message
from metadata_pipeline.redaction import SECRET_FIELDS, Redactor, is_secret_config
from metadata_pipeline.schemas import FIELD_COLUMNS, NO_CHANGE, RECORDS
from metadata_pipeline.sources.describe import describe
from metadata_pipeline.sources.segments import Segment

TIME_LIMITS: Final = (-62_135_596_800_000, 253_402_300_800_000)
WHERE: Final = (
    "cluster_id", "node_id", "directory_id", "partition", "file", "kind", "snapshot_offset", "snapshot_epoch",
)  # fmt: skip


def expected_rows(segment: Segment, data: bytes, redactor: Redactor) -> Iterator[dict[str, Any]]:
    """Rows of `records` for a file whose batches have good headers; offsets that surprise are not marked here."""
    for header in batch_headers(data):
        row: dict[str, Any] = dict.fromkeys(column.name for column in RECORDS)
        row |= {name: getattr(segment, name) for name in WHERE}
        row |= {"position": header.position, "batch_offset": header.base_offset}
        body = data[header.position : header.end_position]
        try:
            verify_crc(data, header)
            if header.compression:
                decompress(header.compression, body[HEADER_BYTES:], 64 << 20)
            records = RecordBatch(header._replace(position=0), body).records
        except CorruptCompression:
            yield row | {"offset": header.base_offset, "fault": "compression"}
            continue
        except CorruptBatch as error:
            fault = "crc" if "CRC" in error.reason else "records"
            yield row | {"offset": header.base_offset, "fault": fault}
            continue
        row |= {"epoch": header.partition_leader_epoch, "is_control": header.is_control, "redacted": False}
        for record in records:
            when = (record.timestamp + (1 << 63)) % (1 << 64) - (1 << 63)
            found = row | {"offset": record.offset, "timestamp_ms": when}
            if TIME_LIMITS[0] <= when < TIME_LIMITS[1]:
                found["timestamp"] = when * 1000
            yield found | said(record, header.is_control, redactor)


def said(record: Record, control: bool, redactor: Redactor) -> dict[str, Any]:
    """What one record says."""
    try:
        if control:
            decoded = decode_control(record)
            message, kind, version = (
                decoded.message,
                int(decoded.type),
                int.from_bytes((record.value or b"")[:2], "big", signed=True),
            )
            shape = version if version in message.VERSIONS else message.VERSIONS.highest
            if kind < 2:
                shape = 0
        else:
            message, version = decode_record(record.value or b"")
            kind, shape = message.KEY, version  # type: ignore[assignment]
    except ProtocolError:
        found = describe(record.key, record.value, control=control, redactor=redactor)
        assert found.fault is not None, "what the runtime cannot read is a fault"
        return {
            "type": found.type, "type_id": found.type_id, "version": found.version, "extra": found.extra,
            "raw": found.raw,
            "redacted": found.redacted, "fault": str(found.fault), "detail": found.detail,
        }  # fmt: skip
    return {"type": type(message).__name__, "type_id": kind, "version": version} | columns(message, shape, redactor)


def columns(message: Message, version: int, redactor: Redactor) -> dict[str, Any]:
    name = type(message).__name__
    places = FIELD_COLUMNS.get(name, {})
    found: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    redacted = False
    shown = to_json(message, version)
    for spec in message.FIELDS:
        if version not in spec.versions:
            continue
        value = getattr(message, spec.name)
        secret = spec.name in SECRET_FIELDS.get(name, ()) or (
            name == "ConfigRecord" and spec.name == "value" and value is not None
            and is_secret_config(message.resource_type, message.name)  # type: ignore[attr-defined]
        )  # fmt: skip
        if secret and not redactor.include_secrets:
            redacted = True
            value = redactor.fingerprint(value.encode() if isinstance(value, str) else value)
            shown[spec.json_name] = value
        if spec.name not in places:
            if spec.kind == "float64" and not math.isfinite(value):
                shown[spec.json_name] = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
            if spec.json_name in shown:
                extra[spec.json_name] = shown[spec.json_name]
            continue
        if name == "BrokerRegistrationChangeRecord" and spec.name in ("fenced", "in_controlled_shutdown"):
            if value not in (1, 0, -1):
                extra[spec.json_name] = value
                continue
            value = {1: True, -1: False, 0: None}[value]
        found[places[spec.name]] = None if NO_CHANGE.get((name, spec.name)) == value else plain(value)
    if message.unknown_tagged_fields:
        redacted = redacted or not redactor.include_secrets
        extra["unknownTaggedFields"] = [
            {"tag": tag} | ({"bytes": data.hex()} if redactor.include_secrets else redactor.unknown(data))
            for tag, data in message.unknown_tagged_fields
        ]
    text = json.dumps(extra, separators=(",", ":"), ensure_ascii=False) if extra else None
    return found | {"extra": text, "redacted": redacted}


def plain(value: Any) -> Any:
    if isinstance(value, Uuid):
        return str(value)
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value
