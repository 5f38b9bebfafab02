"""An exception while one partition of a produce request is served costs that partition's part: the others' offsets are
given, so they are written.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.leader import Leader
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, encode_batch
from support.nodes.broker_world import BrokerWorld
from support.nodes.failpoints import Failpoint

pytestmark = pytest.mark.unit


def test_what_is_raised_for_one_partition_leaves_the_others_written() -> None:
    world = BrokerWorld()
    world.start()
    world.may_fail = True
    wanted = CreatableTopic(name="orders", num_partitions=3, replication_factor=1)
    made = world.ask(CreateTopicsRequest(topics=(wanted,)), CreateTopicsResponse)
    batch = encode_batch([Record(0, world.wall, None, b"v")])
    parts = tuple(PartitionProduceData(index=index, records=batch) for index in range(3))
    request = ProduceRequest(
        acks=-1,
        timeout_ms=1000,
        topic_data=(TopicProduceData(topic_id=made.topics[0].topic_id, partition_data=parts),),
    )
    world.ask(request, ProduceResponse)
    counted = Failpoint(0, None, [Leader.append.__code__])
    with counted:
        world.ask(request, ProduceResponse)
    middle = Failpoint(counted.calls // 3 + 1, OverflowError("a bug"), [Leader.append.__code__])
    with middle:
        answer = world.ask(request, ProduceResponse)
    assert middle.hit is not None
    codes = [each.error_code for each in answer.responses[0].partition_responses]
    assert codes == [0, ErrorCode.UNKNOWN_SERVER_ERROR, 0]
    after = world.ask(request, ProduceResponse)
    assert [each.error_code for each in after.responses[0].partition_responses] == [0, 0, 0]
    assert [each.base_offset for each in after.responses[0].partition_responses] == [3, 2, 3]
    assert world.stopped is None
