"""Which nodes exist, and taking brokers away that the resource does not ask for, or excludes (voters come and go in
`voters`).

A broker leaves in steps that each can be repeated: it takes no new replicas (`cordon`), its replicas are moved away
(`drain`), then, while it holds none, it
is held (its pod shuts down under control), then it is unregistered, then its StatefulSet goes; its volume stays. The
decision is journaled before it is held, and asked again before it is unregistered: a replica that arrived in between
brings the broker back. Who cannot be asked is no reason to act.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from kraft_operator.actions import MoveReplicas, UncordonBroker, UnregisterBroker
from kraft_operator.api.roles import BROKER, controls, serves
from kraft_operator.api.spec import Group
from kraft_operator.ledger import Entry, Formation, JournaledStep, Ledger, StepKind
from kraft_operator.manifests.context import NodePlan
from kraft_operator.observed import Observed, QuorumState
from kraft_operator.plan.giving_up import FORCED, given_up
from kraft_operator.plan.nodes.cordon import cordon, lift
from kraft_operator.plan.nodes.drain import drain, immovable
from kraft_operator.plan.situation import Finding, Situation, Topic, Verdict
from kraft_operator.plan.voters.membership import still_controller


def choose_controllers(now: Situation) -> Verdict:
    """The spec's, and those that are still voters; while the first quorum forms, exactly its own."""
    group, ledger = now.cluster.spec.controllers, now.ledger
    assert ledger is not None
    wanted = group.node_ids
    if ledger.formation is not Formation.FORMED:
        chosen = wanted if ledger.formation is Formation.NOT_STARTED else ledger.initial_controllers
        message = f"controllers {_ids(chosen)} form the quorum first, the resource asks for {_ids(wanted)}"
        waiting = Finding(Topic.MEMBERSHIP, "WaitingForFormation", message)
        return Verdict(nodes=_planned(now, chosen, group), findings=(waiting,) if set(chosen) != set(wanted) else ())
    present = ledger.controllers or ledger.initial_controllers
    kept = {node_id for node_id in present if node_id not in wanted and still_controller(now, node_id)}
    chosen = tuple(sorted(kept | set(wanted)))
    for entry in ledger.entries:
        if controls(entry) and entry.retired == (entry.node_id in chosen):
            ledger = ledger.with_entry(replace(entry, retired=not entry.retired))
    return Verdict(ledger=replace(ledger, controllers=chosen), nodes=_planned(now, chosen, group))


def _planned(now: Situation, chosen: tuple[int, ...], group: Group) -> tuple[NodePlan, ...]:
    return (*now.nodes, *(NodePlan(node_id, group.name) for node_id in chosen))


def choose_brokers(now: Situation) -> Verdict:
    """Every pool's wanted brokers, and those that have to leave: none of these takes new replicas, and of a pool one
    goes at a time.
    """
    assert now.ledger is not None
    ledger, nodes = now.ledger, list(now.nodes)
    findings: list[Finding] = []
    actions: tuple[_Act, ...] = ()
    suspects: frozenset[str] = frozenset()
    for pool in now.cluster.spec.broker_pools:
        ledger = _welcome_back(ledger, pool)
        nodes += [NodePlan(node_id, pool.name) for node_id in pool.node_ids]
    surplus = {pool.name: _surplus(pool, ledger, now.observed) for pool in now.cluster.spec.broker_pools}
    leaving = {node_id: pool for pool in now.cluster.spec.broker_pools for node_id in surplus[pool.name]}
    cordoning = cordon(now, ledger, leaving, able=not immovable(now))
    ledger = cordoning.ledger
    for pool in now.cluster.spec.broker_pools:
        left = _leave_in_turn(surplus[pool.name], pool, ledger, now, cordoning.begun)
        ledger, findings = left.ledger, findings + list(left.findings)
        nodes += left.nodes
        actions = actions or left.actions
        suspects |= left.suspects
    findings += _orphans(now)
    return Verdict(ledger, tuple(nodes), (*cordoning.actions, *actions), tuple(findings), suspects)


_Act = UnregisterBroker | MoveReplicas | UncordonBroker


@dataclass(frozen=True, slots=True)
class _Left:
    """Of one pool."""

    ledger: Ledger
    nodes: tuple[NodePlan, ...]
    actions: tuple[_Act, ...]
    findings: tuple[Finding, ...]
    suspects: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Leaving:
    ledger: Ledger
    held: bool = False
    gone: bool = False
    actions: tuple[_Act, ...] = ()
    findings: tuple[Finding, ...] = ()
    suspects: frozenset[str] = frozenset()
    blocked: bool = False
    """It cannot go now, and keeps no other one from going."""


def in_turn(surplus: Collection[int], pool: Group, ledger: Ledger) -> list[int]:
    """Who is on its way out already, then whom somebody chose, then the highest."""
    return sorted(
        surplus,
        key=lambda each: (
            ledger.step(StepKind.UNREGISTER, each) is None,
            each not in pool.excluded_node_ids,
            -each,
        ),
    )


def _leave_in_turn(
    surplus: Collection[int], pool: Group, ledger: Ledger, now: Situation, begun: Collection[int]
) -> _Left:
    """One goes, or is known to be on its way; who is blocked lets the next one go."""
    turn = in_turn(surplus, pool, ledger)
    findings: list[Finding] = []
    nodes: list[NodePlan] = []
    actions: tuple[_Act, ...] = ()
    suspects: frozenset[str] = frozenset()
    for place, node_id in enumerate(turn):
        leaving = _leave(node_id, pool, ledger, now, begun)
        ledger, actions = leaving.ledger, leaving.actions
        findings += leaving.findings
        suspects |= leaving.suspects
        nodes += [] if leaving.gone else [NodePlan(node_id, pool.name, leaving.held)]
        if not leaving.blocked:
            nodes += [NodePlan(each, pool.name) for each in turn[place + 1 :]]
            break
    return _Left(ledger, tuple(nodes), actions, tuple(findings), suspects)


def _surplus(pool: Group, ledger: Ledger, observed: Observed) -> list[int]:
    known = {entry.node_id for entry in ledger.entries if entry.pool == pool.name and not entry.retired}
    retired = {entry.node_id for entry in ledger.entries if entry.pool == pool.name and entry.retired}
    known |= {each.node_id for each in observed.sets if each.pool == pool.name and each.node_id not in retired}
    return sorted(known - set(pool.node_ids))


def _welcome_back(ledger: Ledger, pool: Group) -> Ledger:
    """A wanted broker is neither retired nor on its way out."""
    wanted = set(pool.node_ids)
    for entry in ledger.entries:
        if entry.retired and entry.node_id in wanted:
            ledger = ledger.with_entry(replace(entry, retired=False))
    return ledger.without_steps(
        step for step in ledger.journal if step.kind is StepKind.UNREGISTER and step.node_id in wanted
    )


def _leave(node_id: int, pool: Group, ledger: Ledger, now: Situation, begun: Collection[int]) -> _Leaving:
    journaled = next(
        (step for step in ledger.journal if (step.kind, step.node_id) == (StepKind.UNREGISTER, node_id)), None
    )
    blocker = _unknown(now.observed, stopped=journaled is not None)
    suspects: frozenset[str] = frozenset()
    forced = journaled is not None and FORCED in journaled.preconditions
    if blocker is None and not forced and (now.observed.brokers.replicas or {}).get(node_id):
        draining = drain(now, node_id, pool)
        if not draining.forced:
            kept = ledger.without_steps([journaled]) if journaled is not None else ledger
            kept = kept.with_step(draining.move.step) if draining.move is not None else kept
            moves = (draining.move,) if draining.move is not None else ()
            return _Leaving(
                kept, actions=moves, findings=draining.findings, suspects=draining.suspects, blocked=draining.blocked
            )
        forced, suspects = True, draining.suspects
        ledger = given_up(now, ledger, node_id)
    blocker = blocker or _no_quorum(now.observed)
    if blocker is not None:
        message = f"broker {node_id} of pool {pool.name} cannot be removed: {blocker[1]}"
        finding = Finding(Topic.MEMBERSHIP, blocker[0], message, f"broker {node_id}")
        return _Leaving(ledger, held=journaled is not None, findings=(finding,))
    if node_id in begun:
        message = f"broker {node_id} of pool {pool.name} is cordoned, so that no replica comes while it shuts down"
        finding = Finding(Topic.MEMBERSHIP, "DrainingBroker", message, f"broker {node_id}")
        return _Leaving(ledger, findings=(finding,), suspects=suspects)
    marks = (f"pool={pool.name}", *([FORCED] if forced else []))
    step = JournaledStep(StepKind.UNREGISTER, node_id, now.fence.holder, now.fence.transitions, marks)
    if ledger.entry(node_id) is None:  # never granted a disk, hence never started, hence never registered
        ledger = ledger.with_entry(Entry(node_id, BROKER.label, pool.name, retired=True))
        return _Leaving(ledger, gone=True)
    ledger = ledger.with_step(step)
    stopping = Finding(Topic.MEMBERSHIP, "RemovingBroker", f"broker {node_id} of pool {pool.name} is shutting down")
    node_set = now.observed.node_set(node_id)
    if journaled is None or now.observed.pod(node_id) is not None or (node_set is not None and node_set.replicas):
        return _Leaving(ledger, held=True, findings=(stopping,), suspects=suspects)
    reason = (
        "it is forced out with what it holds (scaleDown.drain: Force)"
        if forced
        else "it holds no replica and has shut down"
    )
    actions: tuple[_Act, ...] = (UnregisterBroker(node_id, step, reason),)
    if node_id in ledger.cordoned:
        opening = lift(now, node_id, "it is unregistered, and may come back with its id")
        ledger, actions = ledger.with_step(opening.step), (opening, *actions)
    return _Leaving(ledger, held=True, actions=actions, findings=(stopping,), suspects=suspects)


def _unknown(observed: Observed, *, stopped: bool) -> tuple[str, str] | None:
    replicas, registered = observed.brokers.replicas, observed.brokers.registered
    if replicas is not None and registered is not None:
        return None
    if stopped and not any(serves(pod) for pod in observed.pods):
        return None  # nobody is left who could hold or tell
    return "BrokersUnknown", "no broker could be asked which replicas it holds"


def _no_quorum(observed: Observed) -> tuple[str, str] | None:
    if observed.quorum.state is QuorumState.AVAILABLE:
        return None
    return "QuorumUnavailable", f"the controllers cannot take the change: {observed.quorum.detail}"


def retired(ledger: Ledger, done: JournaledStep) -> Ledger:
    """The ledger once the broker of this step is unregistered."""
    entry = ledger.entry(done.node_id)
    if entry is None:  # one that this operator never ran
        return ledger.without_steps([done])
    return ledger.with_entry(replace(entry, retired=True)).without_steps([done])


def _orphans(now: Situation) -> list[Finding]:
    """Brokers of a pool that the resource no longer has: they are left alone, and said so."""
    pools = {group.name for group in now.cluster.spec.groups}
    lost = sorted({each.pool for each in now.observed.sets} - pools)
    return [
        Finding(
            Topic.MEMBERSHIP,
            "PoolRemoved",
            f"put pool {pool} back with replicas 0 to remove its brokers: they run without being in the resource",
            pool,
            stalled=True,
        )
        for pool in lost
    ]


def _ids(node_ids: tuple[int, ...]) -> str:
    return ", ".join(map(str, sorted(node_ids)))
