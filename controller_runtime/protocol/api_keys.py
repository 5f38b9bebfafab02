"""The API keys: names, version ranges, header versions, and which listener Apache Kafka 4.3.1 serves them on.

    request_class(ApiKey.FETCH)            # imported on first use
    request_header_version(ApiKey.FETCH, 17)
    api(ApiKey.FETCH).versions             # Versions(4, 18)

What our own roles serve and advertise is in `parts.api_table`: that table follows what is built, this one only states
Kafka's facts.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from functools import cache
from typing import Final

from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.schema import Message, Versions
from controller_runtime.values import dataclass

NEVER: Final = 32767


class ListenerType(StrEnum):
    """The kind of listener a request arrives on."""

    BROKER = "broker"
    CONTROLLER = "controller"


class ApiKey(IntEnum):
    """Every API key of Apache Kafka 4.3.1. Keys 4-7 have no version any more."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


@dataclass(frozen=True, slots=True)
class Api:
    """One row of Kafka's table. `roles`: b(roker), c(ontroller). `flags`: f(orwardable)."""

    key: ApiKey
    name: str
    lowest: int
    highest_stable: int
    highest: int
    flexible_from: int
    roles: str
    flags: str

    @property
    def versions(self) -> Versions:
        """What Kafka advertises unless unstable versions are enabled."""
        return Versions(self.lowest, self.highest_stable)

    @property
    def is_forwardable(self) -> bool:
        """May travel to the controller inside an Envelope."""
        return "f" in self.flags

    def served_by(self, role: ListenerType) -> bool:
        return role[0] in self.roles


APIS: Final = (
    Api(ApiKey.PRODUCE, "Produce", 3, 13, 13, 9, "b", ""),
    Api(ApiKey.FETCH, "Fetch", 4, 18, 18, 12, "bc", ""),
    Api(ApiKey.LIST_OFFSETS, "ListOffsets", 1, 11, 11, 6, "b", ""),
    Api(ApiKey.METADATA, "Metadata", 0, 13, 13, 9, "b", ""),
    Api(ApiKey.OFFSET_COMMIT, "OffsetCommit", 2, 10, 10, 8, "b", ""),
    Api(ApiKey.OFFSET_FETCH, "OffsetFetch", 1, 10, 10, 6, "b", ""),
    Api(ApiKey.FIND_COORDINATOR, "FindCoordinator", 0, 6, 6, 3, "b", ""),
    Api(ApiKey.JOIN_GROUP, "JoinGroup", 0, 9, 9, 6, "b", ""),
    Api(ApiKey.HEARTBEAT, "Heartbeat", 0, 4, 4, 4, "b", ""),
    Api(ApiKey.LEAVE_GROUP, "LeaveGroup", 0, 5, 5, 4, "b", ""),
    Api(ApiKey.SYNC_GROUP, "SyncGroup", 0, 5, 5, 4, "b", ""),
    Api(ApiKey.DESCRIBE_GROUPS, "DescribeGroups", 0, 6, 6, 5, "b", ""),
    Api(ApiKey.LIST_GROUPS, "ListGroups", 0, 5, 5, 3, "b", ""),
    Api(ApiKey.SASL_HANDSHAKE, "SaslHandshake", 0, 1, 1, NEVER, "bc", ""),
    Api(ApiKey.API_VERSIONS, "ApiVersions", 0, 4, 4, 3, "bc", ""),
    Api(ApiKey.CREATE_TOPICS, "CreateTopics", 2, 7, 7, 5, "bc", "f"),
    Api(ApiKey.DELETE_TOPICS, "DeleteTopics", 1, 6, 6, 4, "bc", "f"),
    Api(ApiKey.DELETE_RECORDS, "DeleteRecords", 0, 2, 2, 2, "b", ""),
    Api(ApiKey.INIT_PRODUCER_ID, "InitProducerId", 0, 5, 6, 2, "b", ""),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, "OffsetForLeaderEpoch", 2, 4, 4, 4, "b", ""),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxn", 0, 5, 5, 3, "b", ""),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, "AddOffsetsToTxn", 0, 4, 4, 3, "b", ""),
    Api(ApiKey.END_TXN, "EndTxn", 0, 5, 5, 3, "b", ""),
    Api(ApiKey.WRITE_TXN_MARKERS, "WriteTxnMarkers", 1, 2, 2, 1, "b", ""),
    Api(ApiKey.TXN_OFFSET_COMMIT, "TxnOffsetCommit", 0, 5, 5, 3, "b", ""),
    Api(ApiKey.DESCRIBE_ACLS, "DescribeAcls", 1, 3, 3, 2, "bc", ""),
    Api(ApiKey.CREATE_ACLS, "CreateAcls", 1, 3, 3, 2, "bc", "f"),
    Api(ApiKey.DELETE_ACLS, "DeleteAcls", 1, 3, 3, 2, "bc", "f"),
    Api(ApiKey.DESCRIBE_CONFIGS, "DescribeConfigs", 1, 4, 4, 4, "bc", ""),
    Api(ApiKey.ALTER_CONFIGS, "AlterConfigs", 0, 2, 2, 2, "bc", "f"),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, "AlterReplicaLogDirs", 1, 2, 2, 2, "b", ""),
    Api(ApiKey.DESCRIBE_LOG_DIRS, "DescribeLogDirs", 1, 5, 5, 2, "b", ""),
    Api(ApiKey.SASL_AUTHENTICATE, "SaslAuthenticate", 0, 2, 2, 2, "bc", ""),
    Api(ApiKey.CREATE_PARTITIONS, "CreatePartitions", 0, 3, 3, 2, "bc", "f"),
    Api(ApiKey.CREATE_DELEGATION_TOKEN, "CreateDelegationToken", 1, 3, 3, 2, "bc", "f"),
    Api(ApiKey.RENEW_DELEGATION_TOKEN, "RenewDelegationToken", 1, 2, 2, 2, "bc", "f"),
    Api(ApiKey.EXPIRE_DELEGATION_TOKEN, "ExpireDelegationToken", 1, 2, 2, 2, "bc", "f"),
    Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, "DescribeDelegationToken", 1, 3, 3, 2, "bc", ""),
    Api(ApiKey.DELETE_GROUPS, "DeleteGroups", 0, 2, 2, 2, "b", ""),
    Api(ApiKey.ELECT_LEADERS, "ElectLeaders", 0, 2, 2, 2, "bc", "f"),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, "IncrementalAlterConfigs", 0, 1, 1, 1, "bc", "f"),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "AlterPartitionReassignments", 0, 1, 1, 0, "bc", "f"),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, "ListPartitionReassignments", 0, 0, 0, 0, "bc", "f"),
    Api(ApiKey.OFFSET_DELETE, "OffsetDelete", 0, 0, 0, NEVER, "b", ""),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, "DescribeClientQuotas", 0, 1, 1, 1, "b", ""),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, "AlterClientQuotas", 0, 1, 1, 1, "bc", "f"),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "DescribeUserScramCredentials", 0, 0, 0, 0, "bc", ""),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "AlterUserScramCredentials", 0, 0, 0, 0, "bc", "f"),
    Api(ApiKey.VOTE, "Vote", 0, 2, 2, 0, "c", ""),
    Api(ApiKey.BEGIN_QUORUM_EPOCH, "BeginQuorumEpoch", 0, 1, 1, 1, "c", ""),
    Api(ApiKey.END_QUORUM_EPOCH, "EndQuorumEpoch", 0, 1, 1, 1, "c", ""),
    Api(ApiKey.DESCRIBE_QUORUM, "DescribeQuorum", 0, 2, 2, 0, "bc", "f"),
    Api(ApiKey.ALTER_PARTITION, "AlterPartition", 2, 3, 3, 2, "c", ""),
    Api(ApiKey.UPDATE_FEATURES, "UpdateFeatures", 0, 2, 2, 0, "bc", "f"),
    Api(ApiKey.ENVELOPE, "Envelope", 0, 0, 0, 0, "c", ""),
    Api(ApiKey.FETCH_SNAPSHOT, "FetchSnapshot", 0, 1, 1, 0, "c", ""),
    Api(ApiKey.DESCRIBE_CLUSTER, "DescribeCluster", 0, 2, 2, 0, "bc", ""),
    Api(ApiKey.DESCRIBE_PRODUCERS, "DescribeProducers", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.BROKER_REGISTRATION, "BrokerRegistration", 0, 4, 4, 0, "c", ""),
    Api(ApiKey.BROKER_HEARTBEAT, "BrokerHeartbeat", 0, 2, 2, 0, "c", ""),
    Api(ApiKey.UNREGISTER_BROKER, "UnregisterBroker", 0, 0, 0, 0, "bc", "f"),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, "DescribeTransactions", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.LIST_TRANSACTIONS, "ListTransactions", 0, 2, 2, 0, "b", ""),
    Api(ApiKey.ALLOCATE_PRODUCER_IDS, "AllocateProducerIds", 0, 0, 0, 0, "c", "f"),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, "ConsumerGroupHeartbeat", 0, 1, 1, 0, "b", ""),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, "ConsumerGroupDescribe", 0, 1, 1, 0, "b", ""),
    Api(ApiKey.CONTROLLER_REGISTRATION, "ControllerRegistration", 0, 0, 0, 0, "c", ""),
    Api(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, "GetTelemetrySubscriptions", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.PUSH_TELEMETRY, "PushTelemetry", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.ASSIGN_REPLICAS_TO_DIRS, "AssignReplicasToDirs", 0, 0, 0, 0, "c", ""),
    Api(ApiKey.LIST_CONFIG_RESOURCES, "ListConfigResources", 0, 1, 1, 0, "b", ""),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "DescribeTopicPartitions", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.SHARE_GROUP_HEARTBEAT, "ShareGroupHeartbeat", 1, 1, 1, 1, "b", ""),
    Api(ApiKey.SHARE_GROUP_DESCRIBE, "ShareGroupDescribe", 1, 1, 1, 1, "b", ""),
    Api(ApiKey.SHARE_FETCH, "ShareFetch", 1, 2, 2, 1, "b", ""),
    Api(ApiKey.SHARE_ACKNOWLEDGE, "ShareAcknowledge", 1, 2, 2, 1, "b", ""),
    Api(ApiKey.ADD_RAFT_VOTER, "AddRaftVoter", 0, 1, 1, 0, "bc", "f"),
    Api(ApiKey.REMOVE_RAFT_VOTER, "RemoveRaftVoter", 0, 0, 0, 0, "bc", "f"),
    Api(ApiKey.UPDATE_RAFT_VOTER, "UpdateRaftVoter", 0, 0, 0, 0, "c", ""),
    Api(ApiKey.INITIALIZE_SHARE_GROUP_STATE, "InitializeShareGroupState", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.READ_SHARE_GROUP_STATE, "ReadShareGroupState", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.WRITE_SHARE_GROUP_STATE, "WriteShareGroupState", 0, 1, 1, 0, "b", ""),
    Api(ApiKey.DELETE_SHARE_GROUP_STATE, "DeleteShareGroupState", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, "ReadShareGroupStateSummary", 0, 1, 1, 0, "b", ""),
    Api(ApiKey.STREAMS_GROUP_HEARTBEAT, "StreamsGroupHeartbeat", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.STREAMS_GROUP_DESCRIBE, "StreamsGroupDescribe", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, "DescribeShareGroupOffsets", 0, 1, 1, 0, "b", ""),
    Api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, "AlterShareGroupOffsets", 0, 0, 0, 0, "b", ""),
    Api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, "DeleteShareGroupOffsets", 0, 0, 0, 0, "b", ""),
)

_by_key: Final = {int(each.key): each for each in APIS}


def find_api(key: int) -> Api | None:
    """The row of a key, None if Kafka 4.3.1 does not know it."""
    return _by_key.get(key)


def known_apis() -> tuple[Api, ...]:
    """All that Apache Kafka 4.3.1 has, by key."""
    return tuple(_by_key[key] for key in sorted(_by_key))


def api(key: int) -> Api:
    """The row of a key that is known to exist."""
    return _by_key[key]


@cache
def request_class(key: int) -> type[Message]:
    """The request's class, imported on first use."""
    return message_class(f"{_by_key[key].name}Request")


@cache
def response_class(key: int) -> type[Message]:
    """The response's class, imported on first use."""
    return message_class(f"{_by_key[key].name}Response")


def request_header_version(key: int, version: int) -> int:
    """2 for flexible versions, else 1."""
    return 2 if version >= _by_key[key].flexible_from else 1


def response_header_version(key: int, version: int) -> int:
    """1 for flexible versions, else 0; ApiVersions always 0, because its reader does not yet know what the
    node speaks.
    """
    return 1 if version >= _by_key[key].flexible_from and key != ApiKey.API_VERSIONS else 0
