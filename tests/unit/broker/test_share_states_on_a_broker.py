"""The share coordinator on a broker: its topic, a crash, partitions that are led elsewhere, topics that go."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import PartitionId, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import initialize_share_group_state_request as initializes
from controller_runtime.protocol.messages import read_share_group_state_request as reads
from controller_runtime.protocol.messages import write_share_group_state_request as writes
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from controller_runtime.protocol.messages.initialize_share_group_state_response import (
    InitializeShareGroupStateResponse,
)
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.read_share_group_state_response import PartitionResult
from controller_runtime.protocol.messages.read_share_group_state_response import ReadShareGroupStateResponse as Seen
from controller_runtime.protocol.messages.write_share_group_state_response import WriteShareGroupStateResponse
from support.nodes.broker_world import BROKER, BrokerWorld

pytestmark = pytest.mark.unit

TOPIC = "__share_group_state"
SETTINGS = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.prune.interval.ms": "1000",
}
GROUP = "g"


def id_of(world: BrokerWorld, name: str) -> Uuid:
    topic = world.controller.image.topics.named(name)
    assert topic is not None
    return topic.id


def serving() -> BrokerWorld:
    world = BrokerWorld(node_configs=SETTINGS)
    world.start()
    topics = (CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("orders", "kept"))
    world.controller.decide(CreateTopicsRequest(topics=tuple(topics)))
    world.settle()
    find = FindCoordinatorRequest(key_type=2, coordinator_keys=(f"{GROUP}:{id_of(world, 'orders')}:0",))
    world.ask(find, FindCoordinatorResponse)
    world.wait(1.0)
    assert [each.node_id for each in world.ask(find, FindCoordinatorResponse).coordinators] == [BROKER]
    return world


def begin(world: BrokerWorld, name: str) -> int:
    data = initializes.InitializeStateData(
        topic_id=id_of(world, name), partitions=(initializes.PartitionData(state_epoch=1),)
    )
    asked = initializes.InitializeShareGroupStateRequest(group_id=GROUP, topics=(data,))
    return world.ask(asked, InitializeShareGroupStateResponse).results[0].partitions[0].error_code


def write(world: BrokerWorld, name: str, first: int) -> int:
    batch = writes.StateBatch(first_offset=first, last_offset=first + 1, delivery_state=2, delivery_count=1)
    data = writes.PartitionData(state_epoch=1, state_batches=(batch,))
    topic = writes.WriteStateData(topic_id=id_of(world, name), partitions=(data,))
    asked = writes.WriteShareGroupStateRequest(group_id=GROUP, topics=(topic,))
    return world.ask(asked, WriteShareGroupStateResponse).results[0].partitions[0].error_code


def seen(world: BrokerWorld, topic_id: Uuid) -> PartitionResult:
    topic = reads.ReadStateData(topic_id=topic_id, partitions=(reads.PartitionData(leader_epoch=-1),))
    asked = reads.ReadShareGroupStateRequest(group_id=GROUP, topics=(topic,))
    return world.ask(asked, Seen).results[0].partitions[0]


def led_by(world: BrokerWorld, leader: int) -> None:
    change = PartitionChangeRecord(topic_id=id_of(world, TOPIC), partition_id=0, leader=leader)
    world.controller.append([(change, change.VERSIONS.highest)])
    world.see_metadata()
    world.settle()


def share_groups(world: BrokerWorld, level: int) -> None:
    world.controller.append([(FeatureLevelRecord(name="share.version", feature_level=level), 0)])
    world.settle()


def test_states_outlive_a_crash() -> None:
    world = serving()
    assert begin(world, "orders") == ErrorCode.NONE
    assert [write(world, "orders", first) for first in (0, 7, 2)] == [ErrorCode.NONE] * 3
    before = seen(world, id_of(world, "orders"))
    assert [(each.first_offset, each.last_offset) for each in before.state_batches] == [(0, 3), (7, 8)]
    again = world.restarted()
    again.start()
    again.settle()
    assert seen(again, id_of(again, "orders")) == before


def test_who_leads_the_partition_no_more_does_not_answer_for_it() -> None:
    world = serving()
    assert begin(world, "orders") == ErrorCode.NONE
    led_by(world, -1)
    assert write(world, "orders", 0) == ErrorCode.NOT_COORDINATOR
    led_by(world, BROKER)
    assert write(world, "orders", 0) == ErrorCode.NONE
    assert seen(world, id_of(world, "orders")).state_epoch == 1


def test_states_of_a_topic_that_goes_are_forgotten_and_the_log_begins_later() -> None:
    world = serving()
    for name in ("orders", "kept"):
        assert begin(world, name) == ErrorCode.NONE
    for step in range(5):
        assert write(world, "orders", step) == ErrorCode.NONE
    gone = id_of(world, "orders")
    led = world.service.partitions.led(PartitionId(id_of(world, TOPIC), 0))
    assert led is not None
    assert (led.log.start_offset, led.log.end_offset) == (0, 7)
    world.wait(2.0)
    assert led.log.start_offset == 0, "the oldest snapshot lies there"
    share_groups(world, 0)
    world.controller.decide(DeleteTopicsRequest(topics=(DeleteTopicState(name="orders"),), timeout_ms=1000))
    world.settle()
    assert led.log.end_offset == 8, "a tombstone"
    assert seen(world, gone).error_code == ErrorCode.INVALID_REQUEST
    world.wait(2.0)
    assert led.log.start_offset == 0, "nobody looks where the cluster has no share groups"
    share_groups(world, 1)
    world.wait(2.0)
    assert led.log.start_offset == 1, "where the state of the other topic lies"
    assert begin(world, "kept") == ErrorCode.NONE
    world.wait(2.0)
    assert led.log.start_offset == 8
    again = world.restarted()
    again.start()
    again.settle()
    assert seen(again, id_of(again, "kept")).state_epoch == 1
