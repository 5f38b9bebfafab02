"""DescribeTopicPartitions from an image alone; `tests/interop/test_differential_views.py` asks Apache Kafka
the same.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.cluster_view import View
from controller_runtime.broker.topic_partitions import describe_topic_partitions
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from controller_runtime.protocol.messages.describe_topic_partitions_response import DescribeTopicPartitionsResponse
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from support.nodes.controller_world import uuid

pytestmark = pytest.mark.unit

Shown = list[tuple[str | None, list[int]]]


def cluster(**sizes: int) -> View:
    builder = MetadataImage.empty().builder()
    for number, (name, size) in enumerate(sizes.items(), 1):
        topic_id = uuid("topic", number)
        replay(builder, TopicRecord(name=name, topic_id=topic_id))
        for index in range(size):
            replay(builder, PartitionRecord(partition_id=index, topic_id=topic_id, replicas=(1,), isr=(1,), leader=1))
    return View(builder.freeze(), "cluster", "PLAINTEXT", NodeId(1))


def ask(
    view: View, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    at = None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1])
    topics = tuple(TopicRequest(name=name) for name in names)
    request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit, cursor=at)
    return whole(describe_topic_partitions(view, request))


def page(found: DescribeTopicPartitionsResponse) -> tuple[Shown, tuple[str, int] | None]:
    shown = [(topic.name, [one.partition_index for one in topic.partitions]) for topic in found.topics]
    at = found.next_cursor
    return shown, None if at is None else (at.topic_name, at.partition_index)


THREE = cluster(b=3, a=2, c=1)


@pytest.mark.parametrize(
    ("limit", "cursor", "shown", "then"),
    [
        (1, None, [("a", [0])], ("a", 1)),
        (0, None, [("a", [0])], ("a", 1)),
        (-1, None, [("a", [0])], ("a", 1)),
        (2, None, [("a", [0, 1])], ("b", 0)),
        (3, None, [("a", [0, 1]), ("b", [0])], ("b", 1)),
        (5, None, [("a", [0, 1]), ("b", [0, 1, 2])], ("c", 0)),
        (6, None, [("a", [0, 1]), ("b", [0, 1, 2]), ("c", [0])], None),
        (2, ("a", 1), [("a", [1]), ("b", [0])], ("b", 1)),
        (2, ("b", 1), [("b", [1, 2])], ("c", 0)),
        (2, ("aa", 7), [("b", [0, 1])], ("b", 2)),
        (2, ("zzz", 0), [], None),
    ],
)
def test_a_page_ends_at_its_limit_and_says_where_the_next_begins(
    limit: int, cursor: tuple[str, int] | None, shown: Shown, then: tuple[str, int] | None
) -> None:
    """QRY-12."""
    assert page(ask(THREE, limit=limit, cursor=cursor)) == (shown, then)


def test_a_page_has_2000_partitions_whatever_is_asked() -> None:
    large = cluster(large=2001)
    for limit in (2000, 2001, 2**31 - 1):
        assert page(ask(large, limit=limit)) == ([("large", list(range(2000)))], ("large", 2000))
    assert page(ask(large, limit=2**31 - 1, cursor=("large", 2000))) == ([("large", [2000])], None)


@pytest.mark.parametrize(
    ("names", "cursor", "error"),
    [
        (("a", ""), None, ErrorCode.UNKNOWN_SERVER_ERROR),
        (("a", "b"), ("c", 0), ErrorCode.INVALID_REQUEST),
        (("a", "b"), ("b", -1), ErrorCode.INVALID_REQUEST),
        (("a",), ("c", -1), ErrorCode.INVALID_REQUEST),
        ((), ("a", -1), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_request_without_sense_is_refused_for_every_topic(
    names: tuple[str, ...], cursor: tuple[str, int] | None, error: ErrorCode
) -> None:
    found = ask(THREE, *names, cursor=cursor)
    assert [(topic.name, topic.error_code) for topic in found.topics] == [(name, error) for name in names]
    assert found.next_cursor is None


@pytest.mark.parametrize(
    ("names", "cursor", "shown"),
    [
        (("a", "b"), ("b", 0), [("b", [0, 1, 2])]),
        (("", "b"), ("b", 1), [("b", [1, 2])]),
        ((), ("bb", 0), [("c", [0])]),
    ],
)
def test_a_cursor_that_an_answer_may_have_given_is_followed(
    names: tuple[str, ...], cursor: tuple[str, int], shown: Shown
) -> None:
    """QRY-12."""
    assert page(ask(THREE, *names, cursor=cursor)) == (shown, None)


def test_topics_that_are_not_there_have_an_error_and_cost_no_partition() -> None:
    found = ask(
        cluster(a=1, __consumer_offsets=1), "a", "a/b", "nowhere", "__consumer_offsets", "__share_group_state", limit=2
    )
    assert [(topic.name, topic.error_code, topic.is_internal, len(topic.partitions)) for topic in found.topics] == [
        ("__consumer_offsets", ErrorCode.NONE, True, 1),
        ("__share_group_state", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True, 0),
        ("a", ErrorCode.NONE, False, 1),
    ]
    rest = ask(THREE, "a", "a/b", "nowhere")
    assert [(topic.name, topic.error_code, topic.is_internal) for topic in rest.topics] == [
        ("a", ErrorCode.NONE, False),
        ("a/b", ErrorCode.INVALID_TOPIC_EXCEPTION, False),
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
    ]
