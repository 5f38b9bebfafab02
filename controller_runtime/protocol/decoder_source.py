"""Writes the source of one straight-line decode function for one message at one version.

The function is `decode(b, p, e) -> (message, p)`: buffer, position, end. Why it is fast: neighbouring fields of fixed
size, together with the length byte or count that follows them, are read by one precompiled `struct.Struct`; short
strings are sliced in place; nested structures are inlined as loops; objects are filled through their writable twin. Why
it is safe: a position only grows; a slice beyond the end is merely short, and the caller finds `p != e`; every count is
compared with the bytes that are left before its loop. The exceptions it raises (IndexError, struct.error,
UnicodeDecodeError, Invalid) carry no place; `explain` finds it afterwards.
"""

from __future__ import annotations

from functools import partial
from struct import Struct as Packer
from typing import TYPE_CHECKING, Any

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol import primitives
from controller_runtime.protocol.schema import FIXED_FORMATS, FIXED_SIZES, FieldSpec, Message, Struct
from controller_runtime.values import writable_twin

if TYPE_CHECKING:
    from collections.abc import Sequence

FEW_ELEMENTS = 4
"""Up to so many structures of one size a look at all of them together does not pay."""
SMALL_ARRAYS = 9
"""Arrays of numbers with fewer elements are read by a precompiled format."""

SMALL_UUIDS = tuple(Packer(">" + "16s" * n).unpack_from for n in range(SMALL_ARRAYS))


def smallest_size(cls: type[Struct], version: int, flexible: bool) -> int:
    """The least number of bytes that a structure can take."""
    size = 1 if flexible else 0
    for spec in cls.FIELDS:
        if version in spec.versions and not spec.is_tagged(version):
            size += smallest_field(spec, version, flexible)
    return size


def smallest_field(spec: FieldSpec, version: int, flexible: bool) -> int:
    compact = flexible and not spec.never_flexible
    if spec.array:
        return 1 if compact else 4
    if spec.kind in FIXED_SIZES:
        return FIXED_SIZES[spec.kind]
    if spec.struct is None:
        return 1 if compact else (2 if spec.kind == "string" else 4)
    return 1 if version in spec.nullable else smallest_size(spec.struct, version, flexible)


def fixed_fields(cls: type[Struct], version: int) -> list[FieldSpec]:
    """The fields of a structure whose size is always the same but for tagged fields; none if it is not so."""
    present = [spec for spec in cls.FIELDS if version in spec.versions and not spec.is_tagged(version)]
    return present if all(spec.kind in FIXED_SIZES and not spec.array for spec in present) else []


class DecoderSource:
    """Collects the lines and the objects they refer to."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.version = version
        self.flexible = version in cls.FLEXIBLE
        self.lines: list[str] = ["def decode(b, p, e):"]
        self.scope: dict[str, Any] = {name: getattr(primitives, name) for name in (
            "more_uvarint", "read_uvarint", "long_bytes", "long_string", "null_or_long_bytes", "null_or_long_string",
            "plain_bytes", "plain_string", "null_or_plain_bytes", "null_or_plain_string", "check_count", "unknown_tags",
            "Invalid", "Truncated",
        )}  # fmt: skip
        self.scope |= {"make_uuid": bytes.__new__, "Uuid": Uuid}
        self.depth = 1
        self.pending: list[tuple[str, str]] = []
        self.afterwards: list[str] = []
        self.counter = 0
        self.structure(cls, "m")
        self.line("return m, p")

    def source(self) -> str:
        return "\n".join(self.lines)

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)

    def name(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}_{self.counter}"

    def bind(self, stem: str, value: object) -> str:
        """Make a value visible to the function under a name."""
        name = self.name(stem)
        self.scope[name] = value
        return name

    def packer(self, fmt: str) -> str:
        name = "u_" + fmt.replace("?", "o")
        self.scope.setdefault(name, Packer(">" + fmt).unpack_from)
        return name

    # The run of fixed-size items that one unpack reads.

    def read_fixed(self, fmt: str, target: str) -> None:
        self.pending.append((fmt, target))

    def flush(self) -> None:
        """Emit the unpack for what is pending, then what has to be made of the raw values."""
        if self.pending:
            fmt = "".join(each for each, _ in self.pending)
            size = Packer(">" + fmt).size
            if fmt == "B":
                self.line(f"{self.pending[0][1]} = b[p]")
            else:
                targets = ", ".join(target for _, target in self.pending)
                self.line(f"{targets}{',' if len(self.pending) == 1 else ''} = {self.packer(fmt)}(b, p)")
            self.line(f"p += {size}")
        self.pending = []
        for text in self.afterwards:
            self.line(text)
        self.afterwards = []

    # Structures and fields.

    def structure(self, cls: type[Struct], target: str) -> None:
        """Read a structure into a new object named `target`; nothing is pending afterwards."""
        version = self.version
        made = self.name("o")
        self.line(f"{made} = {self.bind('Twin', writable_twin(cls))}()")
        present = [spec for spec in cls.FIELDS if version in spec.versions]
        for spec in cls.FIELDS:
            if version not in spec.versions:
                self.line(f"{made}.{spec.name} = {self.constant(spec)}")
        for spec in present:
            if not spec.is_tagged(version):
                self.value(spec, f"{made}.{spec.name}", self.flexible and not spec.never_flexible)
        unknown = f"{made}.unknown_tagged_fields"
        if self.flexible:
            self.tags([spec for spec in present if spec.is_tagged(version)], made, unknown)
        else:
            self.flush()
            self.line(f"{unknown} = ()")
        self.line(f"{made}.__class__ = {self.bind('Frozen', cls)}")
        self.line(f"{target} = {made}")

    def constant(self, spec: FieldSpec) -> str:
        value = spec.default
        if value is None or value == () or isinstance(value, (int, str)):
            return repr(value)
        return self.bind("default", value)

    def value(self, spec: FieldSpec, target: str, compact: bool) -> None:
        nullable = self.version in spec.nullable
        if spec.array:
            self.array(spec, target, compact, nullable)
        elif spec.struct is not None:
            self.nested(spec, target, nullable)
        elif spec.kind in FIXED_FORMATS:
            if spec.kind == "uuid":
                raw = self.name("raw")
                self.read_fixed("16s", raw)
                self.afterwards.append(f"{target} = make_uuid(Uuid, {raw})")
            else:
                self.read_fixed(FIXED_FORMATS[spec.kind], target)
        else:
            self.blob(spec.kind, target, compact, nullable)

    def blob(self, kind: str, target: str, compact: bool, nullable: bool) -> None:
        """A string or bytes: the length rides with what is pending."""
        head = self.name("n")
        shape = "string" if kind == "string" else "bytes"
        text = ".decode()" if kind == "string" else ""
        null = "null_or_" if nullable else ""
        self.read_fixed("B" if compact else ("h" if kind == "string" else "i"), head)
        self.flush()
        if compact:
            self.line(f"if 0 < {head} < 128:")
            self.line(f" q = p + {head} - 1")
            slow = f"{null}long_{shape}"
            if kind != "string":
                self.line(f" {target} = b[p:q]")
                self.line(" p = q")
                self.line(f"elif {head} > 127 and 0 < b[p] < 128 and (q := p + ({head} & 127 | b[p] << 7)) <= e:")
                self.line(f" {target} = b[p + 1:q]")
                self.line(" p = q")
                self.line(f"else: {target}, p = {slow}(b, p, e, {head})")
                return
        else:
            self.line(f"if 0 <= {head} <= e - p:")
            self.line(f" q = p + {head}")
            slow = f"{null}plain_{shape}"
        self.line(f" {target} = b[p:q]{text}")
        self.line(" p = q")
        self.line(f"else: {target}, p = {slow}(b, p, e, {head})")

    def nested(self, spec: FieldSpec, target: str, nullable: bool, tagged: bool = False) -> None:
        assert spec.struct is not None
        if not nullable:
            self.structure(spec.struct, target)
            return
        head = self.name("n")
        self.read_fixed("b", head)
        self.flush()
        self.line(f"if {head} {'== 0' if tagged else '< 0'}: {target} = None")
        self.line("else:")
        self.depth += 1
        self.structure(spec.struct, target)
        self.depth -= 1

    # Arrays.

    def array(self, spec: FieldSpec, target: str, compact: bool, nullable: bool) -> None:
        count = self.name("n")
        if compact:
            self.read_fixed("B", count)
            self.flush()
            self.line(f"if {count} > 127: {count}, p = more_uvarint(b, p, {count})")
            self.line(f"{count} -= 1")
        else:
            self.read_fixed("i", count)
            self.flush()
        if nullable:
            self.line(f"if {count} == -1: {target} = None")
            self.line("else:")
            self.depth += 1
        if spec.struct is not None:
            self.structures(spec.struct, target, count)
        elif spec.kind == "uuid":
            self.uuids(target, count)
        elif spec.kind in FIXED_FORMATS:
            self.numbers(spec.kind, target, count)
        else:
            self.elements(spec, target, count, compact)
        if nullable:
            self.depth -= 1

    def numbers(self, kind: str, target: str, count: str) -> None:
        fmt, size = FIXED_FORMATS[kind], FIXED_SIZES[kind]
        small = f"small_{kind}"
        self.scope.setdefault(small, tuple(Packer(f">{n}{fmt}").unpack_from for n in range(SMALL_ARRAYS)))
        self.scope.setdefault("Packer", Packer)
        self.line(f"if 0 <= {count} < {SMALL_ARRAYS}: {target} = {small}[{count}](b, p)")
        self.line("else:")
        self.line(f" check_count({count}, {size}, e - p)")
        self.line(f" {target} = Packer('>%d{fmt}' % {count}).unpack_from(b, p)")
        self.line(f"p += {count} * {size}" if size > 1 else f"p += {count}")

    def loop(self, target: str, count: str, smallest: int) -> tuple[str, str]:
        """Open a loop of `count` rounds that appends to a list; `end_loop` closes it with the line returned second."""
        items, add = self.name("items"), self.name("add")
        left = "e - p" if smallest == 1 else f"(e - p) // {smallest}"
        self.line(f"if {count} == 0: {target} = ()")
        self.line("else:")
        self.depth += 1
        self.line(f"if not 0 <= {count} <= {left}: check_count({count}, {smallest}, e - p)")
        self.line(f"{items} = []")
        self.line(f"{add} = {items}.append")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        return add, f"{target} = tuple({items})"

    def end_loop(self, finish: str) -> None:
        self.depth -= 1
        self.line(finish)
        self.depth -= 1

    def structures(self, cls: type[Struct], target: str, count: str) -> None:
        smallest = max(1, smallest_size(cls, self.version, self.flexible))
        add, finish = self.loop(target, count, smallest)
        fixed = fixed_fields(cls, self.version)
        if fixed:
            # The loop just opened is for elements that differ; the usual case, all alike, goes through one iter_unpack.
            opened = self.lines.pop()
            self.depth -= 1
            tags = (
                f" and not b[p + {smallest - 1}:p + {count} * {smallest}:{smallest}].strip(zero)"
                if self.flexible
                else ""
            )
            self.line(f"if {count} > {FEW_ELEMENTS}{tags}:")
            self.depth += 1
            self.alike(cls, fixed, add, f"p + {count} * {smallest}")
            self.depth -= 1
            self.line("else:")
            self.lines.append(" " + opened)
            self.depth += 2
        self.structure(cls, "item")
        self.line(f"{add}(item)")
        if fixed:
            self.depth -= 1
        self.end_loop(finish)

    def alike(self, cls: type[Struct], fixed: Sequence[FieldSpec], add: str, stop: str) -> None:
        """Structures of one size without a single tagged field: unpacked by one iterator."""
        fmt = "".join(FIXED_FORMATS[spec.kind] for spec in fixed) + ("x" if self.flexible else "")
        each = "i_" + fmt.replace("?", "o")
        self.scope |= {each: Packer(">" + fmt).iter_unpack, "zero": b"\0"}
        self.line(f"for {', '.join(f'v_{spec.name}' for spec in fixed)}, in {each}(b[p:{stop}]):")
        self.depth += 1
        self.line(f"item = {self.bind('Twin', writable_twin(cls))}()")
        for spec in cls.FIELDS:
            value = self.constant(spec)
            if spec in fixed:
                value = f"make_uuid(Uuid, v_{spec.name})" if spec.kind == "uuid" else f"v_{spec.name}"
            self.line(f"item.{spec.name} = {value}")
        self.line("item.unknown_tagged_fields = ()")
        self.line(f"item.__class__ = {self.bind('Frozen', cls)}")
        self.line(f"{add}(item)")
        self.depth -= 1
        self.line(f"p = {stop}")

    def elements(self, spec: FieldSpec, target: str, count: str, compact: bool) -> None:
        """Strings and bytes."""
        add, finish = self.loop(target, count, 1 if compact else (2 if spec.kind == "string" else 4))
        item = self.name("o")
        self.blob(spec.kind, item, compact, nullable=False)
        self.line(f"{add}({item})")
        self.end_loop(finish)

    def uuids(self, target: str, count: str) -> None:
        self.scope |= {
            "small_uuid": SMALL_UUIDS,
            "as_uuid": partial(bytes.__new__, Uuid),
            "i_16s": Packer(">16s").iter_unpack,
        }
        self.line(f"if 0 <= {count} < {SMALL_ARRAYS}: {target} = tuple(map(as_uuid, small_uuid[{count}](b, p)))")
        self.line("else:")
        self.line(f" check_count({count}, 16, e - p)")
        self.line(f" {target} = tuple([make_uuid(Uuid, raw) for raw, in i_16s(b[p:p + {count} * 16])])")
        self.line(f"p += {count} * 16")

    # Tagged fields.

    def tags(self, specs: Sequence[FieldSpec], made: str, unknown: str) -> None:
        count = self.name("t")
        self.read_fixed("B", count)
        self.flush()
        if not specs:
            self.line(f"if {count}: {unknown}, p = unknown_tags(b, p, e, {count})")
            self.line(f"else: {unknown} = ()")
            return
        for spec in specs:
            self.line(f"{made}.{spec.name} = {self.constant(spec)}")
        self.line(f"{unknown} = ()")
        self.line(f"if {count}:")
        self.depth += 1
        self.line(f"if {count} > 127: {count}, p = more_uvarint(b, p, {count})")
        self.line(f"check_count({count}, 2, e - p)")
        others, tag, stop = self.name("others"), self.name("tag"), self.name("stop")
        self.line(f"{others} = []")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        self.line(f"{tag} = b[p]")
        self.line("p += 1")
        self.line(f"if {tag} > 127: {tag}, p = more_uvarint(b, p, {tag})")
        self.line("size, p = read_uvarint(b, p)")
        self.line(f"{stop} = p + size")
        self.line(f"if {stop} > e: raise Truncated")
        word = "if"
        for spec in specs:
            self.line(f"{word} {tag} == {spec.tag}:")
            word = "elif"
            self.depth += 1
            self.tagged_value(spec, f"{made}.{spec.name}")
            self.line(f"if p != {stop}: raise Invalid")
            self.depth -= 1
        self.line("else:")
        self.line(f" {others}.append(({tag}, b[p:{stop}]))")
        self.line(f" p = {stop}")
        self.depth -= 1
        self.line(f"if {others}: {unknown} = tuple(sorted({others}))")
        self.depth -= 1

    def tagged_value(self, spec: FieldSpec, target: str) -> None:
        if spec.struct is not None and not spec.array:
            self.nested(spec, target, self.version in spec.nullable, tagged=True)
        else:
            self.value(spec, target, compact=True)
        self.flush()
