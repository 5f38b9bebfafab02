"""ListOffsets and OffsetForLeaderEpoch: where a partition begins, ends, and which offset belongs to a time or an epoch.

The ends are known here; a timestamp is looked up in the log by the shell, so an answer may wait for several look-ups.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from controller_runtime.broker.effects import BrokerEffect, FindTimestamp, TimestampFound, WorkId
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering
from controller_runtime.broker.partition import OpenLog
from controller_runtime.identifiers import ZERO_UUID
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestId, RequestReceived
from controller_runtime.parts.pieces import InPieces
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
_SINCE_VERSION: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""From which version on a negative timestamp means something."""
_FIRST_VERSION_WITH_EPOCH: Final = 4
_FIRST_VERSION_WITH_NOT_AVAILABLE: Final = 5
CONSUMER: Final = -1
"""As a replica id; who has another one asks as a broker does."""
_NOT_TIERED: Final = (LATEST_TIERED, EARLIEST_PENDING_UPLOAD)
READ_COMMITTED: Final = 1
ISOLATION_LEVELS: Final = (0, READ_COMMITTED)
_Place = tuple[str, int]
"""A partition by the name of its topic."""


@dataclass(slots=True)
class _Listing:
    """A request whose look-ups are on their way. What it names twice is answered once."""

    request_id: RequestId
    version: int
    is_consumer: bool = True
    is_stable: bool = False
    """Who asks reads only what is committed."""
    answers: dict[_Place, ListOffsetsPartitionResponse] = field(default_factory=dict)
    open: set[WorkId] = field(default_factory=set)
    is_whole: bool = False
    """Every partition of the request was looked at."""


class OffsetsHandler:
    def __init__(self, partitions: LocalPartitions) -> None:
        self._partitions = partitions
        self._lookups: dict[WorkId, tuple[_Listing, _Place, Leader]] = {}
        self._last_work = 0

    def on_request(self, event: RequestReceived, request: ListOffsetsRequest) -> Answering:
        listing = _Listing(event.request_id, event.api_version, request.replica_id == CONSUMER)
        listing.is_stable = request.isolation_level == READ_COMMITTED
        wanted = [(topic.name, one) for topic in request.topics for one in topic.partitions]
        named = Counter((name, one.partition_index) for name, one in wanted)
        for name, one in wanted:
            place = (name, one.partition_index)
            if request.isolation_level not in ISOLATION_LEVELS:
                listing.answers[place] = _error(one.partition_index, ErrorCode.UNKNOWN_SERVER_ERROR)
            elif named[place] > 1:
                listing.answers[place] = _error(one.partition_index, ErrorCode.INVALID_REQUEST)
            else:
                yield self._one(listing, place, one)
                continue
            yield None
        listing.is_whole = True
        return [] if listing.open else [Respond(event.request_id, _response(listing))]

    def _one(
        self,
        listing: _Listing,
        place: _Place,
        wanted: ListOffsetsPartition,
    ) -> FindTimestamp | None:
        name, index = place
        if wanted.timestamp < 0 and listing.version < _SINCE_VERSION.get(wanted.timestamp, listing.version + 1):
            listing.answers[place] = _error(index, ErrorCode.UNSUPPORTED_VERSION)
            return None
        found = self._partitions.find(name, ZERO_UUID, index, wanted.current_leader_epoch)
        if isinstance(found, ErrorCode):
            listing.answers[place] = _error(index, found)
        elif wanted.timestamp == LATEST:
            listing.answers[place] = self._latest(listing, index, found)
        elif wanted.timestamp in (EARLIEST, EARLIEST_LOCAL):
            listing.answers[place] = _at(index, found.log.start_offset, found.log.epoch_of(found.log.start_offset))
        elif wanted.timestamp in _NOT_TIERED:
            listing.answers[place] = _at(index, -1, -1)
        else:
            self._last_work += 1
            work_id = WorkId(self._last_work)
            listing.open.add(work_id)
            self._lookups[work_id] = (listing, place, found)
            return FindTimestamp(work_id, found.log.key, wanted.timestamp)
        return None

    def _latest(self, listing: _Listing, index: int, leader: Leader) -> ListOffsetsPartitionResponse:
        if not listing.is_consumer:
            return _at(index, leader.log.written_offset, leader.epoch)
        if leader.replicas.epoch_start > leader.log.high_watermark:
            return _error(index, _not_available(listing))
        return _at(index, _bound(listing, leader.log), leader.epoch)

    def _found(self, listing: _Listing, leader: Leader, event: TimestampFound) -> ListOffsetsPartitionResponse:
        """As in Kafka nobody is told of a record that consumers may not see yet; while a new leader does not know how
        far that is, it says so.
        """
        log, index = leader.log, leader.log.key.index
        if listing.is_consumer and event.offset >= _bound(listing, log):
            if leader.replicas.epoch_start > log.high_watermark:
                return _error(index, _not_available(listing))
            return _at(index, -1, -1)
        return ListOffsetsPartitionResponse(
            partition_index=index,
            timestamp=event.timestamp,
            offset=event.offset,
            leader_epoch=log.epoch_of(event.offset) if event.offset >= 0 else -1,
        )

    def on_found(self, event: TimestampFound) -> list[BrokerEffect]:
        listing, place, partition = self._lookups.pop(event.work_id)
        listing.open.discard(event.work_id)
        listing.answers[place] = self._found(listing, partition, event)
        is_over = listing.is_whole and not listing.open
        return [Respond(listing.request_id, _response(listing))] if is_over else []

    def epoch_ends(self, request: OffsetForLeaderEpochRequest) -> InPieces[BrokerEffect, OffsetForLeaderEpochResponse]:
        topics: list[OffsetForLeaderTopicResult] = []
        for topic in request.topics:
            ends: list[EpochEndOffset] = []
            for wanted in topic.partitions:
                ends.append(self._epoch_end(topic.topic, wanted))
                yield None
            topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=tuple(ends)))
        return OffsetForLeaderEpochResponse(topics=tuple(topics))

    def _epoch_end(self, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
        found = self._partitions.find(topic, ZERO_UUID, wanted.partition, wanted.current_leader_epoch)
        if isinstance(found, ErrorCode):
            return EpochEndOffset(partition=wanted.partition, error_code=found)
        epoch, end = found.end_of_epoch(wanted.leader_epoch)
        return EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end)


def _bound(listing: _Listing, log: OpenLog) -> int:
    return log.last_stable_offset if listing.is_stable else log.high_watermark


def _not_available(listing: _Listing) -> ErrorCode:
    """A new leader has not heard yet how far the old one let consumers see (KIP-207)."""
    is_known = listing.version >= _FIRST_VERSION_WITH_NOT_AVAILABLE
    return ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE


def _error(index: int, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=index, error_code=error)


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
    topics: dict[str, list[ListOffsetsPartitionResponse]] = {}
    for (name, _), answer in listing.answers.items():
        says_epoch = listing.version >= _FIRST_VERSION_WITH_EPOCH
        topics.setdefault(name, []).append(answer if says_epoch else _without_epoch(answer))
    return ListOffsetsResponse(
        topics=tuple(ListOffsetsTopicResponse(name=name, partitions=tuple(answers)) for name, answers in topics.items())
    )
