"""The report's data as one HTML page: readable on a phone, printable, no script, nothing loaded from anywhere. Pure.

Whatever comes from a log (topic names, hosts, findings) passes `escape`; a cluster could name a topic after a script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from metadata_pipeline.report import svg
from metadata_pipeline.report.data import BUCKETS

_STYLE: Final = """
body{font:15px/1.45 system-ui,sans-serif;color:#222;margin:0 auto;max-width:60rem;padding:1rem}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid #ccc;overflow-wrap:anywhere}
h3{font-size:1rem;margin-bottom:.3rem}
svg{width:100%;height:auto}.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;width:100%}
th,td{text-align:left;padding:.2rem .5rem;border-bottom:1px solid #e4e4e4;vertical-align:top;overflow-wrap:anywhere}
.error{color:#a8323e;font-weight:600}.warning{color:#8a5a00;font-weight:600}.note{color:#555}
.facts span{display:inline-block;margin-right:1.2rem}
.key{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .8em}small{color:#555}
@media screen and (max-width:44rem){.scroll>svg,.scroll>table.wide{min-width:42rem}}
@media print{body{max-width:none;padding:0}h2,h3{break-after:avoid}svg,tr{break-inside:avoid}
thead{display:table-header-group}.scroll{overflow:visible}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""


def render(data: Mapping[str, Any], title: str, made_ms: int) -> str:
    """The whole page."""
    made = datetime.fromtimestamp(made_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    sections = [_section(name, shown) for name, shown in data["clusters"].items()]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"<p><small>made {made}; times are UTC; only committed records are counted</small></p>"
        f"{_findings(data)}{''.join(sections)}</body></html>\n"
    )


def _findings(data: Mapping[str, Any]) -> str:
    if not data["audited"]:
        return "<h2>Findings</h2><p>No audit was made (<code>kraft-pipeline audit</code>).</p>"
    counts = data["severities"]
    shown = ", ".join(
        f'<span class="{kind}">{counts[kind]} {kind}{"" if counts[kind] == 1 else "s"}</span>'
        for kind in ("error", "warning", "note")
    )
    if not data["findings"]:
        return f"<h2>Findings</h2><p>{shown}: the copies agree, and the history keeps its promises.</p>"
    rows = [
        [
            f'<span class="{escape(it["severity"])}">{escape(it["severity"])}</span>', escape(it["kind"]),
            escape(it["cluster_id"] or ""), _cell(it["node_id"]), escape((it["file"] or "").rpartition("/")[2]),
            _cell(it["position"]), _cell(it["offset"]), escape(it["detail"] or ""),
        ]
        for it in data["findings"]
    ]  # fmt: skip
    left = data["findings_in_all"] - len(data["findings"])
    more = f"<p><small>{left} more are in the table <code>findings</code>.</small></p>" if left > 0 else ""
    return (
        f"<h2>Findings</h2><p>{shown}</p>"
        + table(("", "what", "cluster", "node", "file", "position", "offset", "detail"), rows)
        + more
    )


def _section(name: str, shown: Mapping[str, Any]) -> str:
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
            f"<h2>Cluster {escape(name)}</h2>",
            '<p class="facts">'
            + "".join(f"<span><b>{escape(str(value))}</b> {escape(label)}</span>" for label, value in facts)
            + "</p>",
            _leadership(shown["leaders"], begin, end),
            _fencing(shown["brokers"], begin, end),
            _churn(shown["churn"], begin, end),
            _growth(growth, begin, end),
            _largest(shown["topics"]),
            _silences(shown["silences"], end - begin),
            _deleted(shown["deleted"]),
            _provisional(shown["provisional"]),
        )
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


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    wide = ' class="wide"' if len(head) > 4 else ""
    return f'<div class="scroll"><table{wide}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _legend(kinds: Sequence[str]) -> str:
    return (
        "<small>"
        + "".join(
            f'<span class="key" style="background:{svg.colour(kind, kinds)}"></span>{escape(kind)}' for kind in kinds
        )
        + "</small>"
    )


def _cell(value: object) -> str:
    return "" if value is None else escape(str(value))


def _moment(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
