"""A broker that does not replicate acknowledges nothing that another replica should have too, and touches nothing of
it.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import ZERO_UUID
from controller_runtime.parts.effects import Log
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import fetch_request, list_offsets_request, produce_request
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.small_files import encode_partition_metadata
from support.clients.lying_batches import batch
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.controller_world import directory_of, uuid

pytestmark = pytest.mark.unit

TOPIC = uuid("topic", 1)
OTHER = 12
TOPIC_CONFIG, BROKER_CONFIG = 2, 4


def world_with(
    replicas: tuple[int, ...], isr: tuple[int, ...], leader: int = BROKER, least: str | None = None
) -> BrokerWorld:
    """A broker whose image has this partition, as a Java controller may have placed it."""
    world = BrokerWorld(node_configs={} if least is None else {"min.insync.replicas": least})
    world.start()
    placed = PartitionRecord(
        partition_id=0, topic_id=TOPIC, replicas=replicas, isr=isr, leader=leader, leader_epoch=0, partition_epoch=0
    )
    tell(world, TopicRecord(name="stock", topic_id=TOPIC), placed)
    return world


def tell(world: BrokerWorld, *records: Message) -> None:
    world.controller.append((record, record.VERSIONS.highest) for record in records)
    world.settle()


def produced(world: BrokerWorld, acks: int) -> ErrorCode:
    data = produce_request.PartitionProduceData(index=0, records=batch())
    topics = (produce_request.TopicProduceData(name="stock", partition_data=(data,)),)
    answer = world.ask(ProduceRequest(acks=acks, topic_data=topics), ProduceResponse, 9)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def fetched(world: BrokerWorld) -> ErrorCode:
    one = fetch_request.FetchPartition(partition=0, partition_max_bytes=1000)
    topics = (fetch_request.FetchTopic(topic="stock", partitions=(one,)),)
    answer = world.ask(fetch_request.FetchRequest(topics=topics), FetchResponse, 12)
    return ErrorCode(answer.responses[0].partitions[0].error_code)


def listed(world: BrokerWorld) -> ErrorCode:
    one = list_offsets_request.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topics = (list_offsets_request.ListOffsetsTopic(name="stock", partitions=(one,)),)
    answer = world.ask(list_offsets_request.ListOffsetsRequest(topics=topics), ListOffsetsResponse, 7)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


@pytest.mark.parametrize("acks", [-1, 1])
@pytest.mark.parametrize("isr", [(BROKER, OTHER), (BROKER,)])
def test_a_partition_with_another_replica_is_not_served(acks: int, isr: tuple[int, ...]) -> None:
    world = world_with((BROKER, OTHER), isr)
    refused = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (produced(world, acks), fetched(world), listed(world)) == (refused, refused, refused)
    assert (world.service.partitions.leader_count, world.service.partitions.not_served_count) == (0, 1)


def test_it_says_so_once_with_the_remedy_first() -> None:
    world = BrokerWorld()
    world.start()
    told: list[Log] = []
    placed = PartitionRecord(
        partition_id=0, topic_id=TOPIC, replicas=(BROKER, OTHER), isr=(BROKER, OTHER), leader=BROKER
    )
    for records in (
        (TopicRecord(name="stock", topic_id=TOPIC), placed),
        (PartitionChangeRecord(partition_id=0, topic_id=TOPIC, isr=(BROKER,)),),
        (PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=OTHER),),
        (PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=BROKER),),
    ):
        world.controller.append((record, record.VERSIONS.highest) for record in records)
        world.service.changes.on_image(world.controller.image)
        told += [each for each in world.service.changes.go_on() if isinstance(each, Log)]
    (line,) = told
    assert line.level == "error"
    assert line.text.startswith("move stock-0 to Java brokers or to one replica: its replicas are 11, 12,")


def test_nothing_on_its_disk_is_made_or_touched_for_a_replica_that_it_does_not_serve() -> None:
    for leader in (BROKER, OTHER):
        world = world_with((BROKER, OTHER), (BROKER, OTHER), leader)
        produced(world, -1)
        assert not world.disk.exists("/data/stock-0")
    world = BrokerWorld()
    world.disk.make_directories("/data/stock-0")
    left = world.disk.open("/data/stock-0/00000000000000000000.log", create=True)
    left.write_at(0, b"what a Java broker left, torn at its e")
    whose = world.disk.open("/data/stock-0/partition.metadata", create=True)
    whose.write_at(0, encode_partition_metadata(TOPIC))
    placed = PartitionRecord(partition_id=0, topic_id=TOPIC, replicas=(BROKER, OTHER), isr=(OTHER,), leader=OTHER)
    tell(world, TopicRecord(name="stock", topic_id=TOPIC), placed)
    world.start()
    assert sorted(world.disk.list_directory("/data/stock-0")) == ["00000000000000000000.log", "partition.metadata"]
    assert left.read_at(0, 1000) == b"what a Java broker left, torn at its e"


def test_it_serves_from_the_moment_when_it_is_the_only_replica() -> None:
    world = world_with((BROKER, OTHER), (BROKER,))
    assert produced(world, -1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    tell(world, PartitionChangeRecord(partition_id=0, topic_id=TOPIC, replicas=(BROKER,), isr=(BROKER,)))
    assert (produced(world, -1), fetched(world)) == (ErrorCode.NONE, ErrorCode.NONE)
    assert world.service.partitions.not_served_count == 0


def test_a_replica_that_is_added_ends_the_service_and_what_waits_is_not_acknowledged() -> None:
    world = world_with((BROKER,), (BROKER,))
    data = produce_request.PartitionProduceData(index=0, records=batch())
    topics = (produce_request.TopicProduceData(name="stock", topic_id=ZERO_UUID, partition_data=(data,)),)
    waiting = world.send(ProduceRequest(acks=-1, topic_data=topics), 9)
    homes = (directory_of(BROKER), directory_of(OTHER))
    change = PartitionChangeRecord(
        partition_id=0, topic_id=TOPIC, replicas=(BROKER, OTHER), adding_replicas=(OTHER,), directories=homes
    )
    world.controller.append([(change, change.VERSIONS.highest)])
    world.see_metadata()
    answer = world.answers[waiting]
    assert isinstance(answer, ProduceResponse)
    code = answer.responses[0].partition_responses[0].error_code
    assert code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("where", ["topic", "cluster", "broker", "file"])
def test_fewer_in_sync_than_asked_for_are_not_enough_for_acks_of_all(where: str) -> None:
    world = world_with((BROKER, OTHER), (BROKER,), least="2" if where == "file" else None)
    assert produced(world, -1) == ErrorCode.NOT_LEADER_OR_FOLLOWER, "the cluster says 1, and that is before the file"
    kind, name, value = {
        "topic": (TOPIC_CONFIG, "stock", "2"),
        "cluster": (BROKER_CONFIG, "", "2"),
        "broker": (BROKER_CONFIG, "11", "2"),
        "file": (BROKER_CONFIG, "", None),
    }[where]
    tell(world, ConfigRecord(resource_type=kind, resource_name=name, name="min.insync.replicas", value=value))
    assert produced(world, -1) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produced(world, 1) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_one_replica_is_enough_where_there_is_one() -> None:
    world = world_with((BROKER,), (BROKER,), least="2")
    assert (produced(world, -1), produced(world, 1)) == (ErrorCode.NONE, ErrorCode.NONE)
