"""What Argo CD is told of a KRaftCluster, by running the very script that it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lupa import LuaRuntime

pytestmark = pytest.mark.unit

SCRIPT = (Path(__file__).parents[3] / "deploy" / "argocd" / "health.lua").read_text()


def health(resource: dict[str, Any]) -> tuple[str, str]:
    lua = LuaRuntime()
    lua.globals().obj = lua.table_from(resource, recursive=True)
    found = lua.execute(SCRIPT)
    return found.status, found.message


def resource(*conditions: tuple[str, str], seen: int = 2) -> dict[str, Any]:
    listed = [{"type": kind, "status": status, "reason": "Reason", "message": "why"} for kind, status in conditions]
    return {"metadata": {"generation": 2}, "status": {"observedGeneration": seen, "conditions": listed}}


def test_a_resource_that_no_operator_saw_is_progressing() -> None:
    assert health({"metadata": {"generation": 1}})[0] == "Progressing"
    assert health(resource(("Ready", "Unknown"), seen=-1))[0] == "Progressing"


def test_readiness_of_an_older_generation_says_nothing_about_the_new_one() -> None:
    status, message = health(resource(("Ready", "True"), seen=1))
    assert (status, message) == ("Progressing", "The operator has not seen generation 2 yet.")


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ([("Ready", "True"), ("Stalled", "False"), ("Reconciling", "False"), ("Suspended", "False")], "Healthy"),
        ([("Ready", "False")], "Progressing"),
        ([("Ready", "False"), ("QuorumAvailable", "False")], "Degraded"),
        ([("Ready", "False"), ("Stalled", "True"), ("Reconciling", "True")], "Degraded"),
        ([("Ready", "True"), ("Reconciling", "True")], "Progressing"),
        ([("Ready", "False"), ("Suspended", "True"), ("Stalled", "True")], "Suspended"),
        ([("Ready", "False"), ("PlanApproved", "False"), ("Reconciling", "True")], "Suspended"),
    ],
)
def test_the_conditions_decide(conditions: list[tuple[str, str]], status: str) -> None:
    assert health(resource(*conditions))[0] == status


def test_the_message_is_that_of_the_condition_that_decided() -> None:
    assert health(resource(("Ready", "False"), ("Stalled", "True")))[1] == "Reason: why"
