"""Lists in messages, as English has them."""

from __future__ import annotations

from collections.abc import Collection


def listed(values: Collection[object]) -> str:
    """`1`, `1 and 2`, `0, 1 and 2`, in the order given."""
    *first, last = map(str, values) if values else ("none",)
    return f"{', '.join(first)} and {last}" if first else last


def called(noun: str, values: Collection[object]) -> str:
    """`controller 1`, `controllers 1 and 2`."""
    return f"{noun}{'' if len(values) == 1 else 's'} {listed(values)}"


def verb(values: Collection[object], one: str, many: str) -> str:
    return one if len(values) == 1 else many
