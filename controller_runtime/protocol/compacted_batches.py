"""Record batches as compaction leaves them: with fewer records, or none, but with their offsets and sequences.

The delete horizon (KIP-534) is a time in the place of the base timestamp, and a bit of the attributes says so;
timestamps of records are relative to it then.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from controller_runtime.protocol.checksum import crc32c
from controller_runtime.protocol.compression import compress
from controller_runtime.protocol.record_batch import (
    COMPRESSION_MASK,
    CRC_START,
    DELETE_HORIZON_BIT,
    LENGTH_END,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
)
from controller_runtime.protocol.records import Record, write_records

_AFTER_CRC: Final = struct.Struct(">hiqqqhii")
_BEFORE_CRC: Final = struct.Struct(">qiibI")


def delete_horizon(header: BatchHeader) -> int | None:
    """From then on its tombstones, or its marker, need not be kept (milliseconds of wall time)."""
    return header.base_timestamp if header.has_delete_horizon else None


def rewritten(header: BatchHeader, records: Sequence[Record], horizon: int | None) -> bytes:
    """The batch with these of its records, and with this horizon."""
    attributes = header.attributes & ~DELETE_HORIZON_BIT
    base = records[0].timestamp
    if horizon is not None:
        attributes, base = attributes | DELETE_HORIZON_BIT, horizon
    latest = header.max_timestamp if header.is_log_append_time else max(record.timestamp for record in records)
    changed = header._replace(
        attributes=attributes, base_timestamp=base, max_timestamp=latest, record_count=len(records)
    )
    return _batch(changed, compress(header.compression, write_records(records, header.base_offset, base)))


def emptied(header: BatchHeader) -> bytes:
    """Its header alone."""
    attributes = header.attributes & ~(DELETE_HORIZON_BIT | COMPRESSION_MASK)
    return _batch(header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, record_count=0), b"")


def _batch(header: BatchHeader, payload: bytes) -> bytes:
    """What the header says of its length and checksum is not looked at."""
    tail = (
        _AFTER_CRC.pack(
            header.attributes,
            header.last_offset_delta,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.record_count,
        )
        + payload
    )
    length = CRC_START - LENGTH_END + len(tail)
    head = _BEFORE_CRC.pack(header.base_offset, length, header.partition_leader_epoch, MAGIC, crc32c(tail))
    return head + tail
