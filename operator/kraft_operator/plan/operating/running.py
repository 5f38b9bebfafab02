"""One-shot operations: which one runs, what it asks of the other rules, and what is said of each.

One runs at a time in a cluster, written into the ledger before anything is done for it; the others wait, the oldest
first. An operation adds no power: a rolling restart is a new stamp on the pods and goes through the rule about
restarts, a replaced voter is a loss that somebody asked for and goes through the rule about losses, a broker is
unregistered only if it neither runs nor is wanted. Whether one has succeeded is seen, not remembered.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.actions import DeleteOperation, UnregisterBroker
from kraft_operator.ledger import JournaledStep, Ledger, RunningOperation, StepKind
from kraft_operator.observed import QuorumState
from kraft_operator.operations.operation import OperationType, is_expired
from kraft_operator.operations.recovery import REVOCABLE, Recovery, Stage
from kraft_operator.plan.operating.refusals import refusal_of, refused_unregister
from kraft_operator.plan.recovery import collecting
from kraft_operator.plan.situation import NOTHING, Situation, Verdict

OF_OPERATION = "operation="
"""Marks a journaled step as an operation's: it goes when the operation does."""


def attend_operations(now: Situation) -> Verdict:
    """Let the running one go on, or start the oldest that may start."""
    ledger = now.ledger
    if ledger is None or (not now.observed.operations and ledger.operation is None):
        return NOTHING
    ledger = _without_steps_of_others(ledger)
    running = ledger.operation
    if running is not None and _over(running, now):
        running, ledger = None, _without_steps_of_others(replace(ledger, operation=None))
    if running is None:
        running = _next(now, ledger)
        ledger = replace(ledger, operation=running)
        if running is not None and running.type == OperationType.ROLLING_RESTART.value:
            ledger = replace(ledger, restart=running.uid)
        recovers = running is not None and running.type in collecting.TYPES
        recovery = Recovery(Stage.FENCE, now.observed.witnesses or ()) if recovers else None
        ledger = replace(ledger, recovery=recovery)
        return Verdict(ledger=ledger)
    if running.type == OperationType.UNREGISTER_NODE.value:
        return _unregister(now, ledger, running)
    return Verdict(ledger=ledger)


def clear_operations(now: Situation) -> Verdict:
    """Delete those that ended long enough ago (spec.ttlSecondsAfterFinished)."""
    if now.ledger is None or now.date is None:
        return NOTHING
    expired = [each for each in now.observed.operations if is_expired(each, now.date)]
    why = "it has ended, and spec.ttlSecondsAfterFinished is over"
    return Verdict(actions=tuple(DeleteOperation(each.name, each.uid, why) for each in expired))


def asked_to_replace(now: Situation) -> RunningOperation | None:
    """The running ReplaceVoter: its directory counts as lost, because somebody says so."""
    running = now.ledger.operation if now.ledger is not None else None
    return running if running is not None and running.type == OperationType.REPLACE_VOTER.value else None


def broker_to_replace(now: Situation) -> RunningOperation | None:
    """The running ReplaceBroker."""
    running = now.ledger.operation if now.ledger is not None else None
    return running if running is not None and running.type == OperationType.REPLACE_BROKER.value else None


# which one runs


def _over(running: RunningOperation, now: Situation) -> bool:
    """It was deleted, or its end was written into its status: what it began is left to the other rules."""
    found = next((each for each in now.observed.operations if each.uid == running.uid), None)
    recovery = now.ledger.recovery if now.ledger is not None else None
    if recovery is not None and recovery.stage in (Stage.FORCE, Stage.SET_ASIDE):
        return found is not None and found.finished  # it is carried to its end, whoever deleted the wish
    if now.ledger is not None and now.ledger.node_made_anew is not None:
        return False  # so is a node whose claim is on its way
    return found is None or found.finished or (found.cancel and _may_be_cancelled(running, now))


def _may_be_cancelled(running: RunningOperation, now: Situation) -> bool:
    """A voter that was removed has to be replaced; a stamp cannot be taken back without a second roll."""
    if running.type in collecting.TYPES:
        recovery = now.ledger.recovery if now.ledger is not None else None
        return recovery is None or recovery.stage in REVOCABLE
    if running.type == OperationType.REPLACE_BROKER.value:
        return now.ledger is None or not now.ledger.is_written_off(running.node_id or 0, running.directory_id)
    if running.type != OperationType.REPLACE_VOTER.value or running.node_id is None:
        return running.type != OperationType.ROLLING_RESTART.value
    voter = now.observed.quorum.voter(running.node_id)
    return voter is not None and voter.directory_id == running.directory_id


def _next(now: Situation, ledger: Ledger) -> RunningOperation | None:
    for each in sorted(now.observed.operations, key=lambda each: each.order):
        if each.finished or each.cancel or refusal_of(each, now) is not None:
            continue
        assert each.type is not None, "an operation without a type was refused"
        entry = ledger.entry(each.node_id) if each.node_id is not None else None
        replaces = each.type in (OperationType.REPLACE_VOTER, OperationType.REPLACE_BROKER)
        directory = entry.directory_id if entry and replaces else None
        return RunningOperation(each.uid, each.name, each.type.value, each.node_id, directory)
    return None


# unregistering


def _unregister(now: Situation, ledger: Ledger, running: RunningOperation) -> Verdict:
    """Asked again right before: a broker that came back, or that the resource asks for again, stays."""
    assert running.node_id is not None
    if refused_unregister(running.node_id, now, ledger) is not None:
        return Verdict(ledger=ledger)
    if now.observed.quorum.state is not QuorumState.AVAILABLE:
        return Verdict(ledger=ledger)
    step = JournaledStep(
        StepKind.UNREGISTER, running.node_id, now.fence.holder, now.fence.transitions, (OF_OPERATION + running.uid,)
    )
    reason = f"KRaftOperation {running.name} asks for it; it is fenced, holds no replica and nothing wants it"
    return Verdict(ledger=ledger.with_step(step), actions=(UnregisterBroker(running.node_id, step, reason),))


def _without_steps_of_others(ledger: Ledger) -> Ledger:
    own = OF_OPERATION + ledger.operation.uid if ledger.operation is not None else ""
    return ledger.without_steps(
        step
        for step in ledger.journal
        if step.preconditions and step.preconditions[0].startswith(OF_OPERATION) and step.preconditions[0] != own
    )


def with_stamp(restart: str, ledger: Ledger) -> str:
    """What the pods' restart annotation says: the resource's own, and the last operation's."""
    return " ".join(each for each in (restart, ledger.restart) if each)
