"""CGP-14: regular expressions of RE2 by which groups subscribe: what RE2/J 1.8 says of them (recorded), and that no
expression, however it is made, takes more than its length times that of the name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.coordinator.patterns import matching
from controller_runtime.coordinator.patterns.matching import MOST_STATES, Pattern
from controller_runtime.coordinator.patterns.syntax import BadPattern

pytestmark = pytest.mark.unit

NAMES = ("", "a", "b", "ab", "aab", "topic", "topic-1", "A", "aB", "1", "a.b", "a_b", "xx")
RECORDED: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "testdata" / "patterns-re2j-1.8.jsonl").read_text().splitlines()
]


def said_of(text: str) -> dict[str, Any]:
    try:
        pattern = Pattern(text)
    except BadPattern as error:
        return {"pattern": text, "refused": str(error)}
    return {"pattern": text, "matched": [name for name in NAMES if pattern.matches(name)]}


def test_expressions_mean_what_they_mean_to_re2j() -> None:
    assert [said_of(each["pattern"]) for each in RECORDED] == RECORDED
    assert sum("refused" in each for each in RECORDED) > 80
    assert sum(len(each.get("matched", ())) > 0 for each in RECORDED) > 30


@pytest.mark.parametrize("text", ["(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*)*(.*)*b", "(a?){300}a{300}", "((a*)*)*b"])
def test_no_expression_is_tried_more_than_once_a_character(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matcher that goes back takes longer than the universe has been there for the first of them."""
    pattern = Pattern(text)
    looked_at = 0
    step = Pattern._step

    def counted(self: Pattern, ways: frozenset[int], code: int) -> frozenset[int]:
        nonlocal looked_at
        looked_at += len(ways)
        return step(self, ways, code)

    monkeypatch.setattr(matching.Pattern, "_step", counted)
    name = "a" * 249
    assert pattern.matches(name) is False
    assert looked_at <= MOST_STATES * len(name)


@pytest.mark.parametrize("text", ["a{1000}{1}", "(a{1000}){1000}", "((a{100}){100}){100}", "(" * 5000, "a" * 2001])
def test_what_would_be_too_large_is_refused_before_it_is_made(text: str) -> None:
    with pytest.raises(BadPattern):
        Pattern(text)
