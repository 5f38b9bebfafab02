"""What is reported of an operation, and its status made of it.

A status that says what the old one says is equal to it, times included, so it need not be written. kstatus reads the
conditions: Ready when it succeeded, Stalled when it ended otherwise, Reconciling before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kraft_operator.operations.operation import FINISHED, UNDER_WAY, Operation, Phase

MAX_STEPS: Final = 64
MAX_STEP_MESSAGE: Final = 4000
MAX_MESSAGE: Final = 30000


class StepState(StrEnum):
    WAITING = "Waiting"
    RUNNING = "Running"
    DONE = "Done"


@dataclass(frozen=True, slots=True)
class StepReport:
    name: str
    state: StepState
    message: str = ""


@dataclass(frozen=True, slots=True)
class OperationReport:
    """`reason` is CamelCase and stable; `message` names the culprit and the remedy."""

    operation: Operation
    phase: Phase
    reason: str
    message: str
    steps: tuple[StepReport, ...] = ()
    proof: str = ""
    verdict: Mapping[str, Any] | None = None
    """Of a RecoverQuorum; what was said of it stays."""


def steps_up_to(names: Sequence[tuple[str, str]], done: int, *, running: str = "") -> tuple[StepReport, ...]:
    """(name, what it is) of each; the first `done` are over, the next one is under way."""
    found = []
    for at, (name, what) in enumerate(names):
        state = StepState.DONE if at < done else StepState.RUNNING if at == done else StepState.WAITING
        found.append(StepReport(name, state, running if state is StepState.RUNNING and running else what))
    return tuple(found)


def status_of(reported: OperationReport, now: str) -> dict[str, Any]:
    old = reported.operation.status
    status: dict[str, Any] = {
        "observedGeneration": reported.operation.generation,
        "phase": reported.phase.value,
        "message": reported.message[:MAX_MESSAGE],
        "conditions": _conditions(reported, old, now),
    }
    if reported.phase in UNDER_WAY or "startedAt" in old:
        status["startedAt"] = old.get("startedAt", now)
    if reported.phase in FINISHED:
        status["finishedAt"] = old.get("finishedAt", now)
    if reported.proof:
        status["proof"] = reported.proof[:MAX_MESSAGE]
    if (verdict := reported.verdict or old.get("verdict")) is not None:
        status["verdict"] = dict(verdict)
    if reported.steps:
        status["steps"] = [_step(each) for each in reported.steps[:MAX_STEPS]]
    return status


def _step(step: StepReport) -> dict[str, str]:
    said = {"name": step.name, "state": step.state.value}
    return {**said, "message": step.message[:MAX_STEP_MESSAGE]} if step.message else said


def _conditions(reported: OperationReport, old: Mapping[str, Any], now: str) -> list[dict[str, Any]]:
    succeeded, ended = reported.phase is Phase.SUCCEEDED, reported.phase in FINISHED
    values = {
        "Ready": succeeded,
        "Reconciling": not ended,
        "Stalled": ended and not succeeded,
    }
    before = {each.get("type"): each for each in old.get("conditions") or ()}
    found = []
    for kind, holds in values.items():
        value = "True" if holds else "False"
        was = before.get(kind, {})
        at = was.get("lastTransitionTime", now) if was.get("status") == value else now
        message = reported.message[:MAX_MESSAGE]
        found.append(
            {"type": kind, "status": value, "reason": reported.reason, "message": message,
             "observedGeneration": reported.operation.generation, "lastTransitionTime": at}
        )  # fmt: skip
    return found
