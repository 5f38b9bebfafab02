"""Reasons are an interface: each one that the operator may give is in docs/operations/conditions.md, and none is there
that it never gives.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import kraft_operator.plan

pytestmark = pytest.mark.unit

PACKAGE = Path(kraft_operator.plan.__file__).parent.parent
DOCUMENT = PACKAGE.parent.parent / "docs" / "operations" / "conditions.md"
CAMEL = re.compile(r"^[A-Z][a-z]+(?:[A-Z]+[a-z]*)*$")
POSITION = {
    "Finding": 1,
    "_refused": 0,
    "_finding": 1,
    "condition": 2,
    "_refuse": 1,
    "_told": 0,
    "_note": 0,
    "_held": 0,
    "_not_ready": 0,
}
"""Where each of these calls takes its reason."""


def given() -> set[str]:
    found = set()
    for path in [
        *PACKAGE.glob("plan/**/*.py"),
        *(PACKAGE / f"{name}.py" for name in ("conditions", "status", "reconcile")),
    ]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                at = POSITION.get(name)
                if at is not None and len(node.args) > at and isinstance(node.args[at], ast.Constant):
                    found.add(str(node.args[at].value))  # type: ignore[attr-defined]
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and node.value.elts:
                first = node.value.elts[0]
                found |= (
                    {str(first.value)} if isinstance(first, ast.Constant) and CAMEL.match(str(first.value)) else set()
                )
    return {reason for reason in found if CAMEL.match(reason)}


def test_every_reason_is_documented() -> None:
    text = DOCUMENT.read_text()
    assert len(given()) > 15
    assert not [reason for reason in sorted(given()) if not re.search(rf"\b{reason}\b", text)]


def test_every_documented_reason_is_given_somewhere() -> None:
    rows = [line.split("|")[1:3] for line in DOCUMENT.read_text().splitlines() if line.startswith("|")]
    named = {word for row in rows for cell in row for word in re.findall(r"\b[A-Z][a-z]+(?:[A-Z]+[a-z]*)+\b", cell)}
    code = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert not [word for word in sorted(named) if f'"{word}"' not in code]
