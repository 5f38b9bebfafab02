"""DescribeQuorum: what the leader knows of every replica. Other nodes answer 6 with no leader, as Apache Kafka 4.3.1
does.
"""

from __future__ import annotations

from controller_runtime.identifiers import METADATA_TOPIC_NAME, Instant, WallClock
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from controller_runtime.raft.describe import QuorumDescription, ReplicaDescription
from controller_runtime.raft.voter_set import VoterSet
from controller_runtime.values import replace

NEVER = -1
FIRST_VERSION_WITH_DIRECTORIES = 2
NOT_LEADER = (
    "For requests intended only for the leader, this error indicates that the broker is not the current leader. For "
    "requests intended for any replica, this error indicates that the broker is not a replica of the topic partition."
)
NOT_HERE = "This server does not host this topic-partition."


def describe_quorum(
    request: DescribeQuorumRequest,
    seen: QuorumDescription | None,
    voters: VoterSet,
    now: Instant,
    wall: WallClock,
    version: int = FIRST_VERSION_WITH_DIRECTORIES,
) -> DescribeQuorumResponse:
    topics = request.topics
    one = len(topics) == 1 and topics[0].topic_name == METADATA_TOPIC_NAME and len(topics[0].partitions) == 1
    if not one or topics[0].partitions[0].partition_index != 0:
        return _unknown(request)
    if seen is None:
        refused = PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, error_message=NOT_LEADER)
        return DescribeQuorumResponse(topics=(TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(refused,)),))
    partition = PartitionData(
        leader_id=seen.leader_id,
        leader_epoch=seen.epoch,
        high_watermark=seen.high_watermark,
        current_voters=tuple(_state(replica, now, wall, version) for replica in seen.voters),
        observers=tuple(_state(replica, now, wall, version) for replica in seen.observers),
    )
    nodes = tuple(
        Node(
            node_id=voter.key.node_id,
            listeners=tuple(Listener(name=name, host=at.host, port=at.port) for name, at in voter.listeners),
        )
        for voter in voters.voters
        if version >= FIRST_VERSION_WITH_DIRECTORIES
    )
    topic = TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(partition,))
    return DescribeQuorumResponse(topics=(topic,), nodes=nodes)


def _unknown(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeQuorumResponse(
        topics=tuple(
            TopicData(
                topic_name=topic.topic_name,
                partitions=tuple(
                    PartitionData(partition_index=each.partition_index, error_code=code, error_message=NOT_HERE)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _state(replica: ReplicaDescription, now: Instant, wall: WallClock, version: int) -> ReplicaState:
    state = ReplicaState(
        replica_id=replica.key.node_id,
        log_end_offset=replica.end_offset,
        last_fetch_timestamp=_timestamp(replica.last_fetch, now, wall),
        last_caught_up_timestamp=_timestamp(replica.last_caught_up, now, wall),
    )
    if version < FIRST_VERSION_WITH_DIRECTORIES:
        return state
    return replace(state, replica_directory_id=replica.key.directory_id)


def _timestamp(at: Instant | None, now: Instant, wall: WallClock) -> int:
    """A monotonic moment on the wall clock."""
    return NEVER if at is None else wall - round((now - at) * 1000)
