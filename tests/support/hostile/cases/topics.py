"""Requests about topics, configs and features whose fields lie, or ask for more than anybody should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.protocol.messages import create_topics_request as create_q
from controller_runtime.protocol.messages import describe_configs_request as configs_q
from controller_runtime.protocol.messages import incremental_alter_configs_request as alter_q
from controller_runtime.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from controller_runtime.protocol.schema import Message
from support.fuzz.tree import Fixed, Group, Many, Tag, Text, nodes
from support.hostile.case import BOTH, BROKER, CONTROLLER, VICTIM, Ask, Case, by_hand, lied, right

REFUSED: Final = ("refused",)
ANY: Final = ("closed", "answered")
"""Nothing more is asked than that nobody is harmed."""


def creating(*names: str, partitions: int = 1, replicas: int = 1, version: int = 7, validate: bool = False) -> Ask:
    topics = tuple(
        create_q.CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas) for name in names
    )
    return right(create_q.CreateTopicsRequest(topics=topics, timeout_ms=30_000, validate_only=validate), version)


def assigned(*replicas: tuple[int, ...]) -> Ask:
    rows = tuple(
        create_q.CreatableReplicaAssignment(partition_index=index, broker_ids=one) for index, one in enumerate(replicas)
    )
    topic = create_q.CreatableTopic(name="assigned", num_partitions=-1, replication_factor=-1, assignments=rows)
    return right(create_q.CreateTopicsRequest(topics=(topic,), timeout_ms=30_000), 7)


def deleting(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=tuple(DeleteTopicState(name=name) for name in names), timeout_ms=30_000)


def altering(kind: int, name: str, *configs: tuple[str, int, str | None]) -> Ask:
    rows = tuple(alter_q.AlterableConfig(name=key, config_operation=how, value=value) for key, how, value in configs)
    resource = alter_q.AlterConfigsResource(resource_type=kind, resource_name=name, configs=rows)
    return right(alter_q.IncrementalAlterConfigsRequest(resources=(resource,)), 1)


def same_tag_twice(tree: Group) -> None:
    assert tree.tags is not None
    tree.tags.items += [Tag(9_999, Fixed("unknown", "raw", b"x"))] * 2


def many_tags(tree: Group) -> None:
    assert tree.tags is not None
    tree.tags.items += [Tag(1_000 + number, Fixed("unknown", "raw", b"")) for number in range(100_000)]


def first_array(tree: Group) -> Many:
    return next(node for node in nodes(tree) if isinstance(node, Many))


def claim(count: int) -> Callable[[Group], None]:
    def lie(tree: Group) -> None:
        first_array(tree).claimed = count

    return lie


def copies(count: int) -> Callable[[Group], None]:
    def lie(tree: Group) -> None:
        array = first_array(tree)
        assert array.items
        array.items = array.items * count

    return lie


def null_name(tree: Group) -> None:
    next(node for node in nodes(tree) if isinstance(node, Text)).value = None


def bad_name(tree: Group) -> None:
    next(node for node in nodes(tree) if isinstance(node, Text)).value = b"\xc3\x28\xff"


def long_name(tree: Group) -> None:
    next(node for node in nodes(tree) if isinstance(node, Text)).claimed = 2**31 - 1


def no_such(count: int) -> list[str]:
    return [f"no-such-{number}" for number in range(count)]


def features(*updates: tuple[str, int, int]) -> Ask:
    rows = tuple(
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=how) for name, level, how in updates
    )
    return right(UpdateFeaturesRequest(feature_updates=rows), 1)


def quotas(value: float) -> Ask:
    entry = EntryData(
        entity=(EntityData(entity_type="user", entity_name="me"),), ops=(OpData(key="producer_byte_rate", value=value),)
    )
    return right(AlterClientQuotasRequest(entries=(entry,)), 1)


def metadata(*names: str) -> MetadataRequest:
    return MetadataRequest(
        topics=tuple(MetadataRequestTopic(name=name) for name in names), allow_auto_topic_creation=False
    )


def cases() -> list[Case]:
    one: Message = create_q.CreateTopicsRequest(
        topics=(create_q.CreatableTopic(name="x", num_partitions=1, replication_factor=1),)
    )
    configs = configs_q.DescribeConfigsRequest(
        resources=(configs_q.DescribeConfigsResource(resource_type=2, resource_name=VICTIM),)
    )
    some = metadata(VICTIM)
    return [
        Case("a topic's name of 32,767 bytes, v4", BOTH, creating("y" * 32767, version=4), REFUSED),
        Case("a topic's name of 32,767 bytes, v7", BOTH, creating("y" * 32767), REFUSED),
        Case("a config's name of 32,767 bytes, v0", BOTH,
            right(alter_q.IncrementalAlterConfigsRequest(resources=(alter_q.AlterConfigsResource(
            resource_type=2, resource_name="y" * 32767,
            configs=(alter_q.AlterableConfig(name="z" * 32767, value="1"),)),)), 0), REFUSED),
        Case("DescribeQuorum with the same tag twice", BOTH, lied(DescribeQuorumRequest(), 2, same_tag_twice), ANY),
        Case("CreateTopics with the same tag twice", BOTH, lied(one, 7, same_tag_twice), ANY),
        Case("UnregisterBroker with the same tag twice", BOTH,
            lied(UnregisterBrokerRequest(broker_id=4711), 0, same_tag_twice), ANY),
        Case("100,000 tags", BOTH, lied(one, 7, many_tags), ANY),
        Case("an array that claims 20,000,000 elements", BOTH, lied(configs, 4, claim(20_000_000)), ("closed",)),
        Case("an array that claims 2^31-1 elements", BOTH, lied(one, 4, claim(2**31 - 1)), ("closed",)),
        Case("an array of -2 elements", BOTH, lied(one, 4, claim(-2)), REFUSED),
        Case("a name that is null", BOTH, lied(one, 7, null_name), ("closed",)),
        Case("a name that is no UTF-8", BOTH, lied(one, 7, bad_name), REFUSED),
        Case("a name that claims 2^31-1 bytes", BOTH, lied(one, 7, long_name), ("closed",)),
        Case("300,000 resources in one request", BOTH, lied(configs, 4, copies(300_000)), ANY),
        Case("100,000 topics in one request", BOTH, lied(one, 7, copies(100_000)), REFUSED),
        Case("10,000 topics, to validate only", BOTH, creating(*no_such(10_000), validate=True), ANY),
        Case("the same topic twice", BOTH, creating("twice", "twice"), ("INVALID_REQUEST",)),
        Case("2^31-1 partitions", BOTH, creating("huge", partitions=2**31 - 1), REFUSED),
        Case("no partitions", BOTH, creating("none", partitions=0), ("INVALID_PARTITIONS",)),
        Case("-5 partitions", BOTH, creating("none", partitions=-5), ("INVALID_PARTITIONS",)),
        Case("32,767 replicas", BOTH, creating("none", replicas=32767), ("INVALID_REPLICATION_FACTOR",)),
        Case("-2 replicas", BOTH, creating("none", replicas=-2), ("INVALID_REPLICATION_FACTOR",)),
        Case("a replica on a broker twice", BOTH, assigned((1, 1)), ("INVALID_REPLICA_ASSIGNMENT",)),
        Case("a replica on no broker", BOTH, assigned((4711,)), ("INVALID_REPLICA_ASSIGNMENT",)),
        Case("an assignment without replicas", BOTH, assigned(()), ("INVALID_REPLICA_ASSIGNMENT",)),
        Case("a topic called ..", BOTH, creating(".."), ("INVALID_TOPIC_EXCEPTION",)),
        Case("a topic of 250 characters", BOTH, creating("x" * 250), ("INVALID_TOPIC_EXCEPTION",)),
        Case("a topic with a slash", BOTH, creating("../../etc/passwd"), ("INVALID_TOPIC_EXCEPTION",)),
        Case("a topic of no characters", BOTH, creating(""), ("INVALID_TOPIC_EXCEPTION",)),
        Case("deleting 10,000 topics that do not exist", BOTH, right(deleting(*no_such(10_000)), 6),
            ("UNKNOWN_TOPIC_OR_PARTITION",)),
        Case("deleting a topic twice in one request", BOTH, right(deleting("gone", "gone"), 6), ("INVALID_REQUEST",)),
        Case("deleting topic null", BOTH, lied(deleting(VICTIM), 6, null_name), ("INVALID_REQUEST",)),
        Case("metadata of 100,000 names", BROKER, lied(some, 12, copies(100_000)), ANY),
        Case("metadata of a name that is no UTF-8", BROKER, lied(some, 12, bad_name), ANY),
        Case("metadata of 5,000 topics that do not exist", BROKER, right(metadata(*no_such(5_000)), 12),
            ("UNKNOWN_TOPIC_OR_PARTITION",)),
        Case("partitions behind a cursor that is nowhere", BROKER, right(DescribeTopicPartitionsRequest(
            topics=(TopicRequest(name=VICTIM),), response_partition_limit=-1,
            cursor=Cursor(topic_name="zzz", partition_index=-9)), 0), ANY),
        Case("configs of an unknown kind", BOTH, altering(99, "x", ("a", 0, "b")), REFUSED),
        Case("an unknown operation", BOTH, altering(2, VICTIM, ("retention.ms", 9, "1")),
            ("INVALID_REQUEST", "INVALID_CONFIG")),
        Case("a config that is set twice", BROKER,
            altering(2, VICTIM, ("retention.ms", 0, "1"), ("retention.ms", 0, "2")),
        ("INVALID_REQUEST", "INVALID_CONFIG")), Case("a config that is set twice, to a controller", CONTROLLER,
            altering(2, VICTIM, ("retention.ms", 0, "1"), ("retention.ms", 0, "2")), ANY),
        Case("a config without a value", BROKER, altering(2, VICTIM, ("retention.ms", 0, None)),
            ("INVALID_REQUEST", "INVALID_CONFIG")),
        Case("a config without a value, to a controller", CONTROLLER, altering(2, VICTIM, ("retention.ms", 0, None)),
            ANY),
        Case("a value of 30,000 characters", BOTH, altering(2, VICTIM, ("retention.ms", 0, "9" * 30_000)),
            ("INVALID_CONFIG",)),
        Case("20,000 configs that do not exist", BOTH,
            altering(2, VICTIM, *((f"no.{n}", 0, "1") for n in range(20_000))), REFUSED),
        Case("a feature that is updated twice", BOTH, features(("group.version", 1, 1), ("group.version", 0, 2)), ANY),
        Case("a feature at level -5", BOTH, features(("group.version", -5, 1)), REFUSED),
        Case("metadata.version 32767", BOTH, features(("metadata.version", 32767, 1)), REFUSED),
        Case("a quota that is not a number", BOTH, quotas(float("nan")), ANY),
        Case("a quota without an end", BOTH, quotas(float("inf")), ANY),
        Case("no bytes where a struct should be", BOTH, by_hand(19, 7, b"\2"), ("closed",)),
    ]  # fmt: skip
