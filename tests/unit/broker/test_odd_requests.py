"""What a broker answers to requests of the data plane that are odd; `tests/interop/test_differential_data_plane.py`
asks Apache Kafka the same.
"""

from __future__ import annotations

import pytest

from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import fetch_request, list_offsets_request, produce_request
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch
from controller_runtime.values import replace
from support.clients.lying_batches import LIES
from support.nodes.broker_world import BrokerWorld

pytestmark = pytest.mark.unit


def produce(topic: str, *values: bytes) -> ProduceRequest:
    records = [Record(n, 1000 + n, None, value) for n, value in enumerate(values)]
    data = produce_request.PartitionProduceData(index=0, records=encode_batch(records))
    topics = (produce_request.TopicProduceData(name=topic, partition_data=(data,)),)
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics)


def fetch(topic: str, offset: int) -> fetch_request.FetchRequest:
    partition = fetch_request.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    one = fetch_request.FetchTopic(topic=topic, partitions=(partition,))
    return fetch_request.FetchRequest(max_bytes=1 << 20, topics=(one,))


def values(answer: FetchResponse) -> list[bytes | None]:
    data = answer.responses[0].partitions[0].records or b""
    return [record.value for batch in decode_batches(data) for record in batch.records]


def serving(*topics: str) -> BrokerWorld:
    world = BrokerWorld()
    world.start()
    for topic in topics:
        assert world.controller.create(topic).error_code == 0
    world.settle()
    return world


def listing(*wanted: tuple[int, int], epoch: int = -1, isolation: int = 0) -> list_offsets_request.ListOffsetsRequest:
    """Partitions of one topic, each with a timestamp."""
    parts = tuple(
        list_offsets_request.ListOffsetsPartition(partition_index=index, timestamp=time, current_leader_epoch=epoch)
        for index, time in wanted
    )
    topics = (list_offsets_request.ListOffsetsTopic(name="orders", partitions=parts),)
    return list_offsets_request.ListOffsetsRequest(isolation_level=isolation, topics=topics)


@pytest.mark.parametrize(("timestamp", "since"), [(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12)])
def test_a_special_timestamp_means_nothing_before_its_version(timestamp: int, since: int) -> None:
    """QRY-03, QRY-04."""
    world = serving("orders")
    for version in range(1, 12):
        answer = world.ask(listing((0, timestamp)), ListOffsetsResponse, version)
        wanted = ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION
        assert answer.topics[0].partitions[0].error_code == wanted, version


def test_a_partition_that_is_listed_twice_is_answered_once_with_an_error() -> None:
    """QRY-04."""
    answer = serving("orders").ask(listing((0, -1), (0, -2), (1, -1)), ListOffsetsResponse, 7)
    found = [(one.partition_index, one.error_code) for one in answer.topics[0].partitions]
    assert found == [(0, ErrorCode.INVALID_REQUEST), (1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]


def test_an_isolation_level_that_is_none_is_refused() -> None:
    world = serving("orders")
    answer = world.ask(listing((0, -1), isolation=2), ListOffsetsResponse, 7)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    request = replace(fetch("orders", 0), isolation_level=-1)
    assert world.ask(request, FetchResponse, 12).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_what_is_produced_to_twice_in_a_request_counts_as_it_is_named_last() -> None:
    world = serving("orders")
    topics = produce("orders", b"first").topic_data + produce("orders", b"last").topic_data
    answer = world.ask(ProduceRequest(acks=-1, topic_data=topics), ProduceResponse, 9)
    assert [[one.base_offset for one in topic.partition_responses] for topic in answer.responses] == [[0]]
    assert values(world.ask(fetch("orders", 0), FetchResponse, 12)) == [b"last"]


@pytest.mark.parametrize(
    ("lie", "error"),
    [
        ("magic 3", ErrorCode.CORRUPT_MESSAGE),
        ("length 2^31-1", ErrorCode.UNKNOWN_SERVER_ERROR),
        ("transactional", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ],
)
def test_a_request_is_refused_whole_for_a_batch_that_kafka_cannot_even_look_at(lie: str, error: ErrorCode) -> None:
    world = serving("orders")
    good = produce("orders", b"good").topic_data[0].partition_data[0]
    bad = produce_request.PartitionProduceData(index=1, records=LIES[lie])
    topics = (produce_request.TopicProduceData(name="orders", partition_data=(good, bad)),)
    answer = world.ask(ProduceRequest(acks=-1, topic_data=topics), ProduceResponse, 9)
    assert [one.error_code for one in answer.responses[0].partition_responses] == [error, error]
    assert values(world.ask(fetch("orders", 0), FetchResponse, 12)) == []


@pytest.mark.parametrize(
    ("lie", "start"),
    [("nothing", -1), ("two batches", -1), ("magic 1", -1), ("count 0, one record", 0), ("wrong checksum", -1)],
)
def test_the_start_of_the_log_is_said_only_by_who_got_as_far_as_the_log(lie: str, start: int) -> None:
    data = produce_request.PartitionProduceData(index=0, records=LIES[lie])
    topics = (produce_request.TopicProduceData(name="orders", partition_data=(data,)),)
    answer = serving("orders").ask(ProduceRequest(acks=-1, topic_data=topics), ProduceResponse, 9)
    (found,) = answer.responses[0].partition_responses
    assert (found.error_code != 0, found.base_offset, found.log_start_offset) == (True, -1, start)


def test_a_reader_whose_history_parts_from_the_leaders_is_told_where() -> None:
    world = serving("orders")
    world.ask(produce("orders", b"one", b"two"), ProduceResponse, 9)
    part = fetch_request.FetchPartition(fetch_offset=9, last_fetched_epoch=0, partition_max_bytes=1000)
    topics = (fetch_request.FetchTopic(topic="orders", partitions=(part,)),)
    answer = world.ask(fetch_request.FetchRequest(topics=topics), FetchResponse, 12)
    found = answer.responses[0].partitions[0]
    assert (found.error_code, found.diverging_epoch.epoch, found.diverging_epoch.end_offset) == (0, 0, 2)


@pytest.mark.parametrize(("session", "epoch", "error"), [(0, 1, 70), (7, 1, 70), (0, -5, 70), (7, 0, 0), (7, -1, 0)])
def test_only_a_fetch_that_goes_on_with_a_session_needs_one(session: int, epoch: int, error: int) -> None:
    request = replace(fetch("orders", 0), session_id=session, session_epoch=epoch)
    assert serving("orders").ask(request, FetchResponse, 12).error_code == error


def test_a_replica_that_is_none_reads_nothing() -> None:
    answer = serving("orders").ask(replace(fetch("orders", 0), replica_id=5), FetchResponse, 12)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(("producer", "epoch"), [(5, -1), (-1, 0)])
def test_a_producer_has_an_id_and_an_epoch_or_neither(producer: int, epoch: int) -> None:
    request = InitProducerIdRequest(transactional_id=None, producer_id=producer, producer_epoch=epoch)
    assert serving().ask(request, InitProducerIdResponse, 4).error_code == ErrorCode.INVALID_REQUEST
