"""Questions about the quorum: what its leader sees, and whom one node takes for the leader."""

from __future__ import annotations

from typing import Final

from controller_runtime.admin.connections import Connections, Deadline, raise_if
from controller_runtime.admin.results import LeaderSeen, QuorumDescription, ReplicaDescription
from controller_runtime.identifiers import (
    METADATA_TOPIC_ID,
    METADATA_TOPIC_NAME,
    NO_NODE,
    DirectoryId,
    Endpoint,
    Epoch,
    NodeId,
    Offset,
)
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_quorum_request import (
    DescribeQuorumRequest,
)
from controller_runtime.protocol.messages.describe_quorum_request import PartitionData as AskedPartition
from controller_runtime.protocol.messages.describe_quorum_request import TopicData as AskedTopic
from controller_runtime.protocol.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
)
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import FetchResponse

_QUESTION: Final = DescribeQuorumRequest(
    topics=(AskedTopic(topic_name=METADATA_TOPIC_NAME, partitions=(AskedPartition(partition_index=0),)),)
)
_LEADER_IN_REPLY: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)


async def describe(connections: Connections, deadline: Deadline) -> QuorumDescription:
    found = await connections.ask_controller(_QUESTION, DescribeQuorumResponse, _code_of, deadline)
    raise_if(found.error_code, found.error_message)
    partition = _partition_of(found)
    raise_if(partition.error_code, partition.error_message)
    return QuorumDescription(
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        high_watermark=Offset(partition.high_watermark),
        voters=tuple(map(_replica, partition.current_voters)),
        observers=tuple(map(_replica, partition.observers)),
        endpoints={
            NodeId(node.node_id): {one.name: Endpoint(one.host, one.port) for one in node.listeners}
            for node in found.nodes
        },
    )


async def leader_seen_by(connections: Connections, node: Endpoint, deadline: Deadline) -> LeaderSeen:
    """A fetch at leader epoch 0 is fenced by whoever knows a leader or an epoch, and the refusal names both."""
    partition = FetchPartition(partition=0, current_leader_epoch=0, fetch_offset=0, last_fetched_epoch=0)
    request = FetchRequest(topics=(FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(partition,)),), max_bytes=1)
    found = await connections.ask_at(node, request, FetchResponse, deadline.left)
    raise_if(found.error_code)
    answers = [one for topic in found.responses for one in topic.partitions]
    if not answers:
        return LeaderSeen(NO_NODE, Epoch(0), None, Offset(-1))
    answer = answers[0]
    if answer.error_code not in _LEADER_IN_REPLY:
        raise_if(answer.error_code)
    leader = NodeId(answer.current_leader.leader_id)
    endpoint = next((Endpoint(one.host, one.port) for one in found.node_endpoints if one.node_id == leader), None)
    return LeaderSeen(leader, Epoch(answer.current_leader.leader_epoch), endpoint, Offset(answer.high_watermark))


def _code_of(answer: DescribeQuorumResponse) -> int:
    return answer.error_code or _partition_of(answer).error_code


def _partition_of(answer: DescribeQuorumResponse) -> PartitionData:
    return next((one for topic in answer.topics for one in topic.partitions), PartitionData())


def _replica(state: ReplicaState) -> ReplicaDescription:
    return ReplicaDescription(
        NodeId(state.replica_id),
        DirectoryId(state.replica_directory_id),
        Offset(state.log_end_offset),
        state.last_fetch_timestamp,
        state.last_caught_up_timestamp,
    )
