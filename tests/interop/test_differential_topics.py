"""Topics made and deleted, through a broker and by a controller, as Apache Kafka does it: CreateTopics, DeleteTopics,
automatic creation.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, ZERO_UUID, Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from support.apache_kafka.differential import Case, Pair, Table, judge

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
NOBODYS = Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0BAD)
HIGHEST = 2**31 - 1


def _create(*topics: CreatableTopic, only: bool = True, timeout_ms: int = 30_000) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms, validate_only=only)


def _topic(name: str = "new", partitions: int = 1, replicas: int = 1, **configs: str | None) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()),
    )


def _placed(*where: tuple[int, tuple[int, ...]], partitions: int = -1, replicas: int = -1) -> CreateTopicsRequest:
    assignments = tuple(CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in where)
    topic = CreatableTopic(
        name="placed", num_partitions=partitions, replication_factor=replicas, assignments=assignments
    )
    return _create(topic)


def _configured(*configs: tuple[str, str]) -> CreatableTopic:
    values = tuple(CreatableTopicConfig(name=name, value=value) for name, value in configs)
    return CreatableTopic(name="new", num_partitions=1, replication_factor=1, configs=values)


CREATE_TOPICS = Table(
    ApiKey.CREATE_TOPICS,
    BOTH,
    (
        Case("one topic, to see", _create(_topic())),
        Case("one topic", _create(_topic("made.one"), only=False)),
        Case("one topic with configs", _create(_topic("made.two", 2, retention_ms="1000"), only=False)),
        Case("two topics, one exists", _create(_topic("made.three"), _topic("orders"), only=False)),
        Case("defaults", _create(_topic("new", -1, -1)), range(4, 8)),
        Case("default partitions", _create(_topic("new", -1, 1)), range(4, 8)),
        Case("default partitions before they could be asked for", _create(_topic("new", -1, -1)), (2, 3)),
        Case("no partitions", _create(_topic("new", 0))),
        Case("-2 partitions", _create(_topic("new", -2))),
        Case("10,000 partitions", _create(_topic("new", 10_000))),
        Case("10,001 partitions", _create(_topic("new", 10_001))),
        Case("as many partitions as there can be", _create(_topic("new", HIGHEST))),
        Case("no replicas", _create(_topic("new", 1, 0))),
        Case("-2 replicas", _create(_topic("new", 1, -2))),
        Case("more replicas than brokers", _create(_topic("new", 1, 2))),
        Case("as many replicas as there can be", _create(_topic("new", 1, 32767))),
        Case("an existing topic", _create(_topic("orders"))),
        Case("nothing", _create()),
        Case("the same topic twice", _create(_topic(), _topic())),
        Case("the same topic twice, and another", _create(_topic(), _topic("other"), _topic())),
        Case("a bad one twice", _create(_topic("a/b"), _topic("a/b"))),
        Case("no name", _create(_topic(""))),
        Case("a dot", _create(_topic("."))),
        Case("two dots", _create(_topic(".."))),
        Case("a slash", _create(_topic("a/b"))),
        Case("a line end", _create(_topic("a\nb"))),
        Case("another alphabet", _create(_topic("größe"))),
        Case("the longest name", _create(_topic("n" * 249))),
        Case("a name too long", _create(_topic("n" * 250))),
        Case("the longest string", _create(_topic("n" * 32767))),
        Case("a name that collides", _create(_topic("under.score"))),
        Case("names that collide with each other", _create(_topic("new.one"), _topic("new_one"))),
        Case("an internal topic", _create(_topic("__consumer_offsets"))),
        Case("the metadata topic", _create(_topic(METADATA_TOPIC_NAME))),
        Case("the metadata topic and another", _create(_topic(METADATA_TOPIC_NAME), _topic())),
        Case("placed", _placed((0, (1,)))),
        Case("placed, two partitions", _placed((0, (1,)), (1, (1,)))),
        Case("placed, not in order", _placed((1, (1,)), (0, (1,)))),
        Case("placed on a broker that is not there", _placed((0, (9,)))),
        Case("placed on broker -1", _placed((0, (-1,)))),
        Case("placed on one broker twice", _placed((0, (1, 1)))),
        Case("placed on nobody", _placed((0, ()))),
        Case("placed with a gap", _placed((0, (1,)), (2, (1,)))),
        Case("placed from 1 on", _placed((1, (1,)))),
        Case("placed, partition -1", _placed((-1, (1,)))),
        Case("placed, a partition twice", _placed((0, (1,)), (0, (1,)))),
        Case("placed unevenly", _placed((0, (1,)), (1, (1, 2)))),
        Case("placed and counted", _placed((0, (1,)), partitions=1)),
        Case("placed and replicas counted", _placed((0, (1,)), replicas=1)),
        Case("placed and both counted", _placed((0, (1,)), partitions=1, replicas=1)),
        Case("a config that nobody knows", _create(_topic(no_such="1"))),
        Case("a config with a bad value", _create(_topic(retention_ms="soon"))),
        Case("a config below its least", _create(_topic(retention_ms="-2"))),
        Case("a config beyond its most", _create(_topic(segment_bytes=str(2**31)))),
        Case("a config of a choice", _create(_topic(cleanup_policy="compact,delete"))),
        Case("a config of a wrong choice", _create(_topic(cleanup_policy="keep"))),
        Case("a config without a value", _create(_topic(retention_ms=None))),
        Case("a config with an empty value", _create(_topic(retention_ms=""))),
        Case("a config with blanks around it", _create(_topic(retention_ms=" 1000 "))),
        Case("a config without a name", _create(_configured(("", "1")))),
        Case("a config twice", _create(_configured(("retention.ms", "1000"), ("retention.ms", "1000")))),
        Case("a config twice, differently", _create(_configured(("retention.ms", "1000"), ("retention.ms", "2000")))),
        Case("min.insync.replicas of more than there are", _create(_topic(min_insync_replicas="3"))),
        Case("min.insync.replicas of none", _create(_topic(min_insync_replicas="0"))),
        Case("a broker's config", _create(_topic(num_io_threads="3"))),
        Case("a timeout of nothing", _create(_topic(), timeout_ms=0)),
        Case("no time to create", _create(_topic("made.five"), _topic("a/b"), only=False, timeout_ms=0)),
        Case("no time for a topic twice", _create(_topic(), _topic(), _topic("a"), timeout_ms=0)),
        Case("no time for the metadata topic", _create(_topic(), _topic(METADATA_TOPIC_NAME), timeout_ms=0)),
        Case("no time for nothing", _create(timeout_ms=0)),
        Case("no time for two of one name", _create(_topic(), _topic(), timeout_ms=0)),
        Case("no time for too many", _create(_topic("new", 20_000), timeout_ms=0)),
        Case("a timeout of less than nothing", _create(_topic(), timeout_ms=-1)),
        Case("the longest timeout", _create(_topic(), timeout_ms=HIGHEST)),
        Case("the lowest timeout", _create(_topic(), timeout_ms=-(2**31))),
        Case("a bad and a good one", _create(_topic("a/b"), _topic("made.four"), only=False)),
    ),
)


def _delete(*names: str, timeout_ms: int = 30_000) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=names, timeout_ms=timeout_ms)


def _states(*topics: tuple[str | None, Uuid], timeout_ms: int = 30_000) -> DeleteTopicsRequest:
    states = tuple(DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics)
    return DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)


DELETE_TOPICS = Table(
    ApiKey.DELETE_TOPICS,
    BOTH,
    (
        Case("an unknown one", _delete("nowhere")),
        Case("nothing", _delete()),
        Case("a topic", _delete("made.one")),
        Case("a topic and an unknown one", _delete("made.two", "nowhere")),
        Case("an unknown one twice", _delete("nowhere", "nowhere")),
        Case("an existing one twice", _delete("orders", "orders")),
        Case("no name", _delete("")),
        Case("a bad name", _delete("a/b")),
        Case("a name too long", _delete("n" * 300)),
        Case("the longest string", _delete("n" * 32767)),
        Case("the metadata topic", _delete(METADATA_TOPIC_NAME)),
        Case("an internal topic", _delete("__consumer_offsets")),
        Case("a timeout of nothing", _delete("nowhere", timeout_ms=0)),
        Case("a timeout of less than nothing", _delete("nowhere", timeout_ms=-1)),
        Case("no time for a topic", _delete("orders", "nowhere", timeout_ms=0)),
        Case("no time for nothing", _delete(timeout_ms=0)),
        Case("no time for a topic twice", _delete("orders", "orders", timeout_ms=0)),
        Case("no time for a topic twice, and another", _delete("orders", "orders", "nowhere", timeout_ms=0)),
        Case("no time, by ids", _states((None, NOBODYS), (None, ZERO_UUID), timeout_ms=0)),
        Case("no time, by neither", _states((None, ZERO_UUID), timeout_ms=0)),
        Case("by a name", _states(("nowhere", ZERO_UUID))),
        Case("by an unknown id", _states((None, NOBODYS))),
        Case("by an unknown id twice", _states((None, NOBODYS), (None, NOBODYS))),
        Case("by name and id", _states(("nowhere", NOBODYS))),
        Case("by neither", _states((None, ZERO_UUID))),
        Case("by neither, twice", _states((None, ZERO_UUID), (None, ZERO_UUID))),
        Case("by the metadata topic's id", _states((None, METADATA_TOPIC_ID))),
        Case(
            "by a name, by an id, and by neither", _states(("nowhere", ZERO_UUID), (None, NOBODYS), (None, ZERO_UUID))
        ),
        Case("by a name and its own id", lambda side: _states(("orders", side.topic_ids["orders"])), (6,)),
        Case("by a name and another's id", lambda side: _states(("payments", side.topic_ids["orders"])), (6,)),
        Case(
            "by its name and by its id",
            lambda side: _states(("orders", ZERO_UUID), (None, side.topic_ids["orders"])),
            (6,),
        ),
        Case(
            "by its id twice",
            lambda side: _states((None, side.topic_ids["orders"]), (None, side.topic_ids["orders"])),
            (6,),
        ),
        Case(
            "by its name and by its id twice",
            lambda side: _states(("orders", ZERO_UUID), *2 * ((None, side.topic_ids["orders"]),)),
            (6,),
        ),
        Case("an empty name by neither", _states(("", ZERO_UUID))),
        Case("what is left", _delete("made.two", "made.three", "made.four", "made.five", "made.one")),
    ),
)


def _reassigned(
    *topics: tuple[str, tuple[int, ...]], every: bool = False, timeout_ms: int = 30_000
) -> ListPartitionReassignmentsRequest:
    asked = tuple(ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes) for name, indexes in topics)
    return ListPartitionReassignmentsRequest(topics=None if every else asked, timeout_ms=timeout_ms)


LIST_PARTITION_REASSIGNMENTS = Table(
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    BOTH,
    (
        Case("all", _reassigned(every=True)),
        Case("of no topics", _reassigned()),
        Case("of one", _reassigned(("orders", (0,)))),
        Case("of a topic's partitions", _reassigned(("orders", (0, 1, 2)))),
        Case("of no partitions", _reassigned(("orders", ()))),
        Case("of a partition that is not there", _reassigned(("orders", (3,)))),
        Case("of partition -1", _reassigned(("orders", (-1,)))),
        Case("of a partition twice", _reassigned(("orders", (0, 0)))),
        Case("of the topic twice", _reassigned(("orders", (0,)), ("orders", (0,)))),
        Case("of an unknown topic", _reassigned(("nowhere", (0,)))),
        Case("of a known and an unknown one", _reassigned(("orders", (0,)), ("nowhere", (0,)))),
        Case("of a topic without a name", _reassigned(("", (0,)))),
        Case("of a bad name", _reassigned(("a/b", (0,)))),
        Case("of the metadata topic", _reassigned((METADATA_TOPIC_NAME, (0,)))),
        Case("in no time", _reassigned(("orders", (0,)), timeout_ms=0)),
        Case("in less than no time", _reassigned(("orders", (0,)), timeout_ms=-1)),
    ),
)

TABLES = (CREATE_TOPICS, DELETE_TOPICS, LIST_PARTITION_REASSIGNMENTS)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name)
def test_topics_are_changed_as_kafka_changes_them(pair: Pair, table: Table) -> None:
    assert judge(pair, table) >= 20
