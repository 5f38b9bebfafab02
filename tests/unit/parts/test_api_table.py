"""The table of what each role serves is what the roles do, and asks of a client what Apache Kafka asks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Final

import pytest

from controller_runtime.controller.service import SERVED, SERVED_BY_ACTIVE, SERVED_BY_ANY
from controller_runtime.node.quorum.wire import RAFT_KEYS, VOTER_KEYS
from controller_runtime.parts.api_table import BROKER, CONTROLLER, TABLES, Forwarded, Where, answered_at, served
from controller_runtime.parts.authorization import NOTHING, shown
from controller_runtime.protocol import (
    broker_error_responses,
    group_error_responses,
    metadata_error_responses,
    security_error_responses,
)
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, api, request_class, response_class
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.error_responses import (
    ABOUT_GROUPS,
    ABOUT_METADATA,
    ABOUT_SECURITY,
    ONLY_BROKERS,
    refusal,
)
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from controller_runtime.protocol.messages.elect_leaders_response import ElectLeadersResponse
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from support.golden import GOLDEN
from support.nodes.broker_world import BrokerWorld
from support.nodes.controller_world import World
from support.nodes.lone_controller import LoneController

pytestmark = pytest.mark.unit

KAFKA: Final = {
    ListenerType.BROKER: {
        "Produce": "Write on Topic; transactional batches: Write on TransactionalId",
        "Fetch": "consumers: Read on Topic; followers: ClusterAction on Cluster",
        "ListOffsets": "Describe on Topic",
        "DeleteRecords": "Delete on Topic",
        "AlterReplicaLogDirs": "Alter on Cluster",
        "DescribeLogDirs": "Describe on Cluster",
        "Metadata": "Describe on Topic; topics to be made: Create on Cluster or Create on Topic",
        "ApiVersions": "nothing",
        "InitProducerId": (
            "transactional: Write on TransactionalId; two-phase commit: TwoPhaseCommit on TransactionalId; idempotent: "
            "IdempotentWrite on Cluster or Write on any Topic"
        ),
        "OffsetForLeaderEpoch": "Describe on Topic or ClusterAction on Cluster",
        "AlterConfigs": "topics: AlterConfigs on Topic; groups: AlterConfigs on Group; "
        "nodes, client metrics: AlterConfigs on Cluster",
        "IncrementalAlterConfigs": "topics: AlterConfigs on Topic; groups: AlterConfigs on Group; "
        "nodes, loggers, client metrics: AlterConfigs on Cluster",
        "DescribeCluster": "authorized operations: Describe on Cluster",
        "DescribeTopicPartitions": "Describe on Topic",
        "FindCoordinator": "groups: Describe on Group; transactions: Describe on TransactionalId; "
        "share partitions: ClusterAction on Cluster",
        "JoinGroup": "Read on Group",
        "SyncGroup": "Read on Group",
        "Heartbeat": "Read on Group",
        "LeaveGroup": "Read on Group",
        "OffsetCommit": "Read on Group; topics: Read on Topic",
        "OffsetFetch": "Describe on Group; topics: Describe on Topic",
        "OffsetDelete": "Delete on Group; topics: Read on Topic",
        "DescribeGroups": "Describe on Group",
        "ListGroups": "Describe on Cluster or Describe on Group",
        "DeleteGroups": "Delete on Group",
        "AddPartitionsToTxn": "producers, with their topics: Write on TransactionalId; topics: Write on Topic; "
        "brokers: ClusterAction on Cluster",
        "AddOffsetsToTxn": "Write on TransactionalId; Read on Group",
        "EndTxn": "Write on TransactionalId",
        "WriteTxnMarkers": "Alter on Cluster or ClusterAction on Cluster",
        "TxnOffsetCommit": "Write on TransactionalId; Read on Group; topics: Read on Topic",
        "DescribeProducers": "Read on Topic",
        "DescribeTransactions": "Describe on TransactionalId",
        "ListTransactions": "Describe on TransactionalId",
        "ShareFetch": "Read on Group; topics: Read on Topic",
        "ShareAcknowledge": "Read on Group; topics: Read on Topic",
        "InitializeShareGroupState": "ClusterAction on Cluster",
        "ReadShareGroupState": "ClusterAction on Cluster",
        "WriteShareGroupState": "ClusterAction on Cluster",
        "DeleteShareGroupState": "ClusterAction on Cluster",
        "ReadShareGroupStateSummary": "ClusterAction on Cluster",
        "ConsumerGroupHeartbeat": "Read on Group; topics: Describe on Topic",
        "ShareGroupHeartbeat": "Read on Group; topics: Describe on Topic",
        "DescribeShareGroupOffsets": "Describe on Group; topics: Describe on Topic",
        "AlterShareGroupOffsets": "Read on Group; topics: Read on Topic",
        "DeleteShareGroupOffsets": "Delete on Group; topics: Read on Topic",
        "ShareGroupDescribe": "Describe on Group; topics: Describe on Topic",
        "ConsumerGroupDescribe": "Describe on Group; topics: Describe on Topic",
        "StreamsGroupHeartbeat": "Read on Group; topics: Describe on Topic",
        "StreamsGroupDescribe": "Describe on Group; topics: Describe on Topic",
        "ListConfigResources": "DescribeConfigs on Cluster",
        "DescribeDelegationToken": "of another owner, who did not name him as renewer: Describe on DelegationToken or "
        "DescribeTokens on User",
        "DescribeClientQuotas": "DescribeConfigs on Cluster",
        "DescribeUserScramCredentials": "Describe on Cluster",
    },
    ListenerType.CONTROLLER: {
        "Fetch": "ClusterAction on Cluster",
        "ApiVersions": "nothing",
        "AlterConfigs": "topics: AlterConfigs on Topic; groups: AlterConfigs on Group; "
        "nodes, client metrics: AlterConfigs on Cluster",
        "IncrementalAlterConfigs": "topics: AlterConfigs on Topic; groups: AlterConfigs on Group; "
        "nodes, client metrics: AlterConfigs on Cluster; loggers: ClusterAction on Cluster",
        "Vote": "ClusterAction on Cluster",
        "BeginQuorumEpoch": "ClusterAction on Cluster",
        "EndQuorumEpoch": "ClusterAction on Cluster",
        "FetchSnapshot": "ClusterAction on Cluster",
        "UpdateRaftVoter": "ClusterAction on Cluster",
        "DescribeCluster": "Alter on Cluster",
        "Envelope": "ClusterAction on Cluster",
        "BrokerRegistration": "ClusterAction on Cluster",
        "BrokerHeartbeat": "ClusterAction on Cluster",
        "AlterPartition": "ClusterAction on Cluster",
        "AllocateProducerIds": "ClusterAction on Cluster",
        "ControllerRegistration": "ClusterAction on Cluster",
        "AssignReplicasToDirs": "ClusterAction on Cluster",
        "DescribeDelegationToken": "nothing",
        "DescribeUserScramCredentials": "nothing",
    },
}
"""What `KafkaApis` and `ControllerApis` of 4.3.1 ask their authorizer, read in the sources."""
BOTH: Final = {
    "SaslHandshake": "nothing",
    "SaslAuthenticate": "nothing",
    "CreateTopics": "Create on Cluster or Create on Topic; configurations in the answer: DescribeConfigs on Topic",
    "DeleteTopics": "Delete on Cluster or (Describe on Topic and Delete on Topic)",
    "DescribeConfigs": "topics: DescribeConfigs on Topic; groups: DescribeConfigs on Group; "
    "nodes, loggers, client metrics: DescribeConfigs on Cluster",
    "DescribeQuorum": "Describe on Cluster",
    "UpdateFeatures": "Alter on Cluster",
    "ListPartitionReassignments": "Describe on Cluster",
    "CreatePartitions": "Alter on Topic",
    "ElectLeaders": "Alter on Cluster",
    "AlterPartitionReassignments": "Alter on Cluster",
    "UnregisterBroker": "Alter on Cluster",
    "AlterClientQuotas": "AlterConfigs on Cluster",
    "AlterUserScramCredentials": "Alter on Cluster",
    "DescribeAcls": "Describe on Cluster",
    "CreateAcls": "Alter on Cluster",
    "DeleteAcls": "Alter on Cluster",
    "CreateDelegationToken": "for another owner: CreateTokens on User",
    "RenewDelegationToken": "nothing",
    "ExpireDelegationToken": "nothing",
    "AddRaftVoter": "Alter on Cluster",
    "RemoveRaftVoter": "Alter on Cluster",
}
"""A broker forwards them, and the controller asks; DescribeConfigs is asked alike by both."""


@pytest.mark.parametrize("role", ListenerType)
def test_a_row_needs_what_kafka_asks_its_authorizer(role: ListenerType) -> None:
    """API-01: right by right, as ControllerApis and KafkaApis ask."""
    assert {api(key).name: shown(row.authorization) for key, row in TABLES[role].items()} == {**KAFKA[role], **BOTH}


def test_what_kafka_exempts_from_quotas_for_nodes_needs_no_less_than_describing_the_cluster() -> None:
    """The flag `clusterAction` of Kafka's own table, as recorded: no such API is open to everybody."""
    recorded = json.loads(gzip.decompress((GOLDEN / "schemas.json.gz").read_bytes()))["apis"]
    flagged = [key for key in CONTROLLER if any(each["key"] == key and each["clusterAction"] for each in recorded)]
    assert len(flagged) == 10
    for key in flagged:
        needs = CONTROLLER[key].authorization
        assert needs != NOTHING
        assert {str(right.resource) for each in needs for rights in each.alternatives for right in rights} == {
            "Cluster"
        }


def test_each_row_has_a_handler_and_each_handler_a_row() -> None:
    assert World().service.handled == SERVED
    read = frozenset(key for key, row in BROKER.items() if row.forwarded is not Forwarded.UNREAD)
    assert BrokerWorld().service.handled == read


def test_each_request_to_a_controller_is_answered_in_one_place() -> None:
    assert RAFT_KEYS | answered_at(Where.NODE) | SERVED_BY_ANY | SERVED_BY_ACTIVE == frozenset(CONTROLLER)
    assert VOTER_KEYS <= RAFT_KEYS
    assert LoneController().controller.handled == answered_at(Where.NODE) | SERVED_BY_ANY


def test_a_broker_forwards_what_kafka_forwards_and_the_controller_serves_it_at_the_same_versions() -> None:
    forwarded = {key for key, row in BROKER.items() if row.forwarded is not Forwarded.NO}
    assert forwarded == {key for key in BROKER if api(key).is_forwardable}
    assert all(BROKER[key].versions == CONTROLLER[key].versions for key in forwarded)
    judged = {key for key in forwarded if BROKER[key].forwarded is Forwarded.JUDGED}
    about_tokens = {ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN}
    assert judged == {ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, *about_tokens}


def test_only_decisions_of_the_active_controller_come_in_pieces() -> None:
    assert {key for key, row in CONTROLLER.items() if row.in_pieces} < SERVED_BY_ACTIVE


@pytest.mark.parametrize(("role", "key"), [(role, key) for role in ListenerType for key in served(role)])
def test_each_request_that_a_role_serves_can_be_refused_at_every_version(role: ListenerType, key: ApiKey) -> None:
    """With UNKNOWN_SERVER_ERROR, when something fails inside."""
    for version in served(role)[key]:
        answer = refusal(request_class(key)(), ErrorCode.UNKNOWN_SERVER_ERROR)
        assert isinstance(answer, response_class(key))
        encode(answer, version)


def test_an_election_is_refused_at_the_version_that_has_no_error_code_of_its_own() -> None:
    """Partition by partition; the first version of ElectLeaders knows nothing else."""
    wanted = ElectLeadersRequest(topic_partitions=(TopicPartitions(topic="stock", partitions=(0, 1)),))
    sent = encode(refusal(wanted, ErrorCode.REQUEST_TIMED_OUT), 0)
    (topic,) = decode(ElectLeadersResponse, sent, 0).replica_election_results
    assert [each.error_code for each in topic.partition_result] == [ErrorCode.REQUEST_TIMED_OUT] * 2


def test_a_refused_producer_gets_neither_an_id_nor_an_epoch() -> None:
    """As by Apache Kafka, asked without authentication: an epoch of 0 would be one to write with."""
    answer = refusal(InitProducerIdRequest(), ErrorCode.ILLEGAL_SASL_STATE)
    expected = InitProducerIdResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, producer_id=-1, producer_epoch=-1)
    assert answer == expected


@pytest.mark.parametrize(
    ("named", "shapes"),
    [
        (ONLY_BROKERS, broker_error_responses.SHAPES),
        (ABOUT_GROUPS, group_error_responses.SHAPES),
        (ABOUT_METADATA, metadata_error_responses.SHAPES_OF_METADATA),
        (ABOUT_SECURITY, security_error_responses.SHAPES_OF_SECURITY),
    ],
)
def test_the_names_of_what_is_refused_in_a_shape_of_its_own_are_those_that_have_one(
    named: frozenset[str], shapes: Mapping[str, object]
) -> None:
    """The shapes are imported late, so their names are written twice."""
    assert frozenset(shapes) == named
