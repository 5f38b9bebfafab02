"""Transactions: list, describe, abort; and who produces to a partition.

What only a transaction's coordinator answers is asked of it, what concerns a partition of its leader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import Deadline, raise_if
from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from controller_runtime.protocol.messages.describe_producers_response import DescribeProducersResponse, ProducerState
from controller_runtime.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from controller_runtime.protocol.messages.describe_transactions_response import (
    DescribeTransactionsResponse,
    TransactionState,
)
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from controller_runtime.protocol.messages.list_transactions_request import ListTransactionsRequest
from controller_runtime.protocol.messages.list_transactions_response import ListTransactionsResponse
from controller_runtime.protocol.messages.list_transactions_response import TransactionState as Listed
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from controller_runtime.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse

_TRANSACTION: Final = 1
_PASSING: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
_FENCING_TIMEOUT_MS: Final = 1


class Partition(NamedTuple):
    topic: str
    number: int


async def list_transactions(
    admin: AdminClient, *, duration_ms: int = -1, pattern: str | None = None
) -> Mapping[NodeId, tuple[Listed, ...]]:
    """By coordinator. Raises ApiError."""
    request = ListTransactionsRequest(duration_filter=duration_ms, transactional_id_pattern=pattern)
    found: dict[NodeId, tuple[Listed, ...]] = {}
    for node in (await admin.describe_cluster()).nodes:
        answer = await admin.ask(request, ListTransactionsResponse, node=node.node_id)
        raise_if(answer.error_code)
        found[node.node_id] = answer.transaction_states
    return found


async def _coordinator(admin: AdminClient, name: str) -> NodeId:
    request, deadline = (
        FindCoordinatorRequest(key_type=_TRANSACTION, coordinator_keys=(name,)),
        Deadline(admin.timeout_seconds),
    )
    while True:
        found = (await admin.ask(request, FindCoordinatorResponse)).coordinators[0]
        if found.error_code not in _PASSING or not await deadline.pause():
            raise_if(found.error_code)
            return NodeId(found.node_id)


async def describe_transaction(admin: AdminClient, name: str) -> tuple[NodeId, TransactionState]:
    """Its coordinator, and what that says of it. Raises ApiError."""
    deadline = Deadline(admin.timeout_seconds)
    while True:
        node = await _coordinator(admin, name)
        request = DescribeTransactionsRequest(transactional_ids=(name,))
        found = (await admin.ask(request, DescribeTransactionsResponse, node=node)).transaction_states[0]
        if found.error_code not in _PASSING or not await deadline.pause():
            raise_if(found.error_code)
            return node, found


async def terminate(admin: AdminClient, name: str) -> None:
    """Fence its producer, and so abort its transaction. Raises ApiError."""
    deadline = Deadline(admin.timeout_seconds)
    while True:
        node = await _coordinator(admin, name)
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=_FENCING_TIMEOUT_MS)
        found = await admin.ask(request, InitProducerIdResponse, node=node)
        if found.error_code not in _PASSING or not await deadline.pause():
            raise_if(found.error_code)
            return


async def leaders(admin: AdminClient, topics: tuple[str, ...] | None) -> Mapping[Partition, NodeId]:
    """Who leads each partition of these topics, or of all. Raises ApiError."""
    named = None if topics is None else tuple(MetadataRequestTopic(name=name) for name in topics)
    answer = await admin.ask(MetadataRequest(topics=named, allow_auto_topic_creation=False), MetadataResponse)
    found: dict[Partition, NodeId] = {}
    for topic in answer.topics:
        raise_if(topic.error_code)
        for each in topic.partitions:
            found[Partition(topic.name or "", each.partition_index)] = NodeId(each.leader_id)
    return found


async def producers(admin: AdminClient, partition: Partition, node: NodeId | None = None) -> tuple[ProducerState, ...]:
    """Of a partition, as its leader knows them, or another broker. Raises ApiError."""
    if node is None:
        known = await leaders(admin, (partition.topic,))
        if partition not in known:
            raise_if(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        node = known[partition]
    request = DescribeProducersRequest(
        topics=(TopicRequest(name=partition.topic, partition_indexes=(partition.number,)),)
    )
    found = (await admin.ask(request, DescribeProducersResponse, node=node)).topics[0].partitions[0]
    raise_if(found.error_code)
    return found.active_producers


async def abort(
    admin: AdminClient, partition: Partition, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> None:
    """End a transaction in one partition, whatever its coordinator knows of it. Raises ApiError."""
    topics = (WritableTxnMarkerTopic(name=partition.topic, partition_indexes=(partition.number,)),)
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        coordinator_epoch=coordinator_epoch,
        transaction_result=False,
        topics=topics,
    )
    node = (await leaders(admin, (partition.topic,))).get(partition)
    if node is None:
        raise_if(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    answer = await admin.ask(WriteTxnMarkersRequest(markers=(marker,)), WriteTxnMarkersResponse, node=node)
    raise_if(answer.markers[0].topics[0].partitions[0].error_code)
