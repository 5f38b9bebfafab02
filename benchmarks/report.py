"""Figures as a table for people and JSON for machines. A ratio above 1 is ours the better one, whatever the unit."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

OURS = "Quorate"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing: ours and a peer's median, in `unit`, of the same run."""

    area: str
    name: str
    unit: str
    ours: float
    peer: float
    peer_name: str
    larger_is_better: bool = False

    @property
    def ratio(self) -> float:
        return ratio(self.ours, self.peer, self.larger_is_better)


@dataclass(frozen=True, slots=True)
class Row:
    """One measured thing of several peers, by their names, ours among them."""

    area: str
    name: str
    unit: str
    values: Mapping[str, float]
    samples: Mapping[str, int]
    larger_is_better: bool | None = False
    """None: a figure that explains others and is neither better nor worse."""

    def ratio_to(self, peer: str) -> float | None:
        if self.larger_is_better is None or OURS not in self.values or peer not in self.values:
            return None
        return ratio(self.values[OURS], self.values[peer], self.larger_is_better)


def ratio(ours: float, peer: float, larger_is_better: bool) -> float:
    low, high = (peer, ours) if larger_is_better else (ours, peer)
    return high / low if low else float("inf")


def table(figures: Sequence[Figure]) -> str:
    rows = [("what", "ours", "peer", "ours is better by", "peer's name")]
    rows += [
        (f"{f.area}: {f.name}", f"{f.ours:,.4g} {f.unit}", f"{f.peer:,.4g} {f.unit}", f"{f.ratio:.2f}x", f.peer_name)
        for f in figures
    ]
    return aligned(rows)


def table_of_rows(rows: Sequence[Row]) -> str:
    """A column per peer, and how much better ours is in brackets."""
    peers = list(dict.fromkeys(name for row in rows for name in row.values))
    lines = [("what", *peers)]
    lines += [(row.name, *(_cell(row, peer) for peer in peers)) for row in rows]
    return aligned(lines)


def markdown(rows: Sequence[Row]) -> str:
    peers = list(dict.fromkeys(name for row in rows for name in row.values))
    lines = ["| what | " + " | ".join(peers) + " |", "|---" * (len(peers) + 1) + "|"]
    lines += [f"| {row.name} | " + " | ".join(_cell(row, peer) for peer in peers) + " |" for row in rows]
    return "\n".join(lines)


def _cell(row: Row, peer: str) -> str:
    if peer not in row.values:
        return "-"
    shown = quantity(row.values[peer], row.unit)
    better = row.ratio_to(peer) if peer != OURS else None
    return shown if better is None else f"{shown} ({better:.2f}x)"


def quantity(value: float, unit: str) -> str:
    if unit == "s" and value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:,.0f} {unit}".rstrip() if value >= 1000 else f"{value:.3g} {unit}".rstrip()


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def write_json(
    figures: Sequence[Figure], path: Path, rows: Sequence[Row] = (), notes: Mapping[str, str] | None = None
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    peers = {peer for row in rows for peer in row.values} - {OURS}
    content = {
        "machine": {"python": platform.python_version(), "kernel": platform.release(), "arch": platform.machine()},
        **(notes or {}),
        "figures": [asdict(f) | {"ratio": f.ratio} for f in figures],
        "rows": [
            asdict(row) | {"ratios": {peer: row.ratio_to(peer) for peer in sorted(peers & set(row.values))}}
            for row in rows
        ],
    }
    path.write_text(json.dumps(content, indent=2) + "\n")
