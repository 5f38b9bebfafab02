"""A leaving broker takes no new replicas: its log directories are cordoned (KIP-1066) before anything is moved off it
or it is stopped, and opened again when it stays after all, or before it is unregistered.

The controllers keep the configuration of a broker that is not registered any more, so that one that comes back with
its id would still be cordoned. Which brokers the operator has cordoned is therefore in the ledger and in the claims'
memory, and nobody else's cordon is ever lifted. A broker has to be asked itself: the controllers do not know which
directories it has, and only open them. One that does not answer is fenced, and controllers place replicas on it last.
Below metadata.version 4.3 nothing can be cordoned: whatever arrives is moved away, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from kraft_operator.actions import CordonBroker, UncordonBroker
from kraft_operator.api.metadata_versions import FEATURE, level_of
from kraft_operator.api.spec import Group
from kraft_operator.ledger import JournaledStep, Ledger, StepKind
from kraft_operator.observed import QuorumState
from kraft_operator.plan.situation import Situation

LEVEL: Final = level_of("4.3-IV0")
UNKNOWN_THERE: Final = (
    "; new topics may still get replicas on it (from metadata.version 4.3 on they do not), which are moved, too"
)


@dataclass(frozen=True, slots=True)
class Cordoning:
    ledger: Ledger
    actions: tuple[CordonBroker | UncordonBroker, ...] = ()

    @property
    def begun(self) -> frozenset[int]:
        """Brokers that are cordoned with these actions, and were not before."""
        return frozenset(each.node_id for each in self.actions if isinstance(each, CordonBroker))


def cordon(now: Situation, ledger: Ledger, leaving: Mapping[int, Group], *, able: bool) -> Cordoning:
    """Of brokers that have to leave, each with its pool. Where replicas cannot be moved (`able`), none is cordoned."""
    if now.observed.quorum.state is not QuorumState.AVAILABLE:
        return Cordoning(ledger)
    staying = tuple(lift(now, each, "it stays") for each in ledger.cordoned if each not in leaving)
    wanted = {
        node_id: pool
        for node_id, pool in leaving.items()
        if able and can_cordon(now, node_id) and now.observed.brokers.cordoned.get(node_id) is False
    }
    closed = tuple(_close(now, node_id, pool) for node_id, pool in wanted.items())
    for step in [*(each.step for each in staying), *(each.step for each in closed)]:
        ledger = ledger.with_step(step)
    known = tuple(sorted({*ledger.cordoned, *wanted}))
    return Cordoning(replace(ledger, cordoned=known), (*staying, *closed))


def can_cordon(now: Situation, node_id: int) -> bool:
    """False also where that is not known."""
    brokers = now.observed.brokers
    level = (brokers.registry.finalized or {}).get(FEATURE, 0)
    return level >= LEVEL and brokers.cordoned.get(node_id) is not None


def is_open(now: Situation, node_id: int) -> bool:
    """Whether replicas can still be placed on this broker, for good: its release cannot cordon it."""
    brokers = now.observed.brokers
    if brokers.cordoned.get(node_id, False) is None:
        return True
    return brokers.registry.finalized is not None and brokers.registry.finalized.get(FEATURE, 0) < LEVEL


def lift(now: Situation, node_id: int, reason: str) -> UncordonBroker:
    return UncordonBroker(node_id, _step(StepKind.UNCORDON, now, node_id), reason)


def opened(ledger: Ledger, done: JournaledStep) -> Ledger:
    """The ledger once the broker of this step is open again."""
    cordoned = tuple(each for each in ledger.cordoned if each != done.node_id)
    removals = tuple(
        replace(each, closed=tuple(n for n in each.closed if n != done.node_id)) for each in ledger.removals
    )
    return replace(ledger, cordoned=cordoned, removals=removals).without_steps([done])


def _close(now: Situation, node_id: int, pool: Group) -> CordonBroker:
    pod = now.observed.pod(node_id)
    port = now.cluster.spec.broker_port(pod.port if pod is not None else 0)
    host = now.cluster.host(pool, node_id)
    return CordonBroker(node_id, host, port, _step(StepKind.CORDON, now, node_id), "it has to go")


def _step(kind: StepKind, now: Situation, node_id: int) -> JournaledStep:
    return JournaledStep(kind, node_id, now.fence.holder, now.fence.transitions)
