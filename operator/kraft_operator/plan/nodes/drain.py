"""Moving replicas off a broker that has to go: where each of them goes, and what keeps them from going.

Every partition keeps its number of replicas and the order of those that stay; in the place of the leaving broker comes
the one of the brokers that stay which has the fewest replicas, first of all in a rack that the partition is not in yet.
A few partitions are moved at a time. The operator asks for a move and looks; it never counts a partition as moved
before the cluster's own metadata says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kraft_operator.actions import MoveReplicas
from kraft_operator.api.spec import Drain, Group
from kraft_operator.ledger import JournaledStep, StepKind
from kraft_operator.observed import Brokers, Placement
from kraft_operator.plan.giving_up import draining
from kraft_operator.plan.nodes.cordon import UNKNOWN_THERE, is_open
from kraft_operator.plan.situation import Finding, Situation, Topic

AT_ONCE = 20
"""Partitions on the move at a time: more would fight for the same disks and networks."""
ALTER, LIST = 45, 46
"""API keys of AlterPartitionReassignments and ListPartitionReassignments."""


@dataclass(frozen=True, slots=True)
class Draining:
    """Where a drain stands: what is to be told, the next move, and whether the broker may go in spite of
    what it holds.
    """

    findings: tuple[Finding, ...]
    move: MoveReplicas | None = None
    forced: bool = False
    blocked: bool = False
    suspects: frozenset[str] = frozenset()


def drain(now: Situation, node_id: int, pool: Group) -> Draining:
    """Of a broker that is known to hold replicas."""
    suspicion = draining(node_id)
    overdue = now.waited.get(suspicion, -1.0) >= pool.scale_down.timeout_seconds
    if overdue and pool.scale_down.drain is Drain.FORCE:
        return Draining((), forced=True, suspects=frozenset({suspicion}))
    brokers = now.observed.brokers
    held = some((brokers.replicas or {}).get(node_id, ()))
    moves = _blocker(now, pool) or _moves(now, node_id)
    if isinstance(moves, Blocker):
        finding = _blocked(moves, node_id, pool, held)
        return Draining((finding,), blocked=True, suspects=frozenset({suspicion}))
    text = f"the replicas of broker {node_id} of pool {pool.name} are moved to the brokers that stay: {held}"
    if is_open(now, node_id):
        text += UNKNOWN_THERE
    if overdue:
        text += f"; that takes longer than scaleDown.timeout ({pool.scale_down.timeout_seconds:g} s)"
    finding = Finding(Topic.MEMBERSHIP, "DrainingBroker", text, f"broker {node_id}")
    if not moves:
        return Draining((finding,), suspects=frozenset({suspicion}))
    step = JournaledStep(StepKind.MOVE_REPLICAS, node_id, now.fence.holder, now.fence.transitions, ())
    reason = "they are on a broker that has to go"
    return Draining((finding,), MoveReplicas(node_id, moves, step, reason), suspects=frozenset({suspicion}))


@dataclass(frozen=True, slots=True)
class Blocker:
    """What keeps the operator from moving anything, and what a person can do about it (nothing: it may end by
    itself).
    """

    why: str
    remedy: str = ""
    for_ever: bool = False


def _blocked(blocker: Blocker, node_id: int, pool: Group, held: str) -> Finding:
    remedy, for_ever = blocker.remedy, blocker.for_ever
    if pool.scale_down.drain is Drain.FORCE:
        forced = (
            f"wait {pool.scale_down.timeout_seconds:g} s (scaleDown.timeout) until it is forced out with what it holds"
        )
        remedy, for_ever = f"{remedy}, or {forced}" if remedy else forced, False
    text = (
        f"broker {node_id} of pool {pool.name} cannot be removed, because it holds replicas of {held} and {blocker.why}"
    )
    text = f"{remedy}: {text}" if remedy else text
    return Finding(Topic.MEMBERSHIP, "ScaleDownBlocked", text, f"broker {node_id}", stalled=for_ever)


def some(topics: Sequence[str]) -> str:
    """A few words that stay the same while topics come and go."""
    return f"{topics[0]} and others" if len(topics) > 1 else "".join(topics)


def immovable(now: Situation) -> bool:
    """Nothing can be moved, whatever happens by itself."""
    return bool(missing(now))


def missing(now: Situation) -> list[str]:
    """Requests without which nothing moves."""
    needed = {ALTER: "AlterPartitionReassignments", LIST: "ListPartitionReassignments"}
    apis = now.observed.brokers.registry.apis
    return [name for key, name in needed.items() if key not in apis] if apis is not None else []


def _coming(now: Situation) -> set[int]:
    """Brokers that the resource wants and that do not serve yet."""
    wanted = {each for pool in now.cluster.spec.broker_pools for each in pool.node_ids}
    return wanted - _staying(now, -1)


def _blocker(now: Situation, pool: Group) -> Blocker | None:
    apis = now.observed.brokers.registry.apis
    if apis is None:
        return Blocker("no controller said whether it can move them")
    remedy = "delete these topics or raise the pool's replicas again"
    if pool.scale_down.drain is not Drain.FORCE:
        remedy = (
            "delete these topics, raise the pool's replicas again, or give the replicas up (scaleDown.drain: Force)"
        )
    if lacking := missing(now):
        return Blocker(f"the controllers do not serve {' and '.join(lacking)}", remedy, for_ever=True)
    if now.observed.brokers.partitions is None or now.observed.brokers.moving is None:
        return Blocker("where all replicas are, and what is on the move, could not be read")
    return None


def _moves(now: Situation, node_id: int) -> Mapping[tuple[str, int], tuple[int, ...]] | Blocker:
    """The next partitions and the replicas they shall have; or which one has no place."""
    brokers = now.observed.brokers
    assert brokers.partitions is not None
    assert brokers.moving is not None
    stay = _staying(now, node_id)
    mine = [each for each in brokers.partitions if node_id in each.replicas]
    for each in mine:
        if each.key not in brokers.moving and not stay - set(each.replicas):
            why = (
                f"{each.topic}-{each.partition} has {len(each.replicas)} replicas while the brokers that stay and "
                f"serve are {', '.join(map(str, sorted(stay))) or 'none'}"
            )
            remedy = f"lower the replication factor of {each.topic}, or raise the pool's replicas again"
            return Blocker(why, remedy, for_ever=not _coming(now))
    load = Counter(dict.fromkeys(stay, 0))
    load.update(broker for each in brokers.partitions for broker in each.replicas if broker in stay)
    wanted: dict[tuple[str, int], tuple[int, ...]] = {}
    under_way = sum(each.key in brokers.moving for each in mine)
    for each in mine:
        if each.key in brokers.moving or len(wanted) + under_way >= AT_ONCE:
            continue
        successor = _successor(each, node_id, stay, load, brokers)
        load[successor] += 1
        wanted[each.key] = tuple(successor if broker == node_id else broker for broker in each.replicas)
    return wanted


def _successor(
    placement: Placement, leaving: int, stay: Collection[int], load: Mapping[int, int], brokers: Brokers
) -> int:
    others = [each for each in placement.replicas if each != leaving]
    racks = {brokers.racks.get(each) for each in others}
    free = [each for each in stay if each not in others]
    return min(free, key=lambda each: (brokers.racks.get(each) in racks, load[each], each))


def _staying(now: Situation, node_id: int) -> set[int]:
    """Brokers that the resource wants and that serve."""
    wanted = {each for pool in now.cluster.spec.broker_pools for each in pool.node_ids}
    serving = (now.observed.brokers.registered or frozenset()) - (now.observed.brokers.fenced or frozenset())
    return (wanted & serving) - {node_id}
