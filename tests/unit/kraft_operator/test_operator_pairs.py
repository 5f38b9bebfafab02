"""At least a hundred pairs (spec, observed) -> plan as files to be read, and proof that they leave out no rule, no gate
and no reason.

The language is that of support/operator_model/pairs.py; `--rewrite` writes the plans anew, and the diff is to be read.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kraft_operator.plan
from support.datadriven import check, parse
from support.operator_model import pairs as operator_pairs

pytestmark = pytest.mark.unit

RULES = Path(kraft_operator.plan.__file__).parent
CONDITIONS = Path(__file__).parents[3] / "docs" / "operations" / "conditions.md"
CAMEL = re.compile(r"\b[A-Z][a-z]+(?:[A-Z]+[a-z]*)+\b")
FILES = sorted((Path(__file__).parent / "testdata" / "pairs").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_seen_leads_to_the_plan_in_the_file(path: Path, rewrite: bool) -> None:
    check(path, operator_pairs.answer, rewrite=rewrite)


def test_there_are_at_least_a_hundred_pairs_and_no_two_ask_the_same() -> None:
    asked = [turn.command for path in FILES for turn in parse(path.read_text())]
    assert len(asked) >= 100
    assert len(set(asked)) == len(asked)


def test_every_reason_that_the_rules_give_is_in_a_pair_or_a_dialogue() -> None:
    """Of those that people are told of: what conditions.md lists and plan/ says."""
    rows = [line.split("|")[1:3] for line in CONDITIONS.read_text().splitlines() if line.startswith("|")]
    documented = {word for row in rows for cell in row for word in CAMEL.findall(cell)} - {
        "QuorumAvailable"
    }  # a condition
    given = {word for path in RULES.rglob("*.py") for word in re.findall(r'"([A-Z][A-Za-z]+)"', path.read_text())}
    shown = "".join(path.read_text() for path in FILES[0].parents[1].rglob("*.txt"))
    assert len(documented & given) > 30
    assert sorted(each for each in documented & given if not re.search(rf"\b{each}\b", shown)) == []


def test_every_gate_is_seen_closed() -> None:
    """Each text that a closed gate gives is in a file, but for those that no sound look leads to."""
    source = " ".join((RULES / name).read_text() for name in ("headroom.py", "rollout/rolling.py", "brake.py"))
    texts = re.findall(r'Gate\(False, f?"([^"]+)"', re.sub(r"\s+", " ", source).replace("( ", "("))
    shown = "".join(path.read_text() for path in FILES[0].parents[1].rglob("*.txt"))
    unseen = {text for text in texts if max(re.split(r"\{[^}]*\}", text), key=len).strip() not in shown}
    assert len(texts) >= 9
    assert unseen <= {"it is the last voter"}  # the resource asks for one controller at least
