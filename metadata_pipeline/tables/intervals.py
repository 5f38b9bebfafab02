"""SQL that turns records about things into intervals in which something was so: `valid_from` <= offset < `valid_to`
(null: still so).

An interval begins with the record that made it (state "as of N" is the state after record N) and ends with the next
record about the same thing, with the removal of what it belongs to, or with the stretch of known history. Times are
those of the records that begin and end it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

"""The last columns of every history table."""
_COLUMNS: Final = ("cluster_id", "stretch", "offset", "sub", "timestamp", "epoch", "gone")
_POINT: Final = "struct(offset, timestamp)"


def history(
    puts: str,
    keys: Sequence[str],
    values: Sequence[str],
    *,
    owner: Sequence[str] = (),
    endings: str = "",
    still: str | None = None,
) -> str:
    """Intervals of rows that replace each other.

    `puts` selects cluster_id, stretch, offset, sub, timestamp, epoch, `gone` (boolean), the keys and the values.
    `endings`, if given, selects rows of cluster_id, stretch, offset, timestamp and the columns of `owner`, a part of
    the keys: everything of that owner ends there. `still` names a view of rows of this very
    table that have no end: what was so before the first record of `puts`. Each begins again as it began.
    """
    if still is not None:
        puts = f"{puts}\nUNION ALL\n{as_puts(still, (*keys, *values))}"
    thing = ", ".join(("cluster_id", "stretch", *keys))
    last = f"lead({_POINT}) OVER (PARTITION BY {thing} ORDER BY offset, sub)"
    columns = ", ".join((*_COLUMNS, *keys, *values))
    rows = f"SELECT {columns}, false AS ends FROM ({puts})"
    if endings:
        rows = f"{rows}\nUNION ALL\n{_ending_rows(endings, owner, (*keys, *values))}"
        owned = ", ".join(("cluster_id", "stretch", *owner))
        removed = (
            f"min(CASE WHEN ends THEN {_POINT} END) OVER (PARTITION BY {owned} ORDER BY offset, sub, ends"
            " ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)"
        )
        inner = f"SELECT *, {removed} AS removed FROM ({rows})"
        next_point = f"least({last}, removed)"
        chosen = f"SELECT *, {next_point} AS next FROM ({inner}) WHERE NOT ends"
    else:
        chosen = f"SELECT *, {last} AS next FROM ({rows})"
    return bounded(f"SELECT * FROM ({chosen}) WHERE NOT gone", (*keys, *values))


def as_puts(still: str, columns: Sequence[str]) -> str:
    """Rows of a history table as the records that would have made them."""
    shown = ", ".join(columns)
    return (
        "SELECT cluster_id, stretch, valid_from AS offset, 0L AS sub, valid_from_time AS timestamp, epoch, "
        f"false AS gone, {shown} FROM {still}"
    )


def _ending_rows(endings: str, owner: Sequence[str], columns: Sequence[str]) -> str:
    shown = ", ".join(name if name in owner else f"NULL AS {name}" for name in columns)
    return (
        "SELECT cluster_id, stretch, offset, 0L AS sub, timestamp, CAST(NULL AS int) AS epoch, true AS gone, "
        f"{shown}, true AS ends FROM ({endings})"
    )


def bounded(rows: str, columns: Sequence[str]) -> str:
    """The final form: `rows` has offset, timestamp, epoch, stretch, and `next`, the point where the interval ends."""
    named = ", ".join(f"r.{name}" for name in columns)
    return f"""
SELECT /*+ BROADCAST(e) */ r.cluster_id, {named},
       r.offset AS valid_from, coalesce(r.next.offset, e.end_offset) AS valid_to,
       r.timestamp AS valid_from_time, coalesce(r.next.timestamp, e.end_time) AS valid_to_time, r.epoch, r.stretch
FROM ({rows}) r LEFT JOIN stretch_ends e ON r.cluster_id = e.cluster_id AND r.stretch = e.stretch
"""
