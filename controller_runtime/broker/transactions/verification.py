"""Whether a producer's transaction is open, asked of its coordinator before the first batch of it is taken (KIP-890).

One request for each broker that coordinates is on its way at a time; what comes meanwhile goes with the next one. Of
two questions about the same transactional id only the newer is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.peers import Peers
from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.transactions.ports import TOPIC
from controller_runtime.coordinator.transactions.states import Place
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import CallId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from controller_runtime.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

Verified = Callable[["dict[Place, ErrorCode]"], None]
"""Gets the code of each partition."""
_MOVED: Final = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    producer_id: int
    epoch: int
    places: tuple[Place, ...]
    adds: bool
    """They are added if they are not in the transaction: its version is 2."""
    told: Verified


class Verifier:
    def __init__(self, peers: Peers, later: Callable[[list[BrokerEffect]], None]) -> None:
        """`later`: gets what follows from an answer of this broker itself, which comes while others are performed."""
        self._peers = peers
        self._later = later
        self._waiting: dict[NodeId, dict[str, Question]] = {}
        self._asked: dict[CallId, tuple[NodeId, list[Question]]] = {}
        self._busy: set[NodeId] = set()

    def ask(self, image: MetadataImage, question: Question) -> list[BrokerEffect]:
        node = coordinator_of(image, question.name)
        if node is None:
            return self._tell([question], ErrorCode.COORDINATOR_NOT_AVAILABLE)
        waiting = self._waiting.setdefault(node, {})
        older = waiting.get(question.name)
        if older is not None and older.epoch > question.epoch:
            return self._tell([question], ErrorCode.INVALID_PRODUCER_EPOCH)
        waiting[question.name] = question
        if older is not None:
            is_fenced = older.epoch < question.epoch
            self._tell([older], ErrorCode.INVALID_PRODUCER_EPOCH if is_fenced else ErrorCode.NETWORK_EXCEPTION)
        return self._send(node)

    def owns(self, call_id: CallId) -> bool:
        return call_id in self._asked

    def on_response(self, call_id: CallId, body: Message) -> list[BrokerEffect]:
        node, questions = self._asked.pop(call_id)
        return self._answered(node, questions, body)

    def on_failure(self, call_id: CallId) -> list[BrokerEffect]:
        node, questions = self._asked.pop(call_id)
        self._busy.discard(node)
        self._tell(questions, ErrorCode.NETWORK_EXCEPTION)
        return self._send(node)

    def _send(self, node: NodeId) -> list[BrokerEffect]:
        questions = list(self._waiting.get(node, {}).values())
        if node in self._busy or not questions:
            return []
        del self._waiting[node]
        self._busy.add(node)
        body = AddPartitionsToTxnRequest(transactions=tuple(map(_transaction, questions)))
        called = self._peers.call(
            node, "transaction-verification", body, lambda answer: self._later(self._answered(node, questions, answer))
        )
        if called is None:
            self._busy.discard(node)
            return self._tell(questions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        call_id, effects = called
        if call_id is not None:
            self._asked[call_id] = node, questions
        return effects

    def _answered(self, node: NodeId, questions: list[Question], body: Message) -> list[BrokerEffect]:
        assert isinstance(body, AddPartitionsToTxnResponse), "transactions were asked for"
        self._busy.discard(node)
        found = {
            one.transactional_id: {
                (topic.name, each.partition_index): ErrorCode(each.partition_error_code)
                for topic in one.topic_results
                for each in topic.results_by_partition
            }
            for one in body.results_by_transaction
        }
        for question in questions:
            if body.error_code:
                self._tell([question], ErrorCode(body.error_code))
            else:
                codes = found.get(question.name, {})
                question.told({at: codes.get(at, ErrorCode.UNKNOWN_SERVER_ERROR) for at in question.places})
        return self._send(node)

    def _tell(self, questions: Iterable[Question], error: ErrorCode) -> list[BrokerEffect]:
        for question in questions:
            question.told(dict.fromkeys(question.places, error))
        return []


def coordinator_of(image: MetadataImage, name: str) -> NodeId | None:
    topic = image.topics.named(TOPIC)
    leader = None if topic is None else topic.leader(partition_for(name, topic.partition_count))
    return None if leader is None or leader < 0 else NodeId(leader)


def _transaction(question: Question) -> AddPartitionsToTxnTransaction:
    topics: dict[str, list[int]] = {}
    for topic, index in question.places:
        topics.setdefault(topic, []).append(index)
    return AddPartitionsToTxnTransaction(
        transactional_id=question.name,
        producer_id=question.producer_id,
        producer_epoch=question.epoch,
        verify_only=not question.adds,
        topics=tuple(AddPartitionsToTxnTopic(name=name, partitions=tuple(ids)) for name, ids in topics.items()),
    )


def translated(error: ErrorCode, *, knows_concurrent: bool, knows_abortable: bool) -> ErrorCode:
    """What a client is told of it; old ones know fewer codes."""
    if error in _MOVED:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if error is ErrorCode.CONCURRENT_TRANSACTIONS:
        return error if knows_concurrent else ErrorCode.NOT_ENOUGH_REPLICAS
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE:
        return error if knows_abortable else ErrorCode.INVALID_TXN_STATE
    return ErrorCode.INVALID_TXN_STATE if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED else error
