"""DeleteRecords and DescribeLogDirs of one broker: what is deleted is gone for readers at once, and stays gone; what
lies in a directory that hangs is not waited for.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import MeasureDirectory
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopicConfig
from controller_runtime.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from controller_runtime.protocol.messages.delete_records_response import DeleteRecordsResponse
from controller_runtime.protocol.messages.describe_log_dirs_request import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from controller_runtime.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, encode_batch
from support.clients.client_requests import fetch, produce, values
from support.disks.work_in_order import ROOM
from support.nodes.broker_world import BrokerWorld
from unit.broker.test_lost_directories import FIRST, SECOND, lose, started

pytestmark = pytest.mark.unit


def written(count: int = 6, **configs: str) -> BrokerWorld:
    world = BrokerWorld()
    world.start()
    wanted = tuple(CreatableTopicConfig(name=name, value=value) for name, value in configs.items())
    assert world.controller.create("t", configs=wanted).error_code == 0
    world.settle()
    for number in range(count):
        world.ask(produce("t", b"%d" % number), ProduceResponse, version=9)
    return world


def delete(world: BrokerWorld, offset: int) -> tuple[int, int]:
    """The code and the low watermark."""
    topic = DeleteRecordsTopic(name="t", partitions=(DeleteRecordsPartition(partition_index=0, offset=offset),))
    answer = world.ask(DeleteRecordsRequest(topics=(topic,), timeout_ms=1000), DeleteRecordsResponse)
    ((found,),) = (one.partitions for one in answer.topics)
    return found.error_code, found.low_watermark


def read(world: BrokerWorld, offset: int) -> int | list[bytes | None]:
    topic = world.controller.image.topics.named("t")
    assert topic is not None
    answer = world.ask(fetch("", offset, topic_id=topic.id), FetchResponse)
    return answer.responses[0].partitions[0].error_code or values(answer)


def test_what_is_deleted_is_refused_at_once_and_what_follows_is_read() -> None:
    """QRY-08."""
    world = written()
    asked = world.send(
        DeleteRecordsRequest(
            topics=(DeleteRecordsTopic(name="t", partitions=(DeleteRecordsPartition(partition_index=0, offset=4),)),),
            timeout_ms=1000,
        )
    )
    assert asked in world.answers, "before any disk was asked"
    assert world.data
    assert read(world, 3) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(world, 4) == [b"4", b"5"]
    assert delete(world, 2) == (ErrorCode.NONE, 4)
    assert delete(world, 7) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(world, -1) == (ErrorCode.NONE, 6)
    assert read(world, 6) == []
    world.ask(produce("t", b"6"), ProduceResponse, version=9)
    assert read(world, 6) == [b"6"]


def test_it_stays_deleted_when_the_broker_is_stopped_and_after_a_checkpoint() -> None:
    world = written()
    assert delete(world, 4) == (ErrorCode.NONE, 4)
    world.manager.checkpoint(world.service.partitions.high_watermarks())
    assert delete(world, 5) == (ErrorCode.NONE, 5)
    crashed = world.restarted()
    crashed.start()
    assert read(crashed, 4) == [b"4", b"5"], "as in Kafka, the start is written down once a minute"
    assert read(crashed, 3) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete(crashed, 5) == (ErrorCode.NONE, 5)
    crashed.manager.shut_down(7, crashed.service.partitions.high_watermarks())
    again = crashed.restarted()
    again.start()
    assert read(again, 4) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(again, 5) == [b"5"]


def test_a_log_that_is_only_compacted_keeps_its_records() -> None:
    """QRY-08."""
    world = written(0, **{"cleanup.policy": "compact"})
    assert delete(world, 0) == (ErrorCode.POLICY_VIOLATION, -1)
    both = written(1, **{"cleanup.policy": "delete"})
    assert delete(both, 1) == (ErrorCode.NONE, 1)


def described(world: BrokerWorld, *asked: DescribableLogDirTopic) -> tuple[DescribeLogDirsResult, ...]:
    return world.ask(DescribeLogDirsRequest(topics=asked or None), DescribeLogDirsResponse).results


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    parts = ((topic.name, one) for topic in result.topics for one in topic.partitions)
    return {(name, one.partition_index): one.partition_size for name, one in parts}


def test_each_directory_says_what_lies_there_and_how_much_room_is_left() -> None:
    """QRY-14."""
    world = started()
    world.ask(produce("b", b"some bytes"), ProduceResponse, version=9)
    first, second = described(world)
    assert (first.error_code, first.log_dir, first.total_bytes, first.usable_bytes) == (0, str(FIRST), *ROOM)
    assert sizes(first) == {("a", 0): 0}
    assert list(sizes(second)) == [("b", 0)]
    assert sizes(second)["b", 0] == len(log_bytes(world, "/data2/b-0"))
    only = described(world, DescribableLogDirTopic(topic="a", partitions=(0, 5)))
    assert [sizes(one) for one in only] == [{("a", 0): 0}, {}]


def log_bytes(world: BrokerWorld, directory: str) -> bytes:
    return bytes(world.disk.names[f"{directory}/{0:020}.log"].data)


def test_a_directory_that_hangs_is_answered_for_after_a_while_and_a_lost_one_at_once() -> None:
    """QRY-14."""
    world = started()
    asked = world.send(DescribeLogDirsRequest(topics=None))
    hung = [one for one in world.data if isinstance(one, MeasureDirectory) and one.directory_id == SECOND]
    for one in hung:
        world.data.remove(one)
    world.settle()
    assert asked not in world.answers
    world.wait(10.5)
    answer = world.answers[asked]
    assert isinstance(answer, DescribeLogDirsResponse)
    assert [one.error_code for one in answer.results] == [ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR]
    late = world.work.measure(hung[0])
    world.happen(late)
    assert len([one for one in world.answers if one == asked]) == 1
    lose(world, SECOND)
    assert [one.error_code for one in described(world)] == [ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR]


def looked_up(world: BrokerWorld, timestamp: int) -> tuple[int, int]:
    """The offset and the epoch."""
    wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    asked = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name="t", partitions=(wanted,)),))
    (one,) = world.ask(asked, ListOffsetsResponse).topics[0].partitions
    return one.offset, one.leader_epoch


def test_times_are_looked_up_in_what_can_still_be_read() -> None:
    world = written(0)
    for times in ((10, 90), (20, 50, 40), (30,)):  # offsets 0 and 1; 2, 3 and 4; 5
        records = [Record(n, time, None, b"v") for n, time in enumerate(times)]
        data = PartitionProduceData(index=0, records=encode_batch(records))
        topic = TopicProduceData(name="t", partition_data=(data,))
        world.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(topic,)), ProduceResponse, version=9)
    seen = {}
    for start in (0, 1, 2, 3, 4, 5, 6):
        assert delete(world, start) == (ErrorCode.NONE, start)
        seen[start] = [looked_up(world, time)[0] for time in (-3, 0, 35, 60, -2)]
    assert seen == {
        0: [1, 0, 1, 1, 0],
        1: [1, 1, 1, 1, 1],
        2: [3, 2, 3, -1, 2],
        3: [3, 3, 3, -1, 3],
        4: [4, 4, 4, -1, 4],
        5: [5, 5, -1, -1, 5],
        6: [-1, -1, -1, -1, 6],
    }
    assert looked_up(world, -2) == (6, 0), "the epoch that wrote up to there"


def test_a_fetch_by_id_that_names_none_is_refused_by_id() -> None:
    world = written(0)
    answer = world.ask(fetch("t", 0), FetchResponse, version=13)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
