"""Adding and removing voters between Kafka's messages and raft's values, and the question a leader asks a new voter.

AddRaftVoter and RemoveRaftVoter come from clients (through a broker's Envelope, or directly) and from controllers that
join by themselves. Their answers carry a message for people: that of consensus, or Kafka's usual one for the error.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import DirectoryId, Endpoint, NodeId, ReplicaKey
from controller_runtime.metadata.features import KRAFT_VERSION
from controller_runtime.node.quorum.describe_quorum import NOT_LEADER
from controller_runtime.node.quorum.raft_rpc import Border, PeerProtocolError, error_code, is_foreign, raft_error
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import add_raft_voter_request as add_q
from controller_runtime.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages as raft
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.voter_set import Voter

USUAL_WORDS: Final = {
    RaftError.NOT_LEADER_OR_FOLLOWER: NOT_LEADER,
    RaftError.REQUEST_TIMED_OUT: "The request timed out.",
}
"""Kafka's words for an error that nobody explained."""

VoterRequest = add_q.AddRaftVoterRequest | RemoveRaftVoterRequest


def request_from_wire(body: VoterRequest, border: Border) -> raft.Request | Message:
    """What is asked, or the answer that refuses it."""
    if is_foreign(body.cluster_id, border):
        words = f'The given id "{body.cluster_id}" doesn\'t match the cluster id "{border.cluster_id}"'
        kind = AddRaftVoterResponse if isinstance(body, add_q.AddRaftVoterRequest) else RemoveRaftVoterResponse
        return kind(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID, error_message=words)
    key = ReplicaKey(NodeId(body.voter_id), DirectoryId(body.voter_directory_id))
    if isinstance(body, RemoveRaftVoterRequest):
        return raft.RemoveVoterRequest(key)
    listeners = tuple((at.name.upper(), Endpoint(at.host, at.port)) for at in body.listeners)
    return raft.AddVoterRequest(Voter(key, listeners), body.ack_when_committed)


def request_to_wire(
    request: raft.AddVoterRequest | raft.RemoveVoterRequest | raft.ApiVersionsRequest, border: Border, timeout_ms: int
) -> Message:
    match request:
        case raft.AddVoterRequest(voter, ack_when_committed):
            return add_q.AddRaftVoterRequest(
                cluster_id=border.cluster_id,
                timeout_ms=timeout_ms,
                voter_id=voter.key.node_id,
                voter_directory_id=voter.key.directory_id,
                listeners=tuple(add_q.Listener(name=name, host=at.host, port=at.port) for name, at in voter.listeners),
                ack_when_committed=ack_when_committed,
            )
        case raft.RemoveVoterRequest(key):
            return RemoveRaftVoterRequest(
                cluster_id=border.cluster_id, voter_id=key.node_id, voter_directory_id=key.directory_id
            )
        case raft.ApiVersionsRequest():
            return ApiVersionsRequest(client_software_name="quorate", client_software_version="raft")


def response_to_wire(response: raft.AddVoterResponse | raft.RemoveVoterResponse) -> Message:
    words = USUAL_WORDS.get(response.error) if response.message is None else response.message
    kind = AddRaftVoterResponse if isinstance(response, raft.AddVoterResponse) else RemoveRaftVoterResponse
    return kind(error_code=error_code(response.error), error_message=words)


def response_from_wire(
    body: Message,
) -> raft.AddVoterResponse | raft.RemoveVoterResponse | raft.ApiVersionsResponse:
    match body:
        case AddRaftVoterResponse():
            return raft.AddVoterResponse(raft_error(body.error_code), body.error_message)
        case RemoveRaftVoterResponse():
            return raft.RemoveVoterResponse(raft_error(body.error_code), body.error_message)
        case ApiVersionsResponse():
            levels = next(
                ((one.min_version, one.max_version) for one in body.supported_features if one.name == KRAFT_VERSION),
                None,
            )
            return raft.ApiVersionsResponse(raft_error(body.error_code), levels)
        case _:
            raise PeerProtocolError(f"{type(body).__name__} is no answer about voters")
