"""EndTxn, and what ends a transaction for a producer that does not: codes and order of Apache Kafka 4.3.1.

Up to version 4 of the request a producer keeps its epoch; from 5 on each transaction that ends raises it (KIP-890), so
whether a request is a retry is seen from its epoch. The answer leaves when the decision is in the log; markers follow.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.coordinator.transactions import states
from controller_runtime.coordinator.transactions.coordinator import TransactionCoordinator
from controller_runtime.coordinator.transactions.partition import Effects, Told, ToRequest, TransactionPartition
from controller_runtime.coordinator.transactions.states import BUMPING, State, Transaction, TransactionalId
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.end_txn_request import EndTxnRequest
from controller_runtime.protocol.messages.end_txn_response import EndTxnResponse

FIRST_BUMPING_VERSION: Final = 5
_FIRST_WITH_FENCED: Final = 2
_DECIDED: Final = {
    State.PREPARE_COMMIT: True,
    State.COMPLETE_COMMIT: True,
    State.PREPARE_ABORT: False,
    State.COMPLETE_ABORT: False,
}
"""Whether it is, or was, a commit."""


def end_transaction(
    coordinator: TransactionCoordinator, event: RequestReceived, request: EndTxnRequest, now: Instant, wall: WallClock
) -> Effects:
    bumps = event.api_version >= FIRST_BUMPING_VERSION
    found = coordinator.find(request.transactional_id) if request.transactional_id else ErrorCode.INVALID_REQUEST
    if isinstance(found, ErrorCode):
        return _answer(event, found)
    entry = found.known.get(request.transactional_id)
    if entry is None:
        return _answer(event, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    judged = _judge_bumping(entry, request) if bumps else _judge(entry, request)
    if isinstance(judged, ErrorCode):
        return _answer(event, judged, entry.now if bumps else None)
    to = _decided(coordinator, entry.now, commit=request.committed, bumps=bumps, wall=wall)
    if isinstance(to, ErrorCode):
        return _answer(event, to)
    after = states.completed(to, wall)
    body = EndTxnResponse(producer_id=after.producer_id, producer_epoch=after.epoch) if bumps else EndTxnResponse()
    return found.store(entry, to, ToRequest(event.request_id, body, _refused), now, wall)


def _refused(error: ErrorCode) -> EndTxnResponse:
    return EndTxnResponse(error_code=error)


def _answer(event: RequestReceived, error: ErrorCode, known: Transaction | None = None) -> Effects:
    if error is ErrorCode.PRODUCER_FENCED and event.api_version < _FIRST_WITH_FENCED:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    if error or known is None:
        return [Respond(event.request_id, _refused(error))]
    body = EndTxnResponse(producer_id=known.producer_id, producer_epoch=known.epoch)
    return [Respond(event.request_id, body)]


def _judge(entry: TransactionalId, request: EndTxnRequest) -> ErrorCode | None:
    """Of a producer that keeps its epoch. None: it is decided now."""
    one = entry.now
    if request.producer_id != one.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if request.producer_epoch != one.epoch:
        return ErrorCode.PRODUCER_FENCED
    if entry.pending is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if one.state is State.ONGOING:
        return None
    if _DECIDED.get(one.state) is not request.committed:
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.CONCURRENT_TRANSACTIONS if one.state in states.PREPARED else ErrorCode.NONE


def _judge_bumping(entry: TransactionalId, request: EndTxnRequest) -> ErrorCode | None:
    """Of a producer whose epoch grows with each transaction. None: it is decided now."""
    one = entry.now
    if entry.pending is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    has_overflown = (
        request.producer_id == one.previous_producer_id
        and request.producer_epoch == states.EXHAUSTED_EPOCH
        and one.epoch == 0
    )
    if request.producer_id != one.producer_id and not has_overflown:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    is_retry = has_overflown or request.producer_epoch + 1 == one.epoch
    is_current = request.producer_epoch == one.epoch
    if one.state in states.PREPARED:
        is_valid = request.producer_epoch + 1 == one.epoch
    else:
        is_valid = is_current or (is_retry and one.state is not State.EMPTY and one.state is not State.ONGOING)
    if not is_valid:
        return ErrorCode.PRODUCER_FENCED
    if one.state is State.ONGOING:
        return None
    if one.state in states.PREPARED:
        same = _DECIDED[one.state] is request.committed
        return ErrorCode.CONCURRENT_TRANSACTIONS if same else ErrorCode.INVALID_TXN_STATE
    if is_retry:
        return ErrorCode.NONE if _DECIDED.get(one.state) is request.committed else ErrorCode.INVALID_TXN_STATE
    return ErrorCode.INVALID_TXN_STATE if request.committed else None


def _decided(
    coordinator: TransactionCoordinator, one: Transaction, *, commit: bool, bumps: bool, wall: WallClock
) -> Transaction | ErrorCode:
    next_producer_id = states.NO_PRODUCER_ID
    if bumps and one.is_exhausted:
        found = coordinator.topic.next_producer_id()
        if found is None:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        next_producer_id = found
    return states.ending(
        one,
        commit=commit,
        version=BUMPING if bumps else 0,
        next_producer_id=next_producer_id,
        now_ms=wall,
        is_empty=one.state is not State.ONGOING,
    )


def abort_fenced(
    coordinator: TransactionCoordinator,
    partition: TransactionPartition,
    entry: TransactionalId,
    told: Told | None,
    *,
    now: Instant,
    wall: WallClock,
) -> Effects:
    """Abort an open transaction in spite of its producer, which is fenced by a newer epoch."""
    raised = states.fenced(entry)
    bumps = partition.transaction_version >= BUMPING
    next_producer_id = states.NO_PRODUCER_ID
    if bumps and raised.epoch >= states.LAST_EPOCH:
        # There is no epoch left for the marker (KAFKA-20090): the next transaction has another producer.
        found = coordinator.topic.next_producer_id()
        if found is None:
            return _refuse(told, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        next_producer_id = found
    version = BUMPING if bumps else 0
    to = states.ending(raised, commit=False, version=version, next_producer_id=next_producer_id, now_ms=wall)
    return partition.store(entry, to, told, now, wall, fenced_epoch=raised.epoch)


def _refuse(told: Told | None, error: ErrorCode) -> Effects:
    if not isinstance(told, ToRequest):
        return []
    return [Respond(told.request_id, told.refused(error))]
