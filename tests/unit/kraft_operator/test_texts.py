"""All that the operator says to people, as one text to be read: a file per condition, one of all Events, and a file per
screen.

`--rewrite` writes them anew from situations that the planner was led into (support/operator_model/texts.py); the diff
is to be read as English. Every reason that the code can give has to be in one of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

import kraft_operator.events
from kraft_operator.conditions import HEALTHY
from kraft_operator.plan.nodes.health import REMEDIES
from kraft_operator.plan.situation import Topic
from support.operator_model.texts import SCREENS, Said, gathered, readable, screens

pytestmark = [pytest.mark.unit, pytest.mark.timeout(1800)]

DATA = Path(__file__).parent / "testdata"
TEXTS = DATA / "texts"
PACKAGE = Path(kraft_operator.events.__file__).parent
CAMEL = re.compile(r"^[A-Z][a-z]+(?:[A-Z]+[a-z]*)*$")
SUMMARIES = {"Ready", "Reconciling", "Stalled"}
Texts = Mapping[tuple[str, str], list[str]]
OF_OPERATIONS = {"refusals.py", "reports.py", "reporting.py"}
"""Their reasons are those of KRaftOperations."""


@cache
def said() -> Said:
    return gathered(DATA / "pairs")


def rendered(texts: Texts) -> str:
    blocks = []
    for (value, reason), messages in sorted(texts.items()):
        blocks.append("\n".join([f"{value} {reason}", *(f"  {readable(each)}" for each in messages)]))
    return "\n\n".join(blocks) + "\n"


def without_repetitions(texts: Texts) -> Texts:
    """Without what the conditions that are no summaries say."""
    others = {
        text
        for kind, found in said().conditions.items()
        if kind not in SUMMARIES
        for each in found.values()
        for text in each
    }
    kept = {key: [each for each in messages if each not in others] for key, messages in texts.items()}
    return {key: messages for key, messages in kept.items() if messages}


def check(path: Path, produced: str, rewrite: bool) -> None:
    if rewrite:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(produced)
    assert path.exists(), f"{path.name} is new: run with --rewrite and read it"
    assert path.read_text() == produced


def test_the_text_of_every_condition_is_the_one_that_was_read(rewrite: bool) -> None:
    for kind, texts in said().conditions.items():
        own = texts if kind not in SUMMARIES else without_repetitions(texts)
        check(TEXTS / "conditions" / f"{kind}.txt", rendered(own), rewrite)
    assert {path.stem for path in (TEXTS / "conditions").glob("*.txt")} == set(said().conditions)


def test_the_text_of_every_event_is_the_one_that_was_read(rewrite: bool) -> None:
    """But for those that repeat a condition."""
    check(TEXTS / "events.txt", rendered(without_repetitions(said().events)), rewrite)


def test_every_screen_is_the_one_that_was_read(rewrite: bool) -> None:
    for name, text in screens():
        check(TEXTS / "screens" / f"{name}.txt", f"{text}\n", rewrite)
    assert {path.stem for path in (TEXTS / "screens").glob("*.txt")} == set(SCREENS)


# completeness


def constants(node: ast.AST) -> set[str]:
    return {
        each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }  # fmt: skip


def reasons_of_conditions() -> set[str]:
    """Whatever looks like a reason and is one of the words that the documentation of conditions has."""
    documented = set(
        re.findall(r"\b[A-Z][A-Za-z]+\b", (PACKAGE.parents[1] / "docs/operations/conditions.md").read_text())
    )
    files = [*PACKAGE.glob("plan/**/*.py"), PACKAGE / "conditions.py", PACKAGE / "reconcile.py"]
    found: set[str] = set()
    for path in files:
        if path.name not in OF_OPERATIONS:
            found |= {each for each in constants(ast.parse(path.read_text())) if CAMEL.match(each)}
    return (found & documented) | {reason for reason, _ in HEALTHY.values()} | set(REMEDIES)


def reasons_of_events() -> set[str]:
    tree = ast.parse((PACKAGE / "events.py").read_text())
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    notes = {each for function in functions for each in constants(function) if CAMEL.match(each)}
    return notes - {"Warning", "Normal", "True", "False", "Yes", "No", "Reconcile", "Plan", "Approve", "Learn", "Judge",
        "Form", "Grant", "Audit"} - {
        "Unregister", "Finalize", "Move", "Discard", "Restart", "Recover", "WriteOff", "GiveUp", "RemoveVoter",
        "AddVoter", "UpdateVoter", "EnterStage", "Cordon", "Uncordon", "Empty", "Drop",
        "ManualInterventionRequired",
    }  # fmt: skip


NOT_REASONS = {each.value for each in Topic} | {
    "Secure", "QuorumAvailable", "QuorumRedundant", "Ready", "Stalled", "Reconciling",
    "Suspended", "Hibernated"} | {
    "Dead", "Live", "Lagging", "Unknown", "True", "False", "Service", "StatefulSet", "ConfigMap",
    "PriorityClass", "RuntimeClass", "ServiceAccount",
    "PersistentVolumeClaim", "Pod", "Force", "Delete", "ReplaceBroker",
}  # fmt: skip


def test_every_reason_of_a_condition_has_a_text_that_was_read() -> None:
    shown = {reason for texts in said().conditions.values() for _, reason in texts}
    assert len(shown) > 60
    assert sorted(reasons_of_conditions() - NOT_REASONS - shown) == []


def test_every_event_has_a_text_that_was_read() -> None:
    shown = {reason for _, reason in said().events}
    assert len(reasons_of_events()) > 15
    assert sorted(reasons_of_events() - shown) == []
