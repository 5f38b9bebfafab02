"""A changed size, age or index interval of segments reaches the logs that are open: a topic's, a broker's, all."""

from __future__ import annotations

import pytest

from controller_runtime.protocol.messages import incremental_alter_configs_request, produce_request
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.storage.partition_log import PartitionLog
from support.nodes.broker_world import BrokerWorld
from unit.broker.test_odd_requests import produce, serving

pytestmark = pytest.mark.unit

TOPIC, BROKER = 2, 4
WEEK_MS = 7 * 24 * 3600 * 1000


def alter(world: BrokerWorld, resource_type: int, resource: str, name: str, value: str) -> None:
    config = incremental_alter_configs_request.AlterableConfig(name=name, config_operation=0, value=value)
    one = incremental_alter_configs_request.AlterConfigsResource(
        resource_type=resource_type, resource_name=resource, configs=(config,)
    )
    body = incremental_alter_configs_request.IncrementalAlterConfigsRequest(resources=(one,))
    answer = world.controller.decide(body).response
    assert isinstance(answer, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == 0
    world.settle()


def segments(world: BrokerWorld, topic: str) -> int:
    return sum(name.endswith(".log") for name in world.disk.list_directory(f"/data/{topic}-0"))


@pytest.mark.parametrize(
    ("resource_type", "resource", "name"),
    [(TOPIC, "orders", "segment.bytes"), (BROKER, "", "log.segment.bytes"), (BROKER, "11", "log.segment.bytes")],
)
def test_a_changed_size_holds_from_the_next_batch_on(resource_type: int, resource: str, name: str) -> None:
    world = serving("orders", "other")
    for _ in range(3):
        world.ask(produce("orders", b"x" * 600_000), ProduceResponse)
    assert segments(world, "orders") == 1
    alter(world, resource_type, resource, name, "1048576")
    for topic in ("orders", "other"):
        for _ in range(4):
            answer = world.ask(produce(topic, b"x" * 600_000), ProduceResponse)
            assert answer.responses[0].partition_responses[0].error_code == 0
    assert segments(world, "orders") == 5
    assert segments(world, "other") == (1 if resource_type == TOPIC else 4)


@pytest.mark.parametrize(
    ("resource_type", "resource", "name"),
    [(TOPIC, "orders", "segment.ms"), (BROKER, "", "log.roll.ms"), (BROKER, "11", "log.roll.ms")],
)
def test_a_changed_age_holds_from_the_next_batch_on(resource_type: int, resource: str, name: str) -> None:
    world = serving("orders", "other")
    for topic in ("orders", "other"):
        produce_at(world, topic, 1_000, 2_000, 3_000)
    alter(world, resource_type, resource, name, "500")
    for topic in ("orders", "other"):
        produce_at(world, topic, 3_400, 3_500, 3_900, 4_401)
    assert segments(world, "orders") == 3, "3400 is over 500 after 1000, 3900 is not over 500 after 3400, 4401 is"
    assert segments(world, "other") == (1 if resource_type == TOPIC else 3)


@pytest.mark.parametrize(
    ("resource_type", "resource", "name"),
    [
        (TOPIC, "orders", "index.interval.bytes"),
        (BROKER, "", "log.index.interval.bytes"),
        (BROKER, "11", "log.index.interval.bytes"),
    ],
)
def test_a_changed_interval_of_the_index_holds_from_the_next_batch_on(
    resource_type: int, resource: str, name: str
) -> None:
    """LOG-03."""
    world = serving("orders", "other")
    alter(world, resource_type, resource, name, "0")
    for topic in ("orders", "other"):
        produce_at(world, topic, *range(1_000, 1_010))
        produce_at(world, topic, 1_000 + WEEK_MS * 2)  # rolls: what is closed has its whole index
    assert entries(world, "orders") == 9
    assert entries(world, "other") == (0 if resource_type == TOPIC else 9)


@pytest.mark.parametrize(
    ("resource_type", "resource", "name"),
    [
        (TOPIC, "orders", "segment.index.bytes"),
        (BROKER, "", "log.index.size.max.bytes"),
        (BROKER, "11", "log.index.size.max.bytes"),
    ],
)
def test_a_full_index_ends_a_segment(resource_type: int, resource: str, name: str) -> None:
    """LOG-01: the time index keeps a place for what is added when the segment is closed."""
    world = serving("orders", "other")
    for topic in ("orders", "other"):
        alter(world, TOPIC, topic, "index.interval.bytes", "0")
    alter(world, resource_type, resource, name, "36")
    for topic in ("orders", "other"):
        produce_at(world, topic, *range(1_000, 1_009))
    assert segments(world, "orders") == 3, "a batch without an entry, and two with one, in each"
    assert segments(world, "other") == (1 if resource_type == TOPIC else 3)


def produce_at(world: BrokerWorld, topic: str, *timestamps: int) -> None:
    """A batch at each of these times."""
    for time in timestamps:
        records = encode_batch([Record(0, time, None, b"x" * 200)])
        data = produce_request.PartitionProduceData(index=0, records=records)
        topics = (produce_request.TopicProduceData(name=topic, partition_data=(data,)),)
        answer = world.ask(produce_request.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0


def entries(world: BrokerWorld, topic: str) -> int:
    """Of the offset index of the first segment."""
    return world.disk.open(f"/data/{topic}-0/{0:020}.index").size() // 8


@pytest.mark.parametrize(
    ("resource_type", "resource", "name"),
    [
        (TOPIC, "orders", "flush.messages"),
        (BROKER, "", "log.flush.interval.messages"),
        (BROKER, "11", "log.flush.interval.messages"),
    ],
)
def test_what_is_to_be_durable_survives_a_power_loss_once_it_is_acknowledged(
    resource_type: int, resource: str, name: str
) -> None:
    """LOG-30: from the next batch on, which takes with it what came before."""
    world = serving("orders", "other")
    for topic in ("orders", "other"):
        world.ask(produce(topic, b"before"), ProduceResponse)
    assert [synced(world, topic) for topic in ("orders", "other")] == [0, 0]
    alter(world, resource_type, resource, name, "1")
    for topic in ("orders", "other"):
        answer = world.ask(produce(topic, b"after"), ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0
    assert [synced(world, topic) for topic in ("orders", "other")] == [2, 0 if resource_type == TOPIC else 2]


def synced(world: BrokerWorld, topic: str) -> int:
    """Records that are there after a power loss now."""
    survivors = world.disk.survivors("synced only")
    topic_id = world.controller.image.topics.ids[topic]
    return PartitionLog.open(survivors, f"/data/{topic}-0", topic_id).end_offset
