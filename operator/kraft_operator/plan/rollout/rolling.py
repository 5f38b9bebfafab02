"""Restarts: one pod at a time, and only while the quorum or the partitions bear it.

A pod of an older revision than its node's set is deleted, and its StatefulSet makes it anew. What is broken anyway goes
first, because its restart costs nothing: so a roll never waits for what is dead, and a revision that does not run stops
at the first node it touches. Controllers come before brokers, the leader last. A controller is restarted only if the
others that are live are a majority (L4) on a proven observation; a broker only while every other broker serves and no
partition of it would lose its last replica in sync; a combined node only if both hold. Where no majority serves,
waiting for one would be for ever: who does not serve takes nothing from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from kraft_operator.actions import RestartPod
from kraft_operator.api.combined import broker_ids
from kraft_operator.api.roles import controls, meet, serves
from kraft_operator.api.spec import LifecycleState, RolloutStrategy
from kraft_operator.api.windows import next_opening, shown
from kraft_operator.ledger import JournaledStep, StepKind
from kraft_operator.observed import NodeSet, Pod, QuorumState
from kraft_operator.plan import headroom
from kraft_operator.plan.disks.ephemeral import disk_may_go
from kraft_operator.plan.disks.removal import may_hold
from kraft_operator.plan.rollout.refused import refused
from kraft_operator.plan.rollout.revisions import excuse, waits_for
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called, verb

IDLE_SECONDS: Final = 30.0
"""So long no controller serves before those that run get a newer revision: longer than a start and an election take."""

IDLE: Final = "does not serve, nor does a majority"


def roll_pods(now: Situation) -> Verdict:
    outdated = [pod for pod in outdated_pods(now.observed.pods, now.observed.sets) if not _leaves_anyway(now, pod)]
    if now.ledger is None or now.cluster.spec.lifecycle is LifecycleState.HIBERNATED:
        return NOTHING  # whoever sleeps wakes up with the newest revision
    if not outdated:
        return replace(_last_of_it(now), suspects=_idle(now))
    names = ", ".join(sorted(pod.name for pod in outdated))
    if now.cluster.spec.rollout.strategy is RolloutStrategy.ON_DELETE:
        message = (
            "delete these pods one at a time, because spec.rollout.strategy is OnDelete and "
            f"they run an older revision: {names}"
        )
        return _held("RestartPending", message)
    idle = _idle(now)
    if now.stepped:
        return _held("RolloutInProgress", f"another step comes first; still to be restarted: {names}", idle)
    waiting = _waiting(now, outdated)
    waiting |= _outside_of_windows(now, [pod for pod in outdated if pod.name not in waiting])
    free = [pod for pod in outdated if pod.name not in waiting]
    if not free:
        return _held("RestartDeferred", _by_reason(waiting), idle)
    chosen = min(free, key=lambda pod: restart_order(pod, now.observed.quorum.leader_id))
    gate = restart_gate(now, chosen)
    others = ", ".join(sorted(pod.name for pod in outdated if pod is not chosen))
    others = f"; still to be restarted: {others}" if others else ""
    if not gate.open:
        return _held("RestartDeferred", f"{chosen.name} waits for its restart: {gate.text}{others}", idle)
    step = JournaledStep(StepKind.RESTART, chosen.node_id, now.fence.holder, now.fence.transitions, (chosen.uid,))
    why = "it runs an older revision"
    action = RestartPod(chosen.name, chosen.uid, step, f"{why}: {gate.text}", why)
    return Verdict(
        ledger=excuse(now, now.ledger, chosen).with_step(step),
        actions=(action,),
        findings=(Finding(Topic.ROLLOUT, "RolloutInProgress", f"{chosen.name} is being restarted{others}"),),
        suspects=idle,
    )


def _waiting(now: Situation, outdated: list[Pod]) -> dict[str, str]:
    """Whose restart waits for another pod's, and why. Brokers wait with the controllers, but one that is not ready
    costs nothing.
    """
    waiting = {pod.name: why for pod in outdated if (why := waits_for(now, pod)) is not None}
    waiting |= {
        pod.name: "only it keeps its claim, which is being deleted" for pod in outdated if pod.node_id in now.guarded
    }
    waiting |= {pod.name: why for pod in outdated if (why := may_hold(now, pod))}
    waiting |= {pod.name: why for pod in outdated if (why := refused(now, pod))}
    controllers = [pod.name for pod in outdated if controls(pod) and pod.name in waiting]
    if controllers and not now.bad:
        later = [pod.name for pod in outdated if not controls(pod) and pod.ready]
        waiting |= {name: "controllers come first" for name in later if name not in waiting}
    return waiting


def _outside_of_windows(now: Situation, pods: Sequence[Pod]) -> dict[str, str]:
    """Pods that serve wait for spec.rollout.maintenanceWindows; what does not serve costs nothing. On the way ahead
    every window opens at last.
    """
    windows = now.cluster.spec.rollout.windows
    opens = next_opening(windows, now.date) if now.date is not None and not now.foreseen else None
    return {pod.name: f"a maintenance window opens at {shown(opens)}" for pod in pods if pod.ready} if opens else {}


def _by_reason(waiting: Mapping[str, str]) -> str:
    names: dict[str, list[str]] = {}
    for name, why in sorted(waiting.items()):
        names.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(who)} {'wait' if who[1:] else 'waits'}: {why}" for why, who in names.items())


def _last_of_it(now: Situation) -> Verdict:
    """Nothing is left to restart; the rollout is complete when Kubernetes has seen every set and the last older pod has
    gone.
    """
    unseen = sorted(each.name for each in now.observed.sets if not each.revision and not each.terminating)
    if unseen:
        return _held("RolloutInProgress", f"Kubernetes has not seen the new revision of {', '.join(unseen)} yet")
    leaving = sorted(pod.name for pod in now.observed.pods if pod.terminating and _is_older(now, pod))
    if leaving:
        return _held(
            "RolloutInProgress",
            f"{', '.join(leaving)} with an older revision {verb(leaving, 'is', 'are')} still shutting down",
        )
    return NOTHING


def outdated_pods(pods: Sequence[Pod], sets: Sequence[NodeSet]) -> list[Pod]:
    by_node = {each.node_id: each for each in sets}
    live = (pod for pod in pods if not pod.terminating and pod.node_id in by_node)
    return [pod for pod in live if by_node[pod.node_id].outdates(pod)]


def _leaves_anyway(now: Situation, pod: Pod) -> bool:
    """A controller that nobody asks for and that is no voter any more: its pod goes with its set."""
    quorum, wanted = now.observed.quorum, now.cluster.spec.controllers.node_ids
    gone = bool(quorum.voters) and quorum.voter(pod.node_id) is None
    return gone and controls(pod) and pod.node_id not in wanted


def _is_older(now: Situation, pod: Pod) -> bool:
    node_set = now.observed.node_set(pod.node_id)
    return node_set is not None and node_set.outdates(pod)


def restart_order(pod: Pod, leader_id: int) -> tuple[bool, bool, bool, int]:
    """Controllers before brokers, what does not run first, the leader last."""
    return not controls(pod), pod.ready, pod.node_id == leader_id, pod.node_id


def restart_gate(now: Situation, pod: Pod) -> headroom.Gate:
    """Whether this pod may go now, to come back."""
    leaving = [each.name for each in now.observed.pods if each.terminating and meet(each, pod)]
    if leaving:
        return headroom.Gate(False, f"{', '.join(leaving)} is still shutting down")
    if (closed := disk_may_go(now, pod)) is not None:
        return closed
    if not controls(pod):
        return _broker_gate(now, pod)
    gate = _controller_gate(now, pod)
    if not gate.open or not serves(pod) or _is_idle(now, pod):
        return gate
    both = _broker_gate(now, pod)
    return headroom.Gate(both.open, f"{gate.text}; {both.text}" if both.open else both.text)


def _is_idle(now: Situation, pod: Pod) -> bool:
    """A controller that runs and does not serve, where no majority does: its restart takes nothing from anybody."""
    lost = now.observed.quorum.state is not QuorumState.AVAILABLE
    return lost and controls(pod) and not pod.ready and not pod.terminating


def _idle(now: Situation) -> frozenset[str]:
    """What has to stand for a while: a majority that has just been started needs its time."""
    return frozenset(_idleness(pod) for pod in now.observed.pods if _is_idle(now, pod))


def _idleness(pod: Pod) -> str:
    return f"{pod.name} {IDLE}"


def _idle_gate(now: Situation, pod: Pod) -> headroom.Gate:
    """One by one: whoever got the newest revision runs before the next one gets it."""
    if now.waited.get(_idleness(pod), -1.0) < IDLE_SECONDS:
        return headroom.Gate(False, f"a majority may still come up: {now.observed.quorum.detail}")
    starting = [
        each.name
        for each in now.observed.pods
        if meet(each, pod) and not _is_older(now, each) and not each.ready and not each.main_started
    ]
    if starting:
        return headroom.Gate(False, f"{', '.join(starting)} with the newest revision starts first")
    return headroom.Gate(True, "there is no majority, and it does not serve")


def _controller_gate(now: Situation, pod: Pod) -> headroom.Gate:
    """A quorum of one has nothing to fall back on: it is restarted when it is proven to run, and is away meanwhile."""
    quorum = now.observed.quorum
    voter = quorum.voter(pod.node_id)
    if not pod.ready and not pod.runs:
        return headroom.Gate(True, "its node does not run")
    if _is_idle(now, pod):
        return _idle_gate(now, pod)
    if len(quorum.voters) == 1 and voter is not None:
        return headroom.Gate(quorum.proven, "it is the only voter, the quorum pauses meanwhile")
    others = [each for each in quorum.voters if each.node_id != pod.node_id and not each.live]
    gate = headroom.restart(quorum, pod.node_id)
    if gate.open and others and voter is not None and voter.live:
        return headroom.Gate(gate.open, f"{gate.text}; not live: {', '.join(str(each.node_id) for each in others)}")
    return gate


def _broker_gate(now: Situation, pod: Pod) -> headroom.Gate:
    brokers, quorum = now.observed.brokers, now.observed.quorum
    serving = (brokers.registered or frozenset()) - (brokers.fenced or frozenset())
    # What is not Ready of a combined node may be its controller, while clients are served.
    if not pod.ready and not (controls(pod) and pod.runs and pod.node_id in serving):
        return headroom.Gate(True, "it is not ready")
    others = [each for each in quorum.voters if each.node_id != pod.node_id]
    if quorum.state is not QuorumState.AVAILABLE or not all(each.live for each in others):
        return headroom.Gate(False, "every voter has to be live again first")
    lost = now.replacing  # they may wait for a person, and nobody gains by waiting with them
    idle = sorted(
        each.name
        for each in now.observed.pods
        if meet(each, pod) and each is not pod and not each.ready and each.node_id not in lost
    )
    if idle:
        return headroom.Gate(False, f"{', '.join(idle)} is not ready yet")
    if brokers.registered is None or brokers.at_risk is None:
        return headroom.Gate(False, "no broker answers")
    away = sorted(broker_ids(now.cluster.spec) - serving - {pod.node_id, *lost})
    risk = brokers.at_risk.get(pod.node_id, ())
    closed = [f"{called('broker', away)} {verb(away, 'does', 'do')} not serve"] if away else []
    closed += [f"{', '.join(risk)} would have too few replicas in sync"] if risk else []
    if closed:
        return headroom.Gate(False, ", and ".join(closed))
    return headroom.Gate(True, "every other broker serves, and its partitions have enough replicas in sync")


def _held(reason: str, message: str, suspects: frozenset[str] = frozenset()) -> Verdict:
    return Verdict(findings=(Finding(Topic.ROLLOUT, reason, message),), suspects=suspects)
