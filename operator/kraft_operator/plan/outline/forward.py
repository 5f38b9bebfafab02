"""The way ahead as the rules themselves give it: they are run again and again over what their actions make of what is
seen (`after`) and over what is waited for (`arrival`), until nothing is left to do.

It decides nothing of its own. The order of the steps is the order in which the rules take them. Where time is all that
the rules wait for (a soak, a drain's time-out), it is taken as over; a loss that is only suspected stays suspected,
because a disk that comes back would make another plan. What somebody has to approve is taken as approved, and what a
person has to mend (`arrival.mended`) as mended, so that the way goes on behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from kraft_operator.api.formed import formed_with
from kraft_operator.kept_volumes import without_gone
from kraft_operator.ledger import Formation
from kraft_operator.plan.brake import NO_LIMIT
from kraft_operator.plan.giving_up import may_be_given_up, waits_for_the_plan
from kraft_operator.plan.nodes.replacement import announces_loss
from kraft_operator.plan.outline import words
from kraft_operator.plan.outline.after import after
from kraft_operator.plan.outline.arrival import arrived, mended
from kraft_operator.plan.outline.named import named
from kraft_operator.plan.rollout.versions import is_soak
from kraft_operator.plan.securing import is_quiet
from kraft_operator.plan.situation import Decision, Situation
from kraft_operator.plan.steps import PlanStep
from kraft_operator.plan.voters.loss import Loss, same_disk
from storage_guard.formats import DiskVerdict

MAX_PASSES: Final = 400
"""A way that is longer is published as far as that."""
MAX_WORK: Final = 40_000
"""Passes times nodes: 80 passes for 500 nodes, some ten seconds of processor. Who goes further than that needs another
plan.
"""
LONG_AGO: Final = 1e9

Decide = Callable[[Situation], tuple[Decision, Situation, bool]]
"""What the rules decide, the situation as they left it, and whether one of them stopped the others."""


@dataclass(frozen=True, slots=True)
class Way:
    steps: tuple[PlanStep, ...] = ()
    """Each once, where it is taken first."""
    end: Situation | None = None
    complete: bool = True
    """False when it is longer than the bound, or a rule stopped all others on it."""
    passes: int = 0


def way(now: Situation, decide: Decide) -> Way:
    found: dict[str, PlanStep] = {}
    ripe: frozenset[str] | None = None
    now = replace(now, brake=NO_LIMIT, foreseen=True, draw=_drawn().__next__, empty=_seen_empty(now))
    bound = max(1, min(MAX_PASSES, MAX_WORK // max(1, len(now.observed.sets))))
    for number in range(1, bound + 1):
        decision, left, stop = decide(now)
        ripe = _ripe(now, decision) if ripe is None else ripe
        later = _later(now, decision)
        for step in (*named(decision.actions, left), *may_be_given_up(left, decision.suspects), *_come(now, later)):
            found.setdefault(step.id, step)
        if stop:
            return Way(tuple(found.values()), later, complete=False, passes=number)
        if _same(now, later):
            further = _waited_for(now, decision, ripe)
            if further is None:
                return Way(tuple(found.values()), now, complete=True, passes=number)
            later = further
        now = later
    return Way(tuple(found.values()), now, complete=False, passes=bound)


def _later(now: Situation, decision: Decision) -> Situation:
    """What the actions make of it, and everybody else after them."""
    for action in decision.actions:
        now = after(now, action)
    return arrived(_as_the_ledger_says(now))


def _as_the_ledger_says(now: Situation) -> Situation:
    """A cluster that becomes secure goes from stage to stage, others do without a volume, and the nodes with it."""
    ledger = now.ledger
    if ledger is None:
        return now
    now = replace(now, cluster=without_gone(now.cluster, ledger))
    if ledger.security == now.cluster.formed:
        return now
    return replace(now, cluster=formed_with(now.cluster, ledger.security, ledger.size))


def _waited_for(now: Situation, decision: Decision, ripe: frozenset[str]) -> Situation | None:
    """Nothing moves: time passes, then a person mends what is in the way. None when that changes nothing."""
    older = {**now.waited, **{each: LONG_AGO for each in decision.suspects if _passes(each, ripe)}}
    if older != now.waited:
        return replace(now, waited=older)
    if not decision.findings:
        return None
    whole = mended(now)
    return None if _same(now, whole) else whole


def _same(one: Situation, other: Situation) -> bool:
    return one.ledger == other.ledger and one.observed == other.observed


def _ripe(now: Situation, decision: Decision) -> frozenset[str]:
    """Disks that count as lost: their loss is suspected and has stood for long enough, or its consequences were
    announced.
    """
    ledger, debounce = now.ledger, now.cluster.spec.recovery.debounce_seconds
    stood = {same_disk(each) for each in decision.suspects if now.waited.get(each, 0.0) >= debounce}
    known = ledger.entries if ledger is not None and now.published.steps else ()
    announced = [each for each in known if any(announces_loss(step, each) for step in now.published.ahead)]
    return frozenset((stood | {same_disk(Loss("").key(each)) for each in announced}) - {""})


def _passes(suspicion: str, ripe: frozenset[str]) -> bool:
    """Time alone is waited for, and nothing speaks against it meanwhile. Evidence of another kind has to stand anew;
    the disk stays lost.
    """
    return is_soak(suspicion) or is_quiet(suspicion) or waits_for_the_plan(suspicion) or same_disk(suspicion) in ripe


def _come(now: Situation, later: Situation) -> Iterator[PlanStep]:
    """Steps that end by themselves, or are nobody's action at all."""
    if now.ledger is None or later.ledger is None:
        return
    for pod in later.observed.pods:
        entry, group = now.ledger.entry(pod.node_id), now.cluster.spec.group(pod.pool)
        if pod.seal is not None and group is not None and (entry is None or entry.directory_id is None):
            yield words.granted(pod.name, pod.node_id)
    if later.ledger.formation is Formation.FORMED and now.ledger.formation is not Formation.FORMED:
        yield words.formed(later.ledger.initial_controllers)
    wanted, before = now.cluster.spec.controllers.node_ids, now.observed.quorum
    known = {(each.node_id, each.directory_id) for each in before.observers if each.caught_up}
    known |= {each.key for each in before.voters}
    for each in later.observed.quorum.observers:
        if each.caught_up and each.node_id in wanted and (each.node_id, each.directory_id) not in known:
            yield words.caught_up(each.node_id)


def _seen_empty(now: Situation) -> frozenset[str]:
    """What the guard of a pod says whose node has not started since."""
    names = {
        each.claim
        for each in now.observed.pods
        if not each.main_started and each.inspect is not None and each.inspect.verdict is DiskVerdict.EMPTY
    }
    return frozenset(each.uid for each in now.observed.claims if each.name in names)


def _drawn() -> Iterator[str]:
    """Names that no disk, pod or claim has: what is drawn on the way ahead is never written anywhere."""
    for number in count(1):
        yield f"ahead-{number}"
