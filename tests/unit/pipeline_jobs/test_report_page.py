"""The page: one file that needs nobody, in which nothing from a log is markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from metadata_pipeline.report import svg
from metadata_pipeline.report.page import render

EVIL = "<script>alert('x')</script>\"&"


def cluster(name: str = "orders") -> dict[str, Any]:
    return {
        "span": {"first": 0, "last": 99, "records": 100, "begin": 1_795_000_000_000, "end": 1_795_000_600_000},
        "types": [{"type": "NoOpRecord", "records": 50}], "types_in_all": 1,
        "leaders": [
            {"epoch": 1, "leader": 1, "begin": 1_795_000_000_000, "end": 1_795_000_300_000, "offset": 0},
            {"epoch": 2, "leader": 2, "begin": 1_795_000_300_000, "end": None, "offset": 50},
        ], "leaders_in_all": 2,
        "brokers": [
            {"broker_id": 1, "fenced": True, "stopping": False, "begin": 1_795_000_000_000, "end": 1_795_000_010_000},
            {"broker_id": 1, "fenced": False, "stopping": False, "begin": 1_795_000_010_000, "end": None},
        ], "brokers_in_all": 2,
        "churn": [{"bucket": 3, "isr": 2, "leaders": 1, "created": 4, "removed": 0, "configs": 1, "records": 10}],
        "churn_in_all": 1,
        "growth": [{"at": 1_795_000_000_500, "topics": 1, "partitions": 3}], "growth_in_all": 1,
        "topics": [{"topic": name + EVIL, "partitions": 3, "replicas": 9, "short_of_isr": 1, "leaderless": 0}],
        "topics_in_all": 1,
        "silences": [{"offset": 50, "begin": 1_795_000_290_000, "gap": 10_000}], "silences_in_all": 1,
        "deleted": [{"name": EVIL, "at": 1_795_000_400_000, "offset": 70}], "deleted_in_all": 1,
        "provisional": [{"from_offset": 100, "to_offset": 101, "epoch": 2, "nodes": [3], "status": "provisional"}],
        "provisional_in_all": 1,
    }  # fmt: skip


def data(**changes: Any) -> dict[str, Any]:
    finding = {
        "cluster_id": EVIL, "severity": "error", "kind": "divergence", "node_id": 2, "file": "/data/0.log",
        "position": 7, "offset": 9,
        "detail": EVIL,
    }  # fmt: skip
    whole = {
        "clusters": {"orders" + EVIL: cluster()}, "audited": True, "findings": [finding], "findings_in_all": 3,
        "severities": {"error": 1, "warning": 0, "note": 2},
    }  # fmt: skip
    return {**whole, **changes}


class Balance(HTMLParser):
    """Counts tags; void elements are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_balanced_and_loads_nothing() -> None:
    page = render(data(), "A fleet", 1_795_000_700_000)
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(parser.seen)
    assert re.findall(r"(?:https?:)?//[a-z]|url\(|@import|src=", page) == []
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
        if tag != "meta":
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
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_pictures_are_well_formed_and_show_their_data() -> None:
    page = render(data(), "A fleet", 0)
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
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
