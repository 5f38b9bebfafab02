"""A broker between its clients, its controller and its disk."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.broker.effects import AppendRecords, OpenPartition, PartitionFailed, ReadRecords
from controller_runtime.broker.lifecycle import State
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import (
    create_topics_request,
    delete_topics_request,
    describe_cluster_request,
    describe_topic_partitions_request,
    fetch_request,
    list_offsets_request,
    metadata_request,
    offset_for_leader_epoch_request,
    produce_request,
)
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.describe_cluster_response import DescribeClusterResponse
from controller_runtime.protocol.messages.describe_topic_partitions_response import DescribeTopicPartitionsResponse
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.clients.client_requests import fetch, produce, values
from support.nodes.broker_world import BROKER, BrokerWorld

pytestmark = pytest.mark.unit


def serving(*topics: str, **config: Any) -> BrokerWorld:
    world = BrokerWorld(**config)
    world.start()
    for topic in topics:
        assert world.controller.create(topic).error_code == 0
    world.settle()
    return world


def partition_of(answer: ProduceResponse) -> object:
    return answer.responses[0].partition_responses[0]


def test_it_starts_registers_and_unfences() -> None:
    world = BrokerWorld()
    assert world.service.is_serving is False
    world.start()
    assert world.service.lifecycle.state is State.RUNNING
    assert world.controller.image.cluster.brokers[BROKER].fenced is False


def test_what_is_produced_is_fetched() -> None:
    world = serving("orders")
    answer = world.ask(produce("orders", b"one", b"two"), ProduceResponse, version=9)
    assert (answer.responses[0].partition_responses[0].base_offset, answer.responses[0].name) == (0, "orders")
    answer = world.ask(produce("orders", b"three"), ProduceResponse, version=9)
    assert answer.responses[0].partition_responses[0].base_offset == 2
    assert values(world.ask(fetch("orders", 0), FetchResponse, version=12)) == [b"one", b"two", b"three"]
    got = world.ask(fetch("orders", 2), FetchResponse, version=12).responses[0].partitions[0]
    assert (got.high_watermark, got.last_stable_offset, got.log_start_offset) == (3, 3, 0)


def test_topics_are_found_by_id_too() -> None:
    """PRD-03."""
    world = serving("orders")
    topic_id = world.controller.image.topics.ids["orders"]
    data = produce("orders", b"one").topic_data[0].partition_data
    request = ProduceRequest(
        acks=-1, topic_data=(produce_request.TopicProduceData(topic_id=topic_id, partition_data=data),)
    )
    assert world.ask(request, ProduceResponse).responses[0].partition_responses[0].error_code == 0
    assert values(world.ask(fetch("", 0, topic_id=topic_id), FetchResponse)) == [b"one"]
    gone = world.ask(fetch("", 0, topic_id=Uuid.of(9, 9)), FetchResponse).responses[0].partitions[0]
    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_an_acknowledgement_waits_for_the_write() -> None:
    world = serving("orders")
    request_id = world.send(produce("orders", b"one"), version=9)
    assert request_id not in world.answers
    assert [type(effect) for effect in world.data] == [AppendRecords]
    empty = world.send(fetch("orders", 0), version=12)
    answer = world.answers[empty]
    assert isinstance(answer, FetchResponse)
    assert values(answer) == [], "not written, not seen"
    world.perform_data()
    assert request_id in world.answers


def test_a_producer_that_wants_no_answer_gets_none() -> None:
    world = serving("orders")
    request_id = world.send(produce("orders", b"one", acks=0), version=9)
    assert world.answers[request_id] is None
    world.settle()
    assert values(world.ask(fetch("orders", 0), FetchResponse, version=12)) == [b"one"]


def test_a_producer_that_wants_no_answer_learns_of_an_error_by_losing_its_connection() -> None:
    world = serving("orders")
    request_id = world.send(produce("nowhere", b"one", acks=0), version=9)
    assert request_id not in world.answers
    assert world.closed == [1]


def test_a_produce_that_comes_before_its_log_is_open_waits_and_keeps_its_turn() -> None:
    world = serving()
    world.controller.create("new")
    world.see_metadata()
    assert [type(effect) for effect in world.data] == [OpenPartition]
    first, second = (world.send(produce("new", value), version=9) for value in (b"1", b"2"))
    assert not {first, second} & set(world.answers)
    world.settle()
    assert {first, second} <= set(world.answers)
    assert values(world.ask(fetch("new", 0), FetchResponse, version=12)) == [b"1", b"2"]


@pytest.mark.parametrize(
    ("request_body", "error"),
    [
        (produce("nowhere", b"x"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (produce("orders", b"x", index=7), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (produce("orders", b"x", acks=2), ErrorCode.INVALID_REQUIRED_ACKS),
        (produce("orders", bytes(2 << 20)), ErrorCode.MESSAGE_TOO_LARGE),
    ],
)
def test_a_produce_that_cannot_be_is_refused_by_partition(request_body: ProduceRequest, error: ErrorCode) -> None:
    """PRD-05, PRD-13."""
    answer = serving("orders").ask(request_body, ProduceResponse, version=9)
    found = answer.responses[0].partition_responses[0]
    assert (found.error_code, found.base_offset) == (error, -1)


def test_a_fetch_waits_for_data_as_long_as_it_may() -> None:
    """FCH-13."""
    world = serving("orders")
    waiting = world.send(fetch("orders", 0, wait_ms=500), version=12)
    world.wait(0.3)
    assert waiting not in world.answers
    world.send(produce("orders", b"one"), version=9)
    world.settle()
    answer = world.answers[waiting]
    assert isinstance(answer, FetchResponse)
    assert values(answer) == [b"one"]
    late = world.send(fetch("orders", 1, wait_ms=500), version=12)
    world.wait(0.49)
    assert late not in world.answers
    world.wait(0.02)
    assert late in world.answers


def test_a_fetch_waits_until_enough_has_come() -> None:
    """FCH-13."""
    world = serving("orders")
    world.ask(produce("orders", b"x" * 100), ProduceResponse, version=9)
    waiting = world.send(fetch("orders", 0, wait_ms=500, min_bytes=300), version=12)
    world.settle()
    assert waiting not in world.answers
    world.ask(produce("orders", b"y" * 200), ProduceResponse, version=9)
    answer = world.answers[waiting]
    assert isinstance(answer, FetchResponse)
    assert len(values(answer)) == 2


def test_what_was_written_while_a_fetch_was_read_counts_before_it_waits() -> None:
    """The append stands before the read in the queue, and is done when the read comes back with too little."""
    world = serving("orders")
    world.ask(produce("orders", b"x" * 100), ProduceResponse, version=9)
    world.send(produce("orders", b"y" * 200), version=9)
    waiting = world.send(fetch("orders", 0, wait_ms=500, min_bytes=300), version=12)
    world.settle()
    answer = world.answers[waiting]
    assert isinstance(answer, FetchResponse)
    assert len(values(answer)) == 2


def test_one_damaged_batch_behind_a_good_one_is_answered_and_hangs_nobody() -> None:
    """What is before it is served; at it the client is told, and does not take it for the end or for an offset out of
    range.
    """
    world = serving("orders")
    for value in (b"one", b"two"):
        world.ask(produce("orders", value), ProduceResponse, version=9)
    log = next(node for path, node in world.disk.names.items() if path.endswith("orders-0/00000000000000000000.log"))
    log.data[len(log.data) // 2 + 8 : len(log.data) // 2 + 12] = b"\xff\xff\xff\xff"
    answer = world.ask(fetch("orders", 0, wait_ms=500), FetchResponse, version=12)
    assert values(answer) == [b"one"]
    answer = world.ask(fetch("orders", 1, wait_ms=500), FetchResponse, version=12)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.CORRUPT_MESSAGE


def test_who_hung_up_is_forgotten() -> None:
    world = serving("orders")
    waiting = world.send(fetch("orders", 0, wait_ms=500), version=12, connection=7)
    world.hang_up(7)
    world.ask(produce("orders", b"one"), ProduceResponse, version=9)
    world.wait(1.0)
    assert waiting not in world.answers


@pytest.mark.parametrize("when", ["before it is read", "while it is read"])
def test_nothing_is_read_for_who_hung_up(when: str) -> None:
    world = serving("orders")
    world.ask(produce("orders", b"one"), ProduceResponse, version=9)
    gone = world.send(fetch("orders", 0), version=12, connection=7)
    (reading,) = world.data
    assert isinstance(reading, ReadRecords)
    if when == "while it is read":
        world.data.clear()
    world.hang_up(7)
    assert not world.data, "nothing is left to read"
    if when == "while it is read":
        world.data.append(reading)
    world.settle()
    assert gone not in world.answers


@pytest.mark.parametrize(
    ("request_body", "error"),
    [
        (fetch("nowhere", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (fetch("orders", 5), ErrorCode.OFFSET_OUT_OF_RANGE),
        (fetch("orders", 0, epoch=9), ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_fetch_that_cannot_be_is_refused_at_once(request_body: fetch_request.FetchRequest, error: ErrorCode) -> None:
    """FCH-12."""
    answer = serving("orders").ask(request_body, FetchResponse, version=12)
    found = answer.responses[0].partitions[0]
    assert (found.error_code, found.high_watermark, found.records) == (error, -1, b"")


def test_an_answer_is_as_large_as_asked_but_holds_one_batch_at_least() -> None:
    """FCH-08."""
    world = serving("orders")
    for number in range(5):
        world.ask(produce("orders", b"%d" % number * 100), ProduceResponse, version=9)
    for limit, count in ((1, 1), (400, 2), (100_000, 5)):
        request = fetch("orders", 0)
        small = fetch_request.FetchRequest(max_bytes=limit, min_bytes=1, topics=request.topics)
        assert len(values(world.ask(small, FetchResponse, version=12))) == count


def test_partitions_are_read_in_the_order_of_the_request_and_each_as_far_as_it_asks() -> None:
    """FCH-09: what the answer has no room for is left out; each first batch is whole until one was given."""
    world = serving("orders", "other")
    for topic in ("orders", "other"):
        for _ in range(3):
            world.ask(produce(topic, b"x" * 100), ProduceResponse, version=9)
    topics = [fetch(topic, 0).topics[0] for topic in ("other", "orders")]

    def read(max_bytes: int, *each: int) -> list[int]:
        wanted = tuple(
            replace(topic, partitions=(replace(topic.partitions[0], partition_max_bytes=limit),))
            for topic, limit in zip(topics, each, strict=True)
        )
        request = fetch_request.FetchRequest(max_bytes=max_bytes, min_bytes=1, topics=wanted)
        answer = world.ask(request, FetchResponse, version=12)
        assert [topic.topic for topic in answer.responses] == ["other", "orders"]
        return [len(decode_batches(topic.partitions[0].records or b"")) for topic in answer.responses]

    assert read(100_000, 100_000, 100_000) == [3, 3]
    assert read(100_000, 400, 100_000) == [2, 3]
    assert read(700, 100_000, 100_000) == [3, 1]
    assert read(1, 1, 1) == [1, 0]
    assert read(100_000, 1, 1) == [1, 0], "only the first batch of an answer is given whole"


def list_offsets(timestamp: int) -> list_offsets_request.ListOffsetsRequest:
    partition = list_offsets_request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topic = list_offsets_request.ListOffsetsTopic(name="orders", partitions=(partition,))
    return list_offsets_request.ListOffsetsRequest(replica_id=-1, topics=(topic,))


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (-1, (-1, 6, 0)),
        (-2, (-1, 0, 0)),
        (-3, (3002, 5, 0)),
        (-4, (-1, 0, 0)),
        (-5, (-1, -1, -1)),
        (0, (1000, 0, 0)),
        (1001, (1001, 1, 0)),
        (1500, (3000, 3, 0)),
        (3002, (3002, 5, 0)),
        (3003, (-1, -1, -1)),
    ],
)
def test_offsets_are_listed_by_end_and_time(timestamp: int, expected: tuple[int, int, int]) -> None:
    world = serving("orders")
    for stamp in (1000, 3000):
        world.ask(produce("orders", b"a", b"b", b"c", timestamp=stamp), ProduceResponse, version=9)
    found = world.ask(list_offsets(timestamp), ListOffsetsResponse).topics[0].partitions[0]
    assert (found.timestamp, found.offset, found.leader_epoch) == expected
    assert found.error_code == 0


def test_old_clients_are_told_no_epoch() -> None:
    world = serving("orders")
    assert world.ask(list_offsets(-1), ListOffsetsResponse, version=3).topics[0].partitions[0].leader_epoch == -1


def test_the_end_of_an_epoch_is_known() -> None:
    world = serving("orders")
    world.ask(produce("orders", b"a", b"b"), ProduceResponse, version=9)
    wanted = offset_for_leader_epoch_request.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topic = offset_for_leader_epoch_request.OffsetForLeaderTopic(topic="orders", partitions=(wanted,))
    request = offset_for_leader_epoch_request.OffsetForLeaderEpochRequest(topics=(topic,))
    found = world.ask(request, OffsetForLeaderEpochResponse).topics[0].partitions[0]
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, 0, 2)


def ask_metadata(world: BrokerWorld, *names: str, create: bool = True) -> MetadataResponse:
    topics = tuple(metadata_request.MetadataRequestTopic(name=name) for name in names) if names else None
    request = metadata_request.MetadataRequest(topics=topics, allow_auto_topic_creation=create)
    return world.ask(request, MetadataResponse)


def test_metadata_names_brokers_and_leaders() -> None:
    world = serving("orders")
    answer = ask_metadata(world)
    assert [(each.node_id, each.host, each.port) for each in answer.brokers] == [(11, "localhost", 9092)]
    assert (answer.controller_id, answer.cluster_id) == (11, "cluster-of-the-tests-0")
    (topic,) = answer.topics
    assert (topic.name, topic.topic_id) == ("orders", world.controller.image.topics.ids["orders"])
    (partition,) = topic.partitions
    assert (partition.leader_id, partition.leader_epoch, partition.replica_nodes, partition.isr_nodes) == (
        11,
        0,
        (11,),
        (11,),
    )


def test_a_fenced_leader_is_shown_as_missing() -> None:
    world = serving("orders")
    world.controller.start_broker(12)
    world.controller.heartbeat(11, want_fence=True)
    world.see_metadata()
    (topic,) = ask_metadata(world, "orders").topics
    (partition,) = topic.partitions
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert partition.offline_replicas == (11,)


@pytest.mark.parametrize(("name", "error"), [("a b", 17), ("..", 17), ("x" * 250, 17), ("fine", 3)])
def test_metadata_judges_names(name: str, error: int) -> None:
    (topic,) = ask_metadata(serving(), name, create=False).topics
    assert topic.error_code == error


@pytest.mark.parametrize(
    ("allowed_by_broker", "allowed_by_client", "made"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_a_missing_topic_is_made_when_both_sides_allow_it(
    allowed_by_broker: bool, allowed_by_client: bool, made: bool
) -> None:
    world = serving(auto_create_topics=allowed_by_broker)
    (topic,) = ask_metadata(world, "wanted", create=allowed_by_client).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.settle()
    assert ("wanted" in world.controller.image.topics.ids) is made
    if made:
        assert ask_metadata(world, "wanted").topics[0].error_code == 0


def test_a_missing_topic_that_is_named_twice_is_made_once() -> None:
    world = serving()
    assert {topic.error_code for topic in ask_metadata(world, "wanted", "other", "wanted").topics} == {3}
    world.settle()
    assert {"wanted", "other"} <= set(world.controller.image.topics.ids)


def test_the_controller_is_not_asked_for_more_missing_topics_than_it_makes_for_one_request() -> None:
    """Apache Kafka's broker asks for all; its controller refuses all of them, with POLICY_VIOLATION."""
    world = serving()
    names = [f"missing-{number}" for number in range(10_001)]
    assert {topic.error_code for topic in ask_metadata(world, *names).topics} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    world.settle()
    assert not world.controller.image.topics.ids
    ask_metadata(world, *names[:20])
    world.settle()
    assert sorted(world.controller.image.topics.ids) == sorted(names[:20])


def test_internal_topics_are_not_made_because_a_client_names_them() -> None:
    world = serving()
    (topic,) = ask_metadata(world, "__consumer_offsets").topics
    world.settle()
    assert (topic.error_code, topic.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    assert "__consumer_offsets" not in world.controller.image.topics.ids


def test_describe_cluster_shows_brokers_only() -> None:
    world = serving()
    world.controller.register(12)
    request = describe_cluster_request.DescribeClusterRequest
    answer = world.ask(request(), DescribeClusterResponse)
    assert [each.broker_id for each in answer.brokers] == [11]
    fenced = world.ask(request(include_fenced_brokers=True), DescribeClusterResponse)
    assert [(each.broker_id, each.is_fenced) for each in fenced.brokers] == [(11, False), (12, True)]
    assert world.ask(request(endpoint_type=2), DescribeClusterResponse).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert (
        world.ask(request(endpoint_type=9), DescribeClusterResponse).error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
    )


def create(name: str, factor: int = 1) -> Message:
    topic = create_topics_request.CreatableTopic(name=name, num_partitions=2, replication_factor=factor)
    return create_topics_request.CreateTopicsRequest(topics=(topic,))


def test_topics_are_created_and_deleted_by_the_controller() -> None:
    world = serving()
    answer = world.ask(create("orders"), CreateTopicsResponse)
    assert (answer.topics[0].error_code, answer.topics[0].num_partitions) == (0, 2)
    world.settle()
    assert {"orders-0", "orders-1"} <= set(world.disk.list_directory("/data"))
    state = delete_topics_request.DeleteTopicState(name="orders")
    gone = world.ask(delete_topics_request.DeleteTopicsRequest(topics=(state,), timeout_ms=1000), DeleteTopicsResponse)
    assert gone.responses[0].error_code == 0
    world.settle()
    assert not [name for name in world.disk.list_directory("/data") if name.startswith("orders")]


def test_what_the_controller_refuses_is_told_to_the_client() -> None:
    answer = serving().ask(create("orders", factor=3), CreateTopicsResponse)
    assert answer.topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_forwarded_request_waits_for_a_controller_and_is_given_up_in_the_end() -> None:
    world = serving()
    world.reachable = False
    soon, never = world.send(create("soon")), None
    world.wait(5.0)
    assert soon not in world.answers
    world.reachable = True
    world.wait(0.5)
    assert soon in world.answers
    world.reachable = False
    never = world.send(create("never"))
    world.wait(61.0)
    answer = world.answers[never]
    assert isinstance(answer, CreateTopicsResponse)
    assert answer.topics[0].error_code == ErrorCode.REQUEST_TIMED_OUT


def test_producer_ids_come_from_blocks_of_the_controller() -> None:
    """TXN-01."""
    world = serving()
    request = InitProducerIdRequest(transactional_id=None)
    found = [world.ask(request, InitProducerIdResponse, version=5).producer_id for _ in range(1001)]
    assert found == list(range(1001))
    assert world.controller.image.next_producer_id == 2000


def test_a_disk_that_fails_ends_the_broker() -> None:
    world = serving("orders")
    request_id = world.send(produce("orders", b"one"), version=9)
    append = world.data.popleft()
    assert isinstance(append, AppendRecords)
    world.happen(PartitionFailed(append.key, "no space", fatal=True))
    assert world.stopped is not None
    assert world.stopped.fault
    assert "no space" in world.stopped.reason
    assert request_id not in world.answers, "nothing is acknowledged that is not written"


def test_a_log_that_cannot_be_opened_takes_only_its_partition_away() -> None:
    world = serving("orders")
    world.controller.create("broken")
    world.see_metadata()
    opening = world.data.popleft()
    assert isinstance(opening, OpenPartition)
    world.happen(PartitionFailed(opening.key, "bad", fatal=False))
    answer = world.ask(produce("broken", b"x"), ProduceResponse, version=9)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (
        world.ask(produce("orders", b"x"), ProduceResponse, version=9).responses[0].partition_responses[0].error_code
        == 0
    )
    assert world.stopped is None


def test_a_topic_deleted_while_a_producer_waits_is_told_to_it() -> None:
    world = serving("orders")
    waiting = world.send(produce("orders", b"one"), version=9)
    state = delete_topics_request.DeleteTopicState(name="orders")
    world.controller.decide(delete_topics_request.DeleteTopicsRequest(topics=(state,), timeout_ms=1000))
    world.see_metadata()
    answer = world.answers[waiting]
    assert isinstance(answer, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.settle()


def test_a_read_between_question_and_answer_may_lose_its_log() -> None:
    world = serving("orders")
    world.ask(produce("orders", b"one"), ProduceResponse, version=9)
    reading = world.send(fetch("orders", 0), version=12)
    assert [type(effect) for effect in world.data] == [ReadRecords]
    state = delete_topics_request.DeleteTopicState(name="orders")
    world.controller.decide(delete_topics_request.DeleteTopicsRequest(topics=(state,), timeout_ms=1000))
    world.see_metadata()
    world.data.rotate(1)  # the close comes first
    world.settle()
    answer = world.answers[reading]
    assert isinstance(answer, FetchResponse)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_it_leaves_under_control() -> None:
    world = serving("orders")
    world.service.shut_down(world.now)
    world.wait(1.0)
    assert world.service.has_left
    assert world.controller.image.cluster.brokers[BROKER].in_controlled_shutdown or (
        world.controller.image.cluster.brokers[BROKER].fenced
    )


def test_a_restart_after_a_crash_still_knows_its_producers() -> None:
    world = serving("orders")
    data = encode_batch([Record(0, 1, None, b"v")], producer_id=4, producer_epoch=0, base_sequence=0)
    partition = produce_request.PartitionProduceData(index=0, records=data)
    topic = produce_request.TopicProduceData(name="orders", partition_data=(partition,))
    request = ProduceRequest(acks=-1, topic_data=(topic,))
    first = world.ask(request, ProduceResponse, version=9).responses[0].partition_responses[0]
    again = world.restarted()
    again.start()
    second = again.ask(request, ProduceResponse, version=9).responses[0].partition_responses[0]
    assert (first.base_offset, second.base_offset, second.error_code) == (0, 0, 0)
    assert values(again.ask(fetch("orders", 0), FetchResponse, version=12)) == [b"v"]


def test_the_controller_is_told_where_a_replica_lives_when_it_does_not_know() -> None:
    """DIR-03."""
    world = BrokerWorld(directories=2)
    world.start()
    world.controller.create("orders", partitions=4)
    (before, *_) = (p for _, p in world.controller.image.topics.named("orders").partitions())  # type: ignore[union-attr]
    world.wait(1.0)
    after = [p for _, p in world.controller.image.topics.named("orders").partitions()]  # type: ignore[union-attr]
    homes = {each.directory(BROKER) for each in after}
    assert before.directory(BROKER) not in homes, "it was unassigned"
    assert homes == set(world.directories)
    for index, partition in enumerate(after):
        home = world.directories[partition.directory(BROKER)]
        assert f"orders-{index}" in world.disk.list_directory(home)


def describe_partitions(world: BrokerWorld, limit: int, cursor: tuple[str, int] | None = None) -> list[tuple[str, int]]:
    messages = describe_topic_partitions_request
    at = None if cursor is None else messages.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    request = messages.DescribeTopicPartitionsRequest(response_partition_limit=limit, cursor=at)
    answer = world.ask(request, DescribeTopicPartitionsResponse)
    found = [(topic.name or "", each.partition_index) for topic in answer.topics for each in topic.partitions]
    if answer.next_cursor is None:
        return found
    return found + describe_partitions(
        world, limit, (answer.next_cursor.topic_name, answer.next_cursor.partition_index)
    )


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
def test_partitions_are_described_page_by_page(limit: int) -> None:
    world = serving()
    for name, count in (("b", 3), ("a", 2), ("c", 1)):
        world.controller.create(name, partitions=count)
    wanted = [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]
    world.settle()
    assert describe_partitions(world, limit) == wanted


@pytest.mark.parametrize(("old", "new"), [(0, 50), (50, 0), (7, 20), (20, 7)])
def test_a_topic_deleted_and_made_again_between_two_images_keeps_what_is_written_to_the_new_one(
    old: int, new: int
) -> None:
    """The old log leaves its directory before the new one comes there, in whatever order their ids are (found by the
    simulator, seed 8667)."""
    world = BrokerWorld()
    world.start()
    world.controller._topics = old
    world.controller.create("orders")
    world.settle()
    world.ask(produce("orders", b"old"), ProduceResponse, version=9)
    state = delete_topics_request.DeleteTopicState(name="orders")
    world.controller.decide(delete_topics_request.DeleteTopicsRequest(topics=(state,), timeout_ms=1000))
    world.controller._topics = new
    world.controller.create("orders")
    world.settle()
    written = world.ask(produce("orders", b"new"), ProduceResponse, version=9)
    assert written.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert sorted(name for name in world.disk.list_directory("/data") if name.startswith("orders")) == ["orders-0"]
    assert values(world.ask(fetch("orders", 0), FetchResponse, version=12)) == [b"new"]
