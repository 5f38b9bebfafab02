"""What stands before the clusters: the index, the worst first, and what the audit found, with how to see its bytes.
Pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from metadata_pipeline.report import svg
from metadata_pipeline.report.tables import search, table

_SEVERITIES = ("error", "warning", "note")


def worst_first(data: Mapping[str, Any]) -> list[str]:
    """By errors, warnings, partitions without leader, then those without full ISR, then silences."""

    def badness(name: str) -> tuple[int, ...]:
        found = data["by_cluster"].get(name, {})
        shown = data["clusters"][name]
        return (
            found.get("error", 0), found.get("warning", 0), shown["leaderless"], shown["short_of_isr"],
            shown["silences_in_all"],
        )  # fmt: skip

    return sorted(data["clusters"], key=lambda name: (tuple(-one for one in badness(name)), name))


def index(data: Mapping[str, Any], ordered: Sequence[str]) -> str:
    rows = []
    for at, name in enumerate(ordered):
        shown, found = data["clusters"][name], data["by_cluster"].get(name, {})
        now = shown["growth"][-1] if shown["growth"] else {"topics": 0, "partitions": 0}
        counts = [_count(kind, found.get(kind, 0)) for kind in _SEVERITIES]
        rows.append(
            [
                f'<a href="#c{at}">{escape(name)}</a>', *counts, str(now["partitions"]),
                str(shown["leaderless"]), str(shown["leaders_in_all"]),
                str(shown["silences_in_all"]), svg.moment(shown["span"]["end"])[:-4],
            ]
        )  # fmt: skip
    head = (
        "cluster",
        "errors",
        "warnings",
        "notes",
        "partitions",
        "leaderless",
        "elections",
        "silences",
        "last record",
    )
    kinds = ("id", *("n",) * 7, "id")
    return f"<h2>Clusters</h2>{search('index', 'search clusters')}" + table(head, rows, kinds, "index")


def _count(kind: str, count: int) -> str:
    return f'<span class="{kind}">{count}</span>' if count else "0"


def findings(data: Mapping[str, Any], ordered: Sequence[str]) -> str:
    if not data["audited"]:
        return "<h2>Findings</h2><p>No audit was made (<code>kraft-pipeline audit</code>).</p>"
    counts = data["severities"]
    shown = ", ".join(
        f'<span class="{kind}">{counts[kind]} {kind}{"" if counts[kind] == 1 else "s"}</span>' for kind in _SEVERITIES
    )
    if not data["findings"]:
        return f"<h2>Findings</h2><p>{shown}: the copies agree, and the history keeps its promises.</p>"
    places = {name: at for at, name in enumerate(ordered)}
    rows = [_finding(it, places) for it in data["findings"]]
    left = data["findings_in_all"] - len(data["findings"])
    more = f"<p><small>{left} more are in the table <code>findings</code>.</small></p>" if left > 0 else ""
    head = ("", "what", "cluster", "node", "file", "position", "offset", "detail")
    kinds = ("id", "id", "id", "n", "id", "n", "n", "long")
    found = table(head, rows, kinds, "findings")
    return f"<h2>Findings</h2><p>{shown}</p>{search('findings', 'search findings')}{found}{more}"


def _finding(it: Mapping[str, Any], places: Mapping[str, int]) -> list[str]:
    cluster = escape(it["cluster_id"] or "")
    if it["cluster_id"] in places:
        cluster = f'<a href="#c{places[it["cluster_id"]]}">{cluster}</a>'
    command = dump_command(it)
    detail = escape(it["detail"] or "")
    if command is not None:
        detail += f"<details><summary>its bytes</summary><code>{escape(command)}</code></details>"
    return [
        f'<span class="{escape(it["severity"])}">{escape(it["severity"])}</span>', escape(it["kind"]), cluster,
        _cell(it["node_id"]), escape((it["file"] or "").rpartition("/")[2]), _cell(it["position"]),
        _cell(it["offset"]), detail,
    ]  # fmt: skip


def dump_command(finding: Mapping[str, Any]) -> str | None:
    """What shows the batch of a finding; None where no file is named."""
    file, offset = finding["file"], finding["offset"]
    if not file or not file.endswith((".log", ".checkpoint")):
        return None
    words = ["kraft-pipeline", "dump", file, "--format", "json"]
    if offset is not None and file.endswith(".log"):
        words += ["--from-offset", str(offset), "--to-offset", str(offset + 1)]
    return shlex.join(words)


def _cell(value: object) -> str:
    return "" if value is None else escape(str(value))
