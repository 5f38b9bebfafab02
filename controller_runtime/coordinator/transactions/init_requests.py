"""InitProducerId with a transactional id: the producer gets an epoch that fences all before it.

Checks and codes are Apache Kafka 4.3.1's, in its order. An open transaction is aborted first, under an epoch that no
client is given; the client is told to try again.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.coordinator.transactions import ending, states
from controller_runtime.coordinator.transactions.coordinator import TransactionCoordinator
from controller_runtime.coordinator.transactions.partition import Effects, ToRequest, TransactionPartition
from controller_runtime.coordinator.transactions.states import State, Transaction, TransactionalId
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from controller_runtime.values import replace

_FIRST_WITH_FENCED: Final = 4
"""From this version on a fenced producer is told PRODUCER_FENCED."""


def refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)


def init_producer(
    coordinator: TransactionCoordinator,
    event: RequestReceived,
    request: InitProducerIdRequest,
    now: Instant,
    wall: WallClock,
) -> Effects:
    name = request.transactional_id or ""
    found = _partition(coordinator, name, request)
    if isinstance(found, ErrorCode):
        return [Respond(event.request_id, refused(_told(found, event)))]
    entry = found.known.get(name)
    if entry is None:
        producer_id = coordinator.topic.next_producer_id()
        if producer_id is None:
            return [Respond(event.request_id, refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))]
        timeout_ms = states.NO_TIMEOUT_MS if request.enable2_pc else request.transaction_timeout_ms
        entry = found.known[name] = TransactionalId(name, Transaction(producer_id, timeout_ms, wall))
    if entry.pending is None and entry.now.state is State.ONGOING and _is_valid(entry.now, request):
        body = refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        told = ToRequest(event.request_id, body, refused)
        return ending.abort_fenced(coordinator, found, entry, told, now=now, wall=wall)
    to = _next(coordinator, entry, request, wall)
    if isinstance(to, ErrorCode):
        return [Respond(event.request_id, refused(_told(to, event)))]
    body = InitProducerIdResponse(producer_id=to.producer_id, producer_epoch=to.epoch)
    return found.store(entry, to, ToRequest(event.request_id, body, refused), now, wall)


def _told(error: ErrorCode, event: RequestReceived) -> ErrorCode:
    is_old = event.api_version < _FIRST_WITH_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_old and error is ErrorCode.PRODUCER_FENCED else error


def _partition(
    coordinator: TransactionCoordinator, name: str, request: InitProducerIdRequest
) -> TransactionPartition | ErrorCode:
    settings = coordinator.settings
    if not name:
        return ErrorCode.INVALID_REQUEST
    if request.enable2_pc and not settings.two_phase_commit:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if request.keep_prepared_txn:
        return ErrorCode.UNSUPPORTED_VERSION
    if not request.enable2_pc and not 0 < request.transaction_timeout_ms <= settings.max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return coordinator.find(name)


def _is_valid(one: Transaction, request: InitProducerIdRequest) -> bool:
    """The producer that it names, if any, is the one that is known, or the one before it whose epochs are used up."""
    if request.producer_id == states.NO_PRODUCER_ID or one.epoch == states.NO_EPOCH:
        return True
    before = request.producer_id == one.previous_producer_id and request.producer_epoch >= states.EXHAUSTED_EPOCH
    return request.producer_id == one.producer_id or before


def _next(
    coordinator: TransactionCoordinator, entry: TransactionalId, request: InitProducerIdRequest, wall: WallClock
) -> Transaction | ErrorCode:
    one = entry.now
    if entry.pending is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if not _is_valid(one, request):
        return ErrorCode.PRODUCER_FENCED
    if one.state not in states.OVER:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    timeout_ms = states.NO_TIMEOUT_MS if request.enable2_pc else request.transaction_timeout_ms
    names_itself = request.producer_id != states.NO_PRODUCER_ID
    if one.is_exhausted and (not names_itself or request.producer_epoch == one.epoch):
        producer_id = coordinator.topic.next_producer_id()
        if producer_id is None:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return states.with_next_producer(one, producer_id, timeout_ms, wall, keeps_last=names_itself)
    found = states.with_next_epoch(one, timeout_ms, request.producer_epoch if names_itself else None, wall)
    # What began as version 2 goes on as the producer says, whoever it is.
    return found if isinstance(found, ErrorCode) else replace(found, version=one.version)
