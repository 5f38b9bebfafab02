"""DeleteRecords: a partition begins later. Decided here at once, as in Kafka; the log's files follow.

What is below the new start is refused to readers from now on. The answer waits until every follower that is alive has
said in a fetch that its log begins there, too, no longer than the client's `timeout_ms`: then nobody has the records
any more, whoever leads next.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.cluster_view import INTERNAL_TOPICS
from controller_runtime.broker.effects import BrokerEffect, DeleteBefore
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering
from controller_runtime.broker.purgatory import ANY_LEVEL, Purgatory, Ticket
from controller_runtime.identifiers import ZERO_UUID, Instant, PartitionId
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, RequestId, RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_records_request import DeleteRecordsRequest
from controller_runtime.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from controller_runtime.values import dataclass, field

HIGH_WATERMARK: Final = -1
"""As an offset: everything that readers may see."""


@dataclass(slots=True)
class _Deletion:
    """A request; what is in `waits` has been deleted here, and by some followers not yet."""

    request_id: RequestId
    answers: dict[str, dict[int, DeleteRecordsPartitionResult]] = field(default_factory=dict)
    waits: dict[PartitionId, tuple[str, int]] = field(default_factory=dict)
    """And the level that the partition's low watermark must reach."""


class RecordDeletions:
    def __init__(self, partitions: LocalPartitions) -> None:
        self._partitions = partitions
        self._waiting: Purgatory[PartitionId, _Deletion] = Purgatory()
        self._ripe: list[BrokerEffect] = []

    def on_request(self, event: RequestReceived, request: DeleteRecordsRequest, now: Instant) -> Answering:
        found = _Deletion(event.request_id)
        levels: dict[PartitionId, int] = {}
        for name, wanted in _each_once(request).items():
            answers = found.answers[name] = {}
            for index, offset in wanted.items():
                leader = self._judge(name, index, offset)
                if isinstance(leader, ErrorCode):
                    answers[index] = _result(index, error=leader)
                    yield None
                    continue
                log, start = leader.log, leader.log.high_watermark if offset == HIGH_WATERMARK else offset
                if start > log.start_offset:
                    log.begin_at(start)
                    yield DeleteBefore(log.key, start)
                else:
                    yield None
                low = self._low_watermark(leader)
                answers[index] = _result(index, low)
                if low < start:
                    levels[log.key], found.waits[log.key] = start, (name, index)
        return self._park(found, levels, event, request, now)

    def _park(
        self,
        found: _Deletion,
        levels: dict[PartitionId, int],
        event: RequestReceived,
        request: DeleteRecordsRequest,
        now: Instant,
    ) -> list[BrokerEffect]:
        """Much may have happened while the others were decided."""
        for key, level in list(levels.items()):
            leader = self._partitions.led(key)
            if leader is None or self._low_watermark(leader) >= level:
                self._settle(found, key)
                del levels[key]
        if not levels:
            return [_respond(found)]
        deadline = Instant(now + max(0, request.timeout_ms) / 1000)
        self._waiting.add(found, levels.items(), deadline, event.connection.connection_id)
        return []

    def _judge(self, name: str, index: int, offset: int) -> Leader | ErrorCode:
        found = self._partitions.find(name, ZERO_UUID, index)
        if found == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return found
        if name in INTERNAL_TOPICS:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if isinstance(found, ErrorCode):
            return found
        if not self._partitions.rules(name).deletes:
            return ErrorCode.POLICY_VIOLATION
        if offset != HIGH_WATERMARK and not 0 <= offset <= found.log.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return found

    def _low_watermark(self, leader: Leader) -> int:
        return leader.replicas.low_watermark(leader.log.start_offset, self._partitions.image.cluster)

    # While they wait.

    def next_deadline(self) -> Instant | None:
        return Instant(0.0) if self._ripe else self._waiting.next_deadline()

    def trimmed(self, leader: Leader) -> None:
        """A follower's log begins later than it did."""
        if len(self._waiting):
            key = leader.log.key
            self._come_so_far(self._waiting.reached(key, self._low_watermark(leader)), key)

    def on_changed(self, key: PartitionId) -> None:
        """It may not be led here any more."""
        if len(self._waiting) and self._partitions.led(key) is None:
            self._come_so_far(self._waiting.reached(key, ANY_LEVEL), key)

    def on_closed(self, connection_id: ConnectionId) -> None:
        self._waiting.closed(connection_id)

    def on_time(self, now: Instant) -> list[BrokerEffect]:
        """What is ripe, and what has waited long enough."""
        first = self._waiting.next_deadline()
        if first is not None and first <= now:
            self._ripe += [self._time_out(each) for each in self._waiting.expired(now)]
        ripe, self._ripe = self._ripe, []
        return ripe

    def _come_so_far(self, woken: list[tuple[Ticket, _Deletion]], key: PartitionId) -> None:
        for ticket, found in woken:
            self._settle(found, key)
            if not found.waits:
                self._waiting.end(ticket)
                self._ripe.append(_respond(found))

    def _settle(self, found: _Deletion, key: PartitionId) -> None:
        """It is done with this partition, one way or another."""
        name, index = found.waits.pop(key)
        leader = self._partitions.led(key)
        if leader is None:
            found.answers[name][index] = _result(index, error=self._partitions.why_not_led(key))
        else:
            found.answers[name][index] = _result(index, self._low_watermark(leader))

    def _time_out(self, found: _Deletion) -> BrokerEffect:
        """As in Kafka beside how far it has come."""
        for name, index in found.waits.values():
            low = found.answers[name][index].low_watermark
            found.answers[name][index] = _result(index, low, ErrorCode.REQUEST_TIMED_OUT)
        return _respond(found)


def _result(index: int, low_watermark: int = -1, error: ErrorCode = ErrorCode.NONE) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=low_watermark, error_code=error)


def _respond(found: _Deletion) -> BrokerEffect:
    results = tuple(
        DeleteRecordsTopicResult(name=name, partitions=tuple(answers.values()))
        for name, answers in found.answers.items()
    )
    return Respond(found.request_id, DeleteRecordsResponse(topics=results))


def _each_once(request: DeleteRecordsRequest) -> dict[str, dict[int, int]]:
    """What is named twice counts as it is named last, as in Kafka."""
    found: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        for one in topic.partitions:
            found.setdefault(topic.name, {})[one.partition_index] = one.offset
    return found
