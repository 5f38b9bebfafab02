"""A status that does not flicker: what may pass by itself within seconds is not reported as lasting.

Two rules, both over the time that the shell injects. A finding stalls the cluster only once it has stood for
`STALLED_AFTER` without a break, because what Kubernetes is just deleting, restarting or rescheduling looks for a moment
as if it needed a person. And while a cluster is not Ready, a condition that was False stays so until the good news has
stood for `GOOD_AFTER`: a repair goes through moments in which nothing is wrong. Bad news is never held back, and
everything is reported at once when the whole cluster is Ready. A roll that waits for the pod that it has restarted goes
on: it is deferred only once it has waited for `DEFERRED_AFTER`. What is remembered is safe to lose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kraft_operator.plan.situation import Finding, Topic

STALLED_AFTER: Final = 10.0
GOOD_AFTER: Final = 10.0
DEFERRED_AFTER: Final = 60.0
"""Longer than a node takes from its restart to being live, or in sync, again."""
GOING_ON, DEFERRED = "RolloutInProgress", "RestartDeferred"
CERTAIN: Final = frozenset({Topic.SPEC, Topic.PLAN, Topic.MANUAL})
"""What is said of the resource itself, or was decided with patience already."""
HELD: Final = frozenset(
    each.value for each in (Topic.STORAGE, Topic.MEMBERSHIP, Topic.ROLLOUT, Topic.PODS, Topic.ENDPOINTS)
)
Status = dict[str, Any]
Key = tuple[str, str, str]


@dataclass(slots=True)
class Steadiness:
    """Of one cluster, in this process."""

    stalled: dict[Key, float] = field(default_factory=dict)
    """What would stall the cluster, to when it was found first."""
    good: dict[str, float] = field(default_factory=dict)
    """Condition to when it turned good."""
    deferred: float | None = None
    """When a roll that was going on began to wait."""

    def patient(self, findings: Sequence[Finding], old: Mapping[str, Any], now: float) -> tuple[Finding, ...]:
        """The findings, of which only those stall, or defer a roll, that have stood for a while."""
        stood = _reason_of_stalled(old)
        self.stalled = {
            _key(each): self.stalled.get(_key(each), now - STALLED_AFTER if each.reason == stood else now)
            for each in findings
            if each.stalled
        }
        rolls = self._goes_on(findings, old, now)
        findings = [replace(each, reason=GOING_ON) if rolls and each.reason == DEFERRED else each for each in findings]
        return tuple(
            replace(each, stalled=each.topic in CERTAIN or now - self.stalled[_key(each)] >= STALLED_AFTER)
            if each.stalled
            else each
            for each in findings
        )

    def _goes_on(self, findings: Sequence[Finding], old: Mapping[str, Any], now: float) -> bool:
        """Whether a roll that waits has been going on until lately."""
        if not any(each.reason == DEFERRED for each in findings):
            self.deferred = None
            return False
        if self.deferred is None:
            was = (each for each in old.get("conditions") or () if each.get("type") == Topic.ROLLOUT.value)
            going = any(each.get("reason") == GOING_ON for each in was)
            self.deferred = now if going else now - DEFERRED_AFTER
        return now - self.deferred < DEFERRED_AFTER

    def held(self, new: Status, old: Mapping[str, Any], now: float) -> Status:
        """The new status, in which conditions of a repair that is under way stay False for a while."""
        before = {each.get("type"): each for each in old.get("conditions") or ()}
        if _is_ready(new) or not before:
            self.good = {}
            return new
        turned = {
            each["type"]
            for each in new["conditions"]
            if each["type"] in HELD
            and each["status"] == "True"
            and before.get(each["type"], {}).get("status") == "False"
        }
        self.good = {kind: self.good.get(kind, now) for kind in turned}
        young = {kind for kind, since in self.good.items() if now - since < GOOD_AFTER}
        generation = new.get("observedGeneration")
        found = [
            {**before[each["type"]], "observedGeneration": generation} if each["type"] in young else each
            for each in new["conditions"]
        ]
        return {**new, "conditions": found}


def _key(finding: Finding) -> Key:
    return finding.topic.value, finding.reason, finding.subject


def _reason_of_stalled(old: Mapping[str, Any]) -> str | None:
    """What an operator before this one has reported, after it had stood."""
    found = (each for each in old.get("conditions") or () if each.get("type") == "Stalled")
    return next((each.get("reason") for each in found if each.get("status") == "True"), None)


def _is_ready(status: Status) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status["conditions"])
