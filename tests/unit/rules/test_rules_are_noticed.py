"""A museum of rules: each file of `museum` breaks one rule of tests/checklist.txt, and the test that it names must fail
then.

What the simulator can notice is in tests/simulation/museum; here is what one test of one module has to notice, always,
in milliseconds. A file says in its docstring which rule is broken; SHOWN_BY names the test (`path::name`, of one with
parameters one case of them is enough); `break_it(patch)` breaks it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tools.checklist import promises

pytestmark = pytest.mark.unit

HERE = Path(__file__).parent
TESTS = HERE.parents[1]
BROKEN = sorted(path.stem for path in (HERE / "museum").glob("*.py"))
OPTIONS = ("-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", "--tb=no", f"--rootdir={TESTS.parent}",
           "--assert=plain")  # fmt: skip
"""Nobody reads what these runs say: asserts are not rewritten, which takes longer than the tests."""
NAMED = (
    *("RFT-15", "PV-10", "API-05", "QC-01", "CLU-05", "CLU-10", "CLU-13", "RCF-05", "FEA-05", "FET-21"),
    *("REP-17", "CFG-01", "CFG-02", "FEA-04", "STO-03", "STO-04"),
)
"""Rules that tests once named without showing them."""


def mutant(name: str) -> ModuleType:
    return import_module(f"unit.rules.museum.{name}")


def rules_of(name: str) -> list[str]:
    return re.findall(r"\b[A-Z]{2,3}-\d\d\b", mutant(name).__doc__ or "")


class Verdict:
    """The outcomes of the tests of one run within this one."""

    def __init__(self, patch: pytest.MonkeyPatch | None, name: str) -> None:
        self._patch = patch
        self._name = name
        self.passed: list[str] = []
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The rule is broken when the test has been imported: whatever it imports by name is the broken one, too."""
        if self._patch is not None:
            mutant(self._name).break_it(self._patch)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            (self.failed if report.failed else self.passed).append(report.nodeid)


@cache
def whole() -> Verdict:
    """Of all tests that are named, with every rule in force."""
    verdict = Verdict(None, "")
    pytest.main([*OPTIONS, *sorted({str(TESTS / mutant(name).SHOWN_BY) for name in BROKEN})], plugins=[verdict])
    return verdict


def passes(shown_by: str) -> bool:
    def of(nodes: list[str]) -> bool:
        return any(f"tests/{shown_by}" in (node, node.partition("[")[0]) for node in nodes)

    return of(whole().passed) and not of(whole().failed)


def judge(name: str, patch: pytest.MonkeyPatch) -> Verdict:
    verdict = Verdict(patch, name)
    pytest.main([*OPTIONS, str(TESTS / mutant(name).SHOWN_BY)], plugins=[verdict])
    return verdict


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_fails_the_test_that_shows_it(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert passes(mutant(name).SHOWN_BY), capfd.readouterr().out
    assert judge(name, monkeypatch).failed, f"{name}: {mutant(name).SHOWN_BY} does not notice it"


def test_every_file_breaks_a_rule_of_the_checklist_and_every_named_rule_is_broken_once() -> None:
    known = promises((TESTS / "checklist.txt").read_text())
    broken = {rule for name in BROKEN for rule in rules_of(name)}
    assert broken <= set(known)
    assert set(NAMED) <= broken
    for name in BROKEN:
        assert rules_of(name), name
