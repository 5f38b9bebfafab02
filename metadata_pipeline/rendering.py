"""Rows of Spark as a text table, for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any


def render_rows(found: Sequence[Any]) -> str:
    """Rows of Spark, or what is like them, as a text table."""
    if not found:
        return "(no rows)"
    rows = [row if isinstance(row, dict) else row.asDict() for row in found]
    names = list(rows[0])
    cells = [[_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[at]) for line in cells)) for at, name in enumerate(names)]
    lines = [names, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    if isinstance(value, list):
        return json.dumps(value)
    return str(value)
