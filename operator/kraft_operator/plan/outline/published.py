"""What is published of a plan: the steps ahead with their states, those behind us, and the hash that an approval names.

A pass either goes on with the plan that was published, or makes another. It goes on as long as the goal is the same and
every step ahead was announced; what was announced and is not ahead any more is done. A step with a risk that was done
and is needed again was not announced. While the quorum is not known, nothing is concluded from a voter's step having
vanished; a restart is done when its pod is back, not when it is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from kraft_operator.actions import (
    Action,
)
from kraft_operator.api.roles import controls
from kraft_operator.api.spec import ChangeMode, KRaftCluster
from kraft_operator.observed import QuorumState
from kraft_operator.plan import steps
from kraft_operator.plan.nodes.replacement import needs_approval
from kraft_operator.plan.outline.forward import Decide, way
from kraft_operator.plan.outline.named import named, step_of
from kraft_operator.plan.outline.of_children import applied_sets
from kraft_operator.plan.outline.words import FORM_QUORUM, ROTATE, SECURE
from kraft_operator.plan.situation import Decision, Finding, Situation, Topic
from kraft_operator.plan.steps import Approved, Outline, PlanStep, Risk, StepState

OF_THE_QUORUM: Final = ("remove-voter", "add-voter", "catch-up")
"""Kinds of step of which only a quorum that answers tells whether they are done."""
SHOWN_BY_REASON: Final = (
    "grant", "unregister", "remove-voter", "add-voter", "discard", "restart", "move", "grow", "finalize",
)  # fmt: skip
"""Kinds of step that are one action: while it is taken, its reason (with the numbers that prove it) is the step's."""


def outline(seen: Situation, now: Situation, decision: Decision, decide: Decide) -> Outline:
    """`now` is what was `seen` as the rules left it, the decision is theirs; `decide` are they."""
    actions, findings = decision.actions, decision.findings
    before = now.published
    goal = steps.goal_of(now.cluster.uid, str(now.cluster.generation), now.cluster.restart, now.images.operator)
    same_goal = bool(before.steps) and before.goal == goal
    rests = not (actions or findings or decision.suspects)
    if same_goal and not (seen.lays_out or rests) and _covers(before, named(actions, now)):
        vanished, coming = [], list(before.ahead)
    else:
        coming = [] if rests and not before.steps else _announced(seen, now, actions, decide)
        vanished = _still_under_way(before, coming, now) if same_goal else []
        coming = [*vanished, *coming]
    carried_out = before.hash if before.steps and before.approved is not Approved.NO else ""
    if not coming:
        return Outline(last=carried_out or before.last)
    going_on = same_goal and _covers(before, coming)
    last = before.last if going_on else carried_out or before.last
    name = before.hash if going_on else steps.hash_of(goal, last, (each.id for each in coming))
    approved = _approval(now.cluster, name, coming)
    if not holds_everything(now.cluster, approved):
        coming = _with_states(coming, frozenset(each.id for each in vanished), _taken(now, actions), now, findings)
    current = {each.id for each in coming}
    behind = [steps.done(each) for each in before.steps if each.id not in current] if going_on else []
    return Outline(name, now.cluster.generation, approved, (*behind, *coming), last)


def stopped(before: Outline) -> Outline:
    """No rule looked further: there is no plan, and the one before will not go on."""
    carried_out = before.hash if before.steps and before.approved is not Approved.NO else ""
    return Outline(last=carried_out or before.last)


def holds_everything(cluster: KRaftCluster, approved: Approved) -> bool:
    """In mode Apply only the step waits that costs data, see `nodes.replacement`."""
    return approved is Approved.NO and cluster.spec.change_mode is ChangeMode.PLAN


def _approval(cluster: KRaftCluster, name: str, coming: Sequence[PlanStep]) -> Approved:
    if cluster.spec.change_mode is ChangeMode.APPLY and not needs_approval(coming):
        return Approved.NOT_REQUIRED
    return Approved.YES if cluster.approve == name else Approved.NO


def _announced(seen: Situation, now: Situation, actions: Sequence[Action], decide: Decide) -> list[PlanStep]:
    """What is done now comes first, also where the way ahead does without it: an approval that is taken as given there,
    or the fleet's brake.
    """
    known = way(seen, decide).steps
    ids = {each.id for each in known}
    return [*(each for each in named(actions, now) if each.id not in ids), *known]


def _covers(before: Outline, coming: Sequence[PlanStep]) -> bool:
    announced = {each.id: each for each in before.steps}
    return all(
        (known := announced.get(each.id)) is not None
        and not (known.state is StepState.DONE and known.risk is not Risk.NONE)
        for each in coming
    )


def _taken(now: Situation, actions: Sequence[Action]) -> dict[str, Action]:
    """The steps that these actions are, the first action of each."""
    sets = applied_sets(actions)
    found = ((step_of(each, now, sets), each) for each in reversed(actions))
    return {step.id: action for step, action in found if step is not None}


def _still_under_way(before: Outline, coming: Sequence[PlanStep], now: Situation) -> list[PlanStep]:
    """Steps that vanished from the way without being known to be done."""
    ids = {each.id for each in coming}
    found = []
    for each in before.ahead:
        kind, _, rest = each.id.partition("/")
        if each.id in ids:
            continue
        if kind in OF_THE_QUORUM and now.observed.quorum.state is not QuorumState.AVAILABLE:
            found.append(each)
        if kind == "restart" and not _is_back(int(rest.partition("/")[0]), now):
            found.append(each)
    return found


def _is_back(node_id: int, now: Situation) -> bool:
    node_set, pod = now.observed.node_set(node_id), now.observed.pod(node_id)
    if node_set is None or node_set.replicas == 0:
        return True
    if not node_set.revision or pod is None or pod.terminating or not pod.ready or pod.revision != node_set.revision:
        return False
    if not controls(pod):
        return True
    voter = now.observed.quorum.voter(node_id)
    return now.observed.quorum.state is QuorumState.AVAILABLE and (voter is None or voter.live)


def _with_states(
    coming: Sequence[PlanStep],
    vanished: frozenset[str],
    taken: Mapping[str, Action],
    now: Situation,
    findings: Sequence[Finding],
) -> list[PlanStep]:
    """Of the steps of one node only the first can wait, the others come after it."""
    begun: set[str] = set()
    found = []
    for each in coming:
        kind, _, rest = each.id.partition("/")
        turn = rest.partition("/")[0] or each.id
        action, first = taken.get(each.id), turn not in begun
        begun.add(turn)
        if action is not None:
            reason = action.reason if kind in SHOWN_BY_REASON else each.reason
            found.append(replace(each, state=StepState.RUNNING, reason=reason))
        elif (first or kind != "catch-up") and _in_flight(each, now, vanished):
            found.append(replace(each, state=StepState.RUNNING))
        elif first and (why := _held_by(each, now, findings)) is not None:
            found.append(replace(each, state=StepState.WAITING, gate=why.message))
        else:
            found.append(replace(each, state=StepState.PENDING))
    return found


def _in_flight(step: PlanStep, now: Situation, vanished: frozenset[str]) -> bool:
    kind, _, rest = step.id.partition("/")
    if step.id == FORM_QUORUM:
        ledger = now.ledger
        return ledger is not None and all(
            (entry := ledger.entry(each)) is not None and entry.directory_id
            for each in ledger.initial_controllers or (-1,)
        )
    if kind not in ("grant", "catch-up", "hold"):
        return kind == "restart" and step.id in vanished
    node_id, volume = int(rest.partition("/")[0]), rest.partition("/")[2]
    pod, node_set = now.observed.pod(node_id), now.observed.node_set(node_id)
    match kind:
        case "grant":
            return pod is not None and (pod.grants.get(volume) if volume else pod.grant_nonce) is not None
        case "catch-up":
            return pod is not None and pod.main_started
        case _:
            return node_set is not None and node_set.replicas == 0


def _held_by(step: PlanStep, now: Situation, findings: Sequence[Finding]) -> Finding | None:
    """The finding that says why it is not taken now."""
    kind, _, rest = step.id.partition("/")
    node_id = rest.partition("/")[0]
    pod = now.observed.pod(int(node_id)) if node_id.isdigit() else None
    if kind == "restart":
        waits = f"{pod.name} waits" if pod else "nobody"
        return next((each for each in findings if each.topic is Topic.ROLLOUT and waits in each.message), None)
    if kind in (ROTATE, SECURE):
        return next((each for each in findings if each.topic is Topic.SECURITY), None)
    if kind == "finalize":
        return next((each for each in findings if each.topic is Topic.VERSIONS), None)
    claims, volume = (*now.observed.claims, *now.observed.further_claims), rest.partition("/")[2]
    mine = (each for each in claims if str(each.node_id) == node_id)
    claim = next((each.name for each in mine if kind != "grow" or each.further == volume), "")
    if kind in ("grow", "remake-set"):
        return next((each for each in findings if each.topic is Topic.STORAGE and each.subject == claim), None)
    subjects = {f"controller {node_id}", f"node {node_id}", f"broker {node_id}", pod.name if pod else ""} - {""}
    topics = (Topic.STORAGE,) if kind in ("grant", "discard") else (Topic.MEMBERSHIP, Topic.STORAGE)
    return next((each for each in findings if each.topic in topics and each.subject in subjects), None)
