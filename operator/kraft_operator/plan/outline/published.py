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
    AddVoter,
    AnnotateClaim,
    ApplyChild,
    BeginReplacement,
    DeleteChild,
    DeleteOperation,
    DeliverGrant,
    DiscardClaim,
    EndHelper,
    FinalizeFeature,
    GiveUpDisk,
    GrowClaim,
    MakeClaim,
    MoveReplicas,
    NudgePod,
    OrphanSet,
    Remember,
    RemoveVoter,
    RestartPod,
    RetainVolume,
    TellRack,
    UnregisterBroker,
    UpdateVoter,
    WriteLedger,
    target,
)
from kraft_operator.api.spec import ChangeMode, KRaftCluster, Role
from kraft_operator.observed import QuorumState
from kraft_operator.plan import steps
from kraft_operator.plan.nodes.replacement import GIVE_UP_DISK, REPLACE, needs_approval
from kraft_operator.plan.outline import later
from kraft_operator.plan.outline.ahead import FORM_QUORUM, ahead, applied_sets, child_step
from kraft_operator.plan.situation import Finding, Situation, Topic
from kraft_operator.plan.steps import Approved, Outline, PlanStep, Risk, StepState

CHANGES_ITS_OWNER: Final = "spec.deletionPolicy.volumes says anew whether it goes with the resource"
"""Why the ledger is written although it says nothing new: a change like any other."""
OF_THE_QUORUM: Final = ("remove-voter", "add-voter", "catch-up")
"""Kinds of step of which only a quorum that answers tells whether they are done."""
SHOWN_BY_REASON: Final = (
    "grant", "unregister", "remove-voter", "add-voter", "discard", "restart", "move", "grow", "finalize",
)  # fmt: skip
"""Kinds of step that are one action: while it is taken, its reason (with the numbers that prove it) is the step's."""


def outline(now: Situation, actions: Sequence[Action], findings: Sequence[Finding]) -> Outline:
    """`now` is the situation as the rules left it, actions and findings are theirs."""
    before = now.published
    goal = steps.goal_of(now.cluster.uid, str(now.cluster.generation), now.cluster.restart, now.images.operator)
    same_goal = bool(before.steps) and before.goal == goal
    coming = _announced(now, actions)
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


def _announced(now: Situation, actions: Sequence[Action]) -> list[PlanStep]:
    """What is done now although it lies on no way that `ahead` knows comes first."""
    known = ahead(now, actions)
    ids = {each.id for each in known}
    return [*(each for each in _now(now, actions) if each.id not in ids), *known]


def _covers(before: Outline, coming: Sequence[PlanStep]) -> bool:
    announced = {each.id: each for each in before.steps}
    return all(
        (known := announced.get(each.id)) is not None
        and not (known.state is StepState.DONE and known.risk is not Risk.NONE)
        for each in coming
    )


def _now(now: Situation, actions: Sequence[Action]) -> list[PlanStep]:
    sets = applied_sets(actions)
    found = (_step(each, now, sets) for each in actions)
    return list({each.id: each for each in found if each is not None}.values())


def _taken(now: Situation, actions: Sequence[Action]) -> dict[str, Action]:
    """The steps that these actions are, the first action of each."""
    sets = applied_sets(actions)
    found = ((_step(each, now, sets), each) for each in reversed(actions))
    return {step.id: action for step, action in found if step is not None}


def _step(action: Action, now: Situation, sets: frozenset[str]) -> PlanStep | None:
    """None for what is no step: facts written down, pods told what they are, the voters' budget."""
    name, about, reason = type(action).__name__, target(action), action.reason
    match action:
        case WriteLedger() if reason == CHANGES_ITS_OWNER:
            return PlanStep("own-ledger", name, about, reason)
        case (
            WriteLedger()
            | AnnotateClaim()
            | Remember()
            | RetainVolume()
            | MakeClaim()
            | TellRack()
            | NudgePod()
            | EndHelper()
            | DeleteOperation()
        ):
            return None
        case ApplyChild() | DeleteChild():
            return child_step(action, now, sets)
        case DeliverGrant():
            return PlanStep(f"grant/{action.grant.node_id}", "FormatDisk", about, reason)
        case BeginReplacement():
            return PlanStep(
                f"{REPLACE}/{action.node_id}/{action.directory_id}",
                "ReplaceBroker",
                f"{about} {action.directory_id}",
                reason,
            )
        case GiveUpDisk():
            risk = Risk.DATA_LOSS if action.announced.startswith(GIVE_UP_DISK) else Risk.NONE
            return PlanStep(action.announced, "ReplaceBroker", f"{about} {action.directory_id}", reason, risk=risk)
        case UnregisterBroker():
            return PlanStep(f"unregister/{action.node_id}", name, about, reason, risk=Risk.AVAILABILITY)
        case RemoveVoter():
            return PlanStep(f"remove-voter/{action.node_id}/{action.directory_id}", name, about, reason)
        case AddVoter():
            return PlanStep(f"add-voter/{action.node_id}", name, f"voter {action.node_id}", reason, lemma="L2")
        case UpdateVoter():
            gate = "it serves where its pod is, and no other change of the voters is under way"
            return PlanStep(f"update-voter/{action.node_id}", name, f"voter {action.node_id}", reason, gate)
        case GrowClaim():
            claim = now.observed.claim(action.claim)
            return later.grow(claim.node_id if claim else -1, action.claim, action.size)
        case OrphanSet():
            return next(
                (later.remake(each.node_id, each.name) for each in now.observed.sets if each.name == action.name), None
            )
        case MoveReplicas():
            return later.moved(action.node_id, tuple(sorted({topic for topic, _ in action.replicas})))
        case FinalizeFeature():
            return later.final(action.feature, action.level, action.name)
        case DiscardClaim():
            return PlanStep(f"discard/{action.step.node_id}", name, about, reason, risk=Risk.DATA_LOSS)
        case RestartPod():
            return PlanStep(f"restart/{action.step.node_id}", name, about, reason, risk=Risk.AVAILABILITY)
        case _:
            return PlanStep(f"{name}/{about}", name, about, reason, risk=Risk.AVAILABILITY)


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
        if kind == "restart" and not _is_back(int(rest), now):
            found.append(each)
    return found


def _is_back(node_id: int, now: Situation) -> bool:
    node_set, pod = now.observed.node_set(node_id), now.observed.pod(node_id)
    if node_set is None:
        return True
    if not node_set.revision or pod is None or pod.terminating or not pod.ready or pod.revision != node_set.revision:
        return False
    if pod.role != Role.CONTROLLER.value:
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
            (entry := ledger.entry(each)) is not None and entry.directory_id for each in ledger.initial_controllers or (-1,)
        )  # fmt: skip
    if kind not in ("grant", "catch-up", "hold"):
        return kind == "restart" and step.id in vanished
    pod, node_set = now.observed.pod(int(rest)), now.observed.node_set(int(rest))
    match kind:
        case "grant":
            return pod is not None and pod.grant_nonce is not None
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
    if kind == "finalize":
        return next((each for each in findings if each.topic is Topic.VERSIONS), None)
    claim = next((each.name for each in now.observed.claims if str(each.node_id) == node_id), "")
    if kind in ("grow", "remake-set"):
        return next((each for each in findings if each.topic is Topic.STORAGE and each.subject == claim), None)
    subjects = {f"controller {node_id}", f"node {node_id}", f"broker {node_id}", pod.name if pod else ""} - {""}
    topics = (Topic.STORAGE,) if kind in ("grant", "discard") else (Topic.MEMBERSHIP, Topic.STORAGE)
    return next((each for each in findings if each.topic in topics and each.subject in subjects), None)
