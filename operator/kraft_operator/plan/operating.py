"""One-shot operations: which one runs, what it asks of the other rules, and what is said of each.

One runs at a time in a cluster, written into the ledger before anything is done for it; the others wait, the oldest
first. An operation adds no power: a rolling restart is a new stamp on the pods and goes through the rule about
restarts, a replaced voter is a loss that somebody asked for and goes through the rule about losses, a broker is
unregistered only if it neither runs nor is wanted. Whether one has succeeded is seen, not remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from kraft_operator.actions import DeleteOperation, UnregisterBroker
from kraft_operator.api import names
from kraft_operator.api.spec import LifecycleState, Role, RolloutStrategy
from kraft_operator.ledger import Formation, Ledger, RunningOperation, Step, StepKind
from kraft_operator.observed import QuorumState
from kraft_operator.operations.operation import Operation, OperationType, Phase, is_expired
from kraft_operator.operations.recovery import REVOCABLE, Recovery, Stage
from kraft_operator.operations.telling import StepState, StepTold, Telling, steps_up_to
from kraft_operator.plan import headroom, protecting, recovering
from kraft_operator.plan.disks.copies import restored
from kraft_operator.plan.giving_up import named, only_copies
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict

OF_OPERATION = "operation="
"""Marks a journaled step as an operation's: it goes when the operation does."""
REPLACING = (
    ("RemoveVoter", "the old directory is taken out of the voters"),
    ("WriteOff", "the old directory is written off and refused from then on"),
    ("Format", "an empty volume is formatted under a new directory id"),
    ("AddVoter", "the new directory is added once it has caught up"),
)

REPLACING_BROKER = (
    ("GiveUp", "its old directory is given up once no data goes with it, or once that is approved"),
    ("WriteOff", "the old directory is written off and refused from then on"),
    ("Format", "an empty volume is formatted under a new directory id"),
    ("CatchUp", "the broker serves, and its replicas are in sync again"),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an operation does not start: for ever (`final`), or for now."""

    reason: str
    message: str
    final: bool = True


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
        recovers = running is not None and running.type in recovering.TYPES
        recovery = Recovery(Stage.FENCE, now.observed.living or ()) if recovers else None
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


def tellings(now: Situation, before: Ledger | None, findings: Sequence[Finding]) -> tuple[Telling, ...]:
    """What is to be said of each operation that has not ended, once the plan is made."""
    found = []
    running = now.ledger.operation if now.ledger is not None else None
    was = before.operation if before is not None else None
    for each in sorted(now.observed.operations, key=lambda each: each.order):
        if each.finished:
            continue
        if running is not None and running.uid == each.uid:
            told = _told_running(each, running, now, findings)
            fresh = was is None or was.uid != each.uid
            found.append(replace(told, phase=Phase.ADMITTED) if fresh and told.phase is Phase.RUNNING else told)
        else:
            found.append(_told_waiting(each, running, now, findings))
    return tuple(found)


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
    if running.type in recovering.TYPES:
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
        if each.finished or each.cancel or _refusal(each, now) is not None:
            continue
        assert each.type is not None, "an operation without a type was refused"
        entry = ledger.entry(each.node_id) if each.node_id is not None else None
        replaces = each.type in (OperationType.REPLACE_VOTER, OperationType.REPLACE_BROKER)
        directory = entry.directory_id if entry and replaces else None
        return RunningOperation(each.uid, each.name, each.type.value, each.node_id, directory)
    return None


def _refusal(asked: Operation, now: Situation) -> Refusal | None:
    ledger = now.ledger
    if asked.problem is not None or asked.type is None:
        return Refusal("OperationInvalid", asked.problem or "its type is not known to this operator")
    if ledger is None or ledger.formation is not Formation.FORMED:
        return Refusal("NoQuorumYet", f"cluster {now.cluster.name} has not formed its first quorum yet", final=False)
    if now.cluster.spec.lifecycle is not LifecycleState.RUNNING:
        state = now.cluster.spec.lifecycle.value
        return Refusal("NotRunning", f"spec.lifecycle.state of cluster {now.cluster.name} is {state}", final=False)
    match asked.type:
        case OperationType.ROLLING_RESTART:
            return _refused_restart(now)
        case OperationType.UNREGISTER_NODE:
            return _refused_unregister(asked.node_id or 0, now, ledger)
        case OperationType.REPLACE_VOTER:
            return _refused_replacement(asked.node_id or 0, now, ledger)
        case OperationType.REPLACE_BROKER:
            return _refused_broker(asked.node_id or 0, now, ledger)
        case OperationType.RECOVER_QUORUM:
            return _refused_recovery(now, ledger)
        case OperationType.RESTORE:
            text = "its volume claims did not come out of a backup, or its controllers run: there is nothing to compare"
            return None if restored(now) else Refusal("NothingRestored", text)
        case OperationType.PROTECT_CLAIMS:
            return None


def _refused_recovery(now: Situation, ledger: Ledger) -> Refusal | None:
    """Only a quorum that cannot come back by itself: it has no leader, or too few controllers have a disk to run on."""
    quorum = now.observed.quorum
    if quorum.state is QuorumState.AVAILABLE:
        return Refusal(
            "QuorumAvailable", f"the quorum is available, led by controller {quorum.leader_id}: nothing is lost"
        )
    size = len(ledger.controllers or ledger.initial_controllers)
    able = [each for each in now.observed.pods if each.role == Role.CONTROLLER.value and each.main_started]
    if quorum.state is not QuorumState.UNAVAILABLE and len(able) > size // 2:
        text = (
            f"{len(able)} of {size} controllers run: they may have a leader that could not be asked ({quorum.detail})"
        )
        return Refusal("QuorumUnproven", text, final=False)
    if now.observed.living is None:
        return Refusal("Waiting", "the living are asked first", final=False)
    return None


def _refused_restart(now: Situation) -> Refusal | None:
    if now.cluster.spec.rollout.strategy is RolloutStrategy.ON_DELETE:
        text = "spec.rollout.strategy is OnDelete: the operator restarts no pod; delete them one at a time instead"
        return Refusal("RollsByHand", text)
    return None


def _refused_unregister(node_id: int, now: Situation, ledger: Ledger) -> Refusal | None:
    """Not wanted, not there, not serving, holding nothing: then nobody misses its registration."""
    for group in now.cluster.spec.groups:
        if node_id in group.node_ids:
            return Refusal("NodeWanted", f"node {node_id} belongs to {group.name}, which the resource asks for")
    if node_id in (ledger.controllers or ledger.initial_controllers) or now.observed.quorum.voter(node_id) is not None:
        return Refusal("NodeIsController", f"node {node_id} is a controller; Kafka registers brokers in this way only")
    node_set = now.observed.node_set(node_id)
    if now.observed.pod(node_id) is not None or (node_set is not None and node_set.replicas):
        return Refusal("NodeRuns", f"node {node_id} has a pod: lower the replicas of its pool instead")
    brokers = now.observed.brokers
    if brokers.registered is None or brokers.fenced is None or brokers.replicas is None:
        return Refusal("BrokersUnknown", "no broker could be asked who is registered and who holds what", final=False)
    if node_id not in brokers.registered:
        return Refusal("NotRegistered", f"no broker {node_id} is registered")
    if node_id not in brokers.fenced:
        text = f"broker {node_id} is not fenced: it serves somewhere, or has stopped a moment ago"
        return Refusal("BrokerServes", text, final=False)
    if held := brokers.replicas.get(node_id, ()):
        return Refusal("BrokerHoldsReplicas", f"broker {node_id} holds replicas of {', '.join(held)}; move them first")
    return None


def _refused_replacement(node_id: int, now: Situation, ledger: Ledger) -> Refusal | None:
    quorum, entry = now.observed.quorum, ledger.entry(node_id)
    if node_id not in now.cluster.spec.controllers.node_ids:
        return Refusal("NotAController", f"node {node_id} is no controller that the resource asks for")
    if quorum.state is not QuorumState.AVAILABLE or not quorum.proven:
        return Refusal("QuorumUnproven", f"the quorum is {quorum.state.value}: {quorum.detail}", final=False)
    if len(quorum.voters) == 1:
        return Refusal("LastVoter", f"controller {node_id} is the only voter, and no other one has the log")
    voter = quorum.voter(node_id)
    if voter is None or entry is None or entry.directory_id != voter.directory_id:
        text = f"controller {node_id} is no voter under the directory that the ledger knows; it is dealt with already"
        return Refusal("NotAVoter", text, final=False)
    away = [each.node_id for each in quorum.voters if not each.live and each.node_id != node_id]
    if away and voter.live:
        text = f"voters {', '.join(map(str, away))} are not live, and a live one is not given up beside them"
        return Refusal("NoHeadroom", text, final=False)
    gate = headroom.remove(quorum, voter)
    return None if gate.open else Refusal("NoHeadroom", f"controller {node_id}: {gate.text}", final=False)


def _refused_broker(node_id: int, now: Situation, ledger: Ledger) -> Refusal | None:
    brokers = {each for pool in now.cluster.spec.broker_pools for each in pool.node_ids}
    entry, pod = ledger.entry(node_id), now.observed.pod(node_id)
    if node_id not in brokers:
        return Refusal("NotABroker", f"node {node_id} is no broker that the resource asks for")
    if entry is None or entry.directory_id is None:
        text = f"broker {node_id} has no directory that the ledger knows; it gets one already"
        return Refusal("NoDirectory", text, final=False)
    if now.observed.quorum.state is not QuorumState.AVAILABLE:
        quorum = now.observed.quorum
        return Refusal("QuorumUnproven", f"the quorum is {quorum.state.value}: {quorum.detail}", final=False)
    whole = pod is not None and pod.main_started
    if whole and len(brokers) == 1:
        text = f"broker {node_id} is the only one, and its disk is whole: add another broker first, which takes its replicas"
        return Refusal("LastBroker", text)
    if whole and now.observed.brokers.partitions is None:
        return Refusal("BrokersUnknown", f"no broker could be asked what broker {node_id} holds", final=False)
    if whole and (only := only_copies(now, node_id)):
        text = f"its disk is whole, and no other replica of {named(only)} is in sync: have these copied first, or move them"
        return Refusal("OnlyReplicas", text, final=False)
    return None


# unregistering


def _unregister(now: Situation, ledger: Ledger, running: RunningOperation) -> Verdict:
    """Asked again right before: a broker that came back, or that the resource asks for again, stays."""
    assert running.node_id is not None
    if _refused_unregister(running.node_id, now, ledger) is not None:
        return Verdict(ledger=ledger)
    if now.observed.quorum.state is not QuorumState.AVAILABLE:
        return Verdict(ledger=ledger)
    step = Step(
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


# what is said


def _told_waiting(
    asked: Operation, running: RunningOperation | None, now: Situation, findings: Sequence[Finding]
) -> Telling:
    if asked.cancel:
        return Telling(asked, Phase.CANCELLED, "Cancelled", "it was cancelled; what it had begun is brought to an end")
    if now.ledger is None:
        why = findings[0].message if findings else "the cluster has no ledger yet"
        return Telling(asked, Phase.PENDING, "ClusterNotReady", why)
    refusal = _refusal(asked, now)
    if refusal is not None:
        return Telling(asked, Phase.REJECTED if refusal.final else Phase.PENDING, refusal.reason, refusal.message)
    if running is not None:
        text = f"KRaftOperation {running.name} ({running.type}) is under way; one runs at a time"
        return Telling(asked, Phase.PENDING, "AnotherRuns", text)
    why = findings[0].message if findings else "it starts with the next pass"
    return Telling(asked, Phase.PENDING, "Waiting", why)


def _told_running(asked: Operation, running: RunningOperation, now: Situation, findings: Sequence[Finding]) -> Telling:
    match asked.type:
        case OperationType.ROLLING_RESTART:
            told = _told_restart(asked, running, now, findings)
        case OperationType.UNREGISTER_NODE:
            told = _told_unregister(asked, now)
        case OperationType.REPLACE_VOTER:
            told = _told_replacement(asked, running, now, findings)
        case OperationType.REPLACE_BROKER:
            told = _told_broker(asked, running, now, findings)
        case OperationType.RECOVER_QUORUM | OperationType.RESTORE:
            told = recovering.told(asked, now, findings)
        case OperationType.PROTECT_CLAIMS:
            told = protecting.told(asked, now)
        case None:
            told = Telling(asked, Phase.FAILED, "OperationInvalid", asked.problem or "unknown type")
        case _:
            assert_never(asked.type)
    if asked.cancel and told.phase is Phase.RUNNING:
        return replace(told, message=f"it is past the point where it can be cancelled; {told.message}")
    return told


def _told_restart(asked: Operation, running: RunningOperation, now: Situation, findings: Sequence[Finding]) -> Telling:
    """Done when every node's set carries the stamp, and every pod is of its set's newest revision and Ready."""
    steps, waiting = [], []
    stamped = {
        each.name
        for each in now.observed.children
        if each.kind == "StatefulSet" and running.uid in _stamp_of(each.live)
    }
    for node in sorted(now.nodes):
        node_set, pod = now.observed.node_set(node.node_id), now.observed.pod(node.node_id)
        name = names.pod_name(now.cluster.name, node.group, node.node_id)
        fresh = node_set is not None and node_set.name in stamped and node_set.revision != ""
        done = fresh and pod is not None and node_set is not None and pod.revision == node_set.revision
        done = done and pod is not None and pod.ready and not pod.terminating
        steps.append(StepTold(f"Restart {name}", StepState.DONE if done else StepState.WAITING))
        waiting += [] if done else [name]
    if not waiting and now.nodes:
        proof = f"{len(steps)} pods carry stamp {running.uid}, are of the newest revision and Ready"
        return Telling(asked, Phase.SUCCEEDED, "Restarted", "every pod was restarted", tuple(steps), proof)
    why = next((each.message for each in findings if each.topic is Topic.ROLLOUT), f"left: {', '.join(waiting)}")
    return Telling(asked, Phase.RUNNING, "Restarting", why, tuple(steps))


def _stamp_of(live: object) -> str:
    found = live
    for key in ("spec", "template", "metadata", "annotations", names.ANNOTATION_RESTART):
        found = found.get(key) if hasattr(found, "get") else None
    return str(found or "")


def _told_unregister(asked: Operation, now: Situation) -> Telling:
    assert now.ledger is not None
    node_id = asked.node_id or 0
    refusal = _refused_unregister(node_id, now, now.ledger)
    if refusal is not None and refusal.reason == "NotRegistered":
        proof = f"the brokers' metadata lists no broker {node_id}"
        return Telling(
            asked, Phase.SUCCEEDED, "Unregistered", f"broker {node_id} is not registered any more", (), proof
        )
    if refusal is not None and refusal.final:
        return Telling(asked, Phase.FAILED, refusal.reason, f"{refusal.message}; nothing was changed")
    message = refusal.message if refusal is not None else f"broker {node_id} is unregistered"
    return Telling(asked, Phase.RUNNING, "Unregistering", message)


def _told_replacement(
    asked: Operation, running: RunningOperation, now: Situation, findings: Sequence[Finding]
) -> Telling:
    assert now.ledger is not None
    assert running.node_id is not None
    quorum, entry = now.observed.quorum, now.ledger.entry(running.node_id)
    voter = quorum.voter(running.node_id)
    new = entry.directory_id if entry and entry.directory_id != running.directory_id else None
    if voter is not None and voter.live and quorum.settled and voter.directory_id == new:
        proof = (
            f"voter {running.node_id} has directory {new}, {running.directory_id} is written off; {quorum.live} of "
            f"{len(quorum.voters)} voters are live, headroom {quorum.headroom}, and this voter set is committed"
        )
        steps = steps_up_to(REPLACING, len(REPLACING))
        return Telling(asked, Phase.SUCCEEDED, "Replaced", f"controller {running.node_id} was replaced", steps, proof)
    if new is not None:
        done = 3
    elif now.ledger.is_written_off(running.node_id, running.directory_id):
        done = 2
    else:
        done = 1 if quorum.settled and voter is None else 0
    about = (Topic.STORAGE, Topic.MEMBERSHIP)
    mine = [each.message for each in findings if each.topic in about and f"{running.node_id}" in each.subject]
    text = mine[0] if mine else REPLACING[done][1]
    return Telling(asked, Phase.RUNNING, "Replacing", text, steps_up_to(REPLACING, done, running=text))


def _told_broker(asked: Operation, running: RunningOperation, now: Situation, findings: Sequence[Finding]) -> Telling:
    assert now.ledger is not None
    assert running.node_id is not None
    node_id, brokers, entry = running.node_id, now.observed.brokers, now.ledger.entry(running.node_id)
    if node_id not in {each for pool in now.cluster.spec.broker_pools for each in pool.node_ids}:
        text = f"the resource does not ask for broker {node_id} any more"
        return Telling(asked, Phase.FAILED, "NotABroker", text)
    new = entry.directory_id if entry and entry.directory_id != running.directory_id else None
    serves = node_id in (brokers.registered or frozenset()) - (brokers.fenced or frozenset())
    held = [each for each in brokers.partitions or () if node_id in each.replicas and each.leader != -1]
    behind = [f"{each.topic}-{each.partition}" for each in held if node_id not in each.in_sync]
    if new is not None and serves and brokers.partitions is not None and not behind:
        proof = f"broker {node_id} serves with directory {new}, {running.directory_id} is written off; it is in sync for all {len(held)} partitions that have a leader"
        steps = steps_up_to(REPLACING_BROKER, len(REPLACING_BROKER))
        return Telling(asked, Phase.SUCCEEDED, "Replaced", f"broker {node_id} was replaced", steps, proof)
    written_off = now.ledger.is_written_off(node_id, running.directory_id)
    done = 3 if new is not None else 2 if written_off else 0
    waits = (
        f"it is not in sync yet for {named(tuple(behind))}" if behind and new is not None else REPLACING_BROKER[done][1]
    )
    mine = [each for each in findings if each.topic is Topic.STORAGE and f"{node_id}" in each.subject]
    text = mine[0].message if mine else waits
    told = Telling(asked, Phase.RUNNING, "Replacing", text, steps_up_to(REPLACING_BROKER, done, running=text))
    needs = any(each.reason == "DataLossPending" for each in mine)
    return replace(told, phase=Phase.WAITING_APPROVAL, reason="DataLossPending") if needs else told


def with_stamp(restart: str, ledger: Ledger) -> str:
    """What the pods' restart annotation says: the resource's own, and the last operation's."""
    return " ".join(each for each in (restart, ledger.restart) if each)
