"""What the tools for groups say: Java's exceptions, and its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from controller_runtime.cli.error_words import words
from controller_runtime.cli.java_errors import java_class
from controller_runtime.protocol.api_errors import ApiError

MISSING: Final = "-"


def exception(error: ApiError) -> str:
    """As `Throwable.toString`."""
    return f"{java_class(error.code)}: {words(error)}"


def columns(widths: Sequence[int], cells: Iterable[object]) -> str:
    """Cells to the left of columns so wide; 0 is the last one, which is as wide as it is."""
    return " ".join(f"{cell!s:{width}}" if width else str(cell) for width, cell in zip(widths, cells, strict=True))


def optional(value: object) -> str:
    return MISSING if value is None else str(value)
