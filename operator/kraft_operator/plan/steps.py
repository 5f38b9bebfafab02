"""A plan as people see it: every step on the way to the goal, with its reason, its gate and what it risks; and its form
in the status.

The hash names the goal and the steps, not the numbers that were seen: it stays while its steps are worked off, so an
approval of it stays good. It begins with the goal's part (the resource's generation, a restart asked for, the
operator's image), the rest names the steps, in any order. A plan that was carried out is remembered by its hash and is
part of the next one's, so that no approval holds twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

MAX_TOLD: Final = 100
"""Steps that a status tells of in full; of those behind it holds the ids."""
MAX_TEXT: Final = 1000
MAX_WARNINGS: Final = 10
NOTHING_TO_SPARE: Final = "may be lost"
"""What the reason of a step says that takes redundancy away for good."""


class Risk(StrEnum):
    NONE = "None"
    AVAILABILITY = "Availability"
    """Something is away meanwhile, or may be lost less often afterwards."""
    DATA_LOSS = "DataLoss"
    """A volume goes."""


class StepState(StrEnum):
    PENDING = "Pending"
    WAITING = "Waiting"
    """It is its turn, and its gate is closed."""
    RUNNING = "Running"
    DONE = "Done"


class Approved(StrEnum):
    NOT_REQUIRED = "NotRequired"
    YES = "Yes"
    NO = "No"


@dataclass(frozen=True, slots=True)
class PlanStep:
    id: str
    """The kind of step and whom it touches: the same step keeps it from pass to pass."""
    action: str
    target: str
    reason: str
    gate: str = ""
    """What has to hold before it is taken; while it waits, what keeps it."""
    lemma: str = ""
    risk: Risk = Risk.NONE
    state: StepState = StepState.PENDING


@dataclass(frozen=True, slots=True)
class Outline:
    """The published plan. Without steps there is nothing to do."""

    hash: str = ""
    generation: int = 0
    approved: Approved = Approved.NOT_REQUIRED
    steps: tuple[PlanStep, ...] = ()
    last: str = ""
    """The hash of the plan that was carried out before."""

    @property
    def risk(self) -> Risk:
        """The highest of its steps."""
        return max((each.risk for each in self.steps), key=list(Risk).index, default=Risk.NONE)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should read before anything else: data that goes, redundancy that goes."""
        losing = [f"{each.action} {each.target}: {each.reason}" for each in self.steps if each.risk is Risk.DATA_LOSS]
        bare = [each.reason.partition(": ")[0] for each in self.steps if NOTHING_TO_SPARE in each.reason]
        return tuple(dict.fromkeys((*losing, *bare)))[:MAX_WARNINGS]

    @property
    def goal(self) -> str:
        return self.hash.partition("-")[0]

    @property
    def ahead(self) -> tuple[PlanStep, ...]:
        return tuple(step for step in self.steps if step.state is not StepState.DONE)


EMPTY: Final = Outline()


def digest(*parts: str) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()


def goal_of(*parts: str) -> str:
    return digest(*parts)[:6]


def hash_of(goal: str, last: str, ids: Iterable[str]) -> str:
    return f"{goal}-{digest(last, *sorted(ids))[:8]}"


def to_status(outline: Outline, old: Mapping[str, Any], now: str) -> dict[str, Any]:
    """`old` is the plan in the status before; it is dated when its hash changes."""
    found: dict[str, Any] = {}
    if outline.steps:
        same = old.get("hash") == outline.hash
        found = {
            "hash": outline.hash,
            "generation": outline.generation,
            "computedAt": old.get("computedAt", now) if same else now,
            "approved": outline.approved.value,
            "risk": outline.risk.value,
        }
        found |= {"warnings": [_short(each) for each in outline.warnings]} if outline.warnings else {}
    told, more = _told(outline.steps)
    found["steps"] = [_step(each) for each in told]
    return found | ({"more": more} if more else {}) | ({"last": outline.last} if outline.last else {})


def from_status(plan: Mapping[str, Any] | None) -> Outline:
    """What was published before. A status that somebody edited, or of another version, is as good as none."""
    try:
        steps = [_read(each) for each in (plan or {}).get("steps") or ()]
        steps += [PlanStep(str(each), "", "", "") for each in (plan or {}).get("more") or ()]
        values = plan or {}
        approved = Approved(values.get("approved", Approved.NOT_REQUIRED.value))
        generation, last = int(values.get("generation", 0)), str(values.get("last", ""))
        return Outline(str(values.get("hash", "")), generation, approved, tuple(steps), last)
    except (AttributeError, KeyError, TypeError, ValueError):
        return Outline()


def _told(steps: Sequence[PlanStep]) -> tuple[list[PlanStep], list[str]]:
    """The next ones, and as many of those behind us as there is room for."""
    done = [each for each in steps if each.state is StepState.DONE]
    ahead = [each for each in steps if each.state is not StepState.DONE]
    room = MAX_TOLD - min(len(ahead), MAX_TOLD)
    return done[len(done) - min(room, len(done)) :] + ahead[:MAX_TOLD], [each.id for each in ahead[MAX_TOLD:]]


def _step(step: PlanStep) -> dict[str, Any]:
    values = {
        "id": step.id,
        "action": step.action,
        "target": step.target,
        "reason": _short(step.reason),
        "gate": _short(step.gate),
        "lemma": step.lemma,
        "risk": step.risk.value,
        "state": step.state.value,
    }
    return {key: value for key, value in values.items() if value}


def _read(values: Mapping[str, Any]) -> PlanStep:
    return PlanStep(
        values["id"], values["action"], target=values["target"], reason=values.get("reason", ""),
        gate=values.get("gate", ""),
        lemma=values.get("lemma", ""), risk=Risk(values.get("risk", Risk.NONE.value)), state=StepState(values["state"]),
    )  # fmt: skip


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def done(step: PlanStep) -> PlanStep:
    return replace(step, state=StepState.DONE, gate="")
