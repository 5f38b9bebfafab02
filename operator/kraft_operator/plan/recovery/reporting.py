"""What a RecoverQuorum or Restore says of itself, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kraft_operator.api.roles import controls
from kraft_operator.operations import verdict as copies_of
from kraft_operator.operations.operation import ANNOTATION_APPROVE, Operation, Phase
from kraft_operator.operations.operation_report import OperationReport, steps_up_to
from kraft_operator.operations.recovery import Recovery, Stage
from kraft_operator.operations.verdict import Judged, LogCopy
from kraft_operator.plan.recovery.collecting import (
    Collected,
    collected,
    is_restore,
    judgement,
    target_of,
    whose,
)
from kraft_operator.plan.situation import Finding, Situation, Topic
from storage_guard.copies import Helper as What

STEPS: Final = (
    ("Fence", "the controllers are held, and none of their processes is left"),
    ("Collect", "helpers read every copy of the metadata log, the brokers' too"),
    ("Verdict", "the copies are compared and judged"),
    ("Approval", "the verdict has to be approved by its hash"),
    ("ForceStandalone", "a quorum of one is made of the seed, under a new directory id"),
    ("SetAside", "the other controllers' old directories are taken out of the way, whole"),
    ("Rejoin", "the other controllers are formatted and added one by one"),
    ("Verify", "every controller is a live voter of the new quorum"),
)


def report(asked: Operation, now: Situation, findings: Sequence[Finding]) -> OperationReport:
    assert now.ledger is not None
    recovery = now.ledger.recovery
    if recovery is None:
        return _running(asked, 0, "it begins")
    match recovery.stage:
        case Stage.FENCE:
            left = ", ".join(alive(now))
            return _running(
                asked, 0, f"nothing is read before these are gone, which may still run: {left}" if left else ""
            )
        case Stage.COLLECT:
            return _report_verdict(asked, now)
        case Stage.FORCE:
            return _running(asked, 4, _helpers(now, What.RECOVER))
        case Stage.SET_ASIDE:
            return _running(asked, 5, _helpers(now, What.SET_ASIDE))
        case Stage.REJOIN:
            return _report_rejoin(asked, now, recovery, findings)


def _helpers(now: Situation, what: What) -> str:
    mine = [each for each in now.observed.helpers if each.what == what.value]
    said = [f"{each.name}: {each.line or each.trouble}" for each in mine if each.failed or each.trouble]
    return ("delete the pod to have it tried again: " if any(each.failed for each in mine) else "") + "; ".join(said)


def _running(asked: Operation, done: int, text: str) -> OperationReport:
    steps = steps_up_to(STEPS, done, running=text)
    return OperationReport(asked, Phase.RUNNING, "RecoveringQuorum", text or STEPS[done][1], steps)


def _report_verdict(asked: Operation, now: Situation) -> OperationReport:
    found = collected(now)
    if not found.complete:
        return _running(asked, 1, f"waiting for helpers: {', '.join(found.working)}" if found.working else "")
    judged, name = judgement(now, found)
    shown = copies_of.published(judged, name, found.copies)
    unread = f"; could not be read: {'; '.join(found.failed)}" if found.failed else ""
    if judged.seed is None or judged.judged is Judged.FORKED:
        text = f"{judged.judged.value}: {judged.text}{unread}"
        return OperationReport(asked, Phase.FAILED, "NoSeed", text, steps_up_to(STEPS, 2, running=text), verdict=shown)
    if target_of(now, found, judged.seed) is None:
        whole = whose(judged.seed.node_id)
        text = f"give a controller an empty volume, which takes {whole}'s copy, the seed: there is none"
        return OperationReport(
            asked, Phase.RUNNING, "NoTarget", text, steps_up_to(STEPS, 2, running=text), verdict=shown
        )
    stale = f"; {asked.approved} was approved, which is another verdict" if asked.approved not in ("", name) else ""
    end = f"offset {judged.seed.end} of epoch {judged.seed.last_epoch}"
    restores = now.ledger is not None and is_restore(now.ledger)
    approve = (
        f"kubectl annotate kro {asked.name} -n {now.cluster.namespace} --overwrite {ANNOTATION_APPROVE}={name}"
        if restores
        else f"kubectl kraft recover {now.cluster.name} -n {now.cluster.namespace} --approve {name}"
    )
    text = (
        f"if you agree: {approve}. {judged.judged.value}: {judged.text}; the quorum would be made of "
        f"{whose(judged.seed.node_id)}'s copy, which ends at {end}"
        f"{_compared(found, judged.seed) if restores else ''}{unread}{stale}"
    )
    steps = steps_up_to(STEPS, 3, running=text)
    return OperationReport(asked, Phase.WAITING_APPROVAL, "WaitingApproval", text, steps, verdict=shown)


def _compared(found: Collected, seed: LogCopy) -> str:
    """How far every other copy is from the seed."""
    others = sorted((each for each in found.copies if each is not seed), key=lambda each: each.node_id)
    ends = (f"{whose(each.node_id)} ends at {each.end} of epoch {each.last_epoch}" for each in others)
    return "; " + ", ".join(ends) if others else ""


def _report_rejoin(
    asked: Operation, now: Situation, recovery: Recovery, findings: Sequence[Finding]
) -> OperationReport:
    assert now.ledger is not None
    choice, quorum = recovery.choice, now.observed.quorum
    assert choice is not None
    wanted = set(now.cluster.spec.controllers.node_ids)
    there = {each.node_id for each in quorum.voters if each.live and not now.ledger.is_written_off(*each.key)}
    if quorum.voters and there == wanted == {each.node_id for each in quorum.voters} and quorum.settled:
        proof = (
            f"generation {now.ledger.generation}: {len(there)} of {len(wanted)} controllers are live voters under new "
            f"directory ids; verdict {choice.judged} ({choice.hash}) on {whose(choice.seed)}'s copy up to offset "
            f"{choice.end} of epoch {choice.last_epoch}; the old directories are written off and kept as "
            f"log.generation-{now.ledger.generation - 1}"
        )
        steps = steps_up_to(STEPS, len(STEPS))
        return OperationReport(
            asked, Phase.SUCCEEDED, "QuorumRestored", "the quorum is whole again", steps=steps, proof=proof
        )
    about = [each.message for each in findings if each.topic in (Topic.MEMBERSHIP, Topic.STORAGE)]
    return _running(asked, 6, about[0] if about else f"voters so far: {', '.join(map(str, sorted(there))) or 'none'}")


def alive(now: Situation) -> list[str]:
    """Controllers that may still run: any pod of theirs, wherever it is in its life. Of a restored cluster brokers,
    too.
    """
    every = now.ledger is not None and is_restore(now.ledger)
    return [each.name for each in now.observed.pods if every or controls(each)]
