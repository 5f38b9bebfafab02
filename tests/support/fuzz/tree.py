"""A message as a tree that may lie: every length, count, size and null marker can be claimed apart from what is there.

The tree is made of a layout (`protocol.schema`), either of chance or of a message that a real Apache Kafka sent, and
written by `render`. Nothing of the production encoder is used, so that what it cannot write is sent all the same. What
nothing was done to is a valid message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from controller_runtime.protocol.schema import FIXED_FORMATS, FieldSpec, Message, Struct

PACKERS: Final = {kind: struct.Struct(f">{form}").pack for kind, form in FIXED_FORMATS.items()}

MOST_BYTES: Final = 16 << 20
"""Far more than is sent of any message."""


@dataclass(slots=True)
class Fixed:
    """A number, a uuid: as many bytes as its kind has, unless somebody changed them."""

    name: str
    kind: str
    raw: bytes


@dataclass(slots=True)
class Text:
    """A string, bytes or records behind their length."""

    name: str
    kind: str
    compact: bool
    value: bytes | None
    claimed: int | None = None


@dataclass(slots=True)
class Many:
    """An array behind its count."""

    name: str
    compact: bool
    items: list[Node] | None
    claimed: int | None = None


@dataclass(slots=True)
class Group:
    """A structure: its fields, and the tagged ones in a flexible version. `marker` stands before one that
    may be null.
    """

    name: str
    fields: list[Node]
    tags: Tags | None = None
    marker: bytes = b""


@dataclass(slots=True)
class Tag:
    number: int
    content: Node
    claimed: int | None = None


@dataclass(slots=True)
class Tags:
    items: list[Tag] = field(default_factory=list)
    claimed: int | None = None


Node = Fixed | Text | Many | Group


class Chooser(Protocol):
    """Chance, for what no message says."""

    def number(self, spec: FieldSpec, owner: type[Struct]) -> Any: ...

    def text(self, spec: FieldSpec, owner: type[Struct]) -> bytes: ...

    def count(self, spec: FieldSpec) -> int: ...

    def is_null(self) -> bool: ...

    def is_set(self) -> bool: ...


def uvarint(number: int) -> bytes:
    number &= 0xFFFFFFFF
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def tree_of(cls: type[Message], version: int, chance: Chooser, given: Message | None = None) -> Group:
    """`given`: the message to write; None: one made by chance."""
    return _Builder(version, version in cls.FLEXIBLE, chance).group(cls.__name__, cls, given)


class _Builder:
    def __init__(self, version: int, flexible: bool, chance: Chooser) -> None:
        self.version = version
        self.flexible = flexible
        self.chance = chance

    def group(self, name: str, cls: type[Struct], given: Struct | None, marker: bytes = b"") -> Group:
        made = Group(name, [], Tags() if self.flexible else None, marker)
        for spec in cls.FIELDS:
            if self.version not in spec.versions:
                continue
            if not spec.is_tagged(self.version):
                made.fields.append(self.value(spec, cls, given))
            elif self._is_there(spec, given) and made.tags is not None:
                made.tags.items.append(Tag(spec.tag, self.value(spec, cls, given, tagged=True)))
        if given is not None and made.tags is not None:
            for number, content in given.unknown_tagged_fields:
                made.tags.items.append(Tag(number, Fixed("unknown", "raw", content)))
        return made

    def _is_there(self, spec: FieldSpec, given: Struct | None) -> bool:
        return self.chance.is_set() if given is None else getattr(given, spec.name) != spec.default

    def value(self, spec: FieldSpec, owner: type[Struct], given: Struct | None, *, tagged: bool = False) -> Node:
        compact = self.flexible and not spec.never_flexible
        nullable = self.version in spec.nullable
        known = given is not None
        value = getattr(given, spec.name) if known else None
        null = nullable and (value is None if known else self.chance.is_null())
        if spec.array:
            return self._many(spec, owner, value, known, compact, null)
        if spec.struct is not None:
            if null:
                return Group(spec.name, [], None, b"\0" if tagged else b"\xff")
            return self.group(spec.name, spec.struct, value, b"\1" if nullable else b"")
        return self._leaf(spec, owner, value, known, compact, null)

    def _leaf(self, spec: FieldSpec, owner: type[Struct], value: Any, known: bool, compact: bool, null: bool) -> Node:
        if spec.kind in PACKERS:
            return Fixed(spec.name, spec.kind, PACKERS[spec.kind](value if known else self.chance.number(spec, owner)))
        if null:
            return Text(spec.name, spec.kind, compact, None)
        if not known:
            return Text(spec.name, spec.kind, compact, self.chance.text(spec, owner))
        return Text(spec.name, spec.kind, compact, value.encode() if isinstance(value, str) else bytes(value or b""))

    def _many(self, spec: FieldSpec, owner: type[Struct], value: Any, known: bool, compact: bool, null: bool) -> Many:
        if null:
            return Many(spec.name, compact, None)
        items = list(value) if known else [None] * self.chance.count(spec)
        if spec.struct is not None:
            return Many(spec.name, compact, [self.group(spec.name, spec.struct, one) for one in items])
        return Many(spec.name, compact, [self._leaf(spec, owner, one, known, compact, False) for one in items])


def render(node: Node, out: bytearray) -> None:
    """Arrays end at `MOST_BYTES`, whatever they claim: copies of copies of long texts would fill the memory."""
    if isinstance(node, Fixed):
        out += node.raw
    elif isinstance(node, Text):
        size = -1 if node.value is None else len(node.value)
        _length(node.kind == "string", node.compact, size if node.claimed is None else node.claimed, out)
        out += node.value or b""
    elif isinstance(node, Many):
        size = -1 if node.items is None else len(node.items)
        _length(False, node.compact, size if node.claimed is None else node.claimed, out)
        for item in node.items or ():
            if len(out) > MOST_BYTES:
                break
            render(item, out)
    else:
        out += node.marker
        for each in node.fields:
            render(each, out)
        if node.tags is not None:
            _render_tags(node.tags, out)


def _length(short: bool, compact: bool, size: int, out: bytearray) -> None:
    if compact:
        out += uvarint(size + 1)
    elif short:
        out += struct.pack(">H", size & 0xFFFF)
    else:
        out += struct.pack(">I", size & 0xFFFFFFFF)


def _render_tags(tags: Tags, out: bytearray) -> None:
    out += uvarint(len(tags.items) if tags.claimed is None else tags.claimed)
    for tag in tags.items:
        content = bytearray()
        render(tag.content, content)
        out += uvarint(tag.number) + uvarint(len(content) if tag.claimed is None else tag.claimed) + content


def nodes(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    if isinstance(node, Group):
        for each in node.fields:
            yield from nodes(each)
        for tag in node.tags.items if node.tags else ():
            yield from nodes(tag.content)
    elif isinstance(node, Many):
        for each in node.items or ():
            yield from nodes(each)
