"""What a producer is told whose request is wrong in several ways."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import PartitionId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import create_topics_request
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.values import replace
from support.clients.client_requests import produce
from support.nodes.broker_world import BROKER
from unit.broker.test_broker_service import serving

pytestmark = pytest.mark.unit

OTHER = 12


def lying(*lies: str) -> bytes:
    """A batch that is wrong in so many ways."""
    value = bytes(2 << 20) if "too large" in lies else b"x"
    data = bytearray(encode_batch([Record(0, 1, None, value)], is_control="control" in lies))
    if "offset" in lies:
        data[0:8] = (100).to_bytes(8, "big")
    if "checksum" in lies:
        data[-1] ^= 1
    if "no batch" in lies:
        data[16] = 1
    return bytes(data)


@pytest.mark.parametrize(
    ("topic", "acks", "lies", "error"),
    [
        ("nowhere", 7, ("no batch",), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 7, ("no batch", "offset"), ErrorCode.INVALID_RECORD),
        ("away", 7, ("checksum",), ErrorCode.INVALID_REQUIRED_ACKS),
        ("away", -1, ("checksum", "offset"), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("__consumer_offsets", -1, ("checksum", "offset"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("safe", -1, ("checksum", "offset"), ErrorCode.NOT_ENOUGH_REPLICAS),
        ("safe", 1, ("checksum", "offset"), ErrorCode.INVALID_RECORD),
        ("orders", -1, ("too large", "checksum", "control"), ErrorCode.MESSAGE_TOO_LARGE),
        ("orders", -1, ("offset", "too large", "checksum"), ErrorCode.INVALID_RECORD),
        ("orders", -1, ("checksum", "control"), ErrorCode.CORRUPT_MESSAGE),
        ("orders", -1, ("control",), ErrorCode.INVALID_RECORD),
        ("orders", -1, (), ErrorCode.NONE),
    ],
)
def test_what_is_wrong_in_several_ways_is_refused_for_the_first_in_kafkas_order(
    topic: str, acks: int, lies: tuple[str, ...], error: ErrorCode
) -> None:
    """PRD-01."""
    world = serving("orders")
    world.controller.start_broker(OTHER)
    both = (create_topics_request.CreatableReplicaAssignment(partition_index=0, broker_ids=(BROKER, OTHER)),)
    other = (create_topics_request.CreatableReplicaAssignment(partition_index=0, broker_ids=(OTHER,)),)
    least = (create_topics_request.CreatableTopicConfig(name="min.insync.replicas", value="2"),)
    world.controller.create("away", -1, -1, assignments=other)
    world.controller.create("__consumer_offsets", -1, -1, assignments=other)
    world.controller.create("safe", -1, -1, assignments=both, configs=least)
    world.settle()
    key = PartitionId(world.controller.image.topics.ids["safe"], 0)
    led = world.service.partitions.led(key)
    assert led is not None
    led.replicas.isr = (BROKER,)
    one = produce(topic, b"", acks=acks).topic_data[0]
    data = replace(one, partition_data=(replace(one.partition_data[0], records=lying(*lies)),))
    answer = world.ask(ProduceRequest(acks=acks, topic_data=(data,)), ProduceResponse, version=9)
    assert answer.responses[0].partition_responses[0].error_code == error
