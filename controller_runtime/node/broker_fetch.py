"""Fetch: read what is there, or wait for it, no longer than the client asked.

Every request is answered in full, without a fetch session (session id 0 tells the client so). A request that finds too
little is parked with its partitions' names on it and tried again when one of them grows, or at its deadline. Reading
happens in the shell; between the question and the data the log may only have grown.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.partition import NO_EPOCH, LedPartition, PartitionKey
from controller_runtime.identifiers import Instant, Uuid
from controller_runtime.node.broker_effects import BrokerEffect, ReadRecords, ReadSlice, RecordsRead, WorkId
from controller_runtime.node.broker_offsets import ISOLATION_LEVELS
from controller_runtime.node.broker_partitions import LocalPartitions
from controller_runtime.node.effects import NodeEffect, Respond
from controller_runtime.node.events import ConnectionId, RequestId, RequestReceived
from controller_runtime.node.faults import FailedRequests
from controller_runtime.node.pending import Asker
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from controller_runtime.values import dataclass, field, replace

MAX_RESPONSE_BYTES: Final = 55 << 20
"""Kafka's `fetch.max.bytes` of the broker: no answer is larger, whatever is asked."""
NO_SESSION: Final = 0
READ_COMMITTED: Final = 1
_FULL_FETCHES: Final = (-1, 0)
"""Session epochs that name every partition, whatever the session: one that ends and one that begins."""
_FIRST_VERSION_WITH_ONE_ERROR: Final = 13
_UNKNOWN: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@dataclass(slots=True)
class _Fetch:
    """One request on its way."""

    event: RequestReceived
    request: FetchRequest
    deadline: Instant
    waits_for: dict[PartitionKey, int] = field(default_factory=dict)
    """The high watermark of each partition when it was looked at last."""
    reading: tuple[FetchTopic, ...] = ()
    errors: dict[tuple[int, int], ErrorCode | EpochEndOffset] = field(default_factory=dict)
    """By the place of topic and partition in the request."""
    places: tuple[tuple[int, int], ...] = ()
    """Which places the slices being read belong to."""


class FetchHandler:
    def __init__(self, partitions: LocalPartitions, faults: FailedRequests) -> None:
        self._partitions = partitions
        self._faults = faults
        self._parked: dict[RequestId, _Fetch] = {}
        self._reading: dict[WorkId, _Fetch] = {}
        self._waiting: dict[PartitionKey, set[RequestId]] = {}
        self._last_work = 0

    def on_request(
        self, event: RequestReceived, request: FetchRequest, now: Instant
    ) -> list[NodeEffect | BrokerEffect]:
        if request.isolation_level not in ISOLATION_LEVELS:
            return [Respond(event.request_id, _refused(request, event.api_version, ErrorCode.UNKNOWN_SERVER_ERROR))]
        request = _each_once(request)
        if request.session_epoch not in _FULL_FETCHES:
            missing = FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            return [Respond(event.request_id, missing)]
        fetch = _Fetch(event, request, Instant(now + max(0, request.max_wait_ms) / 1000))
        return self._attempt(fetch, now)

    def next_deadline(self) -> Instant | None:
        return min((fetch.deadline for fetch in self._parked.values()), default=None)

    def on_time(self, now: Instant) -> list[NodeEffect | BrokerEffect]:
        due = [fetch for fetch in self._parked.values() if fetch.deadline <= now]
        return [effect for fetch in due for effect in self._retry(fetch, now)]

    def on_written(self, key: PartitionKey, now: Instant) -> list[NodeEffect | BrokerEffect]:
        """The partition grew: those who wait for it try again."""
        waiting = [self._parked[request_id] for request_id in sorted(self._waiting.get(key, ()))]
        return [effect for fetch in waiting for effect in self._retry(fetch, now)]

    def on_closed(self, connection_id: ConnectionId) -> None:
        """Nobody waits any more."""
        for fetch in list(self._parked.values()):
            if fetch.event.connection.connection_id == connection_id:
                self._unpark(fetch)

    def on_read(self, event: RecordsRead, now: Instant) -> list[NodeEffect | BrokerEffect]:
        fetch = self._reading.pop(event.work_id)
        try:
            return self._answer(fetch, event, now)
        except Exception as error:
            return self._fail(fetch, "answered", error)

    def _answer(self, fetch: _Fetch, event: RecordsRead, now: Instant) -> list[NodeEffect | BrokerEffect]:
        total = sum(len(data) for data in event.data if isinstance(data, bytes))
        whole = not fetch.errors and all(isinstance(data, bytes) for data in event.data)
        if whole and total < fetch.request.min_bytes and now < fetch.deadline:
            if self._has_grown(fetch):
                return self._read_or_wait(fetch, now)
            self._park(fetch)
            return []
        found = dict(zip(fetch.places, event.data, strict=True))
        return [Respond(fetch.event.request_id, self._response(fetch, found))]

    def _has_grown(self, fetch: _Fetch) -> bool:
        """While it was read it was not parked, so nobody told it what was written meanwhile."""
        led = ((self._partitions.led(key), seen) for key, seen in fetch.waits_for.items())
        return any(one is None or one.high_watermark > seen for one, seen in led)

    # Parking.

    def _retry(self, fetch: _Fetch, now: Instant) -> list[NodeEffect | BrokerEffect]:
        self._unpark(fetch)
        return self._attempt(fetch, now)

    def _park(self, fetch: _Fetch) -> None:
        self._parked[fetch.event.request_id] = fetch
        for key in fetch.waits_for:
            self._waiting.setdefault(key, set()).add(fetch.event.request_id)

    def _unpark(self, fetch: _Fetch) -> None:
        del self._parked[fetch.event.request_id]
        for key in fetch.waits_for:
            waiting = self._waiting[key]
            waiting.discard(fetch.event.request_id)
            if not waiting:
                del self._waiting[key]

    # One attempt.

    def _attempt(self, fetch: _Fetch, now: Instant) -> list[NodeEffect | BrokerEffect]:
        try:
            return self._read_or_wait(fetch, now)
        except Exception as error:
            return self._fail(fetch, "served", error)

    def _fail(self, fetch: _Fetch, doing: str, error: Exception) -> list[NodeEffect | BrokerEffect]:
        event = fetch.event
        return [
            *self._faults.fail(Asker(event.request_id, event.body, None, event.connection.connection_id), doing, error)
        ]

    def _read_or_wait(self, fetch: _Fetch, now: Instant) -> list[NodeEffect | BrokerEffect]:
        """Read what can be read, answer what cannot be served, or wait."""
        fetch.errors, fetch.waits_for = {}, {}
        slices: list[ReadSlice] = []
        places: list[tuple[int, int]] = []
        for topic_place, topic in enumerate(fetch.request.topics):
            for place, wanted in enumerate(topic.partitions):
                found = self._judge(topic, wanted, fetch.request)
                if not isinstance(found, LedPartition):
                    fetch.errors[topic_place, place] = found
                    continue
                fetch.waits_for[found.key] = found.high_watermark
                if wanted.fetch_offset < found.high_watermark:
                    slices.append(
                        ReadSlice(found.key, wanted.fetch_offset, wanted.partition_max_bytes, found.high_watermark)
                    )
                    places.append((topic_place, place))
        if slices:
            self._last_work += 1
            work_id = WorkId(self._last_work)
            fetch.places = tuple(places)
            self._reading[work_id] = fetch
            limit = min(fetch.request.max_bytes, MAX_RESPONSE_BYTES)
            return [ReadRecords(work_id, tuple(slices), limit)]
        patient = fetch.request.min_bytes > 0 and now < fetch.deadline
        if patient and not fetch.errors and fetch.waits_for:
            self._park(fetch)
            return []
        return [Respond(fetch.event.request_id, self._response(fetch, {}))]

    def _judge(
        self, topic: FetchTopic, wanted: FetchPartition, request: FetchRequest
    ) -> LedPartition | ErrorCode | EpochEndOffset:
        """What is read, or why not, or where the reader's history parts from ours."""
        known = max(NO_EPOCH, wanted.current_leader_epoch)
        found = self._partitions.find(topic.topic, topic.topic_id, wanted.partition, known)
        if isinstance(found, ErrorCode):
            return found
        if max(request.replica_id, request.replica_state.replica_id) >= 0:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER  # what is led here has no other replica
        if wanted.partition_max_bytes < 0 or request.max_bytes < 0:
            return ErrorCode.UNKNOWN_SERVER_ERROR  # as Kafka, which cannot make room for so few
        if wanted.last_fetched_epoch >= 0:
            epoch, end = found.end_of_epoch(wanted.last_fetched_epoch)
            if NO_EPOCH in (epoch, end) or wanted.fetch_offset < found.start_offset:
                return ErrorCode.OFFSET_OUT_OF_RANGE
            if epoch < wanted.last_fetched_epoch or end < wanted.fetch_offset:
                return EpochEndOffset(epoch=epoch, end_offset=end)
        if not found.start_offset <= wanted.fetch_offset <= found.end_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return found

    def _response(self, fetch: _Fetch, data: dict[tuple[int, int], bytes | ErrorCode]) -> FetchResponse:
        topics = []
        for topic_place, topic in enumerate(fetch.request.topics):
            partitions = [
                self._partition(fetch, topic, (topic_place, place), data) for place in range(len(topic.partitions))
            ]
            topics.append(
                FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=tuple(partitions))
            )
        return FetchResponse(session_id=NO_SESSION, responses=tuple(topics))

    def _partition(
        self, fetch: _Fetch, topic: FetchTopic, place: tuple[int, int], data: dict[tuple[int, int], bytes | ErrorCode]
    ) -> PartitionData:
        wanted = topic.partitions[place[1]]
        records = data.get(place, b"")
        told = fetch.errors.get(place)
        found = (
            told
            if isinstance(told, ErrorCode)
            else self._partitions.find(topic.topic, topic.topic_id, wanted.partition)
        )
        if isinstance(records, ErrorCode) and not isinstance(found, ErrorCode):
            found = records
        if isinstance(found, ErrorCode):
            return _failed(wanted.partition, found)
        return PartitionData(
            partition_index=wanted.partition,
            high_watermark=found.high_watermark,
            last_stable_offset=found.high_watermark,
            log_start_offset=found.start_offset,
            diverging_epoch=told if isinstance(told, EpochEndOffset) else EpochEndOffset(),
            aborted_transactions=() if fetch.request.isolation_level == READ_COMMITTED else None,
            records=None if isinstance(records, ErrorCode) else records,
        )


def _failed(index: int, error: ErrorCode, *, read: bool = True) -> PartitionData:
    """As Kafka's: null transactions where it came as far as to read."""
    aborted = None if read and error not in _UNKNOWN else ()
    return PartitionData(
        partition_index=index, error_code=error, high_watermark=-1, aborted_transactions=aborted, records=b""
    )


def _refused(request: FetchRequest, version: int, error: ErrorCode) -> FetchResponse:
    """The whole request, and up to version 12 each partition of it."""
    if version >= _FIRST_VERSION_WITH_ONE_ERROR:
        return FetchResponse(error_code=error)
    topics = tuple(
        FetchableTopicResponse(
            topic=topic.topic,
            partitions=tuple(_failed(one.partition, error, read=False) for one in topic.partitions),
        )
        for topic in request.topics
    )
    return FetchResponse(error_code=error, responses=topics)


def _each_once(request: FetchRequest) -> FetchRequest:
    """Each topic that has partitions, and each of these; what is named twice counts as it is named last, as
    in Kafka.
    """
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
        return request
    found: dict[tuple[str, Uuid], dict[int, FetchPartition]] = {}
    for topic in request.topics:
        if topic.partitions:
            found.setdefault((topic.topic, topic.topic_id), {}).update({one.partition: one for one in topic.partitions})
    topics = tuple(
        FetchTopic(topic=name, topic_id=topic_id, partitions=tuple(wanted.values()))
        for (name, topic_id), wanted in found.items()
    )
    return replace(request, topics=topics)
