"""What a client sees of the cluster: Metadata, DescribeCluster, DescribeTopicPartitions, ApiVersions and
DescribeQuorum, as Apache Kafka answers them.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, ZERO_UUID, Uuid
from controller_runtime.parts.api_table import served
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from controller_runtime.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from support.apache_kafka.differential import Case, Pair, Side, Table, Unlike, ask_both, judge
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
NOBODYS = Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0BAD)
LONGEST = "n" * 249


def _metadata(
    *topics: MetadataRequestTopic, create: bool = True, topic_operations: bool = False, cluster_operations: bool = False
) -> MetadataRequest:
    return MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=create,
        include_topic_authorized_operations=topic_operations,
        include_cluster_authorized_operations=cluster_operations,
    )


def _named(*names: str | None, **more: bool) -> MetadataRequest:
    return _metadata(*(MetadataRequestTopic(name=name) for name in names), **more)


def _by_id(topic_id: Uuid, name: str | None = None, *, operations: bool = False) -> MetadataRequest:
    return _metadata(MetadataRequestTopic(topic_id=topic_id, name=name), topic_operations=operations)


def _known_and_unknown(side: Side) -> MetadataRequest:
    ids = (NOBODYS, side.topic_ids["orders"])
    return _metadata(*(MetadataRequestTopic(topic_id=each, name=None) for each in ids), topic_operations=True)


def _orders_by_id(side: Side) -> MetadataRequest:
    return _by_id(side.topic_ids["orders"])


def _orders_by_both(side: Side) -> MetadataRequest:
    return _by_id(side.topic_ids["orders"], "orders")


def _orders_under_another_name(side: Side) -> MetadataRequest:
    return _by_id(side.topic_ids["orders"], "payments")


def _mixed(side: Side) -> MetadataRequest:
    return _metadata(
        MetadataRequestTopic(topic_id=side.topic_ids["orders"], name=None), MetadataRequestTopic(name="payments")
    )


def _orders_twice_by_id(side: Side) -> MetadataRequest:
    one = MetadataRequestTopic(topic_id=side.topic_ids["orders"], name=None)
    return _metadata(one, one)


METADATA = Table(
    ApiKey.METADATA,
    (ListenerType.BROKER,),
    (
        Case("one topic", _named("orders")),
        Case("all topics", MetadataRequest(topics=None, allow_auto_topic_creation=False)),
        Case("all topics, may create", MetadataRequest(topics=None)),
        Case("no topics", _metadata()),
        Case("no topics, none made", _metadata(create=False)),
        Case("one topic, none made", _named("orders", create=False)),
        Case("two topics and one unknown", _named("payments", "orders", "nowhere", create=False)),
        Case("an unknown one", _named("nowhere", create=False)),
        Case("the same topic twice", _named("orders", "orders")),
        Case("the same unknown one twice", _named("nowhere", "nowhere", create=False)),
        Case("an empty name", _named("")),
        Case("a dot", _named(".")),
        Case("two dots", _named("..")),
        Case("a slash", _named("a/b")),
        Case("a blank", _named("a b")),
        Case("a letter of another alphabet", _named("größe")),
        Case("the longest name", _named(LONGEST, create=False)),
        Case("a name too long", _named(LONGEST + "n")),
        Case("a name that collides with another", _named("under.score", create=False)),
        Case(
            "internal topics", _named("__consumer_offsets", "__transaction_state", "__share_group_state", create=False)
        ),
        Case("the metadata topic", _named(METADATA_TOPIC_NAME, create=False)),
        Case(
            "authorized operations of topics",
            _named("orders", "nowhere", create=False, topic_operations=True),
        ),
        Case(
            "authorized operations of the cluster",
            _named("orders", cluster_operations=True),
            range(8, 11),
        ),
        Case("authorized operations of all", MetadataRequest(topics=None, include_topic_authorized_operations=True)),
        Case("a null name", _named(None)),
        Case("a null name among others", _named("orders", None)),
        Case("a topic by its id", _orders_by_id, range(10, 14)),
        Case("a topic by its id and name", _orders_by_both, range(10, 14)),
        Case("a topic by its id and another's name", _orders_under_another_name, range(10, 14)),
        Case("the same id twice", _orders_twice_by_id, range(10, 14)),
        Case("one by its id, one by its name", _mixed, range(10, 14)),
        Case("an unknown id", _by_id(NOBODYS)),
        Case("an unknown id with a name", _by_id(NOBODYS, "orders")),
        Case("the id of the metadata topic", _by_id(METADATA_TOPIC_ID)),
        Case("neither id nor name", _by_id(ZERO_UUID)),
        Case("an unknown id twice", _metadata(*2 * (MetadataRequestTopic(topic_id=NOBODYS, name=None),))),
        Case("a known and an unknown id", _known_and_unknown, range(10, 14)),
        Case("operations of an unknown id", _by_id(NOBODYS, operations=True)),
        Case("operations of a bad name", _named("a/b", topic_operations=True)),
    ),
)


def _cluster(endpoint_type: int = 1, *, operations: bool = False, fenced: bool = False) -> DescribeClusterRequest:
    return DescribeClusterRequest(
        endpoint_type=endpoint_type, include_cluster_authorized_operations=operations, include_fenced_brokers=fenced
    )


DESCRIBE_CLUSTER = Table(
    ApiKey.DESCRIBE_CLUSTER,
    BOTH,
    (
        Case("brokers", _cluster()),
        Case("controllers", _cluster(2)),
        Case("authorized operations", _cluster(operations=True)),
        Case("controllers with authorized operations", _cluster(2, operations=True)),
        Case("fenced ones, too", _cluster(fenced=True)),
        Case("fenced controllers", _cluster(2, fenced=True)),
        Case("fenced ones and operations", _cluster(fenced=True, operations=True)),
        Case("type 0", _cluster(0)),
        Case("type 3", _cluster(3)),
        Case("type -1", _cluster(-1)),
        Case("type 127", _cluster(127)),
        Case("type -128 with operations", _cluster(-128, operations=True)),
    ),
)


def _partitions(
    *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=tuple(TopicRequest(name=name) for name in names),
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )


DESCRIBE_TOPIC_PARTITIONS = Table(
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    (ListenerType.BROKER,),
    (
        Case("one topic", _partitions("orders")),
        Case("all topics", _partitions()),
        Case("all topics, two partitions", _partitions(limit=2)),
        Case("all topics, one partition", _partitions(limit=1)),
        Case("all topics, none", _partitions(limit=0)),
        Case("all topics, minus one", _partitions(limit=-1)),
        Case("all topics, as many as there are", _partitions(limit=2**31 - 1)),
        Case("all topics, four: the third begins on the next page", _partitions(limit=4)),
        Case("an unknown one", _partitions("nowhere")),
        Case("unknown ones behind the limit", _partitions("orders", "zzz", limit=3)),
        Case("unknown ones before it", _partitions("aaa", "orders", limit=1)),
        Case("the same twice", _partitions("orders", "orders")),
        Case("not in order", _partitions("payments", "orders", "audit.log")),
        Case("an empty name", _partitions("")),
        Case("an empty name at the cursor", _partitions("orders", "", cursor=("", 0))),
        Case("an empty name among others", _partitions("orders", "")),
        Case("an empty name and a cursor behind it", _partitions("orders", "", cursor=("orders", 1))),
        Case("an empty name and a bad cursor", _partitions("orders", "", cursor=("orders", -1))),
        Case("a bad cursor among all", _partitions(cursor=("orders", -1))),
        Case("a bad name", _partitions("a/b")),
        Case("a name too long", _partitions(LONGEST + "n")),
        Case("an internal topic", _partitions("__consumer_offsets")),
        Case("the cursor in the first topic", _partitions("orders", "payments", cursor=("orders", 1))),
        Case("the cursor in the second topic", _partitions("orders", "payments", cursor=("payments", 0))),
        Case("the cursor behind a topic's partitions", _partitions("orders", "payments", cursor=("orders", 3))),
        Case("the cursor far behind", _partitions("orders", "payments", cursor=("orders", 2**31 - 1))),
        Case("the cursor at partition -1", _partitions("orders", cursor=("orders", -1))),
        Case("the cursor at the lowest partition", _partitions("orders", cursor=("orders", -(2**31)))),
        Case("the cursor in a topic not asked for", _partitions("orders", cursor=("payments", 0))),
        Case("the cursor in an earlier topic not asked for", _partitions("orders", cursor=("audit.log", 0))),
        Case("the cursor in an unknown topic", _partitions("orders", cursor=("nowhere", 0))),
        Case("the cursor in an unknown topic asked for", _partitions("nowhere", "orders", cursor=("nowhere", 0))),
        Case("the cursor with an empty name", _partitions("orders", cursor=("", 0))),
        Case("the cursor with an empty name, partition -1", _partitions("orders", cursor=("", -1))),
        Case("the cursor among all topics", _partitions(cursor=("orders", 2))),
        Case("the cursor among all, in no topic", _partitions(cursor=("nowhere", 1), limit=2)),
        Case("the cursor behind all topics", _partitions(cursor=("zzz", 0))),
        Case("the cursor and a limit", _partitions(cursor=("orders", 1), limit=1)),
    ),
    unlike=(Unlike("*: the cursor far behind", "**A cursor far behind a topic's partitions**"),),
    in_order=("topics", "partitions"),
)


def _software(name: str, version: str) -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


API_VERSIONS = Table(
    ApiKey.API_VERSIONS,
    BOTH,
    (
        Case("a client", _software("kafka-java", "4.3.1")),
        Case("no name", _software("", "1")),
        Case("no version", _software("a", "")),
        Case("a name of one letter", _software("a", "1")),
        Case("a dash at the end", _software("a-", "1")),
        Case("a dot at the beginning", _software(".a", "1")),
        Case("a blank", _software("a b", "1")),
        Case("an underscore", _software("a_b", "1")),
        Case("dots and dashes inside", _software("a.-.b", "1.-.2")),
        Case("another alphabet", _software("größe", "1")),
        Case("a line end", _software("a\n", "1")),
        Case("a long name", _software("a" * 1000, "1")),
    ),
)


def _quorum(*topics: tuple[str, tuple[int, ...]]) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(
        topics=tuple(
            TopicData(topic_name=name, partitions=tuple(PartitionData(partition_index=each) for each in indexes))
            for name, indexes in topics
        )
    )


DESCRIBE_QUORUM = Table(
    ApiKey.DESCRIBE_QUORUM,
    BOTH,
    (
        Case("the metadata partition", _quorum((METADATA_TOPIC_NAME, (0,)))),
        Case("nothing", _quorum()),
        Case("no partition", _quorum((METADATA_TOPIC_NAME, ()))),
        Case("another partition", _quorum((METADATA_TOPIC_NAME, (1,)))),
        Case("partition -1", _quorum((METADATA_TOPIC_NAME, (-1,)))),
        Case("the partition twice", _quorum((METADATA_TOPIC_NAME, (0, 0)))),
        Case("the topic twice", _quorum((METADATA_TOPIC_NAME, (0,)), (METADATA_TOPIC_NAME, (0,)))),
        Case("two partitions", _quorum((METADATA_TOPIC_NAME, (0, 1)))),
        Case("another topic", _quorum(("orders", (0,)))),
        Case("an empty name", _quorum(("", (0,)))),
        Case("another topic, too", _quorum((METADATA_TOPIC_NAME, (0,)), ("orders", (0, 1)))),
    ),
)

TABLES = (METADATA, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS, API_VERSIONS, DESCRIBE_QUORUM)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name)
def test_a_view_is_as_kafka_shows_it(pair: Pair, table: Table) -> None:
    assert judge(pair, table) >= 20


@pytest.mark.parametrize("role", BOTH, ids=str)
def test_what_is_advertised_has_kafkas_versions(pair: Pair, role: ListenerType) -> None:
    """All of Kafka's list."""
    asked = next(each for each in API_VERSIONS.asked() if each.role is role and each.version == 4)
    java, ours = ({row["apiKey"]: row for row in answer["apiKeys"]} for answer in ask_both(pair, API_VERSIONS, asked))
    assert ours == java
    assert ours.keys() == set(served(role))


def test_a_deleted_topic_is_made_anew_when_a_client_still_asks_for_it(pair: Pair) -> None:
    """Consumers of librdkafka do, when a topic of theirs is deleted while they close (0033 of its own tests)."""
    name = "deleted-and-asked-for"
    wanted = CreateTopicsRequest(topics=(CreatableTopic(name=name, num_partitions=2, replication_factor=1),))
    for side in pair.sides:
        (made,) = side.call(ListenerType.BROKER, wanted, 7).topics
        eventually(f"{side.name}: {name} is there", lambda one=side: _id_of(one, name, create=False))  # type: ignore[misc]
        _delete(side, name)
        anew = eventually(f"{side.name}: {name} is there again", lambda one=side: _id_of(one, name, create=True))  # type: ignore[misc]
        assert anew != made.topic_id
        _delete(side, name)


def _delete(side: Side, name: str) -> None:
    (deleted,) = side.call(
        ListenerType.BROKER, DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout_ms=30_000), 6
    ).responses
    assert deleted.error_code == 0, deleted
    eventually(f"{side.name}: {name} is gone", lambda: _id_of(side, name, create=False) is None)


def _id_of(side: Side, name: str, *, create: bool) -> Uuid | None:
    (found,) = side.call(ListenerType.BROKER, _named(name, create=create), 12).topics
    return found.topic_id if found.error_code == 0 else None
