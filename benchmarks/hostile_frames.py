"""Small or lying requests that would cost a node much: made by hand or by the codec, whole frames with their length.

Each is what one stranger may send without a password. `CASES` names the role that it is sent to: `both` goes to a
broker and to a controller.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.messages import assign_replicas_to_dirs_request as assign
from controller_runtime.protocol.messages import broker_registration_request as registration
from controller_runtime.protocol.messages import create_topics_request as create
from controller_runtime.protocol.messages import describe_configs_request as describe
from controller_runtime.protocol.messages import describe_topic_partitions_request as pages
from controller_runtime.protocol.messages import fetch_request as fetch
from controller_runtime.protocol.messages import incremental_alter_configs_request as alter
from controller_runtime.protocol.messages import list_offsets_request as offsets
from controller_runtime.protocol.messages import metadata_request as metadata
from controller_runtime.protocol.messages import offset_for_leader_epoch_request as epochs
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.primitives import uvarint
from controller_runtime.protocol.schema import Message

MANY: Final = 100_000
Role = Literal["broker", "controller", "both"]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    role: Role
    make: Callable[[str], bytes]
    """The frame; its argument is the id of the cluster."""


def _names(count: int) -> list[str]:
    return [f"hostile-{number:06d}" for number in range(count)]


def _frame(body: Message, version: int) -> bytes:
    return encode_request(body, version, 1, "hostile")


def _raw(key: int, version: int, body: bytes) -> bytes:
    content = struct.pack(">hhih", key, version, 1, -1) + b"\0" + body
    return struct.pack(">i", len(content)) + content


def empty_names(count: int) -> bytes:
    """DeleteTopics v5: a byte an element, an object of Python each."""
    return _raw(20, 5, uvarint(count + 1) + b"\x01" * count + bytes(5))


def claimed_names(count: int) -> bytes:
    """As many are claimed as there are bytes; the last is missing."""
    return _raw(20, 5, uvarint(count + 1) + b"\x01" * (count - 1))


def unknown_tags(count: int) -> bytes:
    """ApiVersions v3 with tagged fields that nobody knows."""
    tags = b"".join(uvarint(number) + b"\0" for number in range(100, 100 + count))
    return _raw(18, 3, b"\x02a\x02b" + uvarint(count) + tags)


def create_topics(count: int, *, validate_only: bool = False, name: str | None = None) -> bytes:
    topics = tuple(
        create.CreatableTopic(name=name or each, num_partitions=1, replication_factor=1) for each in _names(count)
    )
    return _frame(create.CreateTopicsRequest(topics=topics, validate_only=validate_only), 7)


def metadata_of(count: int) -> bytes:
    topics = tuple(metadata.MetadataRequestTopic(name=name) for name in _names(count))
    return _frame(metadata.MetadataRequest(topics=topics), 12)


def delete_topics(count: int) -> bytes:
    return _frame(DeleteTopicsRequest(topic_names=tuple(_names(count)), timeout_ms=10_000), 5)


def alter_configs(count: int) -> bytes:
    one = (alter.AlterableConfig(name="retention.ms", value="1"),)
    resources = tuple(
        alter.AlterConfigsResource(resource_type=2, resource_name=name, configs=one) for name in _names(count)
    )
    return _frame(alter.IncrementalAlterConfigsRequest(resources=resources), 1)


def describe_configs(count: int) -> bytes:
    resources = tuple(describe.DescribeConfigsResource(resource_type=2, resource_name=name) for name in _names(count))
    return _frame(describe.DescribeConfigsRequest(resources=resources), 4)


def describe_partitions(count: int) -> bytes:
    topics = tuple(pages.TopicRequest(name=name) for name in _names(count))
    return _frame(pages.DescribeTopicPartitionsRequest(topics=topics), 0)


def list_offsets(count: int) -> bytes:
    partitions = tuple(offsets.ListOffsetsPartition(partition_index=number, timestamp=-1) for number in range(count))
    topic = offsets.ListOffsetsTopic(name="nothing", partitions=partitions)
    return _frame(offsets.ListOffsetsRequest(topics=(topic,)), 9)


def leader_epochs(count: int) -> bytes:
    partitions = tuple(epochs.OffsetForLeaderPartition(partition=number) for number in range(count))
    topic = epochs.OffsetForLeaderTopic(topic="nothing", partitions=partitions)
    return _frame(epochs.OffsetForLeaderEpochRequest(topics=(topic,)), 4)


def fetch_many(count: int) -> bytes:
    partitions = tuple(fetch.FetchPartition(partition=number, partition_max_bytes=1) for number in range(count))
    topic = fetch.FetchTopic(topic="nothing", topic_id=Uuid(bytes(15) + b"\x09"), partitions=partitions)
    return _frame(fetch.FetchRequest(max_wait_ms=0, topics=(topic,)), 17)


def _register(cluster_id: str, listeners: int = 1, features: int = 0, directories: int = 1) -> bytes:
    at = tuple(registration.Listener(name=f"L{n}", host="localhost", port=9092) for n in range(listeners))
    known = (registration.Feature(name="metadata.version", min_supported_version=7, max_supported_version=30),)
    more = tuple(registration.Feature(name=f"f{n}", max_supported_version=1) for n in range(features))
    ids = tuple(Uuid((1 << 100 | n + 1).to_bytes(16, "big")) for n in range(directories))
    body = registration.BrokerRegistrationRequest(
        broker_id=77, cluster_id=cluster_id, incarnation_id=ids[0], listeners=at, features=known + more, log_dirs=ids
    )
    return _frame(body, 4)


def assign_directories(count: int) -> bytes:
    partitions = tuple(assign.PartitionData(partition_index=number) for number in range(count))
    topic = assign.TopicData(topic_id=Uuid(bytes(15) + b"\x09"), partitions=partitions)
    directory = assign.DirectoryData(id=Uuid(bytes(15) + b"\x08"), topics=(topic,))
    return _frame(assign.AssignReplicasToDirsRequest(broker_id=77, broker_epoch=1, directories=(directory,)), 0)


CASES: Final = (
    Case("2,000,000 empty names", "both", lambda _: empty_names(2_000_000)),
    Case("20,000,000 names claimed", "both", lambda _: claimed_names(20_000_000)),
    Case("100,000 unknown tags", "both", lambda _: unknown_tags(MANY)),
    Case("CreateTopics of 100,000 names", "both", lambda _: create_topics(MANY)),
    Case("CreateTopics of 100,000 names, validate only", "both", lambda _: create_topics(MANY, validate_only=True)),
    Case("CreateTopics of one name 40,000 times", "both", lambda _: create_topics(40_000, name="one")),
    Case("CreateTopics of 20,000 names", "both", lambda _: create_topics(20_000)),
    Case("Metadata of 100,000 names", "broker", lambda _: metadata_of(MANY)),
    Case("Metadata of 20,000 names", "broker", lambda _: metadata_of(20_000)),
    Case("DeleteTopics of 100,000 names", "both", lambda _: delete_topics(MANY)),
    Case("DeleteTopics of 20,000 names", "both", lambda _: delete_topics(20_000)),
    Case("IncrementalAlterConfigs of 100,000 topics", "both", lambda _: alter_configs(MANY)),
    Case("IncrementalAlterConfigs of 10,000 topics", "both", lambda _: alter_configs(10_000)),
    Case("DescribeConfigs of 100,000 topics", "both", lambda _: describe_configs(MANY)),
    Case("DescribeConfigs of 20,000 topics", "both", lambda _: describe_configs(20_000)),
    Case("DescribeTopicPartitions of 100,000 names", "broker", lambda _: describe_partitions(MANY)),
    Case("DescribeTopicPartitions of 20,000 names", "broker", lambda _: describe_partitions(20_000)),
    Case("ListOffsets of 100,000 partitions", "broker", lambda _: list_offsets(MANY)),
    Case("ListOffsets of 20,000 partitions", "broker", lambda _: list_offsets(20_000)),
    Case("OffsetForLeaderEpoch of 100,000 partitions", "broker", lambda _: leader_epochs(MANY)),
    Case("Fetch of 100,000 partitions", "broker", lambda _: fetch_many(MANY)),
    Case("Fetch of 20,000 partitions", "broker", lambda _: fetch_many(20_000)),
    Case("a registration with 10,000 listeners", "controller", lambda it: _register(it, listeners=10_000)),
    Case("a registration with 10,000 features", "controller", lambda it: _register(it, features=10_000)),
    Case("a registration with 10,000 directories", "controller", lambda it: _register(it, directories=10_000)),
    Case("AssignReplicasToDirs of 100,000 partitions", "controller", lambda _: assign_directories(MANY)),
)
