"""Who is registered with the controllers and is no node of this cluster: brokers are unregistered, controllers are
named.

A broker is a ghost when nothing of it is left here (no place in the resource, no StatefulSet, no pod, no unretired
entry in the ledger) and it is fenced; one that serves is somebody's and is left alone. It has to be one for as long as
evidence of a loss has to stand, and to hold no replica. Controllers that left cannot be unregistered by Apache Kafka
4.3; they are harmless until a metadata.version is wanted that they did not support.
"""

from __future__ import annotations

from collections.abc import Collection

from kraft_operator.actions import UnregisterBroker
from kraft_operator.api.combined import broker_ids
from kraft_operator.api.roles import serves
from kraft_operator.ledger import Formation, JournaledStep, Ledger, StepKind
from kraft_operator.observed import QuorumState
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called, verb

GHOST = "ghost"
_BROKER = f"{GHOST} broker "
_CONTROLLER = f"{GHOST} controller "


def clear_registrations(now: Situation) -> Verdict:
    ledger, registered = now.ledger, now.observed.brokers.registered
    if ledger is None or ledger.formation is not Formation.FORMED:
        return NOTHING
    if now.observed.quorum.state is not QuorumState.AVAILABLE:
        return NOTHING
    verdict = _controllers(now, ledger)
    if registered is None:
        return verdict
    done = [step for step in ledger.journal if _of_ghost(step) and step.node_id not in registered]
    ledger = ledger.without_steps(done)
    findings, suspects = list(verdict.findings), set(verdict.suspects)
    actions: tuple[UnregisterBroker, ...] = ()
    for broker in sorted(registered - _own_brokers(now, ledger)):
        if broker not in (now.observed.brokers.fenced or frozenset()):
            text = (
                f"stop broker {broker} to have it unregistered: it serves, is no "
                "node of this cluster, and is left alone"
            )
            findings.append(Finding(Topic.REGISTRATIONS, "ForeignBroker", text, f"broker {broker}"))
            continue
        suspects.add(f"{_BROKER}{broker}")
        text = f"nothing to do, broker {broker} is unregistered soon: it is fenced and no node of this cluster"
        held = (now.observed.brokers.replicas or {}).get(broker, ())
        if held:
            text = (
                f"move or delete {', '.join(held)} to have broker {broker} unregistered: it is fenced and no node of "
                "this cluster, but still has replicas of them"
            )
        findings.append(Finding(Topic.REGISTRATIONS, "GhostBroker", text, f"broker {broker}"))
        stood = now.waited.get(f"{_BROKER}{broker}", -1.0) >= now.cluster.spec.recovery.debounce_seconds
        other = ledger.step(StepKind.UNREGISTER, broker)
        if actions or held or not stood or now.observed.brokers.replicas is None or (other and not _of_ghost(other)):
            continue
        step = JournaledStep(StepKind.UNREGISTER, broker, now.fence.holder, now.fence.transitions, (GHOST,))
        ledger = ledger.with_step(step)
        actions = (UnregisterBroker(broker, step, "it is fenced, holds no replica, and no node of this cluster"),)
    return Verdict(ledger=ledger, actions=actions, findings=tuple(findings), suspects=frozenset(suspects))


def looks_for_ghosts(suspects: Collection[str]) -> bool:
    """Whether an earlier plan needs to know what a broker holds that is no node of ours."""
    return any(each.startswith(_BROKER) for each in suspects)


def _controllers(now: Situation, ledger: Ledger) -> Verdict:
    listed = now.observed.brokers.registry.controllers
    if listed is None:
        return NOTHING
    quorum = now.observed.quorum
    own = set(ledger.controllers or ledger.initial_controllers)
    own |= {each.node_id for each in quorum.voters} | {pod.node_id for pod in now.observed.pods}
    strangers = sorted(listed - own)
    debounce = now.cluster.spec.recovery.debounce_seconds
    stood = [each for each in strangers if now.waited.get(f"{_CONTROLLER}{each}", -1.0) >= debounce]
    message = (
        f"nothing to do: {called('controller', stood)} left and {verb(stood, 'stays', 'stay')} registered, because "
        "Apache Kafka 4.3 has no request to unregister a controller. That only blocks a metadata.version that "
        f"{verb(stood, 'it', 'they')} did not support"
    )
    findings = tuple(Finding(Topic.REGISTRATIONS, "GhostController", message, f"controller {each}") for each in stood)
    return Verdict(findings=findings, suspects=frozenset(f"{_CONTROLLER}{each}" for each in strangers))


def _own_brokers(now: Situation, ledger: Ledger) -> set[int]:
    own = set(broker_ids(now.cluster.spec))
    own |= {each.node_id for each in now.observed.sets if serves(each)}
    own |= {each.node_id for each in now.observed.pods if serves(each)}
    return own | {each.node_id for each in ledger.entries if serves(each) and not each.retired}


def _of_ghost(step: JournaledStep) -> bool:
    return step.kind is StepKind.UNREGISTER and step.preconditions == (GHOST,)
