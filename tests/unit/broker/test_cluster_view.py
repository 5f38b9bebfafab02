"""What clients see of the cluster, from an image alone; `tests/interop/test_differential_views.py` asks Apache Kafka
the same.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.cluster_view import View, describe_cluster, metadata
from controller_runtime.identifiers import ZERO_UUID, NodeId, Uuid
from controller_runtime.metadata.cluster import MIGRATING
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.authorized_operations import ALL_OF_CLUSTER, ALL_OF_TOPIC, NOT_ASKED
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.fence_broker_record import FenceBrokerRecord
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import directory_of, uuid

pytestmark = pytest.mark.unit

ORDERS, MAIL, OFFSETS, NOBODYS = (uuid("topic", number) for number in range(1, 5))


def broker(number: int, *listeners: str, fenced: bool = False) -> RegisterBrokerRecord:
    points = tuple(BrokerEndpoint(name=name, host=f"{name.lower()}-{number}", port=9092) for name in listeners)
    homes = (directory_of(number),)
    return RegisterBrokerRecord(
        broker_id=number, broker_epoch=9, end_points=points, fenced=fenced, log_dirs=homes, rack=f"rack-{number}"
    )


def partition(topic: Uuid, index: int, leader: int, *replicas: int, homes: tuple[Uuid, ...] = ()) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index, topic_id=topic, replicas=replicas, isr=replicas, leader=leader, leader_epoch=4,
        directories=homes or (MIGRATING,) * len(replicas),
    )  # fmt: skip


def after(*records: Message, base: MetadataImage | None = None) -> MetadataImage:
    builder = (base or MetadataImage.empty()).builder()
    for record in records:
        replay(builder, record)
    return builder.freeze()


CLUSTER = after(
    broker(1, "PLAINTEXT", "INTERNAL"),
    broker(2, "PLAINTEXT"),
    broker(3, "PLAINTEXT", fenced=True),
    broker(4, "INTERNAL"),
    TopicRecord(name="orders", topic_id=ORDERS),
    *(partition(ORDERS, index, leader, 1, 2) for index, leader in enumerate((1, 3, 4, 5, -1))),
    TopicRecord(name="mail", topic_id=MAIL),
    partition(MAIL, 0, 1, 1, 2, 3, 4, 5, homes=(directory_of(1), directory_of(2, 77), *(MIGRATING,) * 3)),
    TopicRecord(name="__consumer_offsets", topic_id=OFFSETS),
    partition(OFFSETS, 0, 1, 1),
)


def view(image: MetadataImage = CLUSTER, broker_id: int = 1, listener: str = "PLAINTEXT") -> View:
    return View(image, "cluster", listener, NodeId(broker_id))


def asked(*topics: tuple[str | None, Uuid] | str, **flags: bool) -> MetadataRequest:
    wanted = [(one, ZERO_UUID) if isinstance(one, str) else one for one in topics]
    rows = tuple(MetadataRequestTopic(name=name, topic_id=topic_id) for name, topic_id in wanted)
    return MetadataRequest(topics=rows, **flags)  # type: ignore[arg-type]


def answer(request: MetadataRequest, version: int = 12, seen: View | None = None) -> MetadataResponse:
    return whole(metadata(seen or view(), request, version))[0]


def one_topic(name: str, version: int = 12) -> MetadataResponseTopic:
    (topic,) = answer(asked(name), version).topics
    return topic


def names(response: MetadataResponse) -> list[str | None]:
    return [topic.name for topic in response.topics]


# Brokers.


def test_live_brokers_are_shown_by_the_listener_that_was_asked() -> None:
    shown = [(each.node_id, each.host, each.port, each.rack) for each in answer(asked()).brokers]
    assert shown == [(1, "plaintext-1", 9092, "rack-1"), (2, "plaintext-2", 9092, "rack-2")]
    internal = [(each.node_id, each.host) for each in answer(asked(), seen=view(listener="INTERNAL")).brokers]
    assert internal == [(1, "internal-1"), (4, "internal-4")]


def test_this_broker_forwards_while_it_is_live_else_the_first_that_is() -> None:
    nobody = after(*(FenceBrokerRecord(id=number, epoch=9) for number in (1, 2, 4)), base=CLUSTER)
    seen = [view(broker_id=2), view(broker_id=3), view(broker_id=7), view(nobody)]
    assert [answer(asked(), seen=each).controller_id for each in seen] == [2, 1, 1, -1]
    assert [describe_cluster(each, DescribeClusterRequest()).controller_id for each in seen] == [2, 1, 1, -1]


def test_describe_cluster_shows_who_is_reached_through_the_listener() -> None:
    live = describe_cluster(view(), DescribeClusterRequest())
    shown = [(each.broker_id, each.host, each.port, each.rack, each.is_fenced) for each in live.brokers]
    assert shown == [(1, "plaintext-1", 9092, "rack-1", False), (2, "plaintext-2", 9092, "rack-2", False)]
    fenced = describe_cluster(view(), DescribeClusterRequest(include_fenced_brokers=True))
    assert [(each.broker_id, each.is_fenced) for each in fenced.brokers] == [(1, False), (2, False), (3, True)]
    assert (live.cluster_id, live.endpoint_type, live.error_code) == ("cluster", 1, 0)


@pytest.mark.parametrize(
    ("endpoint_type", "error", "words"),
    [
        (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 0"),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 3"),
    ],
)  # fmt: skip
def test_a_broker_describes_brokers_only(endpoint_type: int, error: ErrorCode, words: str) -> None:
    refused = describe_cluster(view(), DescribeClusterRequest(endpoint_type=endpoint_type))
    assert (refused.error_code, refused.error_message, refused.endpoint_type) == (error, words, 1)
    assert refused.brokers == ()


@pytest.mark.parametrize(
    ("wanted", "of_cluster", "of_topic"), [(False, NOT_ASKED, NOT_ASKED), (True, ALL_OF_CLUSTER, ALL_OF_TOPIC)]
)
def test_operations_are_said_to_who_asks(wanted: bool, of_cluster: int, of_topic: int) -> None:
    """Without an authorizer everybody may do everything, except with a topic id that nobody knows."""
    described = describe_cluster(view(), DescribeClusterRequest(include_cluster_authorized_operations=wanted))
    flags = {"include_cluster_authorized_operations": wanted, "include_topic_authorized_operations": wanted}
    found = answer(asked("orders", "nowhere", **flags), 9)
    by_id = answer(asked((None, ORDERS), (None, NOBODYS), **flags), 12)
    assert described.cluster_authorized_operations == found.cluster_authorized_operations == of_cluster
    assert [topic.topic_authorized_operations for topic in found.topics] == [of_topic, of_topic]
    assert [(topic.error_code, topic.topic_authorized_operations) for topic in by_id.topics] == [
        (ErrorCode.NONE, of_topic),
        (ErrorCode.UNKNOWN_TOPIC_ID, NOT_ASKED),
    ]


# Topics.


@pytest.mark.parametrize(
    ("request_body", "version", "wanted"),
    [
        (MetadataRequest(topics=()), 0, {"orders", "mail", "__consumer_offsets"}),
        (MetadataRequest(topics=()), 1, set()),
        (MetadataRequest(topics=()), 12, set()),
        (MetadataRequest(topics=None), 1, {"orders", "mail", "__consumer_offsets"}),
        (MetadataRequest(topics=None), 12, {"orders", "mail", "__consumer_offsets"}),
        (asked("orders"), 0, {"orders"}),
        (asked("orders", "mail", "orders"), 1, {"orders", "mail"}),
        (asked((None, ORDERS), (None, MAIL), (None, ORDERS)), 12, {"orders", "mail"}),
    ],
)
def test_all_topics_are_asked_for_by_none_at_version_0_and_by_null_afterwards(
    request_body: MetadataRequest, version: int, wanted: set[str]
) -> None:
    found = names(answer(request_body, version))
    assert (set(found), len(found)) == (wanted, len(wanted))


@pytest.mark.parametrize(
    ("version", "topics", "error"),
    [
        (9, ["orders"], None),
        (10, ["orders"], None),
        (11, [(None, ZERO_UUID)], ErrorCode.INVALID_REQUEST),
        (10, [("orders", ORDERS)], ErrorCode.INVALID_REQUEST),
        (11, ["orders", ("orders", ORDERS)], ErrorCode.INVALID_REQUEST),
        (11, ["orders", (None, ZERO_UUID)], ErrorCode.INVALID_REQUEST),
        (12, ["orders"], None),
        (12, [(None, ORDERS)], None),
        (12, [("orders", ORDERS)], None),
        (12, [(None, ZERO_UUID)], ErrorCode.UNKNOWN_SERVER_ERROR),
        (12, ["orders", (None, ZERO_UUID)], ErrorCode.UNKNOWN_SERVER_ERROR),
        (13, [(None, ORDERS), (None, ZERO_UUID)], None),
        (13, [(None, ORDERS), "mail"], None),
    ],
)
def test_a_request_is_refused_whole_for_what_its_version_does_not_know(
    version: int, topics: list[tuple[str | None, Uuid] | str], error: ErrorCode | None
) -> None:
    found = answer(asked(*topics), version)
    if error is None:
        assert (found.error_code, names(found), found.topics[0].error_code) == (0, ["orders"], 0)
        return
    wanted = [("" if one == (None, ZERO_UUID) else "orders") for one in topics]
    assert (found.error_code, names(found), {topic.error_code for topic in found.topics}) == (error, wanted, {error})
    assert found.brokers == ()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("n" * 249, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("n" * 250, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (".", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("..", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("...", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a.b_c-D9", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_name_that_no_topic_has_is_unknown_or_impossible(name: str, error: ErrorCode) -> None:
    assert one_topic(name).error_code == error


def test_internal_topics_are_called_so_also_when_there_are_none_yet() -> None:
    found = [one_topic(name).is_internal for name in ("__consumer_offsets", "__share_group_state", "orders", "nowhere")]
    assert found == [True, True, False, False]


@pytest.mark.parametrize(("flag", "missing"), [(True, ("nowhere", "other")), (False, ())])
def test_missing_topics_may_be_made_when_the_client_allows_it(flag: bool, missing: tuple[str, ...]) -> None:
    """QRY-11."""
    request = asked("nowhere", "orders", "a/b", "__transaction_state", "other", allow_auto_topic_creation=flag)
    for version in (4, 12):
        assert whole(metadata(view(), request, version))[1] == missing
    assert whole(metadata(view(), asked("nowhere"), 0))[1] == ("nowhere",), "the flag came with version 4"


# Partitions.


@pytest.mark.parametrize(
    ("version", "without_listener"), [(0, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.LEADER_NOT_AVAILABLE)]
    + [(version, ErrorCode.LISTENER_NOT_FOUND) for version in (6, 7, 12)],
)  # fmt: skip
def test_a_leader_that_cannot_be_reached_is_not_named(version: int, without_listener: ErrorCode) -> None:
    """QRY-11: live, fenced, without this listener, not registered, none."""
    gone = ErrorCode.LEADER_NOT_AVAILABLE
    found = [(one.leader_id, one.error_code, one.leader_epoch) for one in one_topic("orders", version).partitions]
    assert found == [(1, 0, 4), (-1, gone, 4), (-1, without_listener, 4), (-1, gone, 4), (-1, gone, 4)]


def test_replicas_are_offline_without_their_broker_or_its_directory() -> None:
    """QRY-11: on its broker's directory, on another one, fenced, live, not registered."""
    (found,) = one_topic("mail").partitions
    assert (found.replica_nodes, found.isr_nodes) == ((1, 2, 3, 4, 5), (1, 2, 3, 4, 5))
    assert found.offline_replicas == (2, 3, 5)
