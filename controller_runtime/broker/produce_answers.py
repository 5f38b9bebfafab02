"""What a producer is answered for one partition, and for a topic of them."""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.produce_request import TopicProduceData
from controller_runtime.protocol.messages.produce_response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    TopicProduceResponse,
)

_START_UNSAID: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE)
"""As in Kafka, whose answers say where the log begins beside other errors of a batch."""


def topic_answer(
    topic: TopicProduceData | TopicProduceResponse, answers: list[PartitionProduceResponse]
) -> TopicProduceResponse:
    return TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=tuple(answers))


def start_said(refused: BatchRefusal, start_offset: int) -> int:
    return -1 if refused.before_log or refused.error in _START_UNSAID else start_offset


def refusal(index: int, refused: BatchRefusal, start_offset: int = -1) -> PartitionProduceResponse:
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
