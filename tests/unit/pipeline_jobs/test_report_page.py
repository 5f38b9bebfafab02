"""The page: one file that needs nobody, in which nothing from a log is markup."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from metadata_pipeline.report import svg
from metadata_pipeline.report.overview import dump_command, worst_first
from metadata_pipeline.report.page import render
from support.pipeline.report_data import EVIL, cluster, data


class Balance(HTMLParser):
    """Counts tags; void elements are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_balanced_and_loads_nothing() -> None:
    page = render(data(), "A fleet", 1_795_000_700_000)
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert not {"link", "img", "iframe", "object"} & set(parser.seen)
    assert parser.seen.count("script") == 1, "the page's own, whose hash its policy names"
    assert re.findall(r"https?:|[^:]//[a-z]|url\(|@import|src=", page.replace(page[page.index("<script>") :], "")) == []
    assert re.findall(r"https?:|fetch|XMLHttp|import\(", page) == []
    assert "width=device-width" in page
    assert "@media print" in page


class Scrolling(HTMLParser):
    """What does not lie in a box that scrolls by itself, and is too wide for a phone."""

    def __init__(self) -> None:
        super().__init__()
        self.above: list[tuple[str, str]] = []
        self.wide: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("svg", "table") and ("div", "scroll") not in self.above:
            self.wide.append(tag)
        if tag not in ("meta", "input"):
            self.above.append((tag, dict(attrs).get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        self.above.pop()


def test_pictures_and_tables_scroll_on_a_phone_and_are_whole_in_print() -> None:
    page = render(data(), "A fleet", 0)
    parser = Scrolling()
    parser.feed(page)
    assert parser.wide == []
    assert '<table class="wide"><thead><tr><th></th><th>what</th>' in page, "eight columns are not squeezed to a phone"
    screen, _, printed = page.partition("@media screen and (max-width:44rem)")[2].partition("@media print")
    assert "min-width:42rem" in screen
    assert "overflow:visible" in printed
    assert "print-color-adjust:exact" in printed


def test_what_comes_from_a_log_is_never_markup() -> None:
    page = render(data(), "title " + EVIL, 0)
    assert page.count("<script") == 1
    assert "&lt;script&gt;" in page
    (allowed,) = re.findall(r"script-src 'sha256-([^']+)'", page)
    script = page.partition("<script>")[2].partition("</script>")[0]
    assert b64encode(sha256(script.encode()).digest()).decode() == allowed


def test_the_pictures_are_well_formed_and_show_their_data() -> None:
    page = render(data(), "A fleet", 0)
    pictures = re.findall(r'<div class="scroll">(<svg.*?</svg>)</div>', page, re.DOTALL)
    assert len(pictures) >= 6
    for picture in pictures:
        ET.fromstring(picture)
    for told in (
        "controller 2 leads epoch 2 from offset 50",
        "broker 1: fenced",
        "topics created: 4",
        "1 without full ISR",
        "10.0 s",
    ):
        assert told in page, told


def test_findings_that_are_left_out_are_counted() -> None:
    assert "2 more" in render(data(), "A fleet", 0)
    told = re.sub(r"<[^>]+>", "", render(data(), "A fleet", 0))
    assert "1 error, 0 warnings, 2 notes" in told
    assert "agree" in render(
        data(findings=[], findings_in_all=0, severities={"error": 0, "warning": 0, "note": 0}), "A fleet", 0
    )
    assert "No audit was made" in render(data(audited=False, findings=[]), "A fleet", 0)


@pytest.mark.parametrize("end", [0, 1, 3_600_000, 10**12])
def test_any_span_of_time_can_be_drawn(end: int) -> None:
    bars = [svg.Bar(0, end, "a", "t")]
    for picture in (
        svg.lanes("l", [("x", bars)], 0, end, ["a"]), svg.line("l", [(0, 0), (end, 5)], 0, end),
        svg.columns("l", 2, [("s", [0, 3])], 0, end), svg.bars("l", []),
    ):  # fmt: skip
        assert "nan" not in picture.lower()
        ET.fromstring(picture)


def test_the_worst_cluster_stands_first_and_a_finding_says_how_to_see_its_bytes() -> None:
    calm, bad, lost = cluster("calm"), cluster("bad"), {**cluster("lost"), "leaderless": 4}
    finding = {
        "cluster_id": "bad", "severity": "error", "kind": "bit rot", "node_id": 2, "position": 7, "offset": 9,
        "file": "/data/a b/__cluster_metadata-0/00000000000000000000.log", "detail": "x",
    }  # fmt: skip
    found = data(
        clusters={"calm": calm, "bad": bad, "lost": lost}, findings=[finding, {**finding, "file": None}],
        by_cluster={"bad": {"error": 1}},
    )  # fmt: skip
    assert worst_first(found) == ["bad", "lost", "calm"]
    page = render(found, "A fleet", 0)
    command = "kraft-pipeline dump '/data/a b/__cluster_metadata-0/00000000000000000000.log' --format json"
    assert dump_command(finding) == f"{command} --from-offset 9 --to-offset 10"
    assert page.count("<summary>its bytes</summary>") == 1
    assert '<a href="#c0">bad</a>' in page


SEEN_AS = {
    "as it is": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
"""Of linear light (Machado, Oliveira, Fernandes 2009)."""


@pytest.mark.parametrize("who", SEEN_AS)
@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_colour_blind_tell_the_colours_of_a_picture_apart(who: str, scheme: int) -> None:
    """Five stand beside each other in one picture at most."""
    page = render(data(), "A fleet", 0)
    paper = re.findall(r"--paper:(#[0-9a-f]+)", page)[scheme]
    colours = [re.findall(rf"--c{number}:(#[0-9a-f]{{6}})", page)[scheme] for number in range(5)]
    seen = [_lab(_seen(one, SEEN_AS[who])) for one in (*colours, paper)]
    near = {
        (left, right): sum((a - b) ** 2 for a, b in zip(seen[left], seen[right], strict=True)) ** 0.5
        for left in range(6)
        for right in range(left)
    }
    assert min(near.values()) > 12, near


def _seen(text: str, by: tuple[tuple[float, ...], ...]) -> list[float]:
    text = text if len(text) == 7 else "#" + "".join(2 * letter for letter in text[1:])
    light = [(int(text[at : at + 2], 16) / 255) for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in light]
    return [min(max(sum(a * b for a, b in zip(row, linear, strict=True)), 0), 1) for row in by]


def _lab(rgb: list[float]) -> tuple[float, float, float]:
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    x, y, z = (sum(a * b for a, b in zip(row, rgb, strict=True)) / w for row, w in zip(rows, white, strict=True))
    f = [one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116 for one in (x, y, z)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])
