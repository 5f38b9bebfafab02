"""AddPartitionsToTxn and AddOffsetsToTxn: which partitions a transaction writes to; and whether it does.

Up to version 3 a producer asks, all or nothing; from 4 on brokers ask for many transactions at once, to add partitions
or only to know whether they were added (KIP-890).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.ports import TOPIC as OFFSETS
from controller_runtime.coordinator.transactions import states
from controller_runtime.coordinator.transactions.coordinator import TransactionCoordinator
from controller_runtime.coordinator.transactions.partition import (
    Effect,
    Effects,
    Gathering,
    ToGathering,
    ToRequest,
    TransactionPartition,
    settle,
)
from controller_runtime.coordinator.transactions.states import BUMPING, Place, State, TransactionalId
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from controller_runtime.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from controller_runtime.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from controller_runtime.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from controller_runtime.values import dataclass, field

FIRST_BATCHED: Final = 4
FIRST_BUMPING_VERSION: Final = 5
_FIRST_WITH_FENCED: Final = 2
_MISSING: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@dataclass(slots=True)
class Batched:
    """A request whose transactions are decided one by one, and the codes of those partitions that have their own."""

    event: RequestReceived
    transactions: Sequence[AddPartitionsToTxnTransaction]
    gathering: Gathering
    own: dict[tuple[int, Place], ErrorCode] = field(default_factory=dict)


def add_partitions(
    coordinator: TransactionCoordinator,
    event: RequestReceived,
    request: AddPartitionsToTxnRequest,
    now: Instant,
    wall: WallClock,
    keep: Callable[[Batched], None],
) -> InPieces[Effect, Effects]:
    """`keep`: its answer is made (`answer_of`) when the gathering is whole."""
    transactions = _transactions(event, request)
    batched = Batched(event, transactions, Gathering([ErrorCode.NONE] * len(transactions), len(transactions) + 1))
    keep(batched)
    for place, one in enumerate(transactions):
        places = yield from _places(coordinator, batched, place, one)
        yield from _add_one(coordinator, batched, place, one, places, now=now, wall=wall)
    gathering = batched.gathering
    gathering.codes.append(ErrorCode.NONE)
    gathering.is_whole = True
    return settle(gathering, event.request_id, len(transactions), ErrorCode.NONE)


def _transactions(
    event: RequestReceived, request: AddPartitionsToTxnRequest
) -> tuple[AddPartitionsToTxnTransaction, ...]:
    if event.api_version >= FIRST_BATCHED:
        return request.transactions
    return (
        AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        ),
    )


def _places(
    coordinator: TransactionCoordinator, batched: Batched, place: int, one: AddPartitionsToTxnTransaction
) -> InPieces[Effect, list[Place]]:
    """All of its partitions; those that are not there get their code."""
    topics = coordinator.topic.image.topics
    found: list[Place] = []
    for topic in one.topics:
        known = topics.named(topic.name)
        for index in topic.partitions:
            yield None
            at = (topic.name, index)
            found.append(at)
            if known is None or not 0 <= index < known.partition_count:
                batched.own[place, at] = _MISSING
    return found


def _add_one(
    coordinator: TransactionCoordinator,
    batched: Batched,
    place: int,
    one: AddPartitionsToTxnTransaction,
    places: Sequence[Place],
    *,
    now: Instant,
    wall: WallClock,
) -> Effects:
    gathering, request_id = batched.gathering, batched.event.request_id
    if any((place, at) in batched.own for at in places):
        for at in places:
            batched.own.setdefault((place, at), ErrorCode.OPERATION_NOT_ATTEMPTED)
        return settle(gathering, request_id, place, ErrorCode.NONE)
    found = _known(coordinator, one.transactional_id)
    if isinstance(found, ErrorCode):
        return settle(gathering, request_id, place, found)
    partition, entry = found
    if one.verify_only:
        error = _verify(entry, one, places, batched, place)
        return settle(gathering, request_id, place, error)
    version = BUMPING if batched.event.api_version >= FIRST_BUMPING_VERSION else 0
    told = ToGathering(gathering, request_id, place)
    judged = _judge(entry, one.producer_id, one.producer_epoch, places)
    if judged is not None:
        return settle(gathering, request_id, place, judged)
    return partition.store(entry, states.with_partitions(entry.now, places, wall, version), told, now, wall)


def _known(coordinator: TransactionCoordinator, name: str) -> tuple[TransactionPartition, TransactionalId] | ErrorCode:
    if not name:
        return ErrorCode.INVALID_REQUEST
    found = coordinator.find(name)
    if isinstance(found, ErrorCode):
        return found
    entry = found.known.get(name)
    return ErrorCode.INVALID_PRODUCER_ID_MAPPING if entry is None else (found, entry)


def _judge(entry: TransactionalId, producer_id: int, epoch: int, places: Sequence[Place]) -> ErrorCode | None:
    """None: they are to be added."""
    one = entry.now
    if entry.pending is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if one.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if one.epoch != epoch:
        return ErrorCode.PRODUCER_FENCED
    if one.state in states.PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if one.state is State.ONGOING and one.partitions.issuperset(places):
        return ErrorCode.NONE
    return None


def _verify(
    entry: TransactionalId,
    one: AddPartitionsToTxnTransaction,
    places: Sequence[Place],
    batched: Batched,
    place: int,
) -> ErrorCode:
    known = entry.now
    if known.producer_id != one.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.epoch != one.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if known.state in states.PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    for at in places:
        if at not in known.partitions:
            batched.own[place, at] = ErrorCode.TRANSACTION_ABORTABLE
    return ErrorCode.NONE


def answer_of(batched: Batched) -> InPieces[Effect, Effects]:
    results: list[AddPartitionsToTxnResult] = []
    version = batched.event.api_version
    for place, one in enumerate(batched.transactions):
        code = batched.gathering.codes[place]
        if code is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_FENCED:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        topics: list[AddPartitionsToTxnTopicResult] = []
        for topic in one.topics:
            topics.append((yield from _topic_result(batched, place, topic, code)))
        results.append(AddPartitionsToTxnResult(transactional_id=one.transactional_id, topic_results=tuple(topics)))
    if version >= FIRST_BATCHED:
        body = AddPartitionsToTxnResponse(results_by_transaction=tuple(results))
    else:
        body = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)
    return [Respond(batched.event.request_id, body)]


def _topic_result(
    batched: Batched, place: int, topic: AddPartitionsToTxnTopic, code: ErrorCode
) -> InPieces[Effect, AddPartitionsToTxnTopicResult]:
    results: list[AddPartitionsToTxnPartitionResult] = []
    for index in topic.partitions:
        own = batched.own.get((place, (topic.name, index)), code)
        results.append(AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=own))
        yield None
    return AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=tuple(results))


def add_offsets(
    coordinator: TransactionCoordinator,
    event: RequestReceived,
    request: AddOffsetsToTxnRequest,
    now: Instant,
    wall: WallClock,
) -> Effects:
    """The partition of `__consumer_offsets` that has the group's offsets."""
    error: ErrorCode | None
    found = _known(coordinator, request.transactional_id)
    if isinstance(found, ErrorCode):
        error = found
    else:
        partition, entry = found
        offsets = coordinator.topic.image.topics.named(OFFSETS)
        if offsets is None:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        else:
            places = [(OFFSETS, partition_for(request.group_id, offsets.partition_count))]
            error = _judge(entry, request.producer_id, request.producer_epoch, places)
            if error is None:
                told = ToRequest(event.request_id, AddOffsetsToTxnResponse(), _offsets_refused)
                to = states.with_partitions(entry.now, places, wall, 0)
                return partition.store(entry, to, told, now, wall)
    if error is ErrorCode.PRODUCER_FENCED and event.api_version < _FIRST_WITH_FENCED:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return [Respond(event.request_id, _offsets_refused(error))]


def _offsets_refused(error: ErrorCode) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=error)
