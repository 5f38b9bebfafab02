"""The step that an action is, in the words in which a plan is published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from kraft_operator.actions import (
    Action,
    AddVoter,
    AnnotateClaim,
    ApplyChild,
    BeginReplacement,
    CordonBroker,
    DeleteChild,
    DeleteOperation,
    DeliverGrant,
    DiscardClaim,
    DropClaim,
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
    RunHelper,
    TellRack,
    UncordonBroker,
    UnregisterBroker,
    UpdateVoter,
    WriteLedger,
    target,
)
from kraft_operator.credentials import (
    CopyCertificate,
    EnterStage,
    IssueCertificate,
    MakeAuthority,
    PublishAuthorities,
    RequestCertificate,
    TurnAuthority,
)
from kraft_operator.plan.nodes.replacement import GIVE_UP_DISK, given_up, replaced
from kraft_operator.plan.outline import words
from kraft_operator.plan.outline.of_children import applied_sets, child_step
from kraft_operator.plan.situation import Situation
from kraft_operator.plan.steps import PlanStep, Risk
from kraft_operator.removals import DropVolume, EmptyDirectory
from kraft_operator.users import ChangeAcls, ForgetUser, MakeCredential, SetPassword, SetQuotas, TellUser

CHANGES_ITS_OWNER: Final = "spec.deletionPolicy.volumes says anew whether it goes with the resource"
"""Why the ledger is written although it says nothing new: a change like any other."""


def named(actions: Sequence[Action], now: Situation) -> list[PlanStep]:
    """The steps that these actions are, each once. `now` is the situation as the rules left it."""
    sets = applied_sets(actions)
    found = (step_of(each, now, sets) for each in actions)
    return list({each.id: each for each in found if each is not None}.values())


def way_of(now: Situation) -> str:
    """A cluster on its way restarts its nodes once for a stage: these are steps of their own."""
    security = now.cluster.spec.security
    return security.stage.name.lower() if security.migrated and not security.enforced else ""


def step_of(action: Action, now: Situation, sets: frozenset[str]) -> PlanStep | None:
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
            | UncordonBroker()
            | MakeAuthority()
            | IssueCertificate()
            | RequestCertificate()
            | PublishAuthorities()
            | CopyCertificate()
        ):
            return None
        case MakeCredential() | SetPassword() | ChangeAcls() | SetQuotas() | ForgetUser() | TellUser():
            return None
        case TurnAuthority():
            return words.turned(action)
        case EnterStage():
            return words.entered(action, f"KRaftCluster/{now.cluster.name}")
        case ApplyChild() | DeleteChild():
            return child_step(action, now, sets)
        case DeliverGrant() | GrowClaim() | OrphanSet() | DiscardClaim() | RestartPod():
            return _of_a_disk_or_pod(action, now)
        case RemoveVoter() | AddVoter() | UpdateVoter():
            return _of_a_voter(action, now)
        case BeginReplacement() | GiveUpDisk() | UnregisterBroker() | CordonBroker() | MoveReplicas():
            return _of_a_broker(action, now)
        case EmptyDirectory() | DropVolume():
            return words.removing(action)
        case FinalizeFeature():
            return words.finalized(action.feature, action.level, action.name)
        case RunHelper() | DropClaim():
            return PlanStep(f"{name}/{about}", name, about, reason, risk=Risk.AVAILABILITY)
        case _:
            assert_never(action)


def _of_a_disk_or_pod(
    action: DeliverGrant | GrowClaim | OrphanSet | DiscardClaim | RestartPod, now: Situation
) -> PlanStep | None:
    match action:
        case DeliverGrant():
            return words.granted(action.pod, action.grant.node_id, action.volume)
        case GrowClaim():
            claim = now.observed.any_claim(action.claim)
            return words.grown(
                claim.node_id if claim else -1, action.claim, action.size, claim.further if claim else ""
            )
        case OrphanSet():
            found = (each.node_id for each in now.observed.sets if each.name == action.name)
            return next((words.made_anew(each, action.name) for each in found), None)
        case DiscardClaim():
            return words.discarded(action.step.node_id, action.claim)
        case RestartPod():
            pod = next((each for each in now.observed.pods if each.uid == action.uid), None)
            return words.restarted(pod, action.why or action.reason, way_of(now)) if pod is not None else None


def _of_a_voter(action: RemoveVoter | AddVoter | UpdateVoter, now: Situation) -> PlanStep:
    match action:
        case RemoveVoter():
            voter, key = now.observed.quorum.voter(action.node_id), (action.node_id, action.directory_id)
            live = voter is not None and voter.live and now.ledger is not None and not now.ledger.is_written_off(*key)
            return words.removed(*key, live=live, reason=action.why or action.reason)
        case AddVoter():
            return words.added(action.node_id)
        case UpdateVoter():
            return words.updated(action.node_id, action.reason)


def _of_a_broker(
    action: BeginReplacement | GiveUpDisk | UnregisterBroker | CordonBroker | MoveReplicas, now: Situation
) -> PlanStep:
    match action:
        case BeginReplacement():
            return replaced(action.node_id, action.directory_id, action.reason)
        case GiveUpDisk():
            if not action.announced.startswith(GIVE_UP_DISK):
                return replaced(action.node_id, action.directory_id, action.reason)
            return given_up(action.node_id, action.directory_id, action.announced, action.reason)
        case UnregisterBroker():
            return words.unregistered(now, action.node_id, action.reason)
        case CordonBroker():
            return words.closed(action) if action.directories else words.cordoned(action.node_id)
        case MoveReplicas():
            return words.moved(action.node_id, (now.observed.brokers.replicas or {}).get(action.node_id, ()))
