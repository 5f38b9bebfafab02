"""Requests about transactions that touch every partition, for a broker whose steps are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.messages import add_partitions_to_txn_request as adding
from controller_runtime.protocol.messages import describe_producers_request as describing
from controller_runtime.protocol.messages import txn_offset_commit_request as committing
from controller_runtime.protocol.messages import write_txn_markers_request as marking
from controller_runtime.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from controller_runtime.protocol.messages.list_transactions_request import ListTransactionsRequest
from controller_runtime.protocol.schema import Message


def of_transactions(topics: Sequence[TopicImage], per_topic: int, unknown: tuple[str, ...]) -> Mapping[str, Message]:
    indexes = tuple(range(per_topic))
    added = tuple(adding.AddPartitionsToTxnTopic(name=topic.name, partitions=indexes) for topic in topics)
    asked = adding.AddPartitionsToTxnTransaction(transactional_id="t", producer_id=1, verify_only=True, topics=added)
    marked = tuple(marking.WritableTxnMarkerTopic(name=topic.name, partition_indexes=indexes) for topic in topics)
    marker = marking.WritableTxnMarker(producer_id=7, transaction_result=True, topics=marked)
    offsets = tuple(committing.TxnOffsetCommitRequestPartition(partition_index=index) for index in indexes)
    committed = tuple(committing.TxnOffsetCommitRequestTopic(name=topic.name, partitions=offsets) for topic in topics)
    described = tuple(describing.TopicRequest(name=topic.name, partition_indexes=indexes) for topic in topics)
    return {
        "AddPartitionsToTxn": adding.AddPartitionsToTxnRequest(transactions=(asked,)),
        "WriteTxnMarkers": marking.WriteTxnMarkersRequest(markers=(marker,)),
        "TxnOffsetCommit": committing.TxnOffsetCommitRequest(
            transactional_id="t", group_id="g", producer_id=1, topics=committed
        ),
        "DescribeProducers": describing.DescribeProducersRequest(topics=described),
        "DescribeTransactions, 5,000 unknown names": DescribeTransactionsRequest(transactional_ids=unknown),
        "ListTransactions": ListTransactionsRequest(),
    }
