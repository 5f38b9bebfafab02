"""ListOffsets and OffsetForLeaderEpoch: where a partition begins, ends, and which offset belongs to a time or an epoch.

The ends are known here; a timestamp is looked up in the log by the shell, so an answer may wait for several look-ups.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.partition import LedPartition
from controller_runtime.identifiers import ZERO_UUID
from controller_runtime.node.broker_effects import BrokerEffect, FindTimestamp, TimestampFound, WorkId
from controller_runtime.node.broker_partitions import LocalPartitions
from controller_runtime.node.effects import NodeEffect, Respond
from controller_runtime.node.events import RequestId, RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from controller_runtime.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from controller_runtime.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
)
from controller_runtime.protocol.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from controller_runtime.values import dataclass, field

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_FIRST_VERSION_WITH_EPOCH: Final = 4
_NOT_TIERED: Final = (LATEST_TIERED, EARLIEST_PENDING_UPLOAD)


@dataclass(slots=True)
class _Listing:
    """A request whose look-ups are on their way. Places are (topic, partition) in the request."""

    request_id: RequestId
    request: ListOffsetsRequest
    version: int
    answers: dict[tuple[int, int], ListOffsetsPartitionResponse] = field(default_factory=dict)
    open: set[WorkId] = field(default_factory=set)


class OffsetsHandler:
    def __init__(self, partitions: LocalPartitions) -> None:
        self._partitions = partitions
        self._lookups: dict[WorkId, tuple[_Listing, tuple[int, int], LedPartition]] = {}
        self._last_work = 0

    def on_request(self, event: RequestReceived, request: ListOffsetsRequest) -> list[NodeEffect | BrokerEffect]:
        listing = _Listing(event.request_id, request, event.api_version)
        out: list[NodeEffect | BrokerEffect] = []
        for topic_place, topic in enumerate(request.topics):
            for place, wanted in enumerate(topic.partitions):
                self._one(listing, topic.name, (topic_place, place), wanted, out)
        return out if listing.open else [*out, Respond(event.request_id, _response(listing))]

    def _one(
        self,
        listing: _Listing,
        topic: str,
        place: tuple[int, int],
        wanted: ListOffsetsPartition,
        out: list[NodeEffect | BrokerEffect],
    ) -> None:
        index = wanted.partition_index
        found = self._partitions.find(topic, ZERO_UUID, index, wanted.current_leader_epoch)
        if isinstance(found, ErrorCode):
            listing.answers[place] = ListOffsetsPartitionResponse(partition_index=index, error_code=found)
        elif wanted.timestamp == LATEST:
            listing.answers[place] = _at(index, found.high_watermark, found.leader_epoch)
        elif wanted.timestamp in (EARLIEST, EARLIEST_LOCAL):
            listing.answers[place] = _at(index, found.start_offset, found.epoch_of(found.start_offset))
        elif wanted.timestamp in _NOT_TIERED:
            listing.answers[place] = _at(index, -1, -1)
        elif wanted.timestamp < EARLIEST_PENDING_UPLOAD:
            code = ErrorCode.UNSUPPORTED_VERSION
            listing.answers[place] = ListOffsetsPartitionResponse(partition_index=index, error_code=code)
        else:
            self._last_work += 1
            work_id = WorkId(self._last_work)
            listing.open.add(work_id)
            self._lookups[work_id] = (listing, place, found)
            out.append(FindTimestamp(work_id, found.key, wanted.timestamp))

    def on_found(self, event: TimestampFound) -> list[NodeEffect | BrokerEffect]:
        listing, place, partition = self._lookups.pop(event.work_id)
        listing.open.discard(event.work_id)
        listing.answers[place] = ListOffsetsPartitionResponse(
            partition_index=partition.key.index,
            timestamp=event.timestamp,
            offset=event.offset,
            leader_epoch=partition.epoch_of(event.offset) if event.offset >= 0 else -1,
        )
        return [] if listing.open else [Respond(listing.request_id, _response(listing))]

    def epoch_ends(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            topics=tuple(
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=tuple(self._epoch_end(topic.topic, wanted) for wanted in topic.partitions),
                )
                for topic in request.topics
            )
        )

    def _epoch_end(self, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
        found = self._partitions.find(topic, ZERO_UUID, wanted.partition, wanted.current_leader_epoch)
        if isinstance(found, ErrorCode):
            return EpochEndOffset(partition=wanted.partition, error_code=found)
        epoch, end = found.end_of_epoch(wanted.leader_epoch)
        return EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end)


def _at(index: int, offset: int, epoch: int) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=index, offset=offset, leader_epoch=epoch)


def _without_epoch(answer: ListOffsetsPartitionResponse) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=answer.partition_index,
        error_code=answer.error_code,
        timestamp=answer.timestamp,
        offset=answer.offset,
    )


def _response(listing: _Listing) -> ListOffsetsResponse:
    answers = listing.answers
    if listing.version < _FIRST_VERSION_WITH_EPOCH:
        answers = {place: _without_epoch(answer) for place, answer in answers.items()}
    return ListOffsetsResponse(
        topics=tuple(
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(answers[topic_place, place] for place in range(len(topic.partitions))),
            )
            for topic_place, topic in enumerate(listing.request.topics)
        )
    )
