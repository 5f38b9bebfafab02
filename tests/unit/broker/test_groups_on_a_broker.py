"""Groups on a broker: its logs take what they decide, and its partitions say where they are coordinated."""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import AppendRecords, ReadRecords
from controller_runtime.identifiers import PartitionId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from controller_runtime.protocol.messages.offset_commit_response import OffsetCommitResponse
from controller_runtime.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from controller_runtime.protocol.messages.offset_fetch_response import OffsetFetchResponse
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from support.clients.client_requests import produce
from support.nodes.broker_world import BROKER, BrokerWorld

pytestmark = pytest.mark.unit

OFFSETS = "__consumer_offsets"
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.segment.bytes": "2000000",
    "group.initial.rebalance.delay.ms": "0",
}
FIND = FindCoordinatorRequest(coordinator_keys=("g",))


def serving() -> BrokerWorld:
    world = BrokerWorld(node_configs=SETTINGS)
    world.start()
    assert world.controller.create("orders", partitions=100).error_code == 0
    assert world.ask(FIND, FindCoordinatorResponse).coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.settle()
    world.wait(1.0)
    assert world.ask(FIND, FindCoordinatorResponse).coordinators[0].node_id == BROKER
    return world


def commit(*indexes: int, offset: int = 5) -> OffsetCommitRequest:
    parts = tuple(OffsetCommitRequestPartition(partition_index=each, committed_offset=offset) for each in indexes)
    return OffsetCommitRequest(group_id="g", topics=(OffsetCommitRequestTopic(name="orders", partitions=parts),))


def codes(answer: OffsetCommitResponse) -> set[int]:
    return {each.error_code for topic in answer.topics for each in topic.partitions}


def committed(world: BrokerWorld) -> dict[int, int]:
    asked = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id="g", topics=None),))
    group = world.ask(asked, OffsetFetchResponse, 9).groups[0]
    assert group.error_code == 0, group
    return {each.partition_index: each.committed_offset for topic in group.topics for each in topic.partitions}


def led_by(world: BrokerWorld, *leaders: int) -> None:
    """The leaders of every partition of the offsets, one after the other, as one image says it."""
    topic = world.controller.image.topics.named(OFFSETS)
    assert topic is not None
    for leader in leaders:
        for index in range(topic.partition_count):
            change = PartitionChangeRecord(topic_id=topic.id, partition_id=index, leader=leader)
            world.controller.append([(change, change.VERSIONS.highest)])
    world.see_metadata()


def test_the_topic_is_made_as_this_broker_is_configured_when_a_group_is_looked_for() -> None:
    """QRY-13."""
    world = serving()
    topic = world.controller.image.topics.named(OFFSETS)
    assert topic is not None
    assert topic.partition_count == 3
    configs = dict(world.controller.image.configs.of(2, OFFSETS))
    assert configs == {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "2000000"}


def test_a_commit_is_answered_when_the_log_has_it() -> None:
    """GRP-24"""
    world = serving()
    asked = world.send(commit(0), 9)
    world.see_metadata()
    assert asked not in world.answers
    assert [type(each) for each in world.data] == [AppendRecords]
    world.settle()
    answer = world.answers[asked]
    assert isinstance(answer, OffsetCommitResponse)
    assert codes(answer) == {0}
    assert committed(world) == {0: 5}


def test_offsets_are_there_after_a_restart_and_when_the_broker_leads_again() -> None:
    """GRP-19, GRP-20: while it does not lead it is no coordinator, and who waits is told."""
    world = serving()
    for index in range(100):
        assert codes(world.ask(commit(index, offset=index), OffsetCommitResponse, 9)) == {0}
    waits = world.send(commit(0, offset=7), 9)
    led_by(world, -1)
    world.settle()
    answer = world.answers[waits]
    assert isinstance(answer, OffsetCommitResponse)
    assert codes(answer) == {ErrorCode.NOT_COORDINATOR}
    assert codes(world.ask(commit(1), OffsetCommitResponse, 9)) == {ErrorCode.NOT_COORDINATOR}
    led_by(world, BROKER)
    assert any(isinstance(each, ReadRecords) for each in world.data), "they are read again"
    loading = world.send(commit(1), 9)
    told = world.answers[loading]
    assert isinstance(told, OffsetCommitResponse)
    assert codes(told) == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    world.settle()
    assert committed(world) == {index: index for index in range(1, 100)} | {0: 7}, "it was written nevertheless"


def test_who_leads_in_another_epoch_reads_what_is_there_first() -> None:
    world = serving()
    assert codes(world.ask(commit(1, offset=1), OffsetCommitResponse, 9)) == {0}
    waits = world.send(commit(0, offset=7), 9)
    led_by(world, -1, BROKER)
    answer = world.answers[waits]
    assert isinstance(answer, OffsetCommitResponse)
    assert codes(answer) == {ErrorCode.NOT_COORDINATOR}
    assert any(isinstance(each, ReadRecords) for each in world.data), "they are read again"
    world.settle()
    assert committed(world) == {0: 7, 1: 1}


def test_a_load_is_done_in_pieces() -> None:
    """No step replays more than a piece of it."""
    world = serving()
    for _ in range(20):
        assert codes(world.ask(commit(*range(100)), OffsetCommitResponse, 9)) == {0}
    led_by(world, -1)
    world.settle()
    led_by(world, BROKER)
    steps = 0
    world.perform_data()
    while world.service.has_more_to_do:
        world.see_metadata()
        steps += 1
    assert steps >= 2_000 // 250
    world.settle()
    assert len(committed(world)) == 100


def test_what_was_committed_for_a_topic_goes_with_it() -> None:
    """OFF-10"""
    world = serving()
    world.ask(commit(0, 1), OffsetCommitResponse, 9)
    world.controller.decide(DeleteTopicsRequest(topics=(DeleteTopicState(name="orders"),), timeout_ms=1_000))
    world.settle()
    world.wait(0.1)
    assert committed(world) == {}


def test_clients_do_not_write_to_the_offsets() -> None:
    """PRD-12"""
    world = serving()
    answer = world.ask(produce(OFFSETS, b"v"), ProduceResponse, 9)
    (told,) = answer.responses[0].partition_responses
    assert told.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert (told.error_message, told.base_offset, told.log_start_offset) == (None, -1, -1)
    topic = world.controller.image.topics.named(OFFSETS)
    assert topic is not None
    log = world.service.partitions.open_log(PartitionId(topic.id, 0))
    assert log is not None
    assert log.end_offset == 0
