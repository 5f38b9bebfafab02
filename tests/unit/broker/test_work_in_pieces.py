"""What a broker does in pieces, and what happens between two of them. Here each piece is a single unit of work."""

from __future__ import annotations

import pytest

from controller_runtime.broker import effects
from controller_runtime.identifiers import PartitionId
from controller_runtime.parts import pieces
from controller_runtime.parts.api_table import BROKER as TABLE
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import fetch_request as fetching
from controller_runtime.protocol.messages import produce_request as producing
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import encode_batch
from controller_runtime.protocol.records import Record
from controller_runtime.protocol.schema import Message
from support.nodes.broker_world import BrokerWorld
from support.nodes.busy_broker import BusyBroker

pytestmark = pytest.mark.unit

PARTITIONS = 4


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_UNITS", 1)


@pytest.fixture
def world() -> BrokerWorld:
    made = BrokerWorld()
    made.start()
    create(made, "orders")
    made.settle()
    return made


def create(world: BrokerWorld, name: str) -> None:
    wanted = CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=1)
    world.controller.decide(CreateTopicsRequest(topics=(wanted,)))


def delete(world: BrokerWorld, name: str) -> None:
    world.controller.decide(DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout_ms=1000))


def key(world: BrokerWorld, index: int, name: str = "orders") -> PartitionId:
    topic = world.controller.image.topics.named(name)
    assert topic is not None
    return PartitionId(topic.id, index)


def produce(world: BrokerWorld, *indexes: int, acks: int = -1) -> Message:
    records = encode_batch([Record(0, 1_000, None, b"v")], partition_leader_epoch=0)
    data = tuple(producing.PartitionProduceData(index=n, records=records) for n in indexes)
    topic = producing.TopicProduceData(topic_id=key(world, 0).topic_id, partition_data=data)
    return producing.ProduceRequest(acks=acks, timeout_ms=1000, topic_data=(topic,))


def fetch(world: BrokerWorld, *indexes: int) -> Message:
    wanted = tuple(fetching.FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1000) for n in indexes)
    topic = fetching.FetchTopic(topic_id=key(world, 0).topic_id, partitions=wanted)
    return fetching.FetchRequest(max_wait_ms=5_000, min_bytes=1, max_bytes=1 << 20, topics=(topic,))


def written(world: BrokerWorld) -> list[int]:
    ends = world.service.partitions.high_watermarks()
    return [ends[key(world, n)] for n in range(PARTITIONS)]


def test_what_is_written_between_two_pieces_of_a_fetch_is_not_missed(world: BrokerWorld) -> None:
    waiting = world.send(fetch(world, 0, 1, 2), connection=1)
    assert world.service.has_more_to_do, "it has looked at the first of three"
    world.send(produce(world, 0), connection=2)
    world.settle()
    answer = world.answers[waiting]
    assert isinstance(answer, FetchResponse)
    assert answer.responses[0].partitions[0].records


@pytest.mark.parametrize(("acks", "expected"), [(-1, [1, 0, 0, 0]), (0, [1, 1, 1, 0])])
def test_what_was_not_decided_when_a_producer_hung_up_is_written_only_if_it_wanted_no_answer(
    world: BrokerWorld, acks: int, expected: list[int]
) -> None:
    world.send(produce(world, 0, 1, 2, acks=acks), connection=1)
    world.hang_up(1)
    world.settle()
    assert written(world) == expected


def test_a_partition_that_goes_away_between_two_pieces_of_a_produce_is_not_waited_for(world: BrokerWorld) -> None:
    request = world.send(produce(world, 0, 1, 2, 3))
    delete(world, "orders")
    world.settle()
    answer = world.answers[request]
    assert isinstance(answer, ProduceResponse)
    first, *_, last = answer.responses[0].partition_responses
    assert (first.error_code, first.base_offset) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)
    assert last.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_long_answer_is_of_one_image_and_others_are_answered_meanwhile(world: BrokerWorld) -> None:
    long = world.send(MetadataRequest(topics=None), connection=1)
    delete(world, "orders")
    short = world.send(MetadataRequest(topics=()), connection=2)
    world.settle()
    assert list(world.answers) == [short, long]
    answer = world.answers[long]
    assert isinstance(answer, MetadataResponse)
    assert [len(topic.partitions) for topic in answer.topics] == [PARTITIONS]


def test_images_that_come_meanwhile_are_acted_on_after_the_one_that_is_under_way(world: BrokerWorld) -> None:
    create(world, "stock")
    while world.service.partitions.replica_count == PARTITIONS:
        world.see_metadata()
    assert world.service.changes.is_behind
    delete(world, "stock")
    create(world, "stock")
    delete(world, "orders")
    world.settle()
    found = [world.service.partitions.led(key(world, n, "stock")) for n in range(PARTITIONS)]
    assert all(found)
    assert world.service.partitions.replica_count == PARTITIONS
    assert sorted(world.disk.list_directory("/data")) == [f"stock-{n}" for n in range(PARTITIONS)]


def test_a_produce_to_a_partition_that_is_not_reached_yet_waits_for_it(world: BrokerWorld) -> None:
    create(world, "stock")
    world.see_metadata()
    last = key(world, PARTITIONS - 1, "stock")
    assert world.service.partitions.led(last) is None
    records = encode_batch([Record(0, 1_000, None, b"v")], partition_leader_epoch=0)
    data = producing.PartitionProduceData(index=PARTITIONS - 1, records=records)
    topic = producing.TopicProduceData(topic_id=last.topic_id, partition_data=(data,))
    answer = world.ask(producing.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(topic,)), ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def test_a_lost_directory_is_offline_before_anything_else_is_done(world: BrokerWorld) -> None:
    world = BrokerWorld(directories=2)
    world.start()
    create(world, "orders")
    world.settle()
    create(world, "stock")
    world.see_metadata()
    lost = list(world.directories)[1]
    world.happen(effects.DirectoryFailed(lost, "unplugged"))
    for _ in range(PARTITIONS):
        world.see_metadata()
    offline = [world.service.partitions.why_not_led(key(world, n)) for n in range(PARTITIONS)]
    assert ErrorCode.KAFKA_STORAGE_ERROR in offline
    assert world.service.changes.is_behind


def test_the_table_says_which_requests_are_answered_in_pieces() -> None:
    asked = {request.KEY for request in BusyBroker(1, lambda _: 0.0).requests().values()}
    assert asked == {key for key, row in TABLE.items() if row.in_pieces}
