"""Writes the source of one straight-line encode function for one message at one version.

The function is `encode(m, w)`: the message and the `append` of a list of byte strings. Neighbouring fields of fixed
size, with the length byte of what follows, are written by one precompiled `struct.Struct`; nested structures are
inlined as loops. A field that the version lacks is skipped if it is ignorable and checked against its default if not,
as Kafka does. Values are not checked: `struct` refuses numbers out of range and None, and `codec` turns that into
`InvalidValue` with the field's name. Arrays that many messages have alike (`SHARED_ARRAYS`) are written once, if their
maker says that they are `Shared`.
"""

from __future__ import annotations

from struct import Struct as Packer
from typing import TYPE_CHECKING, Any

from controller_runtime.protocol import primitives
from controller_runtime.protocol.schema import FIXED_FORMATS, FieldSpec, Message, Shared, Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL_ARRAYS = 9
NO_BOUND = 2**32
SHARED_ARRAYS = frozenset({("CreatableTopicResult", "configs"), ("DescribeConfigsResult", "configs")})
"""Structures and their arrays that may be `Shared`: the others do not pay for being asked."""


class Unsupported(ValueError):
    """A field that is set and that the version cannot carry."""


class EncoderSource:
    """Collects the lines and the objects they refer to."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.version = version
        self.flexible = version in cls.FLEXIBLE
        self.lines: list[str] = ["def encode(m, w):"]
        self.scope: dict[str, Any] = {
            "uvarint": primitives.uvarint,
            "write_tags": primitives.write_tags,
            "Invalid": primitives.Invalid,
            "Unsupported": Unsupported,
            "join": b"".join,
            "Packer": Packer,
            "Shared": Shared,
        }
        self.depth = 1
        self.write = "w"
        self.pending: list[tuple[str, str]] = []
        self.counter = 0
        self.structure(cls, "m")
        self.flush()
        if len(self.lines) == 1:
            self.line("return")

    def source(self) -> str:
        return "\n".join(self.lines)

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)

    def name(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}_{self.counter}"

    def bind(self, stem: str, value: object) -> str:
        name = self.name(stem)
        self.scope[name] = value
        return name

    # The run of fixed-size items that one pack writes.

    def call(self, items: Sequence[tuple[str, str]]) -> str:
        fmt = "".join(each for each, _ in items)
        values = [value for each, value in items if each != "x"]
        if not values:
            return repr(bytes(len(items)))
        name = "p_" + fmt.replace("?", "o")
        self.scope.setdefault(name, Packer(">" + fmt).pack)
        return f"{name}({', '.join(values)})"

    def flush(self) -> None:
        if self.pending:
            self.line(f"{self.write}({self.call(self.pending)})")
        self.pending = []

    def flush_with_uvarint(self, value: str, most: int = NO_BOUND) -> None:
        """Write what is pending and then an unsigned varint, in one pack if it has one byte. Above `most` the message
        has no form.
        """
        pending, self.pending = self.pending, []
        self.line(f"if {value} < 128: {self.write}({self.call([*pending, ('B', value)])})")
        if most < NO_BOUND:
            self.line(f"elif {value} > {most}: raise Invalid")
        if pending:
            self.line("else:")
            self.line(f" {self.write}({self.call(pending)})")
            self.line(f" {self.write}(uvarint({value}))")
        else:
            self.line(f"else: {self.write}(uvarint({value}))")

    # Structures and fields.

    def structure(self, cls: type[Struct], source: str) -> None:
        tagged = []
        for spec in cls.FIELDS:
            value = f"{source}.{spec.name}"
            if self.version not in spec.versions:
                self.absent(cls, spec, value)
            elif spec.is_tagged(self.version):
                tagged.append(spec)
            elif (cls.__name__, spec.name) in SHARED_ARRAYS:
                self.shared_array(spec, value)
            else:
                self.value(spec, value, self.flexible and not spec.never_flexible)
        if self.flexible:
            self.tags(tagged, source)
        else:
            where = f"{cls.__name__}.unknown_tagged_fields"
            self.line(f"if {source}.unknown_tagged_fields: raise Unsupported({where!r})")

    def is_set(self, spec: FieldSpec, value: str) -> str:
        """The condition that a value differs from its field's default."""
        default = spec.default
        if default is None:
            return f"{value} is not None"
        if default == () and self.version not in spec.nullable:
            return value
        if default == () or isinstance(default, (int, float, str)):
            return f"{value} != {default!r}"
        bound = self.bind("default", default)
        return f"{value} is not {bound} and {value} != {bound}"

    def absent(self, cls: type[Struct], spec: FieldSpec, value: str) -> None:
        if spec.ignorable:
            return
        if spec.default == () or spec.default in ("", b""):
            condition = f"{value} is None or {value}" if spec.nullable else value
        else:
            condition = self.is_set(spec, value)
        self.line(f"if {condition}: raise Unsupported({f'{cls.__name__}.{spec.name}'!r})")

    def value(self, spec: FieldSpec, value: str, compact: bool) -> None:
        nullable = self.version in spec.nullable
        if spec.array:
            self.array(spec, value, compact, nullable)
        elif spec.struct is not None:
            self.nested(spec.struct, value, nullable)
        elif spec.kind in FIXED_FORMATS:
            self.pending.append((FIXED_FORMATS[spec.kind], value))
        else:
            self.blob(spec.kind, value, compact, nullable)

    def blob(self, kind: str, value: str, compact: bool, nullable: bool) -> None:
        raw, head = self.name("s"), self.name("n")
        text = ".encode()" if kind == "string" else ""
        more = " + 1" if compact else ""
        if nullable:
            self.line(f"{raw} = {value}")
            self.line(f"if {raw} is None: {raw} = b''; {head} = {0 if compact else -1}")
            if text:
                self.line(f"else: {raw} = {raw}.encode(); {head} = len({raw}){more}")
            else:
                self.line(f"else: {head} = len({raw}){more}")
        else:
            self.line(f"{raw} = {value}{text}")
            self.line(f"{head} = len({raw}){more}")
        if compact:
            # As Kafka's: a compact string could be longer than the others, but nobody would read it.
            self.flush_with_uvarint(head, primitives.LONGEST_STRING + 1 if kind == "string" else NO_BOUND)
        else:
            self.pending.append(("h" if kind == "string" else "i", head))
            self.flush()
        self.line(f"{self.write}({raw})")

    def nested(self, cls: type[Struct], value: str, nullable: bool, tagged: bool = False) -> None:
        item = self.name("o")
        if not nullable:
            self.line(f"{item} = {value}")
            self.structure(cls, item)
            return
        self.flush()
        self.line(f"{item} = {value}")
        null = bytes([0 if tagged else 255])
        self.line(f"if {item} is None: {self.write}({null!r})")
        self.line("else:")
        self.depth += 1
        self.pending.append(("b", "1"))
        self.structure(cls, item)
        self.flush()
        self.depth -= 1

    # Arrays.

    def array(self, spec: FieldSpec, value: str, compact: bool, nullable: bool) -> None:
        items, count = self.name("items"), self.name("n")
        self.line(f"{items} = {value}")
        more = " + 1" if compact else ""
        numbers = spec.struct is None and spec.kind in FIXED_FORMATS
        if nullable:
            self.line(f"if {items} is None: {items} = (); {count} = {0 if compact else -1}")
            self.line(f"else: {count} = len({items}){more}")
        else:
            self.line(f"{count} = len({items}){more}")
        if numbers:
            self.numbers(FIXED_FORMATS[spec.kind], items, count, compact)
            return
        if compact:
            self.flush_with_uvarint(count)
        else:
            self.pending.append(("i", count))
            self.flush()
        item = self.name("o")
        self.line(f"for {item} in {items}:")
        self.depth += 1
        if spec.struct is not None:
            self.structure(spec.struct, item)
            self.flush()
        else:
            self.blob(spec.kind, item, compact, nullable=False)
        self.depth -= 1

    def shared_array(self, spec: FieldSpec, value: str) -> None:
        """An array of structures whose bytes may be known from the last time."""
        self.flush()
        items, known, parts, outer = self.name("shared"), self.name("known"), self.name("parts"), self.write
        self.line(f"{items} = {value}")
        self.line(f"{known} = {items}.written if {items}.__class__ is Shared else None")
        self.line(f"if {known} is not None and {self.version} in {known}: {outer}({known}[{self.version}])")
        self.line("else:")
        self.depth += 1
        self.write = self.name("w")
        self.line(f"{parts} = []")
        self.line(f"{self.write} = {outer} if {known} is None else {parts}.append")
        self.array(spec, items, self.flexible and not spec.never_flexible, self.version in spec.nullable)
        self.flush()
        self.line(f"if {known} is not None: {known}[{self.version}] = join({parts}); {outer}({known}[{self.version}])")
        self.write = outer
        self.depth -= 1

    def numbers(self, fmt: str, items: str, count: str, compact: bool) -> None:
        """A short array goes out in one pack with its count and what is pending before it."""
        pending = self.pending
        head = "".join(each for each, _ in pending) + ("B" if compact else "i")
        small = f"small_{head}_{fmt}".replace("?", "o")
        self.scope.setdefault(small, tuple(Packer(">" + head + fmt * n).pack for n in range(SMALL_ARRAYS)))
        values = "".join(f"{value}, " for each, value in pending if each != "x")
        self.line(f"if len({items}) < {SMALL_ARRAYS}: {self.write}({small}[len({items})]({values}{count}, *{items}))")
        self.line("else:")
        self.depth += 1
        if compact:
            self.flush_with_uvarint(count)
        else:
            self.pending.append(("i", count))
            self.flush()
        large = f"join({items})" if fmt == "16s" else f"Packer('>%d{fmt}' % len({items})).pack(*{items})"
        self.line(f"{self.write}({large})")
        self.depth -= 1
        self.pending = []

    # Tagged fields.

    def tags(self, specs: Sequence[FieldSpec], source: str) -> None:
        unknown = f"{source}.unknown_tagged_fields"
        if not specs:
            pending, self.pending = self.pending, []
            self.line(f"if {unknown}:")
            if pending:
                self.line(f" {self.write}({self.call(pending)})")
            self.line(f" {self.write}(write_tags(list({unknown})))")
            self.line(f"else: {self.write}({self.call([*pending, ('x', '')])})")
            return
        self.flush()
        found = self.name("tagged")
        self.line(f"{found} = list({unknown}) if {unknown} else []")
        for spec in sorted(specs, key=lambda each: each.tag):
            value = self.name("v")
            self.line(f"{value} = {source}.{spec.name}")
            self.line(f"if {self.is_set(spec, value)}:")
            self.depth += 1
            self.tagged_value(spec, value, found)
            self.depth -= 1
        self.line(f"{self.write}(write_tags({found}) if {found} else {bytes(1)!r})")

    def tagged_value(self, spec: FieldSpec, value: str, found: str) -> None:
        """Write a value into a list of its own, because its size stands before it."""
        outer, parts = self.write, self.name("parts")
        if spec.struct is None and not spec.array and spec.kind in FIXED_FORMATS:
            self.line(f"{found}.append(({spec.tag}, {self.call([(FIXED_FORMATS[spec.kind], value)])}))")
            return
        self.write = self.name("w")
        self.line(f"{parts} = []")
        self.line(f"{self.write} = {parts}.append")
        if spec.struct is not None and not spec.array:
            self.nested(spec.struct, value, self.version in spec.nullable, tagged=True)
        else:
            self.value(spec, value, compact=True)
        self.flush()
        self.line(f"{found}.append(({spec.tag}, join({parts})))")
        self.write = outer
