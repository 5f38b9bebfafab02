"""The report's data as one HTML page: readable on a phone, printable, whole without its script, nothing loaded from
anywhere. Pure.

Whatever comes from a log (topic names, hosts, findings) passes `escape`; a cluster could name a topic after a script,
and a browser would run none but that of `page.js`, whose hash the page's policy names.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, Final

from metadata_pipeline.report import overview, svg
from metadata_pipeline.report.data import BUCKETS
from metadata_pipeline.report.tables import table

_STYLE: Final = Path(__file__).with_name("page.css").read_text()
_SCRIPT: Final = Path(__file__).with_name("page.js").read_text()
_ALLOWED: Final = b64encode(sha256(_SCRIPT.encode()).digest()).decode()
"""The only script that a browser runs on this page."""


def render(data: Mapping[str, Any], title: str, made_ms: int) -> str:
    """The whole page."""
    made = datetime.fromtimestamp(made_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    ordered = overview.worst_first(data)
    sections = [_section(at, name, data) for at, name in enumerate(ordered)]
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_ALLOWED}'"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"<p><small>made {made}; times are UTC; only committed records are counted</small></p>"
        f"{overview.index(data, ordered)}{overview.findings(data, ordered)}{''.join(sections)}"
        f'<div id="tip" role="status"></div><script>{_SCRIPT}</script></body></html>\n'
    )


def _section(at: int, name: str, data: Mapping[str, Any]) -> str:
    shown = data["clusters"][name]
    span = shown["span"]
    begin, end = span["begin"], max(span["end"], span["begin"] + 1)
    growth = shown["growth"]
    now = growth[-1] if growth else {"topics": 0, "partitions": 0}
    facts = (
        ("records", span["records"]), ("offsets", f"{span['first']} to {span['last']}"), ("topics", now["topics"]),
        ("partitions", now["partitions"]), ("leaders elected", shown["leaders_in_all"]),
        ("silences over 2 s", shown["silences_in_all"]),
    )  # fmt: skip
    return "".join(
        (
            f'<section class="cluster" id="c{at}" data-begin="{begin}" data-end="{end}">',
            f'<h2>Cluster {escape(name)} <small class="tools"><a href="#">all clusters</a></small></h2>',
            '<p class="facts">'
            + "".join(f"<span><b>{escape(str(value))}</b> {escape(label)}</span>" for label, value in facts)
            + "</p>",
            _RANGE,
            _leadership(shown["leaders"], begin, end),
            _fencing(shown["brokers"], begin, end),
            _churn(shown["churn"], begin, end),
            _growth(growth, begin, end),
            _largest(shown["topics"]),
            _silences(shown["silences"], end - begin),
            _deleted(shown["deleted"]),
            _provisional(shown["provisional"]),
            "</section>",
        )
    )


_RANGE: Final = (
    '<div class="tools"><label>from <input type="range" min="0" max="1000" value="0" aria-label="show from"></label>'
    '<label>to <input type="range" min="0" max="1000" value="1000" aria-label="show to"></label>'
    '<span class="range"></span><button type="button">all of it</button></div>'
)


def _leadership(rows: Sequence[Mapping[str, Any]], begin: int, end: int) -> str:
    nodes = [str(node) for node in sorted({row["leader"] for row in rows})]
    lanes = [
        (
            f"controller {node}",
            [
                svg.Bar(
                    row["begin"],
                    row["end"] or end,
                    node,
                    f"controller {node} leads epoch {row['epoch']} from offset {row['offset']}",
                )
                for row in rows
                if str(row["leader"]) == node
            ],
        )
        for node in nodes
    ]
    return "<h3>Who led the quorum</h3>" + svg.lanes("leadership over time", lanes, begin, end, nodes)


def _fencing(rows: Sequence[Mapping[str, Any]], begin: int, end: int) -> str:
    kinds = ("in service", "stopping", "fenced")
    lanes = []
    for broker in sorted({row["broker_id"] for row in rows}):
        bars = []
        for row in (it for it in rows if it["broker_id"] == broker):
            kind = "fenced" if row["fenced"] else "stopping" if row["stopping"] else "in service"
            bars.append(svg.Bar(row["begin"], row["end"] or end, kind, f"broker {broker}: {kind}"))
        lanes.append((f"broker {broker}", bars))
    if not lanes:
        return "<h3>Brokers</h3><p>No broker has registered.</p>"
    return f"<h3>Brokers {_legend(kinds)}</h3>" + svg.lanes("fencing over time", lanes, begin, end, kinds)


def _churn(rows: Sequence[Mapping[str, Any]], begin: int, end: int) -> str:
    names = {
        "isr": "ISR changes",
        "leaders": "leader changes",
        "created": "topics created",
        "removed": "topics removed",
        "configs": "configurations set",
    }
    by_bucket = {row["bucket"]: row for row in rows}
    series = [(label, [by_bucket.get(at, {}).get(name, 0) for at in range(BUCKETS)]) for name, label in names.items()]
    return f"<h3>Changes {_legend(tuple(names.values()))}</h3>" + svg.columns(
        "changes over time", BUCKETS, series, begin, end
    )


def _growth(rows: Sequence[Mapping[str, Any]], begin: int, end: int) -> str:
    if not rows:
        return ""
    return (
        "<h3>Topics</h3>"
        + svg.line("topics over time", [(row["at"], row["topics"]) for row in rows], begin, end)
        + "<h3>Partitions</h3>"
        + svg.line("partitions over time", [(row["at"], row["partitions"]) for row in rows], begin, end, 1)
    )


def _largest(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    shown = []
    for row in rows:
        trouble = [f"{row['short_of_isr']} without full ISR"] if row["short_of_isr"] else []
        trouble += [f"{row['leaderless']} without leader"] if row["leaderless"] else []
        shown.append((row["topic"] or "?", row["partitions"], ", ".join([f"{row['partitions']} partitions", *trouble])))
    return "<h3>Largest topics</h3>" + svg.bars("largest topics", shown)


def _silences(rows: Sequence[Mapping[str, Any]], span_ms: int) -> str:
    if not rows:
        return ""
    cells = [
        [svg.clock(row["begin"], span_ms), f"{row['gap'] / 1000:.1f} s", _cell(row["offset"])] for row in rows[:10]
    ]
    return "<h3>Silences of the controller</h3>" + table(("from", "lasted", "next offset"), cells)


def _deleted(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    cells = [[escape(row["name"]), _moment(row["at"]), _cell(row["offset"])] for row in rows[:15]]
    return "<h3>Topics deleted last</h3>" + table(("topic", "at", "offset"), cells)


def _provisional(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    cells = [
        [
            escape(row["status"]),
            f"{row['from_offset']} to {row['to_offset'] - 1}",
            _cell(row["epoch"]),
            escape(", ".join(map(str, row["nodes"]))),
        ]
        for row in rows
    ]
    return "<h3>Not proven to be committed</h3>" + table(("status", "offsets", "epoch", "on nodes"), cells)


def _legend(kinds: Sequence[str]) -> str:
    keys = "".join(
        f'<span class="entry"><span class="key {svg.colour(kind, kinds)}"></span>{escape(kind)}</span>'
        for kind in kinds
    )
    return f"<small>{keys}</small>"


def _cell(value: object) -> str:
    return "" if value is None else escape(str(value))


def _moment(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
