"""The quorum's elections, and UpdateRaftVoter, between Kafka's messages and raft's values.

Wire versions, topic names, cluster ids and error numbers end here. A request that is not for this cluster or this
partition is refused here with Kafka's code (104, 42) and never reaches consensus. Answers of other nodes are material
to judge: what has not the expected shape is a `PeerProtocolError`, which the caller treats as a failed call.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import (
    METADATA_TOPIC_NAME,
    DirectoryId,
    Endpoint,
    Epoch,
    NodeId,
    Offset,
    OffsetAndEpoch,
    ReplicaKey,
)
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.messages import begin_quorum_epoch_request as begin_q
from controller_runtime.protocol.messages import begin_quorum_epoch_response as begin_r
from controller_runtime.protocol.messages import end_quorum_epoch_request as end_q
from controller_runtime.protocol.messages import end_quorum_epoch_response as end_r
from controller_runtime.protocol.messages import update_raft_voter_request as update_q
from controller_runtime.protocol.messages import update_raft_voter_response as update_r
from controller_runtime.protocol.messages import vote_request as vote_q
from controller_runtime.protocol.messages import vote_response as vote_r
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages as raft
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.voter_set import Listeners, Voter
from controller_runtime.values import dataclass

NOBODY: Final = -1
UNKNOWN_EPOCH: Final = Epoch(-1)
METADATA_PARTITION: Final = 0


class PeerProtocolError(ProtocolError):
    """A peer's answer that does not fit the question."""


@dataclass(frozen=True, slots=True)
class Border:
    """What every translation needs: which cluster this is, and (for answers) where the leader is reached by whoever
    asked.
    """

    cluster_id: str
    leader_endpoint: Endpoint | None = None
    leader_id: NodeId | None = None
    epoch: Epoch = UNKNOWN_EPOCH


def error_code(error: RaftError) -> int:
    return int(ErrorCode[error.name])


def raft_error(code: int) -> RaftError:
    """The error that consensus knows by this number; anything else is an unknown server error."""
    try:
        return RaftError[ErrorCode(code).name]
    except (KeyError, ValueError):
        return RaftError.UNKNOWN_SERVER_ERROR


def node_or_none(node_id: int) -> NodeId | None:
    return None if node_id < 0 else NodeId(node_id)


def is_foreign(cluster_id: str | None, border: Border) -> bool:
    """A null cluster id is accepted, as Apache Kafka does."""
    return cluster_id is not None and cluster_id != border.cluster_id


# Requests.


ElectionRequest = raft.VoteRequest | raft.BeginQuorumEpochRequest | raft.EndQuorumEpochRequest | raft.UpdateVoterRequest
ElectionResponse = (
    raft.VoteResponse | raft.BeginQuorumEpochResponse | raft.EndQuorumEpochResponse | raft.UpdateVoterResponse
)
"""What this module translates. Fetches are in `raft_fetch_rpc`, additions and removals in `voter_rpc`."""


def request_to_wire(request: ElectionRequest, border: Border) -> Message:
    """The message that asks this."""
    match request:
        case raft.VoteRequest():
            return _vote_to_wire(request, border)
        case raft.BeginQuorumEpochRequest():
            return _begin_to_wire(request, border)
        case raft.EndQuorumEpochRequest():
            return _end_to_wire(request, border)
        case raft.UpdateVoterRequest():
            return _update_to_wire(request, border)


def _vote_to_wire(request: raft.VoteRequest, border: Border) -> Message:
    receiver = request.receiver
    partition = vote_q.PartitionData(
        replica_epoch=request.epoch,
        replica_id=request.candidate.node_id,
        replica_directory_id=request.candidate.directory_id,
        voter_directory_id=receiver.directory_id if receiver else ReplicaKey(NodeId(0)).directory_id,
        last_offset_epoch=request.last.epoch,
        last_offset=request.last.offset,
        pre_vote=request.pre_vote,
    )
    topic = vote_q.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(partition,))
    voter_id = receiver.node_id if receiver else NOBODY
    return vote_q.VoteRequest(cluster_id=border.cluster_id, voter_id=voter_id, topics=(topic,))


def _begin_to_wire(request: raft.BeginQuorumEpochRequest, border: Border) -> Message:
    receiver = request.receiver or ReplicaKey(NodeId(NOBODY))
    partition = begin_q.PartitionData(
        voter_directory_id=receiver.directory_id, leader_id=request.leader_id, leader_epoch=request.epoch
    )
    return begin_q.BeginQuorumEpochRequest(
        cluster_id=border.cluster_id,
        voter_id=receiver.node_id,
        topics=(begin_q.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(partition,)),),
        leader_endpoints=tuple(
            begin_q.LeaderEndpoint(name=name, host=at.host, port=at.port) for name, at in request.listeners
        ),
    )


def _end_to_wire(request: raft.EndQuorumEpochRequest, border: Border) -> Message:
    partition = end_q.PartitionData(
        leader_id=request.leader_id,
        leader_epoch=request.epoch,
        preferred_successors=tuple(key.node_id for key in request.preferred),
        preferred_candidates=tuple(
            end_q.ReplicaInfo(candidate_id=key.node_id, candidate_directory_id=key.directory_id)
            for key in request.preferred
        ),
    )
    topic = end_q.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(partition,))
    return end_q.EndQuorumEpochRequest(cluster_id=border.cluster_id, topics=(topic,))


def _update_to_wire(request: raft.UpdateVoterRequest, border: Border) -> Message:
    voter = request.voter
    return update_q.UpdateRaftVoterRequest(
        cluster_id=border.cluster_id,
        current_leader_epoch=request.epoch,
        voter_id=voter.key.node_id,
        voter_directory_id=voter.key.directory_id,
        listeners=tuple(update_q.Listener(name=name, host=at.host, port=at.port) for name, at in voter.listeners),
        kraft_version_feature=update_q.KRaftVersionFeature(
            min_supported_version=voter.min_kraft_version, max_supported_version=voter.max_kraft_version
        ),
    )


def request_from_wire(body: Message, version: int, border: Border) -> ElectionRequest | Message:
    """What a peer asks, or the answer that refuses it."""
    match body:
        case vote_q.VoteRequest():
            return _vote_from_wire(body, version, border)
        case begin_q.BeginQuorumEpochRequest():
            return _begin_from_wire(body, version, border)
        case end_q.EndQuorumEpochRequest():
            return _end_from_wire(body, version, border)
        case update_q.UpdateRaftVoterRequest():
            return _update_from_wire(body, border)
        case _:
            raise AssertionError(f"{type(body).__name__} is no raft request")


def _shape_error(
    body: vote_q.VoteRequest | begin_q.BeginQuorumEpochRequest | end_q.EndQuorumEpochRequest, border: Border
) -> int:
    """Exactly the metadata partition of this cluster."""
    if is_foreign(body.cluster_id, border):
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    topics = body.topics
    one = len(topics) == 1 and topics[0].topic_name == METADATA_TOPIC_NAME and len(topics[0].partitions) == 1
    if not one or topics[0].partitions[0].partition_index != METADATA_PARTITION:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def _receiver(voter_id: int, directory_id: bytes, version: int) -> ReplicaKey | None:
    """Version 0 names nobody."""
    if version < 1 or voter_id < 0:
        return None
    return ReplicaKey(NodeId(voter_id), DirectoryId(directory_id))  # type: ignore[arg-type]


def _vote_from_wire(body: vote_q.VoteRequest, version: int, border: Border) -> ElectionRequest | Message:
    if error := _shape_error(body, border):
        return vote_r.VoteResponse(error_code=error)
    asked = body.topics[0].partitions[0]
    return raft.VoteRequest(
        ReplicaKey(NodeId(asked.replica_id), DirectoryId(asked.replica_directory_id)),
        Epoch(asked.replica_epoch),
        OffsetAndEpoch(Offset(asked.last_offset), Epoch(asked.last_offset_epoch)),
        asked.pre_vote,
        _receiver(body.voter_id, asked.voter_directory_id, version),
    )


def _begin_from_wire(body: begin_q.BeginQuorumEpochRequest, version: int, border: Border) -> ElectionRequest | Message:
    if error := _shape_error(body, border):
        return begin_r.BeginQuorumEpochResponse(error_code=error)
    asked = body.topics[0].partitions[0]
    return raft.BeginQuorumEpochRequest(
        NodeId(asked.leader_id),
        Epoch(asked.leader_epoch),
        tuple((at.name, Endpoint(at.host, at.port)) for at in body.leader_endpoints),
        _receiver(body.voter_id, asked.voter_directory_id, version),
    )


def _end_from_wire(body: end_q.EndQuorumEpochRequest, version: int, border: Border) -> ElectionRequest | Message:
    if error := _shape_error(body, border):
        return end_r.EndQuorumEpochResponse(error_code=error)
    asked = body.topics[0].partitions[0]
    if version == 0:
        preferred = tuple(ReplicaKey(NodeId(successor)) for successor in asked.preferred_successors)
    else:
        preferred = tuple(
            ReplicaKey(NodeId(info.candidate_id), DirectoryId(info.candidate_directory_id))
            for info in asked.preferred_candidates
        )
    return raft.EndQuorumEpochRequest(NodeId(asked.leader_id), Epoch(asked.leader_epoch), preferred)


def _update_from_wire(body: update_q.UpdateRaftVoterRequest, border: Border) -> ElectionRequest | Message:
    if is_foreign(body.cluster_id, border):
        current = _current_leader(border.leader_id, border.epoch, border.leader_endpoint)
        return update_r.UpdateRaftVoterResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID, current_leader=current)
    listeners: Listeners = tuple((at.name.upper(), Endpoint(at.host, at.port)) for at in body.listeners)
    feature = body.kraft_version_feature
    key = ReplicaKey(NodeId(body.voter_id), DirectoryId(body.voter_directory_id))
    voter = Voter(key, listeners, feature.min_supported_version, feature.max_supported_version)
    return raft.UpdateVoterRequest(Epoch(body.current_leader_epoch), voter)


# Responses.


def response_to_wire(response: ElectionResponse, version: int, border: Border) -> Message:
    """The answer to a request of a peer, with the leader's endpoint on the listener the peer used, which version 0
    cannot carry.
    """
    leader = NOBODY if response.leader_id is None else response.leader_id
    code, at = error_code(response.error), border.leader_endpoint if leader >= 0 else None
    match response:
        case raft.VoteResponse():
            vote = vote_r.PartitionData(
                error_code=code, leader_id=leader, leader_epoch=response.epoch, vote_granted=response.granted
            )
            return vote_r.VoteResponse(
                topics=(vote_r.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(vote,)),),
                node_endpoints=(vote_r.NodeEndpoint(node_id=leader, host=at.host, port=at.port),)
                if at and version
                else (),
            )
        case raft.BeginQuorumEpochResponse():
            begin = begin_r.PartitionData(error_code=code, leader_id=leader, leader_epoch=response.epoch)
            return begin_r.BeginQuorumEpochResponse(
                topics=(begin_r.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(begin,)),),
                node_endpoints=(begin_r.NodeEndpoint(node_id=leader, host=at.host, port=at.port),)
                if at and version
                else (),
            )
        case raft.EndQuorumEpochResponse():
            end = end_r.PartitionData(error_code=code, leader_id=leader, leader_epoch=response.epoch)
            return end_r.EndQuorumEpochResponse(
                topics=(end_r.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(end,)),),
                node_endpoints=(end_r.NodeEndpoint(node_id=leader, host=at.host, port=at.port),)
                if at and version
                else (),
            )
        case raft.UpdateVoterResponse():
            current = _current_leader(response.leader_id, response.epoch, at)
            return update_r.UpdateRaftVoterResponse(error_code=code, current_leader=current)


def _current_leader(leader_id: NodeId | None, epoch: Epoch, at: Endpoint | None) -> update_r.CurrentLeader:
    host, port = (at.host, at.port) if at else ("", -1)
    return update_r.CurrentLeader(
        leader_id=NOBODY if leader_id is None else leader_id, leader_epoch=epoch, host=host, port=port
    )


def response_from_wire(body: Message) -> ElectionResponse:
    """What a peer answered. Raises PeerProtocolError if it is not about the metadata partition."""
    match body:
        case vote_r.VoteResponse():
            if body.error_code:
                return raft.VoteResponse(raft_error(body.error_code), UNKNOWN_EPOCH, None, granted=False)
            vote = _only_vote(body)
            return raft.VoteResponse(
                raft_error(vote.error_code),
                Epoch(vote.leader_epoch),
                node_or_none(vote.leader_id),
                vote.vote_granted,
                _endpoint_of(body.node_endpoints, vote.leader_id),
            )
        case begin_r.BeginQuorumEpochResponse():
            if body.error_code:
                return raft.BeginQuorumEpochResponse(raft_error(body.error_code), UNKNOWN_EPOCH, None)
            begin = _only_begin(body)
            return raft.BeginQuorumEpochResponse(
                raft_error(begin.error_code),
                Epoch(begin.leader_epoch),
                node_or_none(begin.leader_id),
                _endpoint_of(body.node_endpoints, begin.leader_id),
            )
        case end_r.EndQuorumEpochResponse():
            if body.error_code:
                return raft.EndQuorumEpochResponse(raft_error(body.error_code), UNKNOWN_EPOCH, None)
            end = _only_end(body)
            return raft.EndQuorumEpochResponse(
                raft_error(end.error_code),
                Epoch(end.leader_epoch),
                node_or_none(end.leader_id),
                _endpoint_of(body.node_endpoints, end.leader_id),
            )
        case update_r.UpdateRaftVoterResponse():
            current = body.current_leader
            at = Endpoint(current.host, current.port) if current.host and current.port > 0 else None
            leader = node_or_none(current.leader_id)
            return raft.UpdateVoterResponse(raft_error(body.error_code), Epoch(current.leader_epoch), leader, at)
        case _:
            raise PeerProtocolError(f"{type(body).__name__} is no answer to a raft request")


def _only_vote(body: vote_r.VoteResponse) -> vote_r.PartitionData:
    if len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
        raise PeerProtocolError("a Vote response has one partition")
    return body.topics[0].partitions[0]


def _only_begin(body: begin_r.BeginQuorumEpochResponse) -> begin_r.PartitionData:
    if len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
        raise PeerProtocolError("a BeginQuorumEpoch response has one partition")
    return body.topics[0].partitions[0]


def _only_end(body: end_r.EndQuorumEpochResponse) -> end_r.PartitionData:
    if len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
        raise PeerProtocolError("an EndQuorumEpoch response has one partition")
    return body.topics[0].partitions[0]


def _endpoint_of(
    endpoints: tuple[vote_r.NodeEndpoint, ...] | tuple[begin_r.NodeEndpoint, ...] | tuple[end_r.NodeEndpoint, ...],
    leader_id: int,
) -> Endpoint | None:
    return next((Endpoint(at.host, at.port) for at in endpoints if at.node_id == leader_id), None)
