"""WriteTxnMarkers: a coordinator ends transactions in partitions that are led here.

Each partition gets its marker at once, or says why not; the answer leaves when all replicas in sync have them. In a
partition of `__consumer_offsets` the group coordinator takes the marker, so that offsets are shown with it, not later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.effects import AppendRecords, BrokerEffect
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering
from controller_runtime.coordinator.ports import TOPIC as OFFSETS
from controller_runtime.identifiers import ZERO_UUID, Instant, PartitionId, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestId, RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from controller_runtime.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from controller_runtime.protocol.transaction_markers import Marker
from controller_runtime.values import dataclass, field

_TIMEOUT_S: Final = 30.0
_Place = tuple[int, int, int]
"""Of a partition in the request: marker, topic, partition."""


class PartitionNamed(NamedTuple):
    topic: str
    partition: int


@dataclass(slots=True)
class _Parked:
    request_id: RequestId
    request: WriteTxnMarkersRequest
    deadline: Instant
    codes: dict[_Place, ErrorCode] = field(default_factory=dict)
    waits: dict[_Place, tuple[Leader, int]] = field(default_factory=dict)


OffsetsMarker = Callable[[PartitionId, WritableTxnMarker, WallClock], "int | ErrorCode"]


class MarkerWrites:
    def __init__(self, partitions: LocalPartitions, end_offsets: OffsetsMarker) -> None:
        """`end_offsets`: what the group coordinator does with one; where it ends."""
        self._partitions = partitions
        self._end_offsets = end_offsets
        self._parked: list[_Parked] = []

    def on_request(
        self, event: RequestReceived, request: WriteTxnMarkersRequest, now: Instant, wall: WallClock
    ) -> Answering:
        parked = _Parked(event.request_id, request, Instant(now + _TIMEOUT_S))
        for number, marker in enumerate(request.markers):
            for topic_place, topic in enumerate(marker.topics):
                for place, index in enumerate(topic.partition_indexes):
                    out = self._one(
                        parked, (number, topic_place, place), PartitionNamed(topic.name, index), marker, wall
                    )
                    yield from out or (None,)
        if parked.waits:
            self._parked.append(parked)
            return []  # What is parked is answered by `poll`: it may be what this broker asks itself.
        return [_answer(parked)]

    def _one(
        self, parked: _Parked, at: _Place, named: PartitionNamed, marker: WritableTxnMarker, wall: WallClock
    ) -> list[BrokerEffect]:
        found = self._partitions.find(named.topic, ZERO_UUID, named.partition)
        if isinstance(found, ErrorCode):
            parked.codes[at] = found
            return []
        if named.topic == OFFSETS:
            end = self._end_offsets(found.log.key, marker, wall)
            if isinstance(end, ErrorCode):
                parked.codes[at] = end
            else:
                parked.waits[at] = found, end
            return []
        if self._partitions.has_too_few(found):
            parked.codes[at] = ErrorCode.NOT_ENOUGH_REPLICAS
            return []
        said = Marker(marker.transaction_result, marker.coordinator_epoch)
        version = marker.transaction_version
        appended = found.append_marker(marker.producer_id, marker.producer_epoch, said, wall, version)
        if isinstance(appended, BatchRefusal):
            parked.codes[at] = appended.error
            return []
        parked.waits[at] = found, appended.wait_for
        return [AppendRecords(found.log.key, appended.wait_for, appended.data)]

    def next_deadline(self) -> Instant | None:
        return min((parked.deadline for parked in self._parked), default=None)

    def _settle(self, parked: _Parked, now: Instant) -> None:
        """One by one: the answer waits for the last anyway."""
        while parked.waits:
            at, (leader, end) = next(iter(parked.waits.items()))
            if leader.log.high_watermark < end:
                if self._partitions.led(leader.log.key) is not leader:
                    parked.codes[at] = self._partitions.why_not_led(leader.log.key)
                elif parked.deadline <= now:
                    parked.codes[at] = ErrorCode.REQUEST_TIMED_OUT
                else:
                    return
            del parked.waits[at]

    def poll(self, now: Instant) -> list[BrokerEffect]:
        out: list[BrokerEffect] = []
        for parked in list(self._parked):
            self._settle(parked, now)
            if not parked.waits:
                self._parked.remove(parked)
                out.append(_answer(parked))
        return out


def _answer(parked: _Parked) -> Respond:
    markers = tuple(
        WritableTxnMarkerResult(
            producer_id=marker.producer_id,
            topics=tuple(
                WritableTxnMarkerTopicResult(
                    name=topic.name,
                    partitions=tuple(
                        WritableTxnMarkerPartitionResult(
                            partition_index=index,
                            error_code=parked.codes.get((number, topic_place, place), ErrorCode.NONE),
                        )
                        for place, index in enumerate(topic.partition_indexes)
                    ),
                )
                for topic_place, topic in enumerate(marker.topics)
            ),
        )
        for number, marker in enumerate(parked.request.markers)
        if any(topic.partition_indexes for topic in marker.topics)  # as Kafka, which answers for partitions
    )
    return Respond(parked.request_id, WriteTxnMarkersResponse(markers=markers))
