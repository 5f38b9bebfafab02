"""Figures as a table for people and JSON for machines. A ratio above 1 is ours the better one, whatever the unit."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


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
        low, high = (self.peer, self.ours) if self.larger_is_better else (self.ours, self.peer)
        return high / low if low else float("inf")


def table(figures: Sequence[Figure]) -> str:
    rows = [("what", "ours", "peer", "ours is better by", "peer's name")]
    rows += [
        (f"{f.area}: {f.name}", f"{f.ours:,.4g} {f.unit}", f"{f.peer:,.4g} {f.unit}", f"{f.ratio:.2f}x", f.peer_name)
        for f in figures
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def write_json(figures: Sequence[Figure], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "machine": {"python": platform.python_version(), "kernel": platform.release(), "arch": platform.machine()},
        "figures": [asdict(f) | {"ratio": f.ratio} for f in figures],
    }
    path.write_text(json.dumps(content, indent=2) + "\n")
