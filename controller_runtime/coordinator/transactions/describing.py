"""DescribeTransactions and ListTransactions: what this node coordinates."""

from __future__ import annotations

from typing import Final

from controller_runtime.coordinator.patterns.matching import Pattern
from controller_runtime.coordinator.patterns.syntax import BadPattern
from controller_runtime.coordinator.transactions.coordinator import TransactionCoordinator
from controller_runtime.coordinator.transactions.partition import Effect, Effects
from controller_runtime.coordinator.transactions.states import State, TransactionalId
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from controller_runtime.protocol.messages.describe_transactions_response import (
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from controller_runtime.protocol.messages.list_transactions_request import ListTransactionsRequest
from controller_runtime.protocol.messages.list_transactions_response import ListTransactionsResponse
from controller_runtime.protocol.messages.list_transactions_response import TransactionState as ListedTransaction

_BY_WORDS: Final = {state.words: state for state in State}


def describe_transactions(
    coordinator: TransactionCoordinator,
    event: RequestReceived,
    request: DescribeTransactionsRequest,
    _: Instant,
    __: WallClock,
) -> InPieces[Effect, Effects]:
    answers: list[TransactionState] = []
    for name in request.transactional_ids:
        answers.append(_described(coordinator, name))
        yield None
    return [Respond(event.request_id, DescribeTransactionsResponse(transaction_states=tuple(answers)))]


def _described(coordinator: TransactionCoordinator, name: str) -> TransactionState:
    found = coordinator.find(name) if name else ErrorCode.INVALID_REQUEST
    if isinstance(found, ErrorCode):
        return TransactionState(transactional_id=name, error_code=found)
    entry = found.known.get(name)
    if entry is None or entry.pending is State.DEAD:
        return TransactionState(transactional_id=name, error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    one = entry.now
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(one.partitions):
        topics.setdefault(topic, []).append(index)
    return TransactionState(
        transactional_id=name,
        transaction_state=one.state.words,
        transaction_timeout_ms=one.timeout_ms,
        transaction_start_time_ms=one.started_ms,
        producer_id=one.producer_id,
        producer_epoch=one.epoch,
        topics=tuple(TopicData(topic=topic, partitions=tuple(indexes)) for topic, indexes in topics.items()),
    )


def list_transactions(
    coordinator: TransactionCoordinator,
    event: RequestReceived,
    request: ListTransactionsRequest,
    _: Instant,
    wall: WallClock,
) -> InPieces[Effect, Effects]:
    unknown = tuple(words for words in request.state_filters if words not in _BY_WORDS)
    if any(not each.is_loaded and not each.fault for each in coordinator.partitions.values()):
        body = ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return [Respond(event.request_id, body)]
    try:
        text = request.transactional_id_pattern
        pattern = Pattern(text) if text else None
    except BadPattern:
        body = ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
        return [Respond(event.request_id, body)]
    wanted = {_BY_WORDS[words] for words in request.state_filters if words in _BY_WORDS}
    found: list[ListedTransaction] = []
    for partition in list(coordinator.partitions.values()):
        for entry in list(partition.known.values()):
            yield None
            if _is_wanted(entry, request, wanted, wall) and (pattern is None or pattern.matches(entry.name)):
                one = entry.now
                found.append(
                    ListedTransaction(
                        transactional_id=entry.name, producer_id=one.producer_id, transaction_state=one.state.words
                    )
                )
    body = ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=tuple(found))
    return [Respond(event.request_id, body)]


def _is_wanted(entry: TransactionalId, request: ListTransactionsRequest, states: set[State], wall: WallClock) -> bool:
    one = entry.now
    if entry.pending is State.DEAD:
        return False
    if request.producer_id_filters and one.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and one.state not in states:
        return False
    return request.duration_filter < 0 or wall - one.started_ms > request.duration_filter
