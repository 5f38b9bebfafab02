"""Pictures as SVG text: timelines, bars and lines. Pure; every text that comes from data is escaped here.

All are 720 units wide and scale with the page, on a phone no further than its letters can be read: then the picture
scrolls. What lies on the axis of time is in a picture of its own inside (`plot`), so that the page can show a part of
the time. Colours are classes of the page's style, told apart by the colour-blind, light and dark; what a colour says, a
text says too (`data-tip`, and a title for who does not point). No label is longer than its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final

WIDTH: Final = 720
LEFT: Final = 112
RIGHT: Final = 12
COLOURS: Final = 8
"""Classes k0 to k7 of the style."""
PLOT: Final = WIDTH - LEFT - RIGHT
LETTER: Final = 6.8
"""No letter of the pictures' size is wider on average."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of a lane: from, to (milliseconds), what it is (chooses the colour), what a reader sees on it."""

    begin: int
    end: int
    kind: str
    title: str


def colour(kind: str, kinds: Sequence[str]) -> str:
    """The class that colours it."""
    return f"k{kinds.index(kind) % COLOURS}"


def moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


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
    """Inside of the plot."""
    return round(PLOT * (ms - begin) / max(end - begin, 1), 1)


def _plot(height: int, body: Sequence[str]) -> str:
    """What lies on the axis of time."""
    return (
        f'<svg class="plot" x="{LEFT}" y="0" width="{PLOT}" height="{height}" viewBox="0 0 {PLOT} {height}" '
        f'preserveAspectRatio="none" data-width="{PLOT}" data-height="{height}">' + "".join(body) + "</svg>"
    )


def _shown(shape: str, text: str) -> str:
    """A shape that tells its exact values."""
    told = escape(text)
    return f'<{shape} data-tip="{told}"><title>{told}</title></{shape.partition(" ")[0]}>'


def _time_axis(begin: int, end: int, top: int, bottom: int) -> list[str]:
    marks = []
    for number in range(5):
        x = LEFT + PLOT * number / 4
        anchor = "start" if number == 0 else "end" if number == 4 else "middle"
        at = clock(begin + (end - begin) * number // 4, end - begin)
        marks.append(f'<line x1="{x}" x2="{x}" y1="{top}" y2="{bottom}" class="grid"/>')
        marks.append(f'<text x="{x}" y="{bottom + 14}" data-mark="{number}" text-anchor="{anchor}">{at}</text>')
    return marks


def lanes(label: str, rows: Sequence[tuple[str, Sequence[Bar]]], begin: int, end: int, kinds: Sequence[str]) -> str:
    """One lane for each name, bars on it."""
    high = 22 * len(rows)
    body, bars = _time_axis(begin, end, 0, high), []
    for number, (name, some) in enumerate(rows):
        top = 22 * number
        body.append(f'<text x="{LEFT - 6}" y="{top + 15}" text-anchor="end">{escape(_fitting(name, LEFT - 8))}</text>')
        for bar in some:
            x = _x(bar.begin, begin, end)
            width = max(_x(bar.end, begin, end) - x, 1.5)
            told = f"{bar.title}\n{moment(bar.begin)} to {moment(bar.end)}"
            shape = f'rect x="{x}" y="{top + 3}" width="{width:.1f}" height="16" class="{colour(bar.kind, kinds)}"'
            bars.append(_shown(shape, told))
    return _svg(high + 24, label, [*body, _plot(high, bars)])


def columns(label: str, buckets: int, series: Sequence[tuple[str, Sequence[int]]], begin: int, end: int) -> str:
    """Stacked columns over time."""
    top, bottom = 10, 150
    highest = max((sum(values[at] for _, values in series) for at in range(buckets)), default=0)
    body, shapes = _time_axis(begin, end, top, bottom) + _value_axis(highest, top, bottom), []
    width = PLOT / max(buckets, 1)
    for at in range(buckets):
        y = float(bottom)
        since = moment(begin + (end - begin) * at // max(buckets, 1))
        for number, (name, values) in enumerate(series):
            if values[at]:
                height = (bottom - top) * values[at] / max(highest, 1)
                y -= height
                shape = (
                    f'rect x="{at * width:.1f}" y="{y:.1f}" width="{max(width - 0.5, 0.5):.1f}" '
                    f'height="{height:.1f}" class="k{number % COLOURS}"'
                )
                shapes.append(_shown(shape, f"{name}: {values[at]}\nfrom {since}"))
    return _svg(172, label, [*body, _plot(bottom, shapes)])


def line(label: str, points: Sequence[tuple[int, int]], begin: int, end: int, number: int = 0) -> str:
    """A value that stays until it changes."""
    top, bottom = 10, 130
    highest = max((value for _, value in points), default=0)
    body = _time_axis(begin, end, top, bottom) + _value_axis(highest, top, bottom)
    path: list[str] = []
    hits: list[str] = []
    y = float(bottom)
    for (ms, value), (until, _) in zip(points, [*points[1:], (end, 0)], strict=True):
        x = _x(ms, begin, end)
        path.append(f"{x},{y:.1f}")
        y = bottom - (bottom - top) * value / max(highest, 1)
        path.append(f"{x},{y:.1f}")
        width = max(_x(until, begin, end) - x, 1.5)
        shape = f'rect x="{x}" y="0" width="{width:.1f}" height="{bottom}" class="hit"'
        hits.append(_shown(shape, f"{value}\nfrom {moment(ms)}"))
    path.append(f"{_x(end, begin, end)},{y:.1f}")
    drawn = f'<polyline points="{" ".join(path)}" class="s{number}"/>'
    return _svg(152, label, [*body, _plot(bottom + 2, [drawn, *hits])])


def bars(label: str, rows: Sequence[tuple[str, int, str]]) -> str:
    """Horizontal bars: name, value, what is written behind it."""
    highest = max((value for _, value, _ in rows), default=1)
    captions = [_fitting(caption, 360) for _, _, caption in rows]
    room = max((len(caption) for caption in captions), default=0) * LETTER
    body = []
    for number, ((name, value, whole), caption) in enumerate(zip(rows, captions, strict=True)):
        y = 20 * number
        width = max((WIDTH - 190 - room) * value / max(highest, 1), 1)
        told = escape(f"{name}\n{whole}")
        body.append(
            f'<text x="170" y="{y + 14}" text-anchor="end" data-tip="{told}">{escape(_fitting(name, 166))}</text>'
        )
        body.append(_shown(f'rect x="176" y="{y + 3}" width="{width:.1f}" height="14" class="k0"', f"{name}\n{whole}"))
        body.append(f'<text x="{182 + width:.1f}" y="{y + 14}">{escape(caption)}</text>')
    return _svg(20 * len(rows) + 4, label, body)


def _fitting(text: str, width: int) -> str:
    most = int(width / LETTER)
    return text if len(text) <= most else text[: most - 1] + "…"


def _value_axis(highest: int, top: int, bottom: int) -> list[str]:
    return [
        f'<text x="{LEFT - 6}" y="{top + 5}" text-anchor="end">{highest}</text>',
        f'<text x="{LEFT - 6}" y="{bottom}" text-anchor="end">0</text>',
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}" class="axis"/>',
    ]
