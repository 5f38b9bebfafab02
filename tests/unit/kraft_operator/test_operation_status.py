"""What an operation's status says to people and to kstatus, and that it is written only when it says something new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kraft_operator.operations.operation import FINISHED, Phase, parse_operation
from kraft_operator.operations.operation_report import OperationReport, status_of

pytestmark = pytest.mark.unit


def resource(**spec: object) -> dict[str, Any]:
    return {"metadata": {"name": "o", "uid": "u", "generation": 1}, "spec": {"clusterName": "c", **spec}}


def test_a_type_that_this_operator_does_not_know_is_a_problem_with_its_name() -> None:
    found = parse_operation(resource(type="Later"))
    assert found.type is None
    assert "'Later'" in str(found.problem)
    assert parse_operation(resource(type="ReplaceVoter", nodeID=True)).problem
    assert parse_operation(resource(type="ReplaceVoter", nodeID=3)).problem is None


def test_a_status_that_says_the_same_is_equal_and_keeps_its_times() -> None:
    asked = parse_operation(resource(type="RollingRestart"))
    first = status_of(OperationReport(asked, Phase.RUNNING, "Restarting", "on its way"), "t1")
    again = status_of(OperationReport(replace(asked, status=first), Phase.RUNNING, "Restarting", "on its way"), "t2")
    assert again == first
    done = status_of(
        OperationReport(replace(asked, status=first), Phase.SUCCEEDED, "Restarted", "done", (), "seen"), "t3"
    )
    assert (done["startedAt"], done["finishedAt"], done["proof"]) == ("t1", "t3", "seen")


@pytest.mark.parametrize("phase", Phase)
def test_kstatus_reads_success_failure_and_work_from_the_conditions(phase: Phase) -> None:
    asked = parse_operation(resource(type="RollingRestart"))
    found = status_of(OperationReport(asked, phase, "Any", "any"), "t")["conditions"]
    value = {each["type"]: each["status"] == "True" for each in found}
    assert value["Ready"] == (phase is Phase.SUCCEEDED)
    assert value["Stalled"] == (phase in FINISHED and phase is not Phase.SUCCEEDED)
    assert value["Reconciling"] == (phase not in FINISHED)
