"""Finds where and why: the slow second look at bytes or values that a compiled codec has refused.

The compiled functions keep no account of where they are. When one fails, these walk the same layout field by field and
name the culprit. They build no objects, so looking at hostile bytes costs next to no memory; and they give up after so
many elements that a look takes some milliseconds, because it is strangers who choose what is looked at.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from controller_runtime.protocol.decoder_source import smallest_size
from controller_runtime.protocol.errors import InvalidValue, MalformedMessage, UnsupportedField
from controller_runtime.protocol.primitives import LONGEST_STRING, Invalid, Truncated, check_count, read_uvarint
from controller_runtime.protocol.schema import FIXED_FORMATS, FIXED_SIZES, FieldSpec, Message, Struct

EXPLAINED_ELEMENTS: Final = 12_000
"""A flaw behind so many elements and tagged fields is not looked for any more."""


class _TooFar(Exception):
    """The flaw is not among the first elements."""


class Walk:
    """One pass over the bytes of one message. `field` is the place that is being read."""

    def __init__(self, data: bytes, version: int, position: int) -> None:
        self.data = data
        self.version = version
        self.position = position
        self.field = ""
        self.left = EXPLAINED_ELEMENTS

    def spend(self) -> None:
        """One more element is looked at."""
        self.left -= 1
        if self.left < 0:
            raise _TooFar

    def take(self, size: int) -> None:
        left = len(self.data) - self.position
        if size > left:
            raise Truncated(f"{size} bytes are needed, {left} are left")
        self.position += size

    def uvarint(self) -> int:
        value, self.position = read_uvarint(self.data, self.position)
        return value

    def fixed(self, fmt: str) -> int:
        start = self.position
        self.take(struct.calcsize(">" + fmt))
        value: int = struct.unpack_from(">" + fmt, self.data, start)[0]
        return value

    def length(self, compact: bool, fmt: str, nullable: bool) -> int:
        value = self.uvarint() - 1 if compact else self.fixed(fmt)
        if value < -1:
            raise Invalid(f"the length is {value}")
        if value == -1 and not nullable:
            raise Invalid("null is not allowed here")
        return value

    def structure(self, cls: type[Struct], path: str, flexible: bool) -> None:
        tagged: dict[int, FieldSpec] = {}
        for spec in cls.FIELDS:
            if self.version not in spec.versions:
                continue
            if spec.is_tagged(self.version):
                tagged[spec.tag] = spec
                continue
            self.field = f"{path}.{spec.name}" if path else spec.name
            self.value(spec, flexible)
        if flexible:
            self.tags(tagged, path)

    def tags(self, tagged: dict[int, FieldSpec], path: str) -> None:
        place = f"{path}.tagged fields" if path else "tagged fields"
        self.field = place
        count = self.uvarint()
        check_count(count, 2, len(self.data) - self.position)
        for _ in range(count):
            self.spend()
            self.field = place
            tag = self.uvarint()
            size = self.uvarint()
            start = self.position
            spec = tagged.get(tag)
            if spec is None:
                self.take(size)
                continue
            self.field = f"{path}.{spec.name}" if path else spec.name
            if size > len(self.data) - start:
                self.take(size)
            self.value(spec, flexible=True, tagged=True)
            if self.position != start + size:
                raise Invalid(f"the tagged field has {size} bytes, its value {self.position - start}")

    def value(self, spec: FieldSpec, flexible: bool, tagged: bool = False) -> None:
        compact = flexible and not spec.never_flexible
        nullable = self.version in spec.nullable
        path = self.field
        if spec.array:
            count = self.length(compact, "i", nullable)
            count = self.checked(count, spec, compact)
            if spec.kind in FIXED_SIZES:
                self.take(count * FIXED_SIZES[spec.kind])
                return
            for index in range(count):
                self.spend()
                self.field = f"{path}[{index}]"
                self.element(spec, flexible, compact)
        elif spec.struct is not None and nullable:
            head = self.fixed("b")
            if (head != 0) if tagged else (head >= 0):
                self.structure(spec.struct, path, flexible)
        else:
            self.element(spec, flexible, compact, nullable)

    def checked(self, count: int, spec: FieldSpec, compact: bool) -> int:
        if count <= 0:
            return 0
        if spec.struct is not None:
            smallest = max(1, smallest_size(spec.struct, self.version, compact))
        else:
            smallest = FIXED_SIZES.get(spec.kind, 1 if compact else 2)
        check_count(count, smallest, len(self.data) - self.position)
        return count

    def element(self, spec: FieldSpec, flexible: bool, compact: bool, nullable: bool = False) -> None:
        if spec.struct is not None:
            self.structure(spec.struct, self.field, flexible)
        elif spec.kind in FIXED_SIZES:
            self.take(FIXED_SIZES[spec.kind])
        else:
            start = self.position
            size = self.length(compact, "h" if spec.kind == "string" else "i", nullable)
            try:
                self.take(max(0, size))
            except Truncated:
                self.position = start
                raise
            if spec.kind == "string" and size > LONGEST_STRING:
                raise Invalid(f"a string has at most {LONGEST_STRING} bytes, {size} are claimed")
            if spec.kind == "string" and size > 0:
                self.data[self.position - size : self.position].decode()


def why_malformed(cls: type[Message], data: bytes, version: int, position: int, whole: bool) -> MalformedMessage:
    """The error for bytes that the compiled decoder has refused."""
    walk = Walk(data, version, position)
    name = cls.__name__
    try:
        walk.structure(cls, "", version in cls.FLEXIBLE)
    except _TooFar:
        words = f"something behind {EXPLAINED_ELEMENTS} elements"
        return MalformedMessage(name, version, words, walk.position, "cannot be read")
    except IndexError:
        return MalformedMessage(name, version, walk.field, walk.position, "the bytes end here")
    except UnicodeDecodeError as error:
        return MalformedMessage(name, version, walk.field, walk.position, f"not UTF-8: {error.reason}")
    except Invalid as error:
        return MalformedMessage(name, version, walk.field, walk.position, str(error))
    left = len(data) - walk.position
    if whole and left:
        return MalformedMessage(name, version, "the end", walk.position, f"{left} bytes are left over")
    return MalformedMessage(name, version, "a field", walk.position, "cannot be read")


def why_not_encodable(message: Message, version: int) -> InvalidValue | UnsupportedField:
    """The error for a message that the compiled encoder has refused."""
    found = _first_bad(message, version, version in message.FLEXIBLE, "")
    name = type(message).__name__
    if found is None:
        return InvalidValue(name, version, "a field", "has no form on the wire")
    place, reason = found
    if reason is None:
        return UnsupportedField(name, version, place)
    return InvalidValue(name, version, place, reason)


def _first_bad(value: Struct, version: int, flexible: bool, path: str) -> tuple[str, str | None] | None:
    for spec in value.FIELDS:
        place = f"{path}.{spec.name}" if path else spec.name
        each = getattr(value, spec.name)
        if version not in spec.versions:
            if not spec.ignorable and each != spec.default:
                return place, None
            continue
        found = _bad_value(spec, each, version, flexible, place)
        if found is not None:
            return found
    return _bad_tags(value, version, flexible, path)


def _bad_tags(value: Struct, version: int, flexible: bool, path: str) -> tuple[str, str | None] | None:
    place = f"{path}.unknown_tagged_fields" if path else "unknown_tagged_fields"
    if value.unknown_tagged_fields and not flexible:
        return place, None
    tags = [tag for tag, _ in value.unknown_tagged_fields]
    tags += [spec.tag for spec in value.FIELDS if spec.is_tagged(version) and getattr(value, spec.name) != spec.default]
    if len(set(tags)) != len(tags):
        return place, "a tag is set twice"
    return None


def _bad_value(spec: FieldSpec, value: Any, version: int, flexible: bool, place: str) -> tuple[str, str | None] | None:
    if value is None:
        return None if version in spec.nullable else (place, "null is not allowed here")
    if not spec.array:
        return _bad_element(spec, value, version, flexible, place)
    if not isinstance(value, (tuple, list)):
        return place, f"a tuple is needed, not {type(value).__name__}"
    for index, each in enumerate(value):
        if each is None:
            return f"{place}[{index}]", "null is not allowed here"
        found = _bad_element(spec, each, version, flexible, f"{place}[{index}]")
        if found is not None:
            return found
    return None


def _bad_element(
    spec: FieldSpec, value: Any, version: int, flexible: bool, place: str
) -> tuple[str, str | None] | None:
    if spec.struct is not None:
        if not isinstance(value, spec.struct):
            return place, f"{spec.struct.__name__} is needed, not {type(value).__name__}"
        return _first_bad(value, version, flexible, place)
    if spec.kind == "string":
        if not isinstance(value, str):
            return place, f"str is needed, not {type(value).__name__}"
        if len(value.encode()) > LONGEST_STRING:
            return place, f"a string has at most {LONGEST_STRING} bytes"
        return None
    if spec.kind in ("bytes", "records"):
        good = isinstance(value, (bytes, bytearray, memoryview))
        return None if good else (place, f"bytes are needed, not {type(value).__name__}")
    try:
        struct.pack(">" + FIXED_FORMATS[spec.kind], value)
    except struct.error as error:
        return place, f"{value!r} is not {spec.kind}: {error}"
    return None
