"""A broker that coordinates a transaction and leads its partition: it sends the marker to itself."""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import AppendRecords
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import add_partitions_to_txn_request as adds
from controller_runtime.protocol.messages import write_txn_markers_request as marks
from controller_runtime.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from controller_runtime.protocol.messages.describe_transactions_response import DescribeTransactionsResponse
from controller_runtime.protocol.messages.end_txn_request import EndTxnRequest
from controller_runtime.protocol.messages.end_txn_response import EndTxnResponse
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from support.nodes.broker_world import BrokerWorld

pytestmark = pytest.mark.unit

SETTINGS = {"transaction.state.log.replication.factor": "1", "transaction.state.log.num.partitions": "1"}
NAME, TOPIC = "till", "orders"
FROM_ANOTHER = RequestId(9_000)


def serving() -> BrokerWorld:
    world = BrokerWorld(node_configs=SETTINGS)
    world.start()
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
    world.controller.decide(CreateTopicsRequest(topics=(topic,)))
    world.settle()
    world.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=(NAME,)), FindCoordinatorResponse)
    world.wait(1.0)
    begun(world)  # asks for producer ids
    world.settle()
    return world


def begun(world: BrokerWorld) -> InitProducerIdResponse:
    asked = InitProducerIdRequest(transactional_id=NAME, transaction_timeout_ms=60_000)
    return world.ask(asked, InitProducerIdResponse)


def state(world: BrokerWorld) -> str:
    asked = DescribeTransactionsRequest(transactional_ids=(NAME,))
    (found,) = world.ask(asked, DescribeTransactionsResponse).transaction_states
    return found.transaction_state


def test_its_answer_comes_back_whoever_else_sends_markers_in_that_moment() -> None:
    """TXN-14: another coordinator's request for the same partition comes with the news that the marker is written."""
    world = serving()
    producer = begun(world)
    assert producer.error_code == ErrorCode.NONE
    topics = (adds.AddPartitionsToTxnTopic(name=TOPIC, partitions=(0,)),)
    added = adds.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=NAME, v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch, v3_and_below_topics=topics,
    )  # fmt: skip
    world.ask(added, AddPartitionsToTxnResponse, version=3)
    end = EndTxnRequest(
        transactional_id=NAME, committed=True, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
    )
    ended = world.send(end, version=3)
    world.perform_data(1)
    assert isinstance(world.answers[ended], EndTxnResponse), "the end is decided"
    (marker,) = world.data
    assert isinstance(marker, AppendRecords), "its marker waits for the disk"

    world.data.clear()
    world.pump.feed(world.work.append(marker))
    named = (marks.WritableTxnMarkerTopic(name=TOPIC, partition_indexes=(0,)),)
    another = marks.WritableTxnMarker(producer_id=4_711, transaction_result=True, topics=named)
    asked = marks.WriteTxnMarkersRequest(markers=(another,))
    info = ConnectionInfo(ConnectionId(7), "PLAINTEXT")
    world.happen(RequestReceived(FROM_ANOTHER, info, ApiKey.WRITE_TXN_MARKERS, 1, client_id=None, body=asked))
    world.settle()
    assert FROM_ANOTHER in world.answers
    assert state(world) == "CompleteCommit"
