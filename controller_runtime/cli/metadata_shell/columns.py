"""Names side by side, as many columns as the terminal holds: filled downwards, two blanks between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def in_columns(names: Sequence[str], width: int | None) -> Iterator[str]:
    columns = _widths(names, width) if names else []
    height = -(-len(names) // len(columns)) if columns else 0
    for row in range(height):
        cells = [(names[at], size) for at, size in zip(range(row, len(names), height), columns, strict=False)]
        line = "".join(f"{name:{size}}" for name, size in cells[:-1]) + cells[-1][0]
        yield line if len(cells) == len(columns) else "".join(f"{name:{size}}" for name, size in cells)


def _widths(names: Sequence[str], width: int | None) -> list[int]:
    """The most columns that fit, each as wide as its longest name and two blanks."""
    for count in range((width or 0) // 4, 1, -1):
        height = -(-len(names) // count)
        found = [max(map(len, names[at : at + height])) + 2 for at in range(0, len(names), height)]
        if len(found) == count and sum(found) <= (width or 0):
            return found
    return [max(map(len, names)) + 2]
