"""Writes the source of a function that walks over a message without building it: is every claimed byte there, and how
much is to be made of it?

Python objects take more room than the bytes they are made of: of an empty name, one byte, a hundred times as much. Were
a large message decoded until its flaw appears, a peer could make us hold far more than it sent. So `codec` surveys
messages beyond a size before it decodes them: the survey allocates nothing that outlives a field, and a message that
passes decodes without error. The function is `survey(b, p, e, left) -> (p, left)`: every element of an array and every
tagged field is taken from `left` before the first of its array is looked at; `OverBudget` names the field for which it
does not suffice. Otherwise it raises what the decoder raises, or returns a position other than the end.
"""

from __future__ import annotations

from struct import Struct as Packer
from typing import TYPE_CHECKING, Any

from controller_runtime.protocol import primitives
from controller_runtime.protocol.decoder_source import fixed_fields, smallest_size
from controller_runtime.protocol.schema import FIXED_SIZES, FieldSpec, Message, Struct

if TYPE_CHECKING:
    from collections.abc import Sequence


class SurveySource:
    """Collects the lines. `ahead` is how many bytes beyond `p` are known to be skipped."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.version = version
        self.flexible = version in cls.FLEXIBLE
        self.lines = ["def survey(b, p, e, left):"]
        self.scope: dict[str, Any] = {
            "read_uvarint": primitives.read_uvarint,
            "check_count": primitives.check_count,
            "OverBudget": primitives.OverBudget,
            "Invalid": primitives.Invalid,
            "Truncated": primitives.Truncated,
            "int16": Packer(">h").unpack_from,
            "int32": Packer(">i").unpack_from,
            "int8": Packer(">b").unpack_from,
            "zero": b"\0",
        }
        self.depth = 1
        self.ahead = 0
        self.counter = 0
        self.structure(cls, "")
        self.settle()
        self.line("return p, left")

    def source(self) -> str:
        return "\n".join(self.lines)

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)

    def name(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}_{self.counter}"

    def settle(self) -> None:
        if self.ahead:
            self.line(f"p += {self.ahead}")
        self.ahead = 0

    def spend(self, count: str, place: str) -> None:
        """Take the elements from what is left, before any of them is looked at."""
        self.line(f"left -= {count}")
        self.line(f"if left < 0: raise OverBudget({place!r}, {count})")

    def structure(self, cls: type[Struct], path: str) -> None:
        """`path` is where it stands, with the dot that its fields need."""
        tagged = []
        for spec in cls.FIELDS:
            if self.version not in spec.versions:
                continue
            if spec.is_tagged(self.version):
                tagged.append(spec)
            else:
                self.value(spec, path, self.flexible and not spec.never_flexible)
        if self.flexible:
            self.tags(tagged, path)

    def value(self, spec: FieldSpec, path: str, compact: bool, tagged: bool = False) -> None:
        place = path + spec.name
        nullable = self.version in spec.nullable
        if spec.array:
            self.array(spec, place, compact, nullable)
        elif spec.struct is not None:
            self.nested(spec.struct, f"{place}.", nullable, tagged)
        elif spec.kind in FIXED_SIZES:
            self.ahead += FIXED_SIZES[spec.kind]
        else:
            self.blob(spec.kind, compact, nullable)

    def length(self, compact: bool, fmt: str, nullable: bool) -> str:
        """Read a length or count into a variable; null has become 0 if it is allowed."""
        count = self.name("n")
        self.settle()
        if compact:
            self.line(f"{count} = b[p]")
            self.line(f"if {count} < 128: p += 1")
            self.line(f"else: {count}, p = read_uvarint(b, p)")
            self.line(f"{count} -= 1")
        else:
            self.line(f"{count}, = {fmt}(b, p)")
            self.line(f"p += {2 if fmt == 'int16' else 4}")
        if nullable:
            self.line(f"if {count} == -1: {count} = 0")
        return count

    def blob(self, kind: str, compact: bool, nullable: bool) -> None:
        count = self.length(compact, "int16" if kind == "string" else "int32", nullable)
        self.line(f"if not 0 <= {count} <= e - p: raise Truncated")
        if kind == "string":
            if compact:
                self.line(f"if {count} > {primitives.LONGEST_STRING}: raise Invalid")
            self.line(f"b[p:p + {count}].decode()")
        self.line(f"p += {count}")

    def nested(self, cls: type[Struct], path: str, nullable: bool, tagged: bool) -> None:
        if not nullable:
            self.structure(cls, path)
            return
        head = self.name("n")
        self.settle()
        self.line(f"{head}, = int8(b, p)")
        self.line("p += 1")
        self.line(f"if {head} {'!= 0' if tagged else '>= 0'}:")
        self.depth += 1
        self.line("pass")
        self.structure(cls, path)
        self.settle()
        self.depth -= 1

    def array(self, spec: FieldSpec, place: str, compact: bool, nullable: bool) -> None:
        count = self.length(compact, "int32", nullable)
        if spec.struct is not None:
            smallest = max(1, smallest_size(spec.struct, self.version, self.flexible))
        else:
            smallest = FIXED_SIZES.get(spec.kind, 1 if compact else (2 if spec.kind == "string" else 4))
        self.line(f"if not 0 <= {count} <= (e - p) // {smallest}: raise Truncated")
        self.spend(count, place)
        if spec.struct is None and spec.kind in FIXED_SIZES:
            self.line(f"p += {count} * {smallest}")
            return
        alike = spec.struct is not None and bool(fixed_fields(spec.struct, self.version))
        if alike:
            tags = f"b[p + {smallest - 1}:p + {count} * {smallest}:{smallest}]"
            self.line(f"if {f'not {tags}.strip(zero)' if self.flexible else 'True'}: p += {count} * {smallest}")
            self.line("else:")
            self.depth += 1
        self.line(f"for _ in range({count}):")
        self.depth += 1
        if spec.struct is not None:
            self.structure(spec.struct, f"{place}[].")
            self.settle()
        else:
            self.blob(spec.kind, compact, nullable=False)
        self.depth -= 2 if alike else 1

    def tags(self, specs: Sequence[FieldSpec], path: str) -> None:
        count, tag, stop = self.name("t"), self.name("tag"), self.name("stop")
        self.settle()
        self.line(f"{count} = b[p]")
        self.line("p += 1")
        self.line(f"if {count}:")
        self.depth += 1
        self.line(f"if {count} > 127: {count}, p = read_uvarint(b, p - 1)")
        self.line(f"check_count({count}, 2, e - p)")
        self.spend(count, f"{path}tagged fields")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        self.line(f"{tag}, p = read_uvarint(b, p)")
        self.line("size, p = read_uvarint(b, p)")
        self.line(f"{stop} = p + size")
        self.line(f"if {stop} > e: raise Truncated")
        for spec in specs:
            self.line(f"if {tag} == {spec.tag}:")
            self.depth += 1
            self.value(spec, path, compact=True, tagged=True)
            self.settle()
            self.line(f"if p != {stop}: raise Invalid")
            self.depth -= 1
        self.line(f"p = {stop}")
        self.depth -= 2
