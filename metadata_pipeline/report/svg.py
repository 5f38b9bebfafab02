"""Pictures as SVG text: timelines, bars and lines. Pure; every text that comes from data is escaped here.

All are 720 units wide and scale with the page, on a phone no further than its letters can be read: then the picture
scrolls. Colours have enough contrast in print; what a colour says, a text or a title says too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final

WIDTH: Final = 720
LEFT: Final = 86
RIGHT: Final = 12
COLOURS: Final = ("#1f5fa8", "#c4661f", "#2f7d4f", "#8b3f8f", "#a8323e", "#5a6b7a", "#7a6a1f", "#1f7d86")
_INK: Final = "#333"
_GRID: Final = "#ddd"


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of a lane: from, to (milliseconds), what it is (chooses the colour), what a reader sees on it."""

    begin: int
    end: int
    kind: str
    title: str


def colour(kind: str, kinds: Sequence[str]) -> str:
    return COLOURS[kinds.index(kind) % len(COLOURS)]


def clock(ms: int, span_ms: int) -> str:
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at.strftime(
        "%H:%M:%S" if span_ms < 6 * 3_600_000 else "%m-%d %H:%M" if span_ms < 30 * 86_400_000 else "%Y-%m-%d"
    )


def _svg(height: int, label: str, body: Sequence[str]) -> str:
    return (
        f'<div class="scroll"><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}" '
        'font-family="sans-serif" font-size="11">' + "".join(body) + "</svg></div>"
    )


def _x(ms: float, begin: int, end: int) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * (ms - begin) / max(end - begin, 1), 1)


def _time_axis(begin: int, end: int, top: int, bottom: int) -> list[str]:
    marks = []
    for number in range(5):
        ms = begin + (end - begin) * number // 4
        x = _x(ms, begin, end)
        anchor = "start" if number == 0 else "end" if number == 4 else "middle"
        marks.append(f'<line x1="{x}" x2="{x}" y1="{top}" y2="{bottom}" stroke="{_GRID}"/>')
        marks.append(
            f'<text x="{x}" y="{bottom + 14}" fill="{_INK}" text-anchor="{anchor}">{clock(ms, end - begin)}</text>'
        )
    return marks


def lanes(label: str, rows: Sequence[tuple[str, Sequence[Bar]]], begin: int, end: int, kinds: Sequence[str]) -> str:
    """One lane for each name, bars on it."""
    height = 22 * len(rows) + 24
    body = _time_axis(begin, end, 0, 22 * len(rows))
    for number, (name, bars) in enumerate(rows):
        top = 22 * number
        body.append(f'<text x="{LEFT - 6}" y="{top + 15}" fill="{_INK}" text-anchor="end">{escape(name[:14])}</text>')
        for bar in bars:
            x = _x(bar.begin, begin, end)
            width = max(_x(bar.end, begin, end) - x, 1.5)
            fill = colour(bar.kind, kinds)
            body.append(
                f'<rect x="{x}" y="{top + 3}" width="{width:.1f}" height="16" '
                f'fill="{fill}"><title>{escape(bar.title)}</title></rect>'
            )
    return _svg(height, label, body)


def columns(label: str, buckets: int, series: Sequence[tuple[str, Sequence[int]]], begin: int, end: int) -> str:
    """Stacked columns over time."""
    top, bottom = 10, 150
    highest = max((sum(values[at] for _, values in series) for at in range(buckets)), default=0)
    body = _time_axis(begin, end, top, bottom) + _value_axis(highest, top, bottom)
    width = (WIDTH - LEFT - RIGHT) / max(buckets, 1)
    for at in range(buckets):
        y = float(bottom)
        for number, (name, values) in enumerate(series):
            if values[at]:
                height = (bottom - top) * values[at] / max(highest, 1)
                y -= height
                body.append(
                    f'<rect x="{LEFT + at * width:.1f}" y="{y:.1f}" width="{max(width - 0.5, 0.5):.1f}" '
                    f'height="{height:.1f}" fill="{COLOURS[number % len(COLOURS)]}"><title>{escape(name)}: '
                    f"{values[at]}</title></rect>"
                )
    return _svg(172, label, body)


def line(label: str, points: Sequence[tuple[int, int]], begin: int, end: int, number: int = 0) -> str:
    """A value that stays until it changes."""
    top, bottom = 10, 130
    highest = max((value for _, value in points), default=0)
    body = _time_axis(begin, end, top, bottom) + _value_axis(highest, top, bottom)
    path: list[str] = []
    y = float(bottom)
    for ms, value in points:
        x = _x(ms, begin, end)
        path.append(f"{x},{y:.1f}")
        y = bottom - (bottom - top) * value / max(highest, 1)
        path.append(f"{x},{y:.1f}")
    path.append(f"{_x(end, begin, end)},{y:.1f}")
    body.append(f'<polyline points="{" ".join(path)}" fill="none" stroke="{COLOURS[number]}" stroke-width="2"/>')
    return _svg(152, label, body)


def bars(label: str, rows: Sequence[tuple[str, int, str]]) -> str:
    """Horizontal bars: name, value, what is written behind it."""
    highest = max((value for _, value, _ in rows), default=1)
    body = []
    for number, (name, value, caption) in enumerate(rows):
        y = 20 * number
        width = max((WIDTH - 330) * value / max(highest, 1), 1)
        body.append(
            f'<text x="170" y="{y + 14}" fill="{_INK}" '
            f'text-anchor="end">{escape(_short(name, 28))}<title>{escape(name)}</title></text>'
        )
        body.append(f'<rect x="176" y="{y + 3}" width="{width:.1f}" height="14" fill="{COLOURS[0]}"/>')
        body.append(f'<text x="{182 + width:.1f}" y="{y + 14}" fill="{_INK}">{escape(caption)}</text>')
    return _svg(20 * len(rows) + 4, label, body)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _value_axis(highest: int, top: int, bottom: int) -> list[str]:
    return [
        f'<text x="{LEFT - 6}" y="{top + 5}" fill="{_INK}" text-anchor="end">{highest}</text>',
        f'<text x="{LEFT - 6}" y="{bottom}" fill="{_INK}" text-anchor="end">0</text>',
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}" stroke="#999"/>',
    ]
