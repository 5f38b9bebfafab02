"""Produce: decide every batch at once, answer when the log holds them all.

A request for a partition whose log is still being opened waits for it: refusing it could let the producer's next batch
overtake it. An answer waits for the high watermark of each of its partitions; with acks=0 nobody waits. A partition
that goes away while somebody waits for it is answered as not led here: the producer asks for new metadata and retries,
and its sequence numbers find the duplicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from controller_runtime.broker.append_rules import Refused
from controller_runtime.broker.batch_checks import check_frames, frame_size, is_transactional
from controller_runtime.broker.partition import Appended, LedPartition, PartitionKey
from controller_runtime.identifiers import Uuid, WallClock
from controller_runtime.node.broker_effects import AppendRecords, BrokerEffect, FinishWithoutReply
from controller_runtime.node.broker_partitions import LocalPartitions
from controller_runtime.node.effects import CloseConnection, NodeEffect, Respond
from controller_runtime.node.events import RequestId, RequestReceived
from controller_runtime.node.faults import FailedRequests
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.produce_response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from controller_runtime.values import dataclass

NO_ACKS: Final = 0
ALL_ACKS: Final = -1
_VALID_ACKS: Final = (ALL_ACKS, NO_ACKS, 1)
_START_UNSAID: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE)
"""As in Kafka, whose answers say where the log begins beside other errors of a batch."""
_UNKNOWN: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@dataclass(slots=True)
class _Parked:
    """An answer that waits for the log."""

    response: ProduceResponse
    waits: list[_Wait]


@dataclass(frozen=True, slots=True)
class _Wait:
    """The partition at this place of the request must reach this high watermark."""

    place: tuple[int, int]
    key: PartitionKey
    offset: int


class ProduceHandler:
    def __init__(self, partitions: LocalPartitions, faults: FailedRequests) -> None:
        self._partitions = partitions
        self._faults = faults
        self._parked: dict[RequestId, _Parked] = {}
        self._early: list[tuple[RequestReceived, ProduceRequest]] = []

    def on_request(
        self, event: RequestReceived, request: ProduceRequest, wall: WallClock
    ) -> list[NodeEffect | BrokerEffect]:
        fault = _fault(request)
        if fault is not None:
            refused = _refused(request, fault)
            close = CloseConnection(event.connection.connection_id)
            return [close if request.acks == NO_ACKS else Respond(event.request_id, refused)]
        if self._is_early(request):
            self._early.append((event, request))
            return []
        out: list[NodeEffect | BrokerEffect] = []
        waits: list[_Wait] = []
        topics = []
        for topic_place, (topic, wanted) in enumerate(_each_once(request)):
            answers = [
                self._try(event.api_version, request.acks, topic, data, (topic_place, place), wall, out, waits)
                for place, data in enumerate(wanted)
            ]
            topics.append(_topic_answer(topic, answers))
        if request.acks == NO_ACKS:
            failed = any(each.error_code for topic in topics for each in topic.partition_responses)
            # Nobody reads an answer: as in Kafka, losing the connection is how such a producer learns of an error.
            end = CloseConnection(event.connection.connection_id) if failed else FinishWithoutReply(event.request_id)
            return [*out, end]
        parked = _Parked(ProduceResponse(responses=tuple(topics)), waits)
        if self._is_done(parked):
            return [*out, Respond(event.request_id, parked.response)]
        self._parked[event.request_id] = parked
        return out

    def _try(
        self,
        version: int,
        acks: int,
        topic: TopicProduceData,
        data: PartitionProduceData,
        place: tuple[int, int],
        wall: WallClock,
        out: list[NodeEffect | BrokerEffect],
        waits: list[_Wait],
    ) -> PartitionProduceResponse:
        """What fails for one partition fails for it alone: what others were given offsets for has to be written."""
        try:
            return self._append(version, acks, topic, data, place, wall, out, waits)
        except Exception as error:
            out.append(self._faults.count(ProduceRequest.KEY, "served", error))
            return _refusal(data.index, Refused(ErrorCode.UNKNOWN_SERVER_ERROR))

    def _append(
        self,
        version: int,
        acks: int,
        topic: TopicProduceData,
        data: PartitionProduceData,
        place: tuple[int, int],
        wall: WallClock,
        out: list[NodeEffect | BrokerEffect],
        waits: list[_Wait],
    ) -> PartitionProduceResponse:
        found = self._find(version, acks, topic, data)
        if isinstance(found, Refused):
            return _refusal(data.index, found)
        match found.append(data.records, self._partitions.rules(found.topic), wall, version):
            case Refused() as refused:
                return _refusal(data.index, refused, _start_said(refused, found.start_offset))
            case Appended(base_offset, wait_for, batches, append_time):
                waits.append(_Wait(place, found.key, wait_for))
                if batches:
                    out.append(AppendRecords(found.key, wait_for, batches))
                return PartitionProduceResponse(
                    index=data.index,
                    base_offset=base_offset,
                    log_append_time_ms=append_time,
                    log_start_offset=found.start_offset,
                )

    def _find(
        self, version: int, acks: int, topic: TopicProduceData, data: PartitionProduceData
    ) -> LedPartition | Refused:
        """In Kafka's order: an unknown partition, bytes that are no batch, acks that mean nothing, and only then who
        leads.
        """
        found = self._partitions.find(topic.name, topic.topic_id, data.index)
        if found in _UNKNOWN:
            return Refused(found)
        if isinstance(found, LedPartition) and acks in _VALID_ACKS:
            return found  # Its batch is about to be looked at.
        frames = check_frames(data.records or b"", version)
        if isinstance(frames, Refused):
            return frames
        if acks not in _VALID_ACKS:
            return Refused(ErrorCode.INVALID_REQUIRED_ACKS)
        assert isinstance(found, ErrorCode), "a led partition was found"
        too_few = acks == ALL_ACKS and self._partitions.has_too_few(topic.name, topic.topic_id, data.index)
        return Refused(ErrorCode.NOT_ENOUGH_REPLICAS if too_few else found)

    def _is_early(self, request: ProduceRequest) -> bool:
        return any(
            self._partitions.is_opening(topic.name, topic.topic_id, data.index)
            for topic in request.topic_data
            for data in topic.partition_data
        )

    def retry_early(self, wall: WallClock) -> list[NodeEffect | BrokerEffect]:
        """A partition was opened, or will not be: those who waited for one try again, in their order."""
        early, self._early = self._early, []
        return [effect for event, request in early for effect in self.on_request(event, request, wall)]

    def poll(self) -> list[NodeEffect | BrokerEffect]:
        """Answer everybody whose batches are written, or whose partition is gone."""
        done = [request_id for request_id, parked in self._parked.items() if self._is_done(parked)]
        return [Respond(request_id, self._answer(self._parked.pop(request_id))) for request_id in done]

    def _is_done(self, parked: _Parked) -> bool:
        for wait in parked.waits:
            led = self._partitions.led(wait.key)
            if led is not None and led.high_watermark < wait.offset:
                return False
        return True

    def _answer(self, parked: _Parked) -> ProduceResponse:
        gone = {wait.place for wait in parked.waits if self._partitions.led(wait.key) is None}
        return _without(parked.response, gone) if gone else parked.response


def _without(response: ProduceResponse, gone: set[tuple[int, int]]) -> ProduceResponse:
    """The answer when the partitions at these places went away before the write was confirmed."""
    topics = []
    for topic_place, topic in enumerate(response.responses):
        answers = [
            _error(each.index, ErrorCode.NOT_LEADER_OR_FOLLOWER) if (topic_place, place) in gone else each
            for place, each in enumerate(topic.partition_responses)
        ]
        topics.append(_topic_answer(topic, answers))
    return ProduceResponse(responses=tuple(topics))


def _each_once(request: ProduceRequest) -> Iterator[tuple[TopicProduceData, Iterable[PartitionProduceData]]]:
    """Each topic that has partitions, and each of these; what is named twice counts as it is named last, as
    in Kafka.
    """
    found: dict[tuple[str, Uuid], tuple[TopicProduceData, dict[int, PartitionProduceData]]] = {}
    for topic in request.topic_data:
        if topic.partition_data:
            _, wanted = found.setdefault((topic.name, topic.topic_id), (topic, {}))
            wanted.update({data.index: data for data in topic.partition_data})
    return ((topic, wanted.values()) for topic, wanted in found.values())


def _fault(request: ProduceRequest) -> Refused | None:
    """What Kafka refuses a whole request for: bytes that it cannot find the first batch in, or a transaction without
    its name.
    """
    for topic in request.topic_data:
        for data in topic.partition_data:
            if not data.records:
                continue
            size = frame_size(data.records)
            if isinstance(size, Refused):
                return size
            if size is not None and is_transactional(data.records):
                named = request.transactional_id is not None
                return None if named else Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return None


def _refused(request: ProduceRequest, refused: Refused) -> ProduceResponse:
    topics = [
        _topic_answer(topic, [_refusal(data.index, refused) for data in topic.partition_data])
        for topic in request.topic_data
    ]
    return ProduceResponse(responses=tuple(topics))


def _topic_answer(
    topic: TopicProduceData | TopicProduceResponse, answers: list[PartitionProduceResponse]
) -> TopicProduceResponse:
    return TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=tuple(answers))


def _start_said(refused: Refused, start_offset: int) -> int:
    return -1 if refused.before_log or refused.error in _START_UNSAID else start_offset


def _refusal(index: int, refused: Refused, start_offset: int = -1) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=refused.error,
        base_offset=-1,
        log_start_offset=start_offset,
        record_errors=tuple(
            BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=why)
            for number, why in refused.records
        ),
        error_message=refused.message,
    )


def _error(index: int, error: ErrorCode) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=error, base_offset=-1)
