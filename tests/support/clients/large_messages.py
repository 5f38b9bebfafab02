"""Messages of any layout as large as one likes, and how many elements one has."""

from __future__ import annotations

import random
from typing import Any

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.schema import FieldSpec, Struct


def element(spec: FieldSpec, version: int, width: int, dice: random.Random) -> Any:
    if spec.struct is not None:
        return large(spec.struct, version, width, dice)
    match spec.kind:
        case "bool":
            return True
        case "float64":
            return 1.5
        case "uuid":
            return Uuid(dice.randbytes(16))
        case "string":
            return "x" * dice.randrange(4)
        case "bytes" | "records":
            return dice.randbytes(dice.randrange(8))
        case kind:
            return dice.randrange(1 << (7 if kind == "int8" else 15))


def large(cls: type[Struct], version: int, width: int, dice: random.Random) -> Any:
    """An instance whose arrays have `width` elements, those inside them fewer."""
    values: dict[str, Any] = {}
    for spec in cls.FIELDS:
        if version in spec.versions:
            inner = max(1, width // 30)
            values[spec.name] = (
                tuple(element(spec, version, inner, dice) for _ in range(width))
                if spec.array
                else element(spec, version, width, dice)
            )
    return cls(**values)


def elements(value: Struct, version: int) -> int:
    """Elements of arrays and tagged fields, wherever they stand, counted in what was made."""
    count = len(value.unknown_tagged_fields)
    for spec in value.FIELDS:
        each = getattr(value, spec.name)
        if version in spec.versions and spec.is_tagged(version):
            count += each != spec.default
        if each is None or version not in spec.versions:
            continue
        if spec.array:
            count += len(each)
        if spec.struct is not None:
            count += sum(elements(one, version) for one in (each if spec.array else (each,)))
    return count
