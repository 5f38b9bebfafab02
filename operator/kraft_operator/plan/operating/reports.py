"""What is said of each operation that has not ended. Whether one has succeeded is seen, not remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from kraft_operator.api import names
from kraft_operator.api.combined import broker_ids
from kraft_operator.ledger import Ledger, RunningOperation
from kraft_operator.operations.operation import Operation, OperationType, Phase
from kraft_operator.operations.operation_report import OperationReport, StepReport, StepState, steps_up_to
from kraft_operator.plan import protecting
from kraft_operator.plan.giving_up import named
from kraft_operator.plan.operating.refusals import refusal_of, refused_unregister
from kraft_operator.plan.recovery import reporting
from kraft_operator.plan.situation import Finding, Situation, Topic

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


def reports(now: Situation, before: Ledger | None, findings: Sequence[Finding]) -> tuple[OperationReport, ...]:
    """What is to be said of each operation that has not ended, once the plan is made."""
    found = []
    running = now.ledger.operation if now.ledger is not None else None
    was = before.operation if before is not None else None
    for each in sorted(now.observed.operations, key=lambda each: each.order):
        if each.finished:
            continue
        if running is not None and running.uid == each.uid:
            report = report_running(each, running, now, findings)
            fresh = was is None or was.uid != each.uid
            found.append(replace(report, phase=Phase.ADMITTED) if fresh and report.phase is Phase.RUNNING else report)
        else:
            found.append(report_waiting(each, running, now, findings))
    return tuple(found)


def report_waiting(
    asked: Operation, running: RunningOperation | None, now: Situation, findings: Sequence[Finding]
) -> OperationReport:
    if asked.cancel:
        return OperationReport(
            asked, Phase.CANCELLED, "Cancelled", "it was cancelled; what it had begun is brought to an end"
        )
    if now.ledger is None:
        why = findings[0].message if findings else "the cluster has no ledger yet"
        return OperationReport(asked, Phase.PENDING, "ClusterNotReady", why)
    refusal = refusal_of(asked, now)
    if refusal is not None:
        return OperationReport(
            asked, Phase.REJECTED if refusal.final else Phase.PENDING, refusal.reason, refusal.message
        )
    if running is not None:
        text = f"it waits for KRaftOperation {running.name} ({running.type}): one runs at a time"
        return OperationReport(asked, Phase.PENDING, "AnotherRuns", text)
    why = findings[0].message if findings else "it starts with the next pass"
    return OperationReport(asked, Phase.PENDING, "Waiting", why)


def report_running(
    asked: Operation, running: RunningOperation, now: Situation, findings: Sequence[Finding]
) -> OperationReport:
    match asked.type:
        case OperationType.ROLLING_RESTART:
            report = _report_restart(asked, running, now, findings)
        case OperationType.UNREGISTER_NODE:
            report = _report_unregister(asked, now)
        case OperationType.REPLACE_VOTER:
            report = _report_replacement(asked, running, now, findings)
        case OperationType.REPLACE_BROKER:
            report = _report_broker(asked, running, now, findings)
        case OperationType.RECOVER_QUORUM | OperationType.RESTORE:
            report = reporting.report(asked, now, findings)
        case OperationType.PROTECT_CLAIMS:
            report = protecting.report(asked, now)
        case None:
            report = OperationReport(asked, Phase.FAILED, "OperationInvalid", asked.problem or "unknown type")
        case _:
            assert_never(asked.type)
    if asked.cancel and report.phase is Phase.RUNNING:
        return replace(report, message=f"it is past the point where it can be cancelled; {report.message}")
    return report


def _report_restart(
    asked: Operation, running: RunningOperation, now: Situation, findings: Sequence[Finding]
) -> OperationReport:
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
        steps.append(StepReport(f"Restart {name}", StepState.DONE if done else StepState.WAITING))
        waiting += [] if done else [name]
    if not waiting and now.nodes:
        proof = f"{len(steps)} pods carry stamp {running.uid}, are of the newest revision and Ready"
        return OperationReport(
            asked, Phase.SUCCEEDED, "Restarted", message="every pod was restarted", steps=tuple(steps), proof=proof
        )
    why = next((each.message for each in findings if each.topic is Topic.ROLLOUT), f"left: {', '.join(waiting)}")
    return OperationReport(asked, Phase.RUNNING, "Restarting", why, tuple(steps))


def _stamp_of(live: object) -> str:
    found = live
    for key in ("spec", "template", "metadata", "annotations", names.ANNOTATION_RESTART):
        found = found.get(key) if hasattr(found, "get") else None
    return str(found or "")


def _report_unregister(asked: Operation, now: Situation) -> OperationReport:
    assert now.ledger is not None
    node_id = asked.node_id or 0
    refusal = refused_unregister(node_id, now, now.ledger)
    if refusal is not None and refusal.reason == "NotRegistered":
        proof = f"the brokers' metadata lists no broker {node_id}"
        return OperationReport(
            asked,
            Phase.SUCCEEDED,
            "Unregistered",
            message=f"broker {node_id} is not registered any more",
            steps=(),
            proof=proof,
        )
    if refusal is not None and refusal.final:
        return OperationReport(asked, Phase.FAILED, refusal.reason, f"{refusal.message}; nothing was changed")
    message = refusal.message if refusal is not None else f"broker {node_id} is unregistered"
    return OperationReport(asked, Phase.RUNNING, "Unregistering", message)


def _report_replacement(
    asked: Operation, running: RunningOperation, now: Situation, findings: Sequence[Finding]
) -> OperationReport:
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
        return OperationReport(
            asked,
            Phase.SUCCEEDED,
            "Replaced",
            message=f"controller {running.node_id} was replaced",
            steps=steps,
            proof=proof,
        )
    if new is not None:
        done = 3
    elif now.ledger.is_written_off(running.node_id, running.directory_id):
        done = 2
    else:
        done = 1 if quorum.settled and voter is None else 0
    about = (Topic.STORAGE, Topic.MEMBERSHIP)
    mine = [each.message for each in findings if each.topic in about and f"{running.node_id}" in each.subject]
    text = mine[0] if mine else REPLACING[done][1]
    return OperationReport(asked, Phase.RUNNING, "Replacing", text, steps_up_to(REPLACING, done, running=text))


def _report_broker(
    asked: Operation, running: RunningOperation, now: Situation, findings: Sequence[Finding]
) -> OperationReport:
    assert now.ledger is not None
    assert running.node_id is not None
    node_id, brokers, entry = running.node_id, now.observed.brokers, now.ledger.entry(running.node_id)
    if node_id not in broker_ids(now.cluster.spec):
        text = f"the resource does not ask for broker {node_id} any more"
        return OperationReport(asked, Phase.FAILED, "NotABroker", text)
    new = entry.directory_id if entry and entry.directory_id != running.directory_id else None
    serves = node_id in (brokers.registered or frozenset()) - (brokers.fenced or frozenset())
    held = [each for each in brokers.partitions or () if node_id in each.replicas and each.leader != -1]
    behind = [f"{each.topic}-{each.partition}" for each in held if node_id not in each.in_sync]
    if new is not None and serves and brokers.partitions is not None and not behind:
        proof = (
            f"broker {node_id} serves with directory {new}, {running.directory_id} is written off; it is in sync for "
            f"all {len(held)} partitions that have a leader"
        )
        steps = steps_up_to(REPLACING_BROKER, len(REPLACING_BROKER))
        return OperationReport(
            asked, Phase.SUCCEEDED, "Replaced", message=f"broker {node_id} was replaced", steps=steps, proof=proof
        )
    written_off = now.ledger.is_written_off(node_id, running.directory_id)
    done = 3 if new is not None else 2 if written_off else 0
    waits = (
        f"it is not in sync yet for {named(tuple(behind))}" if behind and new is not None else REPLACING_BROKER[done][1]
    )
    mine = [each for each in findings if each.topic is Topic.STORAGE and f"{node_id}" in each.subject]
    text = mine[0].message if mine else waits
    report = OperationReport(asked, Phase.RUNNING, "Replacing", text, steps_up_to(REPLACING_BROKER, done, running=text))
    needs = any(each.reason == "DataLossPending" for each in mine)
    return replace(report, phase=Phase.WAITING_APPROVAL, reason="DataLossPending") if needs else report
