"""Alerts, dashboard and runbooks of the operator as files: each alert tested and with its runbook, each condition and
Warning Event, too.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import kraft_operator.events
from deploy.monitoring import promtool
from kraft_operator.events import WARNED
from kraft_operator.metrics import COUNTERS, GAUGES, HISTOGRAMS, SUMMARIES
from kraft_operator.status import status
from support.operator_model.world import World

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "monitoring"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((FOLDER / "operator-rules.yaml").read_text())["groups"] for rule in group["rules"]
]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
RUNBOOKS = (ROOT / "docs" / "operations" / "runbooks.md").read_text()
SECTIONS = set(re.findall(r"^## (\S+)$", RUNBOOKS, re.MULTILINE))
COPIED = {
    "rules.yaml": "quorum-rules.yaml",
    "operator-rules.yaml": "operator-rules.yaml",
    "dashboard.json": "quorum-dashboard.json",
    "operator-dashboard.json": "operator-dashboard.json",
}
"""File in deploy/monitoring to its copy in the chart."""


def conditions() -> set[str]:
    store = {"url": "s3://bucket/c", "region": "r", "credentialsSecret": "s"}
    world = World(archive={"audit": {"schedule": "@daily", "image": "a:1"}, "objectStore": store})
    decision = world.settle()
    return {each["type"] for each in status(world.cluster, world.observed(), decision, {}, "")["conditions"]}


def series() -> set[str]:
    parts = {f"{name}{part}" for name in HISTOGRAMS for part in ("_bucket", "_sum", "_count")}
    return {*COUNTERS, *GAUGES, *parts, *(f"{name}{part}" for name in SUMMARIES for part in ("_sum", "_count"))}


def asked_in(text: str) -> set[str]:
    return set(re.findall(r"\bkraft_operator_[a-z_]+", text))


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_it_means_how_bad_it_is_and_where_its_runbook_is(name: str) -> None:
    alert = ALERTS[name]
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert alert["annotations"]["description"].endswith(".")
    assert alert["annotations"]["runbook"] in SECTIONS
    named = re.search(r'condition="(\w+)"', alert["expr"])
    assert named is None or named[1] in conditions()


def test_every_alert_is_seen_to_fire_in_a_test() -> None:
    tested = {
        case["alertname"]
        for one in yaml.safe_load((FOLDER / "operator-rules_test.yaml").read_text())["tests"]
        for case in one["alert_rule_test"]
        if case["exp_alerts"]
    }
    assert tested == set(ALERTS)


def test_rules_and_dashboard_ask_for_what_the_operator_tells() -> None:
    asked = asked_in((FOLDER / "operator-dashboard.json").read_text()) | {
        name for rule in RULES for name in asked_in(rule["expr"])
    }
    assert asked - {"kraft_operator_"} <= series()
    assert len(asked) >= 12


def test_the_panels_of_the_dashboard_lie_beside_each_other() -> None:
    panels = json.loads((FOLDER / "operator-dashboard.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


@pytest.mark.parametrize(
    "words", [("check", "rules", "operator-rules.yaml"), ("test", "rules", "operator-rules_test.yaml")], ids=" ".join
)
def test_promtool_finds_nothing_wrong(words: tuple[str, ...]) -> None:
    program = promtool.path()
    if not program.exists():
        pytest.skip("promtool was not built here: python -m deploy.monitoring.promtool --version (some minutes)")
    done = subprocess.run([program, *words], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", COPIED)
def test_a_copy_in_the_chart_is_a_copy(name: str) -> None:
    copy = ROOT / "charts" / "kraft-operator" / "files" / COPIED[name]
    assert copy.read_text() == (FOLDER / name).read_text(), f"run: cp deploy/monitoring/{name} {copy.relative_to(ROOT)}"


def test_every_condition_has_its_runbook() -> None:
    assert conditions() - SECTIONS == set()
    assert len(conditions()) >= 15


def test_every_warning_event_has_its_runbook() -> None:
    """An Event of its own has a section; one that repeats a condition has that condition's, and its reason is in
    conditions.md.
    """
    tree = ast.parse(Path(kraft_operator.events.__file__).read_text())
    named = {reason for each in tree.body if isinstance(each, ast.FunctionDef) for reason in warned_by(each)}
    assert {"DiskWrittenOff", "BadRevisionRolledBack", "RolloutHalted"} <= named
    assert named - SECTIONS == set()
    assert set(WARNED) - SECTIONS == set()


def warned_by(function: ast.FunctionDef) -> set[str]:
    """The reasons of Warning Events that it names; a condition's own is none of them."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Note":
            kind, reason = node.args[0], node.args[1]
            if isinstance(kind, ast.Constant) and kind.value == "Warning":
                found |= {str(reason.value)} if isinstance(reason, ast.Constant) else _given_to(function, reason)
    return found


def _given_to(function: ast.FunctionDef, name: ast.expr) -> set[str]:
    """The constants that a variable may hold."""
    found: set[str] = set()
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(name, ast.Name) and any(isinstance(each, ast.Name) and each.id == name.id for each in targets):
            assert isinstance(node, ast.Assign)
            found |= {str(each.value) for each in ast.walk(node.value) if isinstance(each, ast.Constant) and each.value}
    return found
