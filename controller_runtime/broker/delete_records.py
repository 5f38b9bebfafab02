"""DeleteRecords: a partition begins later. Decided here at once, as in Kafka; the log's files follow.

What is below the new start is refused to readers from now on. With one replica nobody has to follow, so nothing waits
for `timeout_ms`.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.cluster_view import INTERNAL_TOPICS
from controller_runtime.broker.effects import DeleteBefore
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering
from controller_runtime.identifiers import ZERO_UUID
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_records_request import DeleteRecordsRequest
from controller_runtime.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

HIGH_WATERMARK: Final = -1
"""As an offset: everything that readers may see."""


def delete_records(partitions: LocalPartitions, event: RequestReceived, request: DeleteRecordsRequest) -> Answering:
    topics: dict[str, dict[int, DeleteRecordsPartitionResult]] = {}
    for name, wanted in _each_once(request).items():
        answers = topics[name] = {}
        for index, offset in wanted.items():
            found = _judge(partitions, name, index, offset)
            if isinstance(found, ErrorCode):
                answers[index] = DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1, error_code=found)
                yield None
                continue
            log, start = found.log, found.log.high_watermark if offset == HIGH_WATERMARK else offset
            if start > log.start_offset:
                log.begin_at(start)
                yield DeleteBefore(log.key, start)
            else:
                yield None
            answers[index] = DeleteRecordsPartitionResult(partition_index=index, low_watermark=log.start_offset)
    results = tuple(
        DeleteRecordsTopicResult(name=name, partitions=tuple(answers.values())) for name, answers in topics.items()
    )
    return [Respond(event.request_id, DeleteRecordsResponse(topics=results))]


def _each_once(request: DeleteRecordsRequest) -> dict[str, dict[int, int]]:
    """What is named twice counts as it is named last, as in Kafka."""
    found: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        for one in topic.partitions:
            found.setdefault(topic.name, {})[one.partition_index] = one.offset
    return found


def _judge(partitions: LocalPartitions, name: str, index: int, offset: int) -> Leader | ErrorCode:
    found = partitions.find(name, ZERO_UUID, index)
    if found == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return found
    if name in INTERNAL_TOPICS:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if isinstance(found, ErrorCode):
        return found
    if not partitions.rules(name).deletes:
        return ErrorCode.POLICY_VIOLATION
    if offset != HIGH_WATERMARK and not 0 <= offset <= found.log.high_watermark:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return found
