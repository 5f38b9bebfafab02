"""The report of a hundred clusters in a real Chromium, at the size of a phone, of a desk and of paper, light and dark:
no word is broken, no label leaves its picture, nothing is wider than the screen, and searching, pointing and choosing a
time do what they say. With QUORATE_PICTURES=DIRECTORY the pictures are kept.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from metadata_pipeline.report.page import render
from support.pipeline.browser import Browser, Picture
from support.pipeline.report_data import cluster, data
from support.sampling import run_seed

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

LONG = "kafka-topic-with-a-name-that-is-as-long-as-they-get-in-practice.payments.settlements.v12"
ALL = bool(os.environ.get("QUORATE_SOAK") or os.environ.get("QUORATE_PICTURES"))
"""Else each size is looked at light or dark, as the run's seed says."""
SCALE = 1 if os.environ.get("QUORATE_PICTURES") else 0.5
SIZES = {"phone": (390, 844), "desk": (1200, 900), "paper": (794, 1123)}

BROKEN_WORDS = """[...document.querySelectorAll('#findings td, #index td')].filter(cell => {
  const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let text; (text = walk.nextNode());)
    for (const word of text.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (tops.size > 1 && !/[-\\/.]/.test(word[0])) return true;
    }
}).map(cell => cell.textContent)"""
OUTSIDE = """[...document.querySelectorAll('.scroll > svg')].filter(svg => svg.getClientRects().length).flatMap(svg => {
  const whole = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < whole.left - 0.5 || box.right > whole.right + 0.5 || box.bottom > whole.bottom + 0.5;
  }).map(text => text.textContent);
})"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SHOWN = "[...document.querySelectorAll('.cluster')].filter(one => one.getClientRects().length).map(one => one.id)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred clusters; the 42nd has an error."""
    clusters = {f"cluster-{number:03}": cluster() for number in range(100)}
    clusters["cluster-042"]["topics"] = [
        {"topic": LONG, "partitions": 1000, "replicas": 3000, "short_of_isr": 999, "leaderless": 998},
        {"topic": "small", "partitions": 1, "replicas": 3, "short_of_isr": 0, "leaderless": 0},
    ]
    finding = {
        "cluster_id": "cluster-042", "severity": "error", "kind": "divergence", "node_id": 2, "position": 712,
        "file": "/var/lib/kafka/__cluster_metadata-0/00000000000000000000.log", "offset": 9,
        "detail": "offsets 9 to 12 of epoch 5 differ from those of nodes 1 and 3, which agree with each other",
    }  # fmt: skip
    findings = [finding, {**finding, "cluster_id": "cluster-007", "severity": "note", "kind": "uncommitted"}]
    found = data(
        clusters=clusters, findings=findings, findings_in_all=2, severities={"error": 1, "warning": 0, "note": 1},
        by_cluster={"cluster-042": {"error": 1}, "cluster-007": {"note": 1}},
    )  # fmt: skip
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(found, "A fleet of a hundred", 1_795_000_700_000))
    return path


def browse(steps: Callable[[Browser], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with Browser() as browser:
            await steps(browser)

    asyncio.run(whole())


def kept(name: str, picture: Picture) -> Picture:
    if folder := os.environ.get("QUORATE_PICTURES"):
        Path(folder, f"{name}.png").write_bytes(picture.png)
    return picture


def test_the_report_is_whole_on_a_phone_on_a_desk_and_on_paper_light_and_dark(page: Path) -> None:
    async def looked(browser: Browser) -> None:
        for at, (size, (width, height)) in enumerate(SIZES.items()):
            for dark in (False, True) if ALL else ((run_seed() >> at) % 2 == 1,):
                media = "print" if size == "paper" else "screen"
                await browser.open(page, width, height, dark=dark, media=media)
                name = f"{size}-{'dark' if dark else 'light'}"
                picture = kept(name, await browser.picture(SCALE))
                paper = (22, 26, 29) if dark and size != "paper" else (255, 255, 255)
                assert picture.at(2, 2) == paper, name
                assert picture.count(paper, 8) < picture.width * picture.height // 64, f"{name}: something is on it"
                assert await browser.tells(BROKEN_WORDS) == [], name
                if size != "paper":
                    await browser.tells("location.hash = '#c0'")
                    assert await browser.tells(SHOWN) == ["c0"]
                else:
                    assert len(await browser.tells(SHOWN)) == 100, "all of it is printed"
                assert await browser.tells(OUTSIDE) == [], name
                assert await browser.tells(TOO_WIDE) <= 0, f"{name}: wider than the {size}"
                seen = kept(f"{name}-cluster", await browser.picture(SCALE))
                bar = (78, 163, 224) if dark and size != "paper" else (0, 114, 178)
                assert size == "paper" or seen.count(bar, 1) > 40, f"{name}: who led is drawn in its colour"

    browse(looked)


def test_search_hover_and_time_range(page: Path) -> None:
    async def used(browser: Browser) -> None:
        await browser.open(page, *SIZES["desk"])
        rows = (
            "[...document.querySelectorAll('#index tbody tr')].filter(row => !row.hidden)"
            ".map(row => row.cells[0].textContent)"
        )
        every: list[str] = await browser.tells(rows)
        assert len(every) == 100
        assert every[:3] == ["cluster-042", "cluster-000", "cluster-001"], "the worst first"
        await browser.tells(
            "(() => { const it = document.querySelector('[data-of=index]'); it.value = '09'; "
            "it.dispatchEvent(new Event('input')); })()"
        )
        assert await browser.tells(rows) == ["cluster-009", *(f"cluster-09{number}" for number in range(10))]
        await browser.tells("document.querySelector('#findings summary').click()")
        command = await browser.tells("document.querySelector('#findings details[open] code').textContent")
        assert command.startswith("kraft-pipeline dump /var/lib/kafka/__cluster_metadata-0/00000000000000000000.log")
        await browser.tells("location.hash = '#c0'")
        place = await browser.tells(
            "(() => { const box = document.querySelector('#c0 svg.plot rect'); box.scrollIntoView({block: 'center'});"
            " const it = box.getBoundingClientRect(); return [it.left + 5, it.top + 5]; })()"
        )
        await browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        await asyncio.sleep(0.2)
        told = await browser.tells("getComputedStyle(tip).display + ' ' + tip.textContent")
        assert told.startswith("block controller 1 leads epoch 1 from offset 0\n2026-11-"), told
        kept("hover", await browser.picture())
        before: list[Any] = await browser.tells(_MARKS)
        await browser.tells(
            "(() => { const it = document.querySelector('#c0 input[type=range]'); it.value = 500; "
            "it.dispatchEvent(new Event('input')); })()"
        )
        after: list[Any] = await browser.tells(_MARKS)
        assert after[0] == before[2], "the picture begins where the middle was"
        assert after[4] == before[4]
        kept("range", await browser.picture())
        await browser.tells("document.querySelector('#c0 button').click()")
        assert await browser.tells(_MARKS) == before

    browse(used)


_MARKS = "[...document.querySelectorAll('#c0 [data-mark]')].slice(0, 5).map(one => one.textContent)"
