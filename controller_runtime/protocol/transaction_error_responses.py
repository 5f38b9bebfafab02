"""What `error_responses` has for requests about transactions that name several things: each gets the error.

Imported when the first such request fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from controller_runtime.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from controller_runtime.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from controller_runtime.protocol.messages.describe_producers_request import DescribeProducersRequest
from controller_runtime.protocol.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    TopicResponse,
)
from controller_runtime.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from controller_runtime.protocol.messages.describe_transactions_response import (
    DescribeTransactionsResponse,
    TransactionState,
)
from controller_runtime.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from controller_runtime.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from controller_runtime.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from controller_runtime.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from controller_runtime.protocol.schema import Message


def _add_partitions(request: AddPartitionsToTxnRequest, error: int) -> Message:
    """Batched requests have one error at the top."""
    if request.transactions:
        return AddPartitionsToTxnResponse(error_code=error)
    topics = tuple(
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=tuple(
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error)
                for index in topic.partitions
            ),
        )
        for topic in request.v3_and_below_topics
    )
    return AddPartitionsToTxnResponse(error_code=error, results_by_topic_v3_and_below=topics)


def _write_markers(request: WriteTxnMarkersRequest, error: int) -> Message:
    markers = tuple(
        WritableTxnMarkerResult(
            producer_id=marker.producer_id,
            topics=tuple(
                WritableTxnMarkerTopicResult(name=topic.name, partitions=_marked(topic.partition_indexes, error))
                for topic in marker.topics
            ),
        )
        for marker in request.markers
    )
    return WriteTxnMarkersResponse(markers=markers)


def _marked(indexes: Sequence[int], error: int) -> tuple[WritableTxnMarkerPartitionResult, ...]:
    return tuple(WritableTxnMarkerPartitionResult(partition_index=index, error_code=error) for index in indexes)


def _commit_offsets(request: TxnOffsetCommitRequest, error: int) -> Message:
    topics = tuple(
        TxnOffsetCommitResponseTopic(
            name=topic.name,
            partitions=tuple(
                TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                for each in topic.partitions
            ),
        )
        for topic in request.topics
    )
    return TxnOffsetCommitResponse(topics=topics)


def _describe_producers(request: DescribeProducersRequest, error: int) -> Message:
    topics = tuple(
        TopicResponse(
            name=topic.name,
            partitions=tuple(
                PartitionResponse(partition_index=index, error_code=error) for index in topic.partition_indexes
            ),
        )
        for topic in request.topics
    )
    return DescribeProducersResponse(topics=topics)


def _describe_transactions(request: DescribeTransactionsRequest, error: int) -> Message:
    found = tuple(TransactionState(transactional_id=name, error_code=error) for name in request.transactional_ids)
    return DescribeTransactionsResponse(transaction_states=found)


SHAPES: Final[dict[str, Callable[[Any, int], Message]]] = {
    "AddPartitionsToTxnRequest": _add_partitions,
    "WriteTxnMarkersRequest": _write_markers,
    "TxnOffsetCommitRequest": _commit_offsets,
    "DescribeProducersRequest": _describe_producers,
    "DescribeTransactionsRequest": _describe_transactions,
}
