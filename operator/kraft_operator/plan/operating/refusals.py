"""Why an operation does not start: for ever, or for now. Asked again right before what cannot be taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kraft_operator.api.combined import broker_ids, is_combined
from kraft_operator.api.roles import controls
from kraft_operator.api.spec import LifecycleState, RolloutStrategy
from kraft_operator.ledger import Formation, Ledger
from kraft_operator.observed import QuorumState
from kraft_operator.operations.operation import Operation, OperationType
from kraft_operator.plan import headroom
from kraft_operator.plan.disks.copies import restored
from kraft_operator.plan.giving_up import named, only_copies
from kraft_operator.plan.situation import Situation


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an operation does not start: for ever (`final`), or for now."""

    reason: str
    message: str
    final: bool = True


_EMPTIES: Final = (
    "it makes the disks of the other nodes anew, and on those of combined nodes there are partitions, too. Put the "
    "volumes back; `kubectl kraft recover --stand-alone` says what their copies of the log hold"
)
_BY_LOSS: Final = (
    "delete the claim and the pod of the node instead, when its partitions are in sync elsewhere: a combined node "
    "(controllers.role) that lost its disk is replaced by itself, as voter and as broker in one plan"
)
_OF_COMBINED: Final = {
    OperationType.RECOVER_QUORUM: f"a quorum of combined nodes (controllers.role) cannot be recovered: {_EMPTIES}",
    OperationType.RESTORE: f"copies of combined nodes (controllers.role) cannot be restored: {_EMPTIES}",
    OperationType.REPLACE_VOTER: _BY_LOSS,
    OperationType.REPLACE_BROKER: _BY_LOSS,
}
"""What is not done to combined nodes, and what to do instead."""


def refusal_of(asked: Operation, now: Situation) -> Refusal | None:
    ledger = now.ledger
    if asked.problem is not None or asked.type is None:
        return Refusal("OperationInvalid", asked.problem or "its type is not known to this operator")
    if ledger is None or ledger.formation is not Formation.FORMED:
        return Refusal("NoQuorumYet", f"cluster {now.cluster.name} has not formed its first quorum yet", final=False)
    if now.cluster.spec.lifecycle is not LifecycleState.RUNNING:
        state = now.cluster.spec.lifecycle.value
        return Refusal("NotRunning", f"spec.lifecycle.state of cluster {now.cluster.name} is {state}", final=False)
    if is_combined(now.cluster.spec) and (instead := _OF_COMBINED.get(asked.type)):
        return Refusal("NodesAreCombined", instead)
    match asked.type:
        case OperationType.ROLLING_RESTART:
            return _refused_restart(now)
        case OperationType.UNREGISTER_NODE:
            return refused_unregister(asked.node_id or 0, now, ledger)
        case OperationType.REPLACE_VOTER:
            return _refused_replacement(asked.node_id or 0, now, ledger)
        case OperationType.REPLACE_BROKER:
            return _refused_broker(asked.node_id or 0, now, ledger)
        case OperationType.RECOVER_QUORUM:
            return _refused_recovery(now, ledger)
        case OperationType.RESTORE:
            text = "nothing to compare: its volume claims did not come out of a backup, or its controllers run already"
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
    if now.cluster.spec.controllers.storage.ephemeral:
        text = "delete the KRaftCluster and create it anew: the controllers' disks are Ephemeral, no claim has a copy"
        return Refusal("StorageEphemeral", text)
    size = len(ledger.controllers or ledger.initial_controllers)
    able = [each for each in now.observed.pods if controls(each) and each.main_started]
    if quorum.state is not QuorumState.UNAVAILABLE and len(able) > size // 2:
        text = (
            f"{len(able)} of {size} controllers run: they may have a leader that could not be asked ({quorum.detail})"
        )
        return Refusal("QuorumUnproven", text, final=False)
    if now.observed.witnesses is None:
        return Refusal("Waiting", "the nodes that still run are asked first", final=False)
    return None


def _refused_restart(now: Situation) -> Refusal | None:
    if now.cluster.spec.rollout.strategy is RolloutStrategy.ON_DELETE:
        text = "delete the pods one at a time instead: spec.rollout.strategy is OnDelete, so the operator restarts none"
        return Refusal("RollsByHand", text)
    return None


def refused_unregister(node_id: int, now: Situation, ledger: Ledger) -> Refusal | None:
    """Not wanted, not there, not serving, holding nothing: then nobody misses its registration."""
    for group in now.cluster.spec.groups:
        if node_id in group.node_ids:
            return Refusal("NodeWanted", f"node {node_id} belongs to {group.name}, which the resource asks for")
    if node_id in (ledger.controllers or ledger.initial_controllers) or now.observed.quorum.voter(node_id) is not None:
        return Refusal("NodeIsController", f"node {node_id} is a controller; Kafka registers brokers in this way only")
    node_set = now.observed.node_set(node_id)
    if now.observed.pod(node_id) is not None or (node_set is not None and node_set.replicas):
        return Refusal("NodeRuns", f"lower the replicas of its pool instead: node {node_id} has a pod")
    brokers = now.observed.brokers
    if brokers.registered is None or brokers.fenced is None or brokers.replicas is None:
        return Refusal("BrokersUnknown", "no broker could be asked who is registered and who holds what", final=False)
    if node_id not in brokers.registered:
        return Refusal("NotRegistered", f"no broker {node_id} is registered")
    if node_id not in brokers.fenced:
        text = f"broker {node_id} is not fenced: it serves somewhere, or has stopped a moment ago"
        return Refusal("BrokerServes", text, final=False)
    if held := brokers.replicas.get(node_id, ()):
        return Refusal(
            "BrokerHoldsReplicas", f"move its replicas of {', '.join(held)} first: broker {node_id} holds them"
        )
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
    brokers = broker_ids(now.cluster.spec)
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
        text = (
            f"add another broker first, which takes its replicas: broker {node_id} is the only one and its disk whole"
        )
        return Refusal("LastBroker", text)
    if whole and now.observed.brokers.partitions is None:
        return Refusal("BrokersUnknown", f"no broker could be asked what broker {node_id} holds", final=False)
    if whole and (only := only_copies(now, node_id)):
        text = f"have {named(only)} copied or moved first: the disk is whole, and no other replica of them is in sync"
        return Refusal("OnlyReplicas", text, final=False)
    return None
