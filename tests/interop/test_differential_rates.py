"""Quotas on bytes and connections: whoever is too fast waits as long at a node of ours as at Apache Kafka (SEC-09,
SEC-10).
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from controller_runtime.parts.api_table import served
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, request_class, response_class
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.apache_kafka.differential import Pair, Side
from support.clients.lying_batches import batch, record
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = ListenerType.BROKER
TOPIC = "rates"
RATE = 1.0
"""A byte a second: what passes between two questions is no part of the time to wait."""
DATA = batch(record(0, b"x" * 2000))
QUOTAS = {
    (("user", "ANONYMOUS"), ("client-id", None)): ("producer_byte_rate", "consumer_byte_rate"),
    (("ip", "127.0.0.9"),): ("connection_creation_rate",),
}
"""Each client of the default has a rate of its own, and nobody has asked by these names before."""
TIMED = "timed"
UNTIMED = frozenset({
    *(ApiKey.WRITE_TXN_MARKERS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE),
    *(ApiKey.PRODUCE, ApiKey.FETCH),  # wait longer for their bytes, see above
    *(ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.DESCRIBE_ACLS),  # have no answer when they say nothing
})  # fmt: skip
TAKE_TIME = sorted(
    key
    for key, versions in served(BROKER).items()
    if key not in UNTIMED and any(each.name == "throttle_time_ms" and versions.highest in each.versions
                                  for each in response_class(key).FIELDS)
)  # fmt: skip


def _change(side: Side, *, remove: bool) -> None:
    entries = tuple(
        EntryData(
            entity=tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity),
            ops=tuple(OpData(key=key, value=RATE, remove=remove) for key in keys),
        )
        for entity, keys in QUOTAS.items()
    )
    answer = side.call(BROKER, AlterClientQuotasRequest(entries=entries, validate_only=False), 1)
    assert {each.error_code for each in answer.entries} == {0}


def _ask(side: Side, message: Message, version: int, client_id: str) -> Any:
    """On a connection of its own: it may be muted."""
    assert message.KEY is not None
    side.close()
    answer = side.ask(BROKER, encode_request(message, version, 7, client_id, with_length=False))
    assert isinstance(answer, bytes), answer
    return decode_response(answer, message.KEY, version).body


def _produce(side: Side, version: int, data: bytes = DATA) -> ProduceRequest:
    parts = (PartitionProduceData(index=0, records=data),)
    name = {"topic_id": side.topic_ids[TOPIC]} if version >= 13 else {"name": TOPIC}
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(TopicProduceData(**name, partition_data=parts),))


def _fetch(side: Side, version: int) -> FetchRequest:
    parts = (FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20),)
    topic = {"topic_id": side.topic_ids[TOPIC]} if version >= 13 else {"topic": TOPIC}
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=(FetchTopic(**topic, partitions=parts),))


@pytest.fixture(scope="module")
def limited(pair: Pair) -> Iterator[Pair]:
    for side in pair.sides:
        topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
        side.call(BROKER, CreateTopicsRequest(topics=(topic,), timeout_ms=30_000), 7)

        def is_led(side: Side = side) -> bool:
            if TOPIC not in side.learn_topics():
                return False
            answer = side.call(BROKER, _produce(side, 13), 13)
            return bool(answer.responses[0].partition_responses[0].error_code == 0)

        eventually("the topic is led", is_led)
        _change(side, remove=False)

        def holds(side: Side = side) -> bool:
            return bool(_ask(side, _produce(side, 12), 12, "canary").throttle_time_ms)

        eventually("the quota holds", holds)
    yield pair
    for side in pair.sides:
        side.close()
        _change(side, remove=True)

        def is_free(side: Side = side) -> bool:
            return not _ask(side, _fetch(side, 12), 12, "canary").throttle_time_ms

        eventually("the quota is gone", is_free)
        side.close()


@pytest.mark.parametrize("version", list(served(BROKER)[ApiKey.PRODUCE]))
def test_a_producer_waits_for_every_byte_of_its_request(limited: Pair, version: int) -> None:
    """SEC-10: the answer is given, and says how long."""
    java, ours = (_ask(side, _produce(side, version), version, f"client-{version}") for side in limited.sides)
    assert ours.responses[0].partition_responses[0].error_code == 0
    assert ours.throttle_time_ms == java.throttle_time_ms > 1_000_000


@pytest.mark.parametrize("version", list(served(BROKER)[ApiKey.FETCH]))
def test_a_consumer_waits_for_what_it_is_given(limited: Pair, version: int) -> None:
    """SEC-10. What Kafka read for it is left out of its answer and comes with the next one."""
    java, ours = (_ask(side, _fetch(side, version), version, f"client-{version}") for side in limited.sides)
    sizes = [sum(len(part.records or b"") for part in topic.partitions) for topic in ours.responses]
    assert sizes == [len(DATA)], "no more than the quota gives, and one batch at least"
    assert ours.throttle_time_ms == java.throttle_time_ms > 1_000_000


@pytest.fixture(scope="module")
def timed(limited: Pair) -> Iterator[Pair]:
    """Every client named `timed` is given next to no time of a thread. It begins after the other questions."""
    for side in limited.sides:
        _bound_time(side, remove=False)

        def holds(side: Side = side) -> bool:
            return bool(_ask(side, MetadataRequest(topics=()), 12, TIMED).throttle_time_ms)

        eventually("the quota of time holds", holds)
    yield limited
    for side in limited.sides:
        _bound_time(side, remove=True)


def _bound_time(side: Side, *, remove: bool) -> None:
    side.close()  # what it asked last may have muted it
    entity = (
        EntityData(entity_type="user", entity_name="ANONYMOUS"),
        EntityData(entity_type="client-id", entity_name=TIMED),
    )
    entry = EntryData(entity=entity, ops=(OpData(key="request_percentage", value=1e-9, remove=remove),))
    answer = side.call(BROKER, AlterClientQuotasRequest(entries=(entry,), validate_only=False), 1)
    assert {each.error_code for each in answer.entries} == {0}


@pytest.mark.parametrize("key", TAKE_TIME, ids=lambda key: key.name)
def test_whoever_takes_a_threads_time_waits_a_window_at_most(timed: Pair, key: ApiKey) -> None:
    """SEC-10, QUO-03: the answer is given at once and says how long; the time of a request is capped at one window."""
    version = served(BROKER)[key].highest
    java, ours = (_ask(side, request_class(key)(), version, TIMED) for side in timed.sides)
    assert ours.throttle_time_ms == java.throttle_time_ms
    assert java.throttle_time_ms == 1000


def test_what_brokers_ask_of_each_other_takes_no_time_of_a_quota(timed: Pair) -> None:
    """SEC-10: a Fetch of a follower, and markers of transactions."""
    for side in timed.sides:
        follower = replace(_fetch(side, 17), replica_state=ReplicaState(replica_id=99, replica_epoch=-1))
        assert _ask(side, follower, 17, TIMED).throttle_time_ms == 0, side.name
        _ask(side, WriteTxnMarkersRequest(), 1, TIMED)
        again = _timed_pair(side, WriteTxnMarkersRequest(), 1)
        assert again < 0.7, side.name


def test_the_connection_of_who_waits_is_not_listened_to(timed: Pair) -> None:
    """SEC-10: the answer leaves at once, the next one after a second."""
    for side in timed.sides:
        assert _timed_pair(side, MetadataRequest(topics=()), 12) > 0.7, side.name
        assert _timed_pair(side, CreateTopicsRequest(timeout_ms=1000), 7) > 0.7, f"{side.name}: forwarded"


def _timed_pair(side: Side, message: Message, version: int) -> float:
    """Seconds between two answers to the same connection."""
    asked = encode_request(message, version, 7, TIMED)
    with socket.create_connection(("127.0.0.1", side.ports[BROKER]), 30) as connection:
        times = []
        for _ in range(2):
            connection.sendall(asked)
            size = int.from_bytes(_exactly(connection, 4), "big")
            _exactly(connection, size)
            times.append(time.monotonic())
    return times[1] - times[0]


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        assert part, "it was closed"
        found += part
    return found


def test_an_address_that_connects_too_often_is_closed(limited: Pair) -> None:
    """SEC-09: ten are the burst that its rate allows; the others are kept a while, unheard, and closed."""
    for side in limited.sides:
        opened = [socket.create_connection(("127.0.0.1", side.ports[BROKER]), 30, ("127.0.0.9", 0)) for _ in range(20)]
        for each in opened:
            each.sendall(encode_request(ApiVersionsRequest(), 0, 7, "hasty"))
        served = sum(_is_answered(each) for each in opened)
        for each in opened:
            each.close()
        assert 10 <= served < 20, side.name


def _is_answered(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(4))
    except ConnectionError:
        return False
