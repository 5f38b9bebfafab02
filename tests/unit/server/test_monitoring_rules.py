"""The alerts as files: whole, told in words, each with a test; and, where promtool was built, right by its own
judgement.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.monitoring import promtool

pytestmark = pytest.mark.unit
FOLDER = Path(__file__).parents[3] / "deploy" / "monitoring"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((FOLDER / "rules.yaml").read_text())["groups"] for rule in group["rules"]
]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_it_means_and_how_bad_it_is(name: str) -> None:
    alert = ALERTS[name]
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert "{{ $labels." in alert["annotations"]["summary"], "it names the cluster or the pod"
    assert alert["annotations"]["description"].endswith(".")
    assert re.fullmatch(r"\d+[smh]", alert.get("for", "1m"))
    assert alert["expr"].count("(") == alert["expr"].count(")")


def test_every_loss_of_redundancy_has_its_alert_and_every_alert_its_test() -> None:
    needed = {
        "KRaftVoterLost",
        "KRaftVoterLags",
        "KRaftElectionChurn",
        "KRaftNoLeader",
        "KRaftSnapshotTooOld",
        "KRaftCorruption",
    }
    assert needed <= set(ALERTS)
    tested = {
        case["alertname"]
        for one in yaml.safe_load((FOLDER / "rules_test.yaml").read_text())["tests"]
        for case in one["alert_rule_test"]
        if case["exp_alerts"]
    }
    assert tested == set(ALERTS)


def test_rules_that_use_a_recorded_series_find_it() -> None:
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    used = {name for rule in RULES for name in re.findall(r"\bkraft:[a-z:_]+", rule["expr"])}
    assert used == recorded


@pytest.mark.parametrize(
    "words", [("check", "rules", "rules.yaml"), ("test", "rules", "rules_test.yaml")], ids=" ".join
)
def test_promtool_finds_nothing_wrong(words: tuple[str, ...]) -> None:
    program = promtool.path()
    if not program.exists():
        pytest.skip("promtool was not built here: python -m deploy.monitoring.promtool --version (some minutes)")
    done = subprocess.run([program, *words], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
