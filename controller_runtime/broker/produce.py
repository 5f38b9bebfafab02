"""Produce: decide every batch at once, answer when the log holds them all.

A request waits in up to three purgatories. For a partition whose log is still being opened: refusing it could let the
producer's next batch overtake it. Then until the disk has all its batches; with acks=1 that is enough, with acks=0
nobody waits. With acks=all at last until the high watermark of each partition is behind its batch, no longer than the
client's `timeout_ms`. A partition that goes away meanwhile is answered as not led here, beside the offset that the
batch got: the producer asks for new metadata and retries, and its sequence numbers find the duplicate.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.batch_checks import check_frames
from controller_runtime.broker.cluster_view import INTERNAL_TOPICS
from controller_runtime.broker.effects import AppendRecords, BrokerEffect, FinishWithoutReply
from controller_runtime.broker.leader import Appended, Leader
from controller_runtime.broker.leader_hints import FIRST_VERSION_OF_PRODUCE, LeaderHints, misleads
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering, LongAnswers
from controller_runtime.broker.produce_answers import refusal, start_said, topic_answer
from controller_runtime.broker.produce_requests import NOTHING, Brought, each_once, fault_of
from controller_runtime.broker.purgatory import ANY_LEVEL, Purgatory, Ticket
from controller_runtime.identifiers import Instant, PartitionId, WallClock
from controller_runtime.parts.effects import CloseConnection, Respond
from controller_runtime.parts.events import ConnectionId, RequestReceived
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
)
from controller_runtime.values import dataclass, field, replace

NO_ACKS: Final = 0
ALL_ACKS: Final = -1
_ADMIN_CLIENT: Final = "__admin_client"
_VALID_ACKS: Final = (ALL_ACKS, NO_ACKS, 1)
_UNKNOWN: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@dataclass(frozen=True, slots=True)
class _Early:
    """A request that came before the log of one of its partitions is open."""

    event: RequestReceived
    request: ProduceRequest
    brought: Brought
    keys: tuple[PartitionId, ...]
    """All its partitions: no later request for one of them may overtake it."""


@dataclass(frozen=True, slots=True)
class _Wait:
    """The partition at this place of the answer has to come this far."""

    place: tuple[int, int]
    key: PartitionId
    offset: int
    leader: Leader
    """As which this broker decided it."""


@dataclass(slots=True)
class _Attempt:
    """A request while its batches are decided."""

    version: int
    acks: int
    wall: WallClock
    client_id: str | None
    brought: Brought = NOTHING
    effects: list[BrokerEffect] = field(default_factory=list)
    waits: list[_Wait] = field(default_factory=list)


@dataclass(slots=True)
class _Parked:
    """An answer that waits, first for the disk, then perhaps for other replicas."""

    event: RequestReceived
    request: ProduceRequest
    response: ProduceResponse
    waits: list[_Wait]
    open: int = 0
    """Partitions that have not come so far."""
    is_written: bool = False
    """The disk has it all."""
    failed: dict[tuple[int, int], ErrorCode] = field(default_factory=dict)
    """By place: what became of it while it waited."""


class ProduceHandler:
    def __init__(self, partitions: LocalPartitions, faults: FailedRequests, long: LongAnswers) -> None:
        self._partitions = partitions
        self._faults = faults
        self._long = long
        self._early: Purgatory[PartitionId, _Early] = Purgatory()
        self._writing: Purgatory[PartitionId, _Parked] = Purgatory()
        self._replicating: Purgatory[PartitionId, _Parked] = Purgatory()

    def on_request(
        self, event: RequestReceived, request: ProduceRequest, now: Instant, wall: WallClock, brought: Brought = NOTHING
    ) -> list[BrokerEffect]:
        return self._begin(event, request, self._serve(event, request, now, wall, brought))

    def refuse(self, event: RequestReceived, request: ProduceRequest, why: BatchRefusal) -> list[BrokerEffect]:
        return [_refuse(event, request, why)]

    def _begin(self, event: RequestReceived, request: ProduceRequest, work: Answering) -> list[BrokerEffect]:
        """Who wants no answer may hang up when all is sent: its records are taken nevertheless."""
        return self._long.begin(event, work, outlives=request.acks == NO_ACKS)

    def _serve(
        self, event: RequestReceived, request: ProduceRequest, now: Instant, wall: WallClock, brought: Brought
    ) -> Answering:
        fault = yield from fault_of(request)
        if fault is not None:
            return [_refuse(event, request, fault)]
        if self._partitions.may_open or len(self._early):
            keys = self._keys(request)
            if any(self._partitions.is_opening(key) or self._early.first(key) is not None for key in keys):
                self._park_early(_Early(event, request, brought, keys), now)
                return []
        return (yield from self._append_all(event, request, now, wall, brought))

    def _park_early(self, early: _Early, now: Instant) -> None:
        event, request = early.event, early.request
        connection_id = None if request.acks == NO_ACKS else event.connection.connection_id
        self._early.add(early, [(key, 0) for key in early.keys], _deadline(request, now), connection_id)

    def _keys(self, request: ProduceRequest) -> tuple[PartitionId, ...]:
        named = (
            self._partitions.key(topic.name, topic.topic_id, data.index)
            for topic in request.topic_data
            for data in topic.partition_data
        )
        return tuple(dict.fromkeys(key for key in named if key is not None))

    def _append_all(
        self, event: RequestReceived, request: ProduceRequest, now: Instant, wall: WallClock, brought: Brought
    ) -> Answering:
        attempt = _Attempt(event.api_version, request.acks, wall, event.client_id, brought)
        topics = []
        for topic_place, (topic, wanted) in enumerate(each_once(request)):
            answers: list[PartitionProduceResponse] = []
            for place, data in enumerate(wanted):
                answers.append(self._try(attempt, (topic_place, place), topic, data))
                decided, attempt.effects = attempt.effects, []
                yield from decided
                yield None
            topics.append(topic_answer(topic, answers))
        if request.acks == NO_ACKS:
            failed = any(each.error_code for topic in topics for each in topic.partition_responses)
            # Nobody reads an answer: as in Kafka, losing the connection is how such a producer learns of an error.
            end = CloseConnection(event.connection.connection_id) if failed else FinishWithoutReply(event.request_id)
            return [end]
        parked = _Parked(event, request, ProduceResponse(responses=tuple(topics)), attempt.waits)
        return self._wait_for_disk(parked, now)

    def _try(
        self, attempt: _Attempt, place: tuple[int, int], topic: TopicProduceData, data: PartitionProduceData
    ) -> PartitionProduceResponse:
        """What fails for one partition fails for it alone: what others were given offsets for has to be written."""
        try:
            return self._append(attempt, place, topic, data)
        except Exception as error:
            attempt.effects.append(self._faults.count(ProduceRequest.KEY, "served", error))
            return refusal(data.index, BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR))

    def _append(
        self, attempt: _Attempt, place: tuple[int, int], topic: TopicProduceData, data: PartitionProduceData
    ) -> PartitionProduceResponse:
        found = self._find(attempt, topic, data)
        if isinstance(found, BatchRefusal):
            return refusal(data.index, found)
        log, brought = found.log, attempt.brought
        if log.key in brought.refused:
            return refusal(data.index, brought.refused[log.key])
        rules, verified = self._partitions.rules(log.topic), brought.verified.get(log.key)
        match found.append(data.records, rules, attempt.wall, attempt.version, verified=verified):
            case BatchRefusal() as refused:
                return refusal(data.index, refused, start_said(refused, log.start_offset))
            case Appended(base_offset, wait_for, batches, append_time):
                attempt.waits.append(_Wait(place, log.key, wait_for, found))
                if batches:
                    attempt.effects.append(AppendRecords(log.key, wait_for, batches))
                return PartitionProduceResponse(
                    index=data.index,
                    base_offset=base_offset,
                    log_append_time_ms=append_time,
                    log_start_offset=log.start_offset,
                )

    def _find(self, attempt: _Attempt, topic: TopicProduceData, data: PartitionProduceData) -> Leader | BatchRefusal:
        """In Kafka's order: an unknown partition, bytes that are no batch, acks that mean nothing, and only then who
        leads.
        """
        found = self._partitions.find(topic.name, topic.topic_id, data.index)
        if found in _UNKNOWN:
            return BatchRefusal(found)
        acks = attempt.acks
        too_few = acks == ALL_ACKS and isinstance(found, Leader) and self._partitions.has_too_few(found)
        is_inner = self._is_closed_to(attempt.client_id, topic)
        if isinstance(found, Leader) and acks in _VALID_ACKS and not (too_few or is_inner):
            return found  # Its batch is about to be looked at.
        frames = check_frames(data.records or b"", attempt.version)
        if isinstance(frames, BatchRefusal):
            return frames
        if acks not in _VALID_ACKS:
            return BatchRefusal(ErrorCode.INVALID_REQUIRED_ACKS)
        if is_inner:
            return BatchRefusal(ErrorCode.INVALID_TOPIC_EXCEPTION)
        return BatchRefusal(ErrorCode.NOT_ENOUGH_REPLICAS if isinstance(found, Leader) else found)

    def _is_closed_to(self, client_id: str | None, topic: TopicProduceData) -> bool:
        """Coordinators alone write to the topics that they keep; as in Kafka its admin client may mend them."""
        named = None if topic.name else self._partitions.image.topics.get(topic.topic_id)
        return (topic.name if named is None else named.name) in INTERNAL_TOPICS and client_id != _ADMIN_CLIENT

    # What happens meanwhile.

    def next_deadline(self) -> Instant | None:
        both = (self._early.next_deadline(), self._replicating.next_deadline())
        return min((at for at in both if at is not None), default=None)

    def on_time(self, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        first = self.next_deadline()
        if first is None or first > now:
            return []
        late = [self._time_out(parked) for parked in self._replicating.expired(now)]
        early = self._early.expired(now)
        refused = [_refuse(each.event, each.request, BatchRefusal(ErrorCode.REQUEST_TIMED_OUT)) for each in early]
        return [*late, *refused, *self._go_on([key for each in early for key in each.keys], now, wall)]

    def on_closed(self, connection_id: ConnectionId, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        """Nobody waits any more. What was decided is written, what was not never is."""
        self._writing.closed(connection_id)
        self._replicating.closed(connection_id)
        early = self._early.closed(connection_id)
        return self._go_on([key for each in early for key in each.keys], now, wall)

    def on_written(self, leader: Leader, now: Instant) -> list[BrokerEffect]:
        log = leader.log
        out = self._come_so_far(self._writing.reached(log.key, log.written_offset), now)
        return [*out, *self._come_so_far(self._replicating.reached(log.key, log.high_watermark), now)]

    def on_changed(self, key: PartitionId, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        """It is opened, or it is not led here any more."""
        out: list[BrokerEffect] = []
        if self._partitions.led(key) is None:
            why = self._partitions.why_not_led(key)
            waiting = [*self._writing.reached(key, ANY_LEVEL), *self._replicating.reached(key, ANY_LEVEL)]
            for _, parked in waiting:
                parked.failed.update((wait.place, why) for wait in parked.waits if wait.key == key)
            out = self._come_so_far(waiting, now)
        return [*out, *self._go_on([key], now, wall)]

    # Before the log is open.

    def _go_on(self, keys: list[PartitionId], now: Instant, wall: WallClock) -> list[BrokerEffect]:
        """Serve who need not wait any more for one of these partitions, and then who waited behind them."""
        out: list[BrokerEffect] = []
        to_see = deque(keys)
        while to_see:
            first = self._early.first(to_see.popleft())
            if first is None or self._is_held(*first):
                continue
            early = self._early.end(first[0])
            to_see.extend(early.keys)
            out += self._append_early(early, now, wall)
        return out

    def _is_held(self, ticket: Ticket, early: _Early) -> bool:
        return any(self._partitions.is_opening(key) or self._early.first(key) != (ticket, early) for key in early.keys)

    def _append_early(self, early: _Early, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        event, request = early.event, early.request
        return self._begin(event, request, self._append_all(event, request, now, wall, early.brought))

    # Until the disk has it, and all replicas in sync.

    def _wait_for_disk(self, parked: _Parked, now: Instant) -> list[BrokerEffect]:
        """Without a deadline: as in Kafka, the client's time begins when the batches are written."""
        unwritten: dict[PartitionId, int] = {}
        for wait in parked.waits:
            led = self._partitions.led(wait.key)
            if led is not wait.leader:  # That changed while the others were decided.
                parked.failed[wait.place] = self._partitions.why_not_led(wait.key)
            elif led.log.written_offset < wait.offset:
                unwritten[wait.key] = wait.offset
        if not unwritten:
            return self._wait_for_replicas(parked, now)
        self._writing.add(parked, unwritten.items(), None, parked.event.connection.connection_id)
        parked.open = len(unwritten)
        return []

    def _wait_for_replicas(self, parked: _Parked, now: Instant) -> list[BrokerEffect]:
        parked.is_written = True
        missing = {wait.key: wait.offset for wait in self._unreplicated(parked)}
        if not missing:
            return [self._replicated(parked)]
        deadline, connection_id = _deadline(parked.request, now), parked.event.connection.connection_id
        self._replicating.add(parked, missing.items(), deadline, connection_id)
        parked.open = len(missing)
        return []

    def _unreplicated(self, parked: _Parked) -> list[_Wait]:
        """What not all replicas in sync have, if that is asked for. What is not led here any more has failed."""
        missing = []
        for wait in parked.waits if parked.request.acks == ALL_ACKS else ():
            led = self._partitions.led(wait.key)
            if led is None:
                parked.failed[wait.place] = self._partitions.why_not_led(wait.key)
            elif led.log.high_watermark < wait.offset and wait.place not in parked.failed:
                missing.append(wait)
        return missing

    def _come_so_far(self, woken: list[tuple[Ticket, _Parked]], now: Instant) -> list[BrokerEffect]:
        """One thing less to wait for, for each of them."""
        out: list[BrokerEffect] = []
        for ticket, parked in woken:
            parked.open -= 1
            if parked.open == 0 and not parked.is_written:
                self._writing.end(ticket)
                out += self._wait_for_replicas(parked, now)
            elif parked.open == 0:
                self._replicating.end(ticket)
                out.append(self._replicated(parked))
        return out

    def _replicated(self, parked: _Parked) -> BrokerEffect:
        """All in sync have it; as in Kafka it is said if these are fewer by now than were asked for."""
        for wait in parked.waits if parked.request.acks == ALL_ACKS else ():
            led = self._partitions.led(wait.key)
            if led is not None and wait.place not in parked.failed and self._partitions.has_too_few(led, maximal=True):
                parked.failed[wait.place] = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return self._respond(parked)

    def _time_out(self, parked: _Parked) -> BrokerEffect:
        for wait in self._unreplicated(parked):
            parked.failed[wait.place] = ErrorCode.REQUEST_TIMED_OUT
        return self._respond(parked)

    def _respond(self, parked: _Parked) -> BrokerEffect:
        event, answer = parked.event, _answer(parked)
        if event.api_version >= FIRST_VERSION_OF_PRODUCE and misleads(answer):
            answer = LeaderHints(self._partitions, event.connection.listener).with_hints(answer)
        return Respond(event.request_id, answer)


def _deadline(request: ProduceRequest, now: Instant) -> Instant:
    return Instant(now + max(0, request.timeout_ms) / 1000)


def _answer(parked: _Parked) -> ProduceResponse:
    """Offsets stay in the answer where a partition failed after it got them, as in Kafka."""
    if not parked.failed:
        return parked.response
    topics = []
    for topic_place, topic in enumerate(parked.response.responses):
        answers = [
            replace(each, error_code=parked.failed.get((topic_place, place), each.error_code))
            for place, each in enumerate(topic.partition_responses)
        ]
        topics.append(topic_answer(topic, answers))
    return ProduceResponse(responses=tuple(topics))


def _refuse(event: RequestReceived, request: ProduceRequest, refused: BatchRefusal) -> BrokerEffect:
    if request.acks == NO_ACKS:
        return CloseConnection(event.connection.connection_id)
    topics = [
        topic_answer(topic, [refusal(data.index, refused) for data in topic.partition_data])
        for topic in request.topic_data
    ]
    return Respond(event.request_id, ProduceResponse(responses=tuple(topics)))
