"""Tables of the page. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], kinds: Sequence[str] = (), name: str | None = None
) -> str:
    """Cells are HTML already. `kinds`: a class for each column (id, n, long, or nothing); `name`: for a search."""
    classes = [f' class="{kind}"' if kind else "" for kind in (*kinds, *("",) * (len(head) - len(kinds)))]
    top = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, classes, strict=True)) + "</tr>"
        for row in rows
    )
    wide = ' class="wide"' if len(head) > 4 else ""
    named = "" if name is None else f' id="{name}"'
    return f'<div class="scroll"{named}><table{wide}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def search(of: str, what: str) -> str:
    """A field that leaves the rows of a named table that have all its words."""
    return f'<div class="tools"><input type="search" data-of="{of}" placeholder="{what}" aria-label="{what}"></div>'
