"""RecoverQuorum: a quorum that lost its majority is made anew from the best copy of its log, stage by stage.

The nodes that still run are asked before anything is stopped (`attend_operations` writes down what they say). Then the
controllers are held, and only when none of their pods is left the copies are read by helper pods, compared and judged.
Nothing is changed on any disk before the verdict is approved by its hash. What is then done is written into the ledger
first, with every name it will have, so it is carried to its end by whichever operator; the originals are kept beside
what is made. The old generation is fenced by its directory ids: all of them are written off.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.actions import EndHelper
from kraft_operator.api.roles import controls
from kraft_operator.api.spec import QuorumLoss
from kraft_operator.ledger import Ledger
from kraft_operator.operations import verdict as copies_of
from kraft_operator.operations.operation import Phase
from kraft_operator.operations.recovery import HELD, Choice, Recovery, Stage
from kraft_operator.operations.verdict import Judged
from kraft_operator.plan.recovery.collecting import (
    asked_for,
    claims_of_copies,
    collected,
    is_restore,
    judgement,
    target_of,
    witnesses,
)
from kraft_operator.plan.recovery.remaking import force, run, set_aside
from kraft_operator.plan.recovery.reporting import alive, report
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict


def recover_quorum(now: Situation) -> Verdict:
    ledger = now.ledger
    if ledger is None or ledger.recovery is None or ledger.recovery.stage not in HELD:
        return NOTHING
    controllers = now.cluster.spec.controllers.name
    held = tuple(replace(node, held=node.held or node.group == controllers or is_restore(ledger)) for node in now.nodes)
    answer = _staged(now, ledger, ledger.recovery)
    what = f"KRaftOperation {ledger.operation.name if ledger.operation else '?'} recovers the quorum"
    finding = Finding(Topic.MEMBERSHIP, "RecoveringQuorum", what, "quorum")
    waits = _waits_for_approval(now) if answer.ledger is None else ()
    return replace(answer, ledger=answer.ledger or ledger, nodes=held, findings=(finding, *waits, *answer.findings))


def end_helpers(now: Situation) -> Verdict:
    """Once nobody needs their word: a claim cannot be deleted while a pod names it, not even by one that has ended."""
    recovery = now.ledger.recovery if now.ledger is not None else None
    if recovery is not None and recovery.stage in HELD:
        return NOTHING
    return Verdict(
        actions=tuple(EndHelper(each.name, each.uid, "it has done its task") for each in now.observed.helpers)
    )


def _waits_for_approval(now: Situation) -> tuple[Finding, ...]:
    asked = asked_for(now)
    said = report(asked, now, ()) if asked is not None else None
    if said is None or said.phase is not Phase.WAITING_APPROVAL:
        return ()
    return (Finding(Topic.MANUAL, "RecoveryWaitsForApproval", said.message, "quorum", stalled=True),)


def _staged(now: Situation, ledger: Ledger, recovery: Recovery) -> Verdict:
    match recovery.stage:
        case Stage.FENCE:
            if alive(now):
                return Verdict()
            return Verdict(ledger=replace(ledger, recovery=replace(recovery, stage=Stage.COLLECT)))
        case Stage.COLLECT:
            return _collect(now, ledger, recovery)
        case Stage.FORCE:
            return force(now, ledger, recovery)
        case Stage.SET_ASIDE:
            return set_aside(now, ledger, recovery)
        case Stage.REJOIN:
            return Verdict()


def _collect(now: Situation, ledger: Ledger, recovery: Recovery) -> Verdict:
    found = collected(now)
    if found.missing:
        return Verdict(actions=tuple(run(now, each, "its copy of the log is looked at") for each in found.missing))
    if not found.complete:
        return Verdict()
    judged, name = judgement(now, found)
    if judged.seed is None or judged.judged is Judged.FORKED or not _approved(now, judged, name):
        return Verdict()
    target = target_of(now, found, judged.seed)
    if target is None:
        return Verdict()
    seen = [max(each.promised, each.last_epoch) for each in found.copies]
    seen += [each.promised for each in witnesses(ledger)]
    old = [each for each in ledger.entries if controls(each) and each.node_id != target]
    claims = {claim.node_id for claim in claims_of_copies(now)}
    choice = Choice(
        name, judged.judged.value, seed=judged.seed.node_id, from_broker=judged.seed.node_id != target, target=target,
        directory_id=now.draw(), nonce=now.draw(),
        epoch=max(seen) + 1, end=judged.seed.end, last_epoch=judged.seed.last_epoch,
        aside=tuple(each.node_id for each in old if each.node_id in claims and each.node_id not in found.empty),
        target_claim=found.claims.get(target, ""), seed_claim=found.claims.get(judged.seed.node_id, ""),
    )  # fmt: skip
    return Verdict(ledger=replace(ledger, recovery=replace(recovery, stage=Stage.FORCE, choice=choice)))


def _approved(now: Situation, judged: copies_of.RecoveryVerdict, name: str) -> bool:
    automatic = now.cluster.spec.recovery.quorum_loss is QuorumLoss.PROVEN_ONLY
    asked = asked_for(now)
    by_hand = asked is not None and asked.approved == name
    return by_hand or (
        automatic and now.ledger is not None and not is_restore(now.ledger) and judged.judged is Judged.PROVEN_COMPLETE
    )
