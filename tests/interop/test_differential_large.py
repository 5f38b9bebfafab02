"""Requests with thousands of elements, which a node must judge one by one: the same to Apache Kafka and to ours. What
only ours refuses is in `tests/unit/protocol/test_element_budget.py` and deviations.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import hostile_frames as frames
from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from support.apache_kafka.differential import CLOSED, Pair, Side

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
CASES: dict[str, tuple[tuple[ListenerType, ...], bytes, int, int, Callable[[Any], Any]]] = {
    "10,001 topics made by one request": (BOTH, frames.create_topics(10_001), 19, 7, lambda it: it.topics),
    "a topic named 1,000 times": (BOTH, frames.create_topics(1_000, name="one"), 19, 7, lambda it: it.topics),
    "3,000 unknown topics deleted": (BOTH, frames.delete_topics(3_000), 20, 5, lambda it: it.responses),
    "the empty name deleted 3,000 times": (BOTH, frames.empty_names(3_000), 20, 5, lambda it: it.responses),
    "configs of 3,000 unknown topics changed": (BOTH, frames.alter_configs(3_000), 44, 1, lambda it: it.responses),
    "3,000 unknown partitions listed": (
        (ListenerType.BROKER,),
        frames.list_offsets(3_000),
        2,
        9,
        lambda it: it.topics[0].partitions,
    ),
}


def answer(
    side: Side, role: ListenerType, frame: bytes, key: int, version: int, items: Callable[[Any], Any]
) -> list[str]:
    got = side.ask(role, frame[4:])
    assert isinstance(got, bytes), f"{side.name}: {got}"
    body = decode_response(got, key, version).body
    return sorted(str(to_json(one, version)) for one in items(body))


@pytest.mark.parametrize("name", sorted(CASES))
def test_thousands_of_elements_are_answered_as_by_kafka(pair: Pair, name: str) -> None:
    roles, frame, key, version, items = CASES[name]
    for role in roles:
        java, ours = (answer(side, role, frame, key, version, items) for side in pair.sides)
        assert ours == java, role


def test_neither_makes_the_topics_of_a_client_that_names_ten_thousand_missing_ones(pair: Pair) -> None:
    names = [f"missing-{number:05d}" for number in range(10_001)]
    asked = MetadataRequest(topics=tuple(MetadataRequestTopic(name=name) for name in names))
    for side in pair.sides:
        body = side.call(ListenerType.BROKER, asked, 12)
        assert {topic.error_code for topic in body.topics} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}, side.name
        assert len(body.topics) == len(names)
    for side in pair.sides:
        made = {topic.name for topic in side.call(ListenerType.BROKER, MetadataRequest(topics=None), 12).topics}
        assert not made.intersection(names), side.name


def test_a_string_of_more_than_32767_bytes_ends_the_connection(pair: Pair) -> None:
    head = b"\0\x14\0\x05\0\0\0\x01\xff\xff\0"  # DeleteTopics v5
    longest = head + b"\x02" + b"\x80\x80\x02" + b"x" * 32767 + bytes(5)
    longer = head + b"\x02" + b"\x81\x80\x02" + b"x" * 32768 + bytes(5)
    for side in pair.sides:
        assert isinstance(side.ask(ListenerType.CONTROLLER, longest), bytes), side.name
        assert side.ask(ListenerType.CONTROLLER, longer) == CLOSED, side.name
