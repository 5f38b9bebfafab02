"""What is said of an operation, and its status made of it.

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
class StepTold:
    name: str
    state: StepState
    message: str = ""


@dataclass(frozen=True, slots=True)
class Telling:
    """`reason` is CamelCase and stable; `message` names the culprit and the remedy."""

    operation: Operation
    phase: Phase
    reason: str
    message: str
    steps: tuple[StepTold, ...] = ()
    proof: str = ""
    verdict: Mapping[str, Any] | None = None
    """Of a RecoverQuorum; what was said of it stays."""


def steps_up_to(names: Sequence[tuple[str, str]], done: int, *, running: str = "") -> tuple[StepTold, ...]:
    """(name, what it is) of each; the first `done` are over, the next one is under way."""
    found = []
    for at, (name, what) in enumerate(names):
        state = StepState.DONE if at < done else StepState.RUNNING if at == done else StepState.WAITING
        found.append(StepTold(name, state, running if state is StepState.RUNNING and running else what))
    return tuple(found)


def status_of(told: Telling, now: str) -> dict[str, Any]:
    old = told.operation.status
    status: dict[str, Any] = {
        "observedGeneration": told.operation.generation,
        "phase": told.phase.value,
        "message": told.message[:MAX_MESSAGE],
        "conditions": _conditions(told, old, now),
    }
    if told.phase in UNDER_WAY or "startedAt" in old:
        status["startedAt"] = old.get("startedAt", now)
    if told.phase in FINISHED:
        status["finishedAt"] = old.get("finishedAt", now)
    if told.proof:
        status["proof"] = told.proof[:MAX_MESSAGE]
    if (verdict := told.verdict or old.get("verdict")) is not None:
        status["verdict"] = dict(verdict)
    if told.steps:
        status["steps"] = [_step(each) for each in told.steps[:MAX_STEPS]]
    return status


def _step(step: StepTold) -> dict[str, str]:
    said = {"name": step.name, "state": step.state.value}
    return {**said, "message": step.message[:MAX_STEP_MESSAGE]} if step.message else said


def _conditions(told: Telling, old: Mapping[str, Any], now: str) -> list[dict[str, Any]]:
    succeeded, ended = told.phase is Phase.SUCCEEDED, told.phase in FINISHED
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
        message = told.message[:MAX_MESSAGE]
        found.append(
            {"type": kind, "status": value, "reason": told.reason, "message": message,
             "observedGeneration": told.operation.generation, "lastTransitionTime": at}
        )  # fmt: skip
    return found
