"""What is changed of a broker's configurations holds from the next request on: of a topic, of all brokers, of this one.

Each name that this node acts on and that may change while it runs is here or in `test_changed_segments`.
"""

from __future__ import annotations

import pytest

from controller_runtime.configuration.names import ACTED, CONFIG_NAMES, ONLY_AT_START
from controller_runtime.metadata.broker_config_specs import specs
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import decode_batches
from support.nodes.broker_world import BrokerWorld
from unit.broker.test_changed_segments import BROKER, TOPIC, alter
from unit.broker.test_odd_requests import fetch, produce, serving

pytestmark = pytest.mark.unit

PLACES = [(TOPIC, "orders"), (BROKER, ""), (BROKER, "11")]
HERE = {
    "message.max.bytes": ("max.message.bytes", "200"),
    "log.message.timestamp.before.max.ms": ("message.timestamp.before.max.ms", "1"),
    "log.message.timestamp.after.max.ms": ("message.timestamp.after.max.ms", "1"),
    "log.message.timestamp.type": ("message.timestamp.type", "LogAppendTime"),
    "compression.type": ("compression.type", "gzip"),
}
ELSEWHERE = {
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.delete.retention.ms",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.max.compaction.lag.ms",
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleanup.policy",
    "log.flush.interval.messages",
    "log.index.interval.bytes",
    "log.index.size.max.bytes",
    "log.retention.bytes",
    "log.retention.ms",
    "log.roll.ms",
    "log.segment.bytes",
    "log.segment.delete.delay.ms",
    "min.insync.replicas",
    "producer.id.expiration.ms",
    "transaction.partition.verification.enable",
}
"""Of logs, which are configured anew (`test_changed_segments`, `test_retention`, `test_compacted_topics`), what
partitions of several replicas are held to; `storage/test_aborted` has the expiry of producers,
`test_transactional_batches` what is verified.
"""
OF_CONNECTIONS = {
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
}
"""`tests/integration/server/test_connection_limits.py`."""
OF_DIRECTORIES = {"cordoned.log.dirs"}
"""`test_cordoned_directories`."""


def change(world: BrokerWorld, place: tuple[int, str], name: str, value: str | None = None) -> None:
    of_topic, new = HERE[name]
    alter(world, *place, of_topic if place[0] == TOPIC else name, new if value is None else value)


def produced(world: BrokerWorld, topic: str = "orders", size: int = 300) -> int:
    answer = world.ask(produce(topic, b"x" * size), ProduceResponse)
    return answer.responses[0].partition_responses[0].error_code


def attributes(world: BrokerWorld, offset: int) -> int:
    """Of the batch that begins there."""
    answer = world.ask(fetch("orders", offset), FetchResponse, 12)
    records = answer.responses[0].partitions[0].records
    return decode_batches(records or b"")[0].header.attributes


def test_each_name_that_may_change_while_it_runs_is_tried() -> None:
    dynamic = {row.name for row in CONFIG_NAMES if row.standing == ACTED and row.name in specs()}
    assert dynamic - set(ONLY_AT_START) == set(HERE) | ELSEWHERE | OF_CONNECTIONS | OF_DIRECTORIES


@pytest.mark.parametrize("place", PLACES)
def test_a_batch_may_be_as_large_as_it_is_said_now(place: tuple[int, str]) -> None:
    world = serving("orders", "other")
    assert produced(world) == 0
    change(world, place, "message.max.bytes")
    assert produced(world) == ErrorCode.MESSAGE_TOO_LARGE
    assert produced(world, "other") == (0 if place[0] == TOPIC else ErrorCode.MESSAGE_TOO_LARGE)
    assert produced(world, size=50) == 0


@pytest.mark.parametrize("place", PLACES)
def test_the_time_of_a_record_is_judged_as_it_is_said_now(place: tuple[int, str]) -> None:
    world = serving("orders")
    assert produced(world) == 0
    change(world, place, "log.message.timestamp.before.max.ms")
    assert produced(world) == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("name", "attribute"), [("compression.type", 1), ("log.message.timestamp.type", 8)])
def test_batches_are_stored_as_it_is_said_now(place: tuple[int, str], name: str, attribute: int) -> None:
    """gzip is codec 1; LogAppendTime is bit 3."""
    world = serving("orders")
    assert produced(world) == 0
    change(world, place, name)
    assert produced(world) == 0
    assert (attributes(world, 0), attributes(world, 1)) == (0, attribute)


def test_a_broker_s_own_value_goes_before_that_of_all_and_a_topic_s_before_both() -> None:
    world = serving("orders")
    change(world, (BROKER, ""), "message.max.bytes")
    change(world, (BROKER, "11"), "message.max.bytes", "1000")
    assert produced(world) == 0
    change(world, (TOPIC, "orders"), "message.max.bytes")
    assert produced(world) == ErrorCode.MESSAGE_TOO_LARGE
