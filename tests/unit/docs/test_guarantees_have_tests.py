"""Each guarantee in docs/operations/guarantees.md names tests that exist; of the twenty, each is either shown or named
as missing.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "operations" / "guarantees.md").read_text()
SHOWN, _, MISSING = TEXT.partition("## What is missing")
GUARANTEES = {
    int(number): body for number, body in re.findall(r"^## (\d+)\. (.*?)(?=^## |\Z)", SHOWN, re.MULTILINE | re.DOTALL)
}
LATER = {11, 19}
"""Named by the work order as later work."""


def named_in(body: str) -> list[tuple[str, str]]:
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", body)


@pytest.mark.parametrize("number", GUARANTEES)
def test_a_guarantee_names_tests_that_exist(number: int) -> None:
    named = named_in(GUARANTEES[number])
    assert named
    for path, name in named:
        functions = {
            node.name
            for node in ast.walk(ast.parse((ROOT / path).read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name in functions, f"{path}::{name}"


def test_whatever_looks_like_a_test_is_one_that_is_looked_for() -> None:
    assert len(re.findall(r"tests/[\w/]+\.py", SHOWN)) - len(named_in(SHOWN)) == 1  # stories.py


def test_each_of_the_twenty_is_shown_or_said_to_be_missing() -> None:
    missing = {int(number) for number in re.findall(r"(?<!\d)(\d{1,2})(?=:| \()", MISSING)}
    assert missing >= LATER
    assert set(GUARANTEES) | missing == set(range(1, 21))
