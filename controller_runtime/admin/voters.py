"""Adding a voter to the quorum, removing one, and correcting where one is found (KIP-853).

One call is one try that is followed to its end: the leader answers when the change is committed, or refuses. After a
lost connection it is unknown whether the change was made; asking again is safe, because a voter is named by its node id
and its directory: what was done already is answered with DuplicateVoter or VoterNotFound.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.admin.connections import Connections, Deadline, raise_if
from controller_runtime.identifiers import Endpoint, Epoch, ReplicaKey
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from controller_runtime.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from controller_runtime.protocol.messages.update_raft_voter_request import KRaftVersionFeature, UpdateRaftVoterRequest
from controller_runtime.protocol.messages.update_raft_voter_request import Listener as UpdatedListener
from controller_runtime.protocol.messages.update_raft_voter_response import UpdateRaftVoterResponse


async def add(
    connections: Connections,
    voter: ReplicaKey,
    listeners: Mapping[str, Endpoint],
    deadline: Deadline,
    *,
    cluster_id: str | None,
) -> None:
    request = AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=int(deadline.left * 1000),
        voter_id=voter.node_id,
        voter_directory_id=voter.directory_id,
        listeners=tuple(Listener(name=name, host=at.host, port=at.port) for name, at in listeners.items()),
    )
    found = await connections.ask_controller(
        request, AddRaftVoterResponse, lambda one: one.error_code, deadline, attempt_seconds=deadline.left
    )
    raise_if(found.error_code, found.error_message)


async def remove(connections: Connections, voter: ReplicaKey, deadline: Deadline, *, cluster_id: str | None) -> None:
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=voter.node_id, voter_directory_id=voter.directory_id
    )
    found = await connections.ask_controller(
        request, RemoveRaftVoterResponse, lambda one: one.error_code, deadline, attempt_seconds=deadline.left
    )
    raise_if(found.error_code, found.error_message)


async def update(
    connections: Connections,
    voter: ReplicaKey,
    listeners: Mapping[str, Endpoint],
    kraft_versions: tuple[int, int],
    epoch: Epoch,
    deadline: Deadline,
    *,
    cluster_id: str | None,
) -> None:
    """What a voter sends of itself, sent for it. Answered once the leader has written it."""
    request = UpdateRaftVoterRequest(
        cluster_id=cluster_id,
        current_leader_epoch=epoch,
        voter_id=voter.node_id,
        voter_directory_id=voter.directory_id,
        listeners=tuple(UpdatedListener(name=name, host=at.host, port=at.port) for name, at in listeners.items()),
        kraft_version_feature=KRaftVersionFeature(
            min_supported_version=kraft_versions[0], max_supported_version=kraft_versions[1]
        ),
    )
    found = await connections.ask_controller(
        request, UpdateRaftVoterResponse, lambda one: one.error_code, deadline, attempt_seconds=deadline.left
    )
    raise_if(found.error_code, None)
