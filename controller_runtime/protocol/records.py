"""Single records inside a batch, in bulk: the inner loops of decoding and encoding.

A record is length, attributes, timestamp delta, offset delta, key, value, headers, all numbers as zigzag varints. The
loop that reads is compiled from a text in which varints of one and two bytes are spelled out, because a call per field
would be most of the time. A position only grows and a slice beyond the end is merely short, so one comparison per
record, of where it ends with where its length says, finds every lie.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from controller_runtime.protocol.primitives import Invalid, read_varint, varint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """One record with its absolute offset and timestamp (milliseconds)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


_VARINT: Final = """\
  t = data[p]
  if t < 128: p += 1
  else:
   u = data[p + 1]
   if u < 128:
    t = t & 127 | u << 7
    p += 2
   else: t, p = long_varint(data, p)
"""
"""Reads a varint at `p` into `t`, zigzag not yet undone."""

_BYTES: Final = """\
  if t == 1: NAME = None
  else:
   if t & 1: raise Invalid(f"NAME has length {-(t >> 1) - 1}")
   q = p + (t >> 1)
   NAME = data[p:q]
   p = q
"""

_LOOP: Final = f"""\
def read(data, p, end, count, base_offset, base_timestamp):
 found = []
 add = found.append
 for _ in range(count):
{_VARINT}\
  stop = p + (t >> 1)
  if t & 1 or stop > end: raise Invalid(f"a record of {{t >> 1}} bytes is claimed, {{end - p}} are left")
  p += 1
{_VARINT}\
  timestamp = base_timestamp + ((t >> 1) ^ -(t & 1))
{_VARINT}\
  offset = base_offset + ((t >> 1) ^ -(t & 1))
{_VARINT}\
{_BYTES.replace("NAME", "key")}\
{_VARINT}\
{_BYTES.replace("NAME", "value")}\
  if data[p]: headers, p = read_headers(data, p, stop)
  else:
   headers = ()
   p += 1
  if p != stop: raise Invalid(f"a record ends at byte {{p}}, its length says {{stop}}")
  add((offset, timestamp, key, value, headers))
 return found, p
"""

_as_record: Final = partial(tuple.__new__, Record)


def _long_varint(data: bytes, position: int) -> tuple[int, int]:
    """A varint of three to ten bytes, zigzag not undone."""
    value, after = read_varint(data, position)
    return (value << 1 if value >= 0 else (-value << 1) - 1), after


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


def _compile_reader() -> Callable[..., tuple[list[tuple[Any, ...]], int]]:
    scope: dict[str, Any] = {"Invalid": Invalid, "long_varint": _long_varint, "read_headers": _read_headers}
    exec(compile(_LOOP, "<read records>", "exec"), scope)  # noqa: S102 - the text above
    made: Callable[..., tuple[list[tuple[Any, ...]], int]] = scope["read"]
    return made


_read: Final = _compile_reader()


def read_records(
    data: bytes, position: int, count: int, base_offset: int, base_timestamp: int, log_append_time: int | None
) -> tuple[Record, ...]:
    """All records of a batch from its uncompressed bytes, which they must fill."""
    end = len(data)
    if count * 7 > end - position:
        raise Invalid(f"{count} records are claimed, {end - position} bytes are left")
    found, position = _read(data, position, end, count, base_offset, base_timestamp)
    if position != end:
        raise Invalid(f"{end - position} bytes are left over after {count} records")
    if log_append_time is not None:
        found = [(offset, log_append_time, *rest) for offset, _, *rest in found]
    return tuple(map(_as_record, found))


def read_value(data: bytes, position: int) -> tuple[bytes | None, int]:
    """The value of the record that begins here, and where the next one begins."""
    found, after = _read(data, position, len(data), 1, 0, 0)
    return found[0][3], after


class _Varints(dict[int, bytes]):
    """Zigzag varints already made; the small ones are kept, so the table has a bound."""

    def __missing__(self, value: int) -> bytes:
        made = varint(value)
        if -8192 <= value < 8192:
            self[value] = made
        return made


_varints: Final = _Varints()


def write_records(records: Sequence[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The uncompressed bytes of records, offsets and timestamps relative to the batch's."""
    parts: list[bytes] = []
    add, join, varints = parts.append, b"".join, _varints
    for offset, timestamp, key, value, headers in records:
        body = join(
            (
                b"\0",
                varints[timestamp - base_timestamp],
                varints[offset - base_offset],
                b"\1" if key is None else varints[len(key)],
                key or b"",
                b"\1" if value is None else varints[len(value)],
                value or b"",
                _write_headers(headers) if headers else b"\0",
            )
        )
        add(varints[len(body)])
        add(body)
    return join(parts)


def write_values(values: Sequence[bytes], first_delta: int = 0) -> bytes:
    """The uncompressed bytes of records that have nothing but a value, at consecutive offsets and one time; the first
    one lies `first_delta` behind the batch's base offset.
    """
    parts: list[bytes] = []
    varints = _varints
    for delta, value in enumerate(values, first_delta):
        offset, size = varints[delta], varints[len(value)]
        # Beside them: attributes, timestamp delta 0, no key, no headers; a byte each.
        parts += (varints[4 + len(offset) + len(size) + len(value)], b"\0\0", offset, b"\1", size, value, b"\0")
    return b"".join(parts)


def _write_headers(headers: tuple[Header, ...]) -> bytes:
    parts = [varint(len(headers))]
    for key, value in headers:
        raw = key.encode()
        parts += (varint(len(raw)), raw)
        parts += (b"\1",) if value is None else (varint(len(value)), value)
    return b"".join(parts)
