"""The matrix of authorization: sets of ACLs, made of every right that the table of APIs names, and requests for every
API that it serves, on what is there and what is not.

The client asks from an address of its own (`CLIENT`), which the ACLs name; the nodes, and whoever keeps the ACLs, are
the same ANONYMOUS at another one, which may everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from controller_runtime.parts.api_table import TABLES
from controller_runtime.parts.authorization import Resource, Right
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, api
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.messages.alter_client_quotas_request import EntityData, EntryData, OpData
from controller_runtime.protocol.messages.alter_configs_request import AlterConfigsResource as AllOfResource
from controller_runtime.protocol.messages.create_acls_request import AclCreation
from controller_runtime.protocol.messages.create_partitions_request import CreatePartitionsTopic
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsFilter
from controller_runtime.protocol.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsTopic
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicState
from controller_runtime.protocol.messages.describe_configs_request import DescribeConfigsResource
from controller_runtime.protocol.messages.describe_topic_partitions_request import TopicRequest
from controller_runtime.protocol.messages.elect_leaders_request import TopicPartitions
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchTopic, ReplicaState
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
)
from controller_runtime.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from controller_runtime.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequestTopic
from controller_runtime.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from controller_runtime.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from controller_runtime.protocol.schema import Message
from support.apache_kafka import authorization_of_groups
from support.apache_kafka.differential import Side
from support.apache_kafka.matrix_bodies import GROUP, NOBODYS, NOT_THERE, THERE, Body, id_of, made, same

CLIENT: Final = "127.0.0.2"
NODES: Final = "127.0.0.1"
ANONYMOUS: Final = "User:ANONYMOUS"
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
ALL: Final = 2
KINDS: Final = {
    Resource.TOPIC: 2,
    Resource.ANY_TOPIC: 2,
    Resource.GROUP: 3,
    Resource.CLUSTER: 4,
    Resource.TRANSACTIONAL_ID: 5,
    Resource.DELEGATION_TOKEN: 6,
    Resource.USER: 7,
}


class Acls(NamedTuple):
    """What the client may."""

    name: str
    acls: tuple[AclCreation, ...]


class Question(NamedTuple):
    role: ListenerType
    key: ApiKey
    name: str
    body: Body
    version: int

    def __str__(self) -> str:
        return f"{self.role} {self.key.name} v{self.version} {self.name}"


def acl(
    kind: int, name: str, operation: int, permission: int = ALLOW, pattern: int = LITERAL, host: str = CLIENT
) -> AclCreation:
    return AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=ANONYMOUS,
        host=host,
        operation=operation,
        permission_type=permission,
    )


NODES_MAY: Final = tuple(
    acl(kind, "kafka-cluster" if kind == 4 else "*", ALL, host=NODES) for kind in sorted({*KINDS.values()})
)
"""With them some ACL is about every resource: by default nobody may anything."""


def rights() -> list[Right]:
    """Every right that an API of the table needs."""
    found = {
        right: None
        for rows in TABLES.values()
        for row in rows.values()
        for need in row.authorization
        for alternative in need.alternatives
        for right in alternative
    }
    return sorted(found, key=str)


def sets_of_acls() -> Iterator[Acls]:
    """Nothing, everything, and of each right: allowed, by a prefix, denied beside everything, implied by no other."""
    everything = tuple(acl(kind, _every(kind), ALL) for kind in sorted({*KINDS.values()}))
    yield Acls("nothing", ())
    yield Acls("everything", everything)
    for right in rights():
        kind, operation = KINDS[right.resource], int(right.operation)
        names = ("kafka-cluster",) if kind == 4 else (THERE, NOT_THERE, GROUP, "tx", "User:owner")
        yield Acls(f"{right} allowed", tuple(acl(kind, name, operation) for name in names))
        if kind != 4:
            yield Acls(f"{right} by a prefix", (acl(kind, THERE[:3], operation, pattern=PREFIXED),))
        denied = tuple(acl(kind, name, operation, DENY) for name in names[:1])
        yield Acls(f"{right} denied", (*everything, *denied))


def _every(kind: int) -> str:
    return "kafka-cluster" if kind == 4 else "*"


def removed(wanted: Iterable[AclCreation]) -> tuple[DeleteAclsFilter, ...]:
    return tuple(
        DeleteAclsFilter(
            resource_type_filter=each.resource_type,
            resource_name_filter=each.resource_name,
            pattern_type_filter=each.resource_pattern_type,
            principal_filter=each.principal,
            host_filter=each.host,
            operation=each.operation,
            permission_type=each.permission_type,
        )
        for each in wanted
    )


def questions() -> Iterator[Question]:
    """For every row of the table, at the newest version and at the oldest that can say it."""
    for role, rows in TABLES.items():
        for key, row in rows.items():
            known = row.versions or api(key).versions
            for name, body in _requests(key).items():
                for version in sorted({known.lowest, known.highest}, reverse=True):
                    yield Question(role, key, name, body, version)


def _requests(key: ApiKey) -> Mapping[str, Body]:
    """An API without one of its own is asked for nothing: what is refused whole is refused then, too. What concerns
    consensus names another cluster, so that nothing comes of it where it is allowed.
    """
    found = _NAMING.get(key)
    if found is not None:
        return found
    request = message_class(f"{api(key).name}Request")()
    return {"nothing": lambda _: request}


def _enveloped(principal: str) -> Body:
    kind, _, name = principal.partition(":")
    head = (0).to_bytes(2, "big")
    asker = head + encode(DefaultPrincipalData(type=kind, name=name), 0)
    frame = encode_request(ListPartitionReassignmentsRequest(topics=None), 0, 11, "inside", with_length=False)
    envelope = EnvelopeRequest(request_data=frame, request_principal=asker, client_host_address=b"\x7f\0\0\x02")
    return lambda _: envelope


def _alter(*resources: tuple[int, str, str, str]) -> Body:
    return same(
        "IncrementalAlterConfigsRequest",
        validate_only=True,
        resources=tuple(
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=(AlterableConfig(name=config, config_operation=0, value=value),),
            )
            for kind, name, config, value in resources
        ),
    )


_RESOURCES: Final = ((2, THERE), (2, NOT_THERE), (32, GROUP), (4, "1"), (4, ""), (8, "1"), (16, "metrics"))
_VALUES: Final = {
    2: ("retention.ms", "1000"),
    32: ("consumer.session.timeout.ms", "45000"),
    4: ("log.cleaner.threads", "1"),
    8: ("org.apache.kafka", "INFO"),
    16: ("interval.ms", "1000"),
}


def _produced(side: Side, *names: str) -> Message:
    data = (PartitionProduceData(index=0, records=b""),)
    topics = tuple(TopicProduceData(name=name, topic_id=id_of(side, name), partition_data=data) for name in names)
    return made("ProduceRequest", acks=1, timeout_ms=5_000, topic_data=topics)


def _fetched(side: Side, *names: str, replica: int = -1, new: bool = False) -> Message:
    """The replica's id stands in a state from version 15 on."""
    wanted = (FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1),)
    topics = tuple(FetchTopic(topic=name, topic_id=id_of(side, name), partitions=wanted) for name in names)
    who: dict[str, Any] = {"replica_state": ReplicaState(replica_id=replica)} if new else {"replica_id": replica}
    return made("FetchRequest", max_wait_ms=0, min_bytes=0, max_bytes=1, topics=topics, **who)


_NAMING: Final[Mapping[ApiKey, Mapping[str, Body]]] = {
    ApiKey.PRODUCE: {
        "both": lambda side: _produced(side, THERE, NOT_THERE),
        "there": lambda side: _produced(side, THERE),
    },
    ApiKey.FETCH: {
        "both": lambda side: _fetched(side, THERE, NOT_THERE),
        "as a follower": lambda side: _fetched(side, THERE, replica=7),
        "as a follower, by state": lambda side: _fetched(side, THERE, replica=7, new=True),
    },
    ApiKey.LIST_OFFSETS: {
        "both": same(
            "ListOffsetsRequest",
            replica_id=-1,
            topics=tuple(
                ListOffsetsTopic(name=name, partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),))
                for name in (THERE, NOT_THERE)
            ),
        )
    },
    ApiKey.OFFSET_FOR_LEADER_EPOCH: {
        "both": same(
            "OffsetForLeaderEpochRequest",
            topics=tuple(
                OffsetForLeaderTopic(topic=name, partitions=(OffsetForLeaderPartition(partition=0, leader_epoch=0),))
                for name in (THERE, NOT_THERE)
            ),
        )
    },
    ApiKey.METADATA: {
        "all": same("MetadataRequest", topics=None),
        "all, with bits": same(
            "MetadataRequest",
            topics=None,
            include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        ),
        "by name": same(
            "MetadataRequest",
            topics=(MetadataRequestTopic(name=THERE), MetadataRequestTopic(name=NOT_THERE)),
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        ),
        "by id": lambda side: made(
            "MetadataRequest",
            topics=tuple(MetadataRequestTopic(name=None, topic_id=id_of(side, name)) for name in (THERE, NOT_THERE)),
            include_topic_authorized_operations=True,
        ),
    },
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: {
        "all": same("DescribeTopicPartitionsRequest"),
        "both": same("DescribeTopicPartitionsRequest", topics=(TopicRequest(name=THERE), TopicRequest(name=NOT_THERE))),
    },
    ApiKey.DESCRIBE_CLUSTER: {
        "nothing": same("DescribeClusterRequest"),
        "with bits": same("DescribeClusterRequest", include_cluster_authorized_operations=True),
        "of controllers": same("DescribeClusterRequest", include_cluster_authorized_operations=True, endpoint_type=2),
    },
    ApiKey.DELETE_RECORDS: {
        "both": same(
            "DeleteRecordsRequest",
            timeout_ms=1_000,
            topics=tuple(
                DeleteRecordsTopic(name=name, partitions=(DeleteRecordsPartition(partition_index=0, offset=0),))
                for name in (THERE, NOT_THERE)
            ),
        )
    },
    ApiKey.CREATE_TOPICS: {
        "new": same(
            "CreateTopicsRequest",
            validate_only=True,
            timeout_ms=5_000,
            topics=(
                CreatableTopic(name=NOT_THERE, num_partitions=1, replication_factor=1),
                CreatableTopic(name=THERE, num_partitions=1, replication_factor=1),
                CreatableTopic(name="twice", num_partitions=1, replication_factor=1),
                CreatableTopic(name="twice", num_partitions=2, replication_factor=1),
            ),
        )
    },
    ApiKey.DELETE_TOPICS: {
        "by name": lambda side: made(
            "DeleteTopicsRequest",
            topics=(DeleteTopicState(name=NOT_THERE), DeleteTopicState(name="")),
            topic_names=(NOT_THERE, "absent"),
            timeout_ms=5_000,
        ),
        "by id": lambda side: made(
            "DeleteTopicsRequest", topics=(DeleteTopicState(name=None, topic_id=NOBODYS),), timeout_ms=5_000
        ),
    },
    ApiKey.CREATE_PARTITIONS: {
        "both": same(
            "CreatePartitionsRequest",
            validate_only=True,
            timeout_ms=5_000,
            topics=(CreatePartitionsTopic(name=THERE, count=9), CreatePartitionsTopic(name=NOT_THERE, count=9)),
        )
    },
    ApiKey.DESCRIBE_CONFIGS: {
        "each": same(
            "DescribeConfigsRequest",
            resources=tuple(
                DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=("retention.ms",))
                for kind, name in _RESOURCES
            ),
        )
    },
    ApiKey.ALTER_CONFIGS: {
        "each": same(
            "AlterConfigsRequest",
            validate_only=True,
            resources=tuple(
                AllOfResource(resource_type=kind, resource_name=name) for kind, name in _RESOURCES if kind != 8
            ),
        )
    },
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {
        "each": _alter(*((kind, name, *_VALUES[kind]) for kind, name in _RESOURCES)),
        "loggers": _alter((8, "1", *_VALUES[8])),
    },
    ApiKey.ELECT_LEADERS: {
        "one": same(
            "ElectLeadersRequest",
            timeout_ms=5_000,
            topic_partitions=(TopicPartitions(topic=THERE, partitions=(0,)),),
        )
    },
    ApiKey.CREATE_ACLS: {
        "one": same("CreateAclsRequest", creations=(acl(2, "other", 3, host="10.9.9.9"),)),
    },
    ApiKey.DELETE_ACLS: {
        "one": same("DeleteAclsRequest", filters=removed((acl(2, "other", 3, host="10.9.9.9"),))),
    },
    ApiKey.ALTER_CLIENT_QUOTAS: {
        "one": same(
            "AlterClientQuotasRequest",
            validate_only=True,
            entries=(
                EntryData(
                    entity=(EntityData(entity_type="user", entity_name="u"),),
                    ops=(OpData(key="producer_byte_rate", value=1.0),),
                ),
            ),
        )
    },
    ApiKey.DESCRIBE_ACLS: {
        "none": same(
            "DescribeAclsRequest",
            resource_type_filter=3,
            resource_name_filter="none",
            pattern_type_filter=3,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
    },
    **{
        key: {"of another cluster": same(f"{name}Request", cluster_id="another")}
        for key, name in {
            ApiKey.VOTE: "Vote",
            ApiKey.BEGIN_QUORUM_EPOCH: "BeginQuorumEpoch",
            ApiKey.END_QUORUM_EPOCH: "EndQuorumEpoch",
            ApiKey.FETCH_SNAPSHOT: "FetchSnapshot",
            ApiKey.ADD_RAFT_VOTER: "AddRaftVoter",
            ApiKey.REMOVE_RAFT_VOTER: "RemoveRaftVoter",
            ApiKey.UPDATE_RAFT_VOTER: "UpdateRaftVoter",
        }.items()
    },
    **authorization_of_groups.NAMING,
    ApiKey.ENVELOPE: {"of a super user": _enveloped("User:admin"), "of the client": _enveloped(ANONYMOUS)},
}
