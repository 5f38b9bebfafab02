"""What the authorizer says of requests about transactions: who writes under a transactional id needs Write on it, who
looks Describe; brokers, which ask for others, need ClusterAction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from controller_runtime.answers.rights.verdict import (
    Fields,
    Judged,
    Judging,
    Refused,
    Verdict,
    narrowed,
    one_by_one,
    parted,
)
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authorization import Resource
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from controller_runtime.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from controller_runtime.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from controller_runtime.protocol.messages.describe_producers_request import DescribeProducersRequest
from controller_runtime.protocol.messages.describe_producers_response import DescribeProducersResponse
from controller_runtime.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from controller_runtime.protocol.messages.describe_transactions_response import DescribeTransactionsResponse
from controller_runtime.protocol.messages.end_txn_request import EndTxnRequest
from controller_runtime.protocol.messages.list_transactions_request import ListTransactionsRequest
from controller_runtime.protocol.messages.list_transactions_response import ListTransactionsResponse
from controller_runtime.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from controller_runtime.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_DENIED: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_GROUP_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_TOPICS: Final = Fields("topics", "topics")
_TOPIC_WORDS: Final = "Topic authorization failed."
_FIRST_OF_BROKERS: Final = 4
"""Version of AddPartitionsToTxn."""


def _may_write(judged: Judged, name: str) -> bool:
    return judged.asking.may(Operation.WRITE, Resource.TRANSACTIONAL_ID, name)


def add_partitions(judged: Judged, request: AddPartitionsToTxnRequest) -> Judging:
    """All or nothing: if one topic may not be written, no partition is added."""
    asking = judged.asking
    if judged.version >= _FIRST_OF_BROKERS:
        if asking.may(Operation.CLUSTER_ACTION, Resource.CLUSTER):
            return None
        return Refused(AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    if not _may_write(judged, request.v3_and_below_transactional_id):
        return Refused(refusal(request, _DENIED))
    topics = request.v3_and_below_topics
    _, denied = yield from parted(topics, lambda topic: asking.may(Operation.WRITE, Resource.TOPIC, topic.name))
    if not denied:
        return None
    refused = {topic.name for topic in denied}
    results: list[AddPartitionsToTxnTopicResult] = []
    for topic in topics:
        known = judged.image.topics.named(topic.name)
        codes: list[AddPartitionsToTxnPartitionResult] = []
        for index in topic.partitions:
            yield None
            code = ErrorCode.OPERATION_NOT_ATTEMPTED
            if topic.name in refused:
                code = _TOPIC_DENIED
            elif known is None or not 0 <= index < known.partition_count:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            codes.append(AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code))
        results.append(AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=tuple(codes)))
    return Refused(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=tuple(results)))


def add_offsets(judged: Judged, request: AddOffsetsToTxnRequest) -> Verdict:
    if not _may_write(judged, request.transactional_id):
        return Refused(refusal(request, _DENIED))
    if judged.asking.may(Operation.READ, Resource.GROUP, request.group_id):
        return None
    return Refused(refusal(request, _GROUP_DENIED))


def end(judged: Judged, request: EndTxnRequest) -> Verdict:
    return None if _may_write(judged, request.transactional_id) else Refused(refusal(request, _DENIED))


def commit_offsets(judged: Judged, request: TxnOffsetCommitRequest) -> Judging:
    asking = judged.asking
    if not _may_write(judged, request.transactional_id):
        return Refused(refusal(request, _DENIED))
    if not asking.may(Operation.READ, Resource.GROUP, request.group_id):
        return Refused(refusal(request, _GROUP_DENIED))
    return (yield from one_by_one(request, _TOPICS, _may_read(judged), _TOPIC_DENIED, TxnOffsetCommitResponse()))


def _may_read(judged: Judged) -> Callable[[Any], bool]:
    return lambda topic: judged.asking.may(Operation.READ, Resource.TOPIC, topic.name)


def describe_producers(judged: Judged, request: DescribeProducersRequest) -> Judging:
    allowed, denied = yield from parted(request.topics, _may_read(judged))
    if not denied:
        return None
    refused = refusal(replace(request, topics=tuple(denied)), _TOPIC_DENIED)
    assert isinstance(refused, DescribeProducersResponse), "it refuses DescribeProducers"
    said: list[Any] = []
    for topic in refused.topics:
        yield None
        partitions = tuple(replace(each, error_message=_TOPIC_WORDS) for each in topic.partitions)
        said.append(replace(topic, partitions=partitions))

    def complete(answer: Message) -> Message:
        assert isinstance(answer, DescribeProducersResponse), "it answers DescribeProducers"
        return replace(answer, topics=(*answer.topics, *said))

    rest = replace(request, topics=tuple(allowed))
    return (yield from narrowed(request, rest, not allowed, complete, DescribeProducersResponse()))


def describe(judged: Judged, request: DescribeTransactionsRequest) -> Judging:
    """Of the topics of a transaction those that may be described."""
    asking = judged.asking
    allowed, denied = yield from parted(
        request.transactional_ids, lambda name: asking.may(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, name)
    )
    refused = refusal(replace(request, transactional_ids=tuple(denied)), _DENIED)
    assert isinstance(refused, DescribeTransactionsResponse), "it refuses DescribeTransactions"
    said = refused.transaction_states

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        assert isinstance(answer, DescribeTransactionsResponse), "it answers DescribeTransactions"
        seen: list[Any] = []
        for each in answer.transaction_states:
            yield None
            topics = tuple(
                topic for topic in each.topics if asking.could(Operation.DESCRIBE, Resource.TOPIC, topic.topic)
            )
            seen.append(replace(each, topics=topics))
        return replace(answer, transaction_states=(*seen, *said))

    rest = replace(request, transactional_ids=tuple(allowed))
    return (yield from narrowed(request, rest, not allowed, complete, DescribeTransactionsResponse()))


def list_all(judged: Judged, request: ListTransactionsRequest) -> Verdict:
    """Those that may be described."""

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        assert isinstance(answer, ListTransactionsResponse), "it answers ListTransactions"
        seen: list[Any] = []
        for each in answer.transaction_states:
            yield None
            if judged.asking.could(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, each.transactional_id):
                seen.append(each)
        return replace(answer, transaction_states=tuple(seen))

    return Narrowed(request, request, complete)
