"""Single records inside a batch, in bulk: the inner loops of decoding and encoding.

A record is length, attributes, timestamp delta, offset delta, key, value, headers, all lengths as zigzag varints. The loops spell out the
varints of one byte and leave the rest to `primitives`, because a call per field would be most of the time. A position only grows and a slice
beyond the end is merely short, so one comparison per record, of where it ends with where its length says, finds every lie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from controller_runtime.protocol.primitives import Invalid, read_varint, varint

if TYPE_CHECKING:
    from collections.abc import Iterable

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """One record with its absolute offset and timestamp (milliseconds)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def read_records(
    data: bytes, position: int, count: int, base_offset: int, base_timestamp: int, log_append_time: int | None
) -> list[Record]:
    """All records of a batch from its uncompressed bytes, which they must fill."""
    end = len(data)
    if count * 7 > end - position:
        raise Invalid(f"{count} records are claimed, {end - position} bytes are left")
    records: list[Record] = []
    add, make = records.append, tuple.__new__
    for _ in range(count):
        length = data[position]
        if length < 0x80:
            if length & 1:
                raise Invalid("a record has a negative length")
            position += 1
            length >>= 1
        else:
            length, position = read_varint(data, position)
        stop = position + length
        if length < 0 or stop > end:
            raise Invalid(f"a record of {length} bytes is claimed, {end - position} are left")
        delta = data[position + 1]
        if delta < 0x80:
            timestamp = base_timestamp + ((delta >> 1) ^ -(delta & 1))
            position += 2
        else:
            delta, position = read_varint(data, position + 1)
            timestamp = base_timestamp + delta
        delta = data[position]
        if delta < 0x80:
            offset = base_offset + ((delta >> 1) ^ -(delta & 1))
            position += 1
        else:
            delta, position = read_varint(data, position)
            offset = base_offset + delta
        size = data[position]
        position += 1
        key: bytes | None
        if size == 1:
            key = None
        else:
            if size < 0x80 and not size & 1:
                size >>= 1
            else:
                size, position = _read_length(data, position - 1)
            key = data[position : position + size]
            position += size
        size = data[position]
        position += 1
        value: bytes | None
        if size == 1:
            value = None
        else:
            if size < 0x80 and not size & 1:
                size >>= 1
            else:
                size, position = _read_length(data, position - 1)
            value = data[position : position + size]
            position += size
        headers: tuple[Header, ...] = ()
        if data[position]:
            headers, position = _read_headers(data, position, stop)
        else:
            position += 1
        if position != stop:
            raise Invalid(f"a record ends at byte {position}, its length says {stop}")
        add(make(Record, (offset, timestamp if log_append_time is None else log_append_time, key, value, headers)))
    if position != end:
        raise Invalid(f"{end - position} bytes are left over after {count} records")
    return records


def _read_length(data: bytes, position: int) -> tuple[int, int]:
    """A length that is not -1, which the caller has excluded."""
    length, position = read_varint(data, position)
    if length < 0:
        raise Invalid(f"a key or value has length {length}")
    return length, position


def _read_headers(data: bytes, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(data, position)
    if count < 0 or count * 2 > end - position:
        raise Invalid(f"{count} headers are claimed, {end - position} bytes are left")
    headers = []
    for _ in range(count):
        size, position = read_varint(data, position)
        if size < 0 or size > end - position:
            raise Invalid(f"a header key of {size} bytes is claimed, {end - position} are left")
        key = data[position : position + size].decode()
        size, position = read_varint(data, position + size)
        if size < -1 or size > end - position:
            raise Invalid(f"a header value of {size} bytes is claimed, {end - position} are left")
        value = None if size == -1 else data[position : position + size]
        position += max(0, size)
        headers.append((key, value))
    return tuple(headers), position


def write_records(records: Iterable[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The uncompressed bytes of records, offsets and timestamps relative to the batch's."""
    parts: list[bytes] = []
    add = parts.append
    for offset, timestamp, key, value, headers in records:
        body = b"\0" + varint(timestamp - base_timestamp) + varint(offset - base_offset)
        body += b"\1" if key is None else varint(len(key)) + key
        body += b"\1" if value is None else varint(len(value)) + value
        body += _write_headers(headers) if headers else b"\0"
        add(varint(len(body)))
        add(body)
    return b"".join(parts)


def _write_headers(headers: tuple[Header, ...]) -> bytes:
    parts = [varint(len(headers))]
    for key, value in headers:
        raw = key.encode()
        parts += (varint(len(raw)), raw)
        parts += (b"\1",) if value is None else (varint(len(value)), value)
    return b"".join(parts)
