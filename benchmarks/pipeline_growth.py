"""What one more million records costs a lake that has few, and one that has a hundred million: a log grows, and every
ingest reads what is new.

    python -m benchmarks.pipeline_growth DIRECTORY [--records 100000000] [--seconds 420] [--figure growth.svg]

Log and lake are kept in the directory, with a line for every ingest, so the work may be done in pieces: run it again
and it goes on. Beside every tenth million (and 1, 3) the same million is ingested into an empty lake, in the same
minute: on a shared machine a second of a processor is not always worth the same, their ratio is. Every ingest is a
process of its own; CPU seconds are those of its whole work without imports.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.pipeline import ADDED, alone
from benchmarks.pipeline_logs import Pool, write_directory

BULK: Final = 4
"""Millions that are ingested at once between two measured ones, when there are ten already."""
BESIDE: Final = frozenset((1, 3, *range(10, 101, 10)))
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 300, 60, 40, 40


def grow(root: Path, records: int, seconds: float) -> list[dict[str, Any]]:
    """Go on from where the directory is, until there are enough records or the time is over."""
    until = time.monotonic() + seconds
    stored = root / "growth.jsonl"
    points: list[dict[str, Any]] = (
        [json.loads(line) for line in stored.read_text().splitlines()] if stored.exists() else []
    )
    partition = root / "log" / "__cluster_metadata-0"
    if not partition.exists():
        write_directory(root / "log")
    pool = Pool("busy")
    while (total := points[-1]["total"] if points else 0) < records and time.monotonic() < until:
        millions = total // ADDED + 1
        at_once = 1 if millions <= 10 or millions % (BULK + 1) == 0 else BULK - (millions - 1) % (BULK + 1)
        count, _ = pool.write(partition / f"{total:020d}.log", records=at_once * ADDED, base_offset=total)
        found = alone(root / "log", root / "lake")
        point = {"total": total + count, "rows": found["rows"], "cpu": found["cpu"], "peak": found["peak"]}
        if (total + count) // ADDED in BESIDE and at_once == 1:
            point["empty"] = _into_an_empty_lake(root, pool)
        points.append(point)
        with stored.open("a") as file:
            print(json.dumps(point), file=file)
        print(json.dumps(point), file=sys.stderr, flush=True)
    return points


def _into_an_empty_lake(root: Path, pool: Pool) -> float:
    """CPU microseconds a record, for a million records and nothing before them."""
    beside = root / "beside"
    shutil.rmtree(beside, ignore_errors=True)
    count, _ = pool.write(write_directory(beside / "log") / f"{0:020d}.log", records=ADDED)
    found = alone(beside / "log", beside / "lake")
    shutil.rmtree(beside)
    assert found["rows"] == count
    return float(found["cpu"] / count * 1e6)


def rows(points: list[dict[str, Any]]) -> str:
    """The paired measurements as a table."""
    lines = ["| records in the lake | us for each of the last million | into an empty lake, us | ratio | peak, MB |"]
    lines.append("|---|---|---|---|---|")
    for point in points:
        if "empty" in point:
            cost = point["cpu"] / point["rows"] * 1e6
            lines.append(
                f"| {point['total']:,} | {cost:.2f} | {point['empty']:.2f} | "
                f"{cost / point['empty']:.2f} | {point['peak']:.0f} |"
            )
    return "\n".join(lines)


def figure(points: list[dict[str, Any]]) -> str:
    """Cost over size: every ingest a dot, the same million into an empty lake beside it a ring."""
    most = max(point["total"] for point in points)
    highest = max(point["cpu"] / point["rows"] * 1e6 for point in points) * 1.2

    def place(total: float, cost: float) -> tuple[float, float]:
        across = LEFT + total / most * (WIDTH - LEFT - 20)
        return across, HEIGHT - BOTTOM - cost / highest * (HEIGHT - BOTTOM - TOP)

    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        (
            f'<text x="{LEFT}" y="20">CPU microseconds per added record, by records in the lake (dot: added '
            "to it; ring: to an empty one)</text>"
        ),
    ]
    for step in range(5):
        cost = highest * step / 4
        _, down = place(0, cost)
        out.append(f'<path d="M{LEFT} {down:.1f}H{WIDTH - 20}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{down + 4:.1f}" text-anchor="end">{cost:.1f}</text>')
        across, _ = place(most * step / 4, 0)
        out.append(
            f'<text x="{across:.1f}" y="{HEIGHT - 16}" text-anchor="middle">{most * step / 4 / 1e6:.0f} M</text>'
        )
    for point in points:
        if point["rows"]:
            across, down = place(point["total"], point["cpu"] / point["rows"] * 1e6)
            out.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="#1f6feb"/>')
        if "empty" in point:
            across, down = place(point["total"], point["empty"])
            out.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="5" fill="none" stroke="#c0392b"/>')
    return "\n".join([*out, "</svg>", ""])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline_growth", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--records", type=int, default=100_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    asked.directory.mkdir(parents=True, exist_ok=True)
    points = grow(asked.directory, asked.records, asked.seconds)
    print(rows(points))
    if asked.figure is not None:
        asked.figure.write_text(figure(points))
    return 0


if __name__ == "__main__":
    sys.exit(main())
