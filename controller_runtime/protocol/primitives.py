"""Varints and the few shapes that the compiled codecs call when the short form does not fit.

Readers take the whole buffer and a position and return the value with the next position. They never allocate more than
the bytes that are there: a claimed length is compared with the end of the buffer first. `Truncated` and `Invalid` are
raised inside the package; `codec` turns them into `MalformedMessage`, which names message, version, field and position.
"""

from __future__ import annotations

from typing import Final


class Invalid(ValueError):
    """Bytes that cannot be what they are read as."""


class Truncated(Invalid):
    """Fewer bytes than claimed."""


class OverBudget(Exception):
    """More elements than may be made of one message. Not an `Invalid`: the bytes may be right."""

    def __init__(self, field: str, count: int) -> None:
        super().__init__(field, count)
        self.field = field
        self.count = count


LONGEST_STRING: Final = 32767
"""Of a string's bytes; Kafka's readers refuse longer ones, which compact lengths could tell."""


UVARINTS: Final = tuple(bytes([value]) for value in range(128))
"""The varints of one byte."""


def uvarint(value: int) -> bytes:
    """Unsigned varint (32 bits), as lengths, tags and counts are written."""
    if value < 0x80:
        return UVARINTS[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes."""
    first = data[position]
    if first < 0x80:
        return first, position + 1
    return more_uvarint(data, position + 1, first)


def more_uvarint(data: bytes, position: int, first: int) -> tuple[int, int]:
    """The rest of an unsigned varint whose first byte (>= 0x80) has been read."""
    second = data[position]
    if second < 0x80:
        return first & 0x7F | second << 7, position + 1
    value, shift = first & 0x7F | (second & 0x7F) << 7, 14
    while True:
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise Invalid("a varint has more than five bytes")
    if value > 0xFFFFFFFF:
        raise Invalid("a varint is larger than 32 bits")
    return value, position + 1


def varint(value: int) -> bytes:
    """Zigzag varint, as inside records; also right for varlong."""
    value = value << 1 if value >= 0 else (-value << 1) - 1
    if value < 0x80:
        return UVARINTS[value]
    return uvarint(value)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint or varlong (at most ten bytes)."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
        if shift > 63:
            raise Invalid("a varint has more than ten bytes")


def long_bytes(data: bytes, position: int, end: int, head: int) -> tuple[bytes, int]:
    """Compact bytes whose length byte `head` has been read: the length in full, checked, then a copy of the bytes."""
    if head > 0x7F:
        head, position = more_uvarint(data, position, head)
    if head == 0:
        raise Invalid("null is not allowed here")
    stop = position + head - 1
    if stop > end:
        raise Truncated(f"{head - 1} bytes are claimed, {max(0, end - position)} are left")
    return data[position:stop], stop


def long_string(data: bytes, position: int, end: int, head: int) -> tuple[str, int]:
    """As `long_bytes`, for text, which has a bound of its own."""
    raw, stop = long_bytes(data, position, end, head)
    if len(raw) > LONGEST_STRING:
        raise Invalid(f"a string has at most {LONGEST_STRING} bytes, {len(raw)} are claimed")
    return raw.decode(), stop


def null_or_long_bytes(data: bytes, position: int, end: int, head: int) -> tuple[bytes | None, int]:
    return (None, position) if head == 0 else long_bytes(data, position, end, head)


def null_or_long_string(data: bytes, position: int, end: int, head: int) -> tuple[str | None, int]:
    return (None, position) if head == 0 else long_string(data, position, end, head)


def plain_bytes(data: bytes, position: int, end: int, length: int) -> tuple[bytes, int]:
    """Bytes after a fixed-size length, which has been read."""
    if length < 0:
        raise Invalid("null is not allowed here" if length == -1 else f"the length is {length}")
    stop = position + length
    if stop > end:
        raise Truncated(f"{length} bytes are claimed, {max(0, end - position)} are left")
    return data[position:stop], stop


def plain_string(data: bytes, position: int, end: int, length: int) -> tuple[str, int]:
    raw, position = plain_bytes(data, position, end, length)
    return raw.decode(), position


def null_or_plain_bytes(data: bytes, position: int, end: int, length: int) -> tuple[bytes | None, int]:
    return (None, position) if length == -1 else plain_bytes(data, position, end, length)


def null_or_plain_string(data: bytes, position: int, end: int, length: int) -> tuple[str | None, int]:
    return (None, position) if length == -1 else plain_string(data, position, end, length)


def check_count(count: int, smallest: int, left: int) -> None:
    """Refuse an array whose elements cannot fit into the bytes that are left."""
    if count < 0:
        raise Invalid("null is not allowed here" if count == -1 else f"the count is {count}")
    if count * smallest > left:
        raise Truncated(f"{count} elements are claimed, {max(0, left)} bytes are left")


def unknown_tags(data: bytes, position: int, end: int, count: int) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """Tagged fields of which none is known here, in order, in whichever they came; the first byte of their count has
    been read.
    """
    if count > 0x7F:
        count, position = more_uvarint(data, position, count)
    check_count(count, 2, end - position)
    found = []
    for _ in range(count):
        tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        stop = position + size
        if stop > end:
            raise Truncated(f"{size} bytes are claimed, {max(0, end - position)} are left")
        found.append((tag, data[position:stop]))
        position = stop
    found.sort()
    return tuple(found), position


def write_tags(tagged: list[tuple[int, bytes]]) -> bytes:
    """A tag section: ascending, each tag once, as Kafka writes it."""
    tagged.sort()
    parts = [uvarint(len(tagged))]
    previous = -1
    for tag, value in tagged:
        if tag <= previous:
            raise Invalid(f"tag {tag} is set twice")
        previous = tag
        parts += (uvarint(tag), uvarint(len(value)), value)
    return b"".join(parts)
