"""An admin client for a cluster's brokers or its controllers.

    async with AdminClient(bootstrap_controllers="c-0:9093,c-1:9093") as admin:
        quorum = await admin.describe_quorum()                       # leader, epoch, voters and observers with their lag
        seen = await admin.raft_fetch_as_non_replica(Endpoint("c-2", 9093))      # whom that one node takes for the leader
    async with AdminClient(bootstrap_servers=["b-0:9092"]) as admin:
        await admin.create_topics([NewTopic("t", 3, 1)])

Exactly one of the two bootstrap arguments is given: `host:port,...` or a list of such or of `Endpoint`. Every method
takes `timeout_seconds` (default: the client's) and raises

- `ApiError` (a subclass per code, `protocol.api_errors`) when a node said no: `MismatchedEndpointType` when a broker
  was asked as a controller, or the reverse; `BrokerIdNotRegistered`, `TopicAlreadyExists`, ...
- `Unreachable` when nobody answered in time: then it is unknown whether a change was made, ask again by reading;
- `NotSupported` when the node does not serve the API.

A client belongs to the event loop it was made in, and may be used by several tasks at once.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from controller_runtime.admin import configs, features, quorum, reassignments, topics, voters
from controller_runtime.admin.connections import (
    AdminError,
    Connections,
    Deadline,
    EndpointKind,
    NotSupported,
    Unreachable,
    parse_bootstrap,
    raise_if,
)
from controller_runtime.admin.results import (
    ClusterDescription,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    FeaturesDescription,
    FeatureUpdate,
    LeaderSeen,
    NewTopic,
    QuorumDescription,
    Reassignment,
    TopicDescription,
)
from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, NodeId, ReplicaKey, Uuid
from controller_runtime.network.resolve import Resolver, system_resolver
from controller_runtime.protocol.api_errors import ApiError
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.messages.unregister_broker_response import UnregisterBrokerResponse

__all__ = ["AdminClient", "AdminError", "ApiError", "NotSupported", "Unreachable"]

Bootstrap = str | Iterable[str | Endpoint]


class AdminClient:
    def __init__(
        self,
        *,
        bootstrap_servers: Bootstrap | None = None,
        bootstrap_controllers: Bootstrap | None = None,
        client_id: str = "quorate-admin",
        timeout_seconds: float = 30.0,
        resolver: Resolver = system_resolver,
    ) -> None:
        if (bootstrap_servers is None) == (bootstrap_controllers is None):
            raise ValueError("exactly one of bootstrap_servers and bootstrap_controllers is needed")
        kind = EndpointKind.BROKER if bootstrap_controllers is None else EndpointKind.CONTROLLER
        addresses = bootstrap_servers if bootstrap_controllers is None else bootstrap_controllers
        assert addresses is not None
        self._connections = Connections(parse_bootstrap(addresses), kind, client_id, resolver)
        self._timeout_seconds = timeout_seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connections.close()

    def with_timeout(self, seconds: float) -> AdminClient:
        """The same connections under another deadline. Whoever made this client closes them."""
        found = copy.copy(self)
        found._timeout_seconds = seconds
        return found

    async def describe_cluster(
        self, *, include_fenced: bool = False, timeout_seconds: float | None = None
    ) -> ClusterDescription:
        """Brokers (with `include_fenced`, fenced ones too), or controllers: the kind this client was made for."""
        return await self._connections.describe_cluster(self._deadline(timeout_seconds), include_fenced=include_fenced)

    async def describe_features(
        self, node: Endpoint | NodeId | None = None, timeout_seconds: float | None = None
    ) -> FeaturesDescription:
        """Supported and finalized features, and the API versions served; of one node, or of whichever answers first."""
        return await features.describe(self._connections, node, self._deadline(timeout_seconds))

    async def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False, timeout_seconds: float | None = None
    ) -> None:
        """Raise or lower finalized levels, all of them or (with an ApiError) none."""
        deadline = self._deadline(timeout_seconds)
        await features.update(self._connections, updates, deadline, validate_only=validate_only)

    async def add_voter(
        self,
        node_id: NodeId,
        directory_id: DirectoryId,
        listeners: Mapping[str, Endpoint],
        *,
        cluster_id: str | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        """Make a controller that follows already a voter, by its directory; returns when the change is committed.

        Raises DuplicateVoter when the node id is one, RequestTimedOut when it does not answer or has not caught up.
        """
        voter, deadline = ReplicaKey(node_id, directory_id), self._deadline(timeout_seconds)
        await voters.add(self._connections, voter, listeners, deadline, cluster_id=cluster_id)

    async def remove_voter(
        self,
        node_id: NodeId,
        directory_id: DirectoryId,
        *,
        cluster_id: str | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        """Take this directory of this node out of the voter set; returns when that is committed. Raises
        VoterNotFound.
        """
        voter, deadline = ReplicaKey(node_id, directory_id), self._deadline(timeout_seconds)
        await voters.remove(self._connections, voter, deadline, cluster_id=cluster_id)

    async def update_voter(
        self,
        node_id: NodeId,
        directory_id: DirectoryId,
        listeners: Mapping[str, Endpoint],
        kraft_versions: tuple[int, int],
        epoch: Epoch,
        *,
        cluster_id: str | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        """Correct where a voter is found, in the leader's epoch; asked of controllers only. Raises VoterNotFound,
        FencedLeaderEpoch.
        """
        voter, deadline = ReplicaKey(node_id, directory_id), self._deadline(timeout_seconds)
        await voters.update(self._connections, voter, listeners, kraft_versions, epoch, deadline, cluster_id=cluster_id)

    async def describe_quorum(self, timeout_seconds: float | None = None) -> QuorumDescription:
        """As the leader sees it; waits for a leader until the deadline."""
        return await quorum.describe(self._connections, self._deadline(timeout_seconds))

    async def raft_fetch_as_non_replica(self, node: Endpoint, timeout_seconds: float | None = None) -> LeaderSeen:
        """Ask one controller whom it takes for the leader, by a fetch that reads nothing and counts for nothing."""
        return await quorum.leader_seen_by(self._connections, node, self._deadline(timeout_seconds))

    async def unregister_broker(self, node_id: NodeId, timeout_seconds: float | None = None) -> None:
        """Forget a broker. Raises BrokerIdNotRegistered when there is none with this id."""
        found = await self._connections.ask_controller(
            UnregisterBrokerRequest(broker_id=node_id),
            UnregisterBrokerResponse,
            lambda one: one.error_code,
            self._deadline(timeout_seconds),
        )
        raise_if(found.error_code, found.error_message)

    async def create_topics(
        self, new: Sequence[NewTopic], *, validate_only: bool = False, timeout_seconds: float | None = None
    ) -> Mapping[str, Uuid | ApiError]:
        """Each topic's id, or why it was not made."""
        return await topics.create(self._connections, new, self._deadline(timeout_seconds), validate_only=validate_only)

    async def delete_topics(
        self, names: Sequence[str], timeout_seconds: float | None = None
    ) -> Mapping[str, ApiError | None]:
        """None where it worked, else why not."""
        return await topics.delete(self._connections, names, self._deadline(timeout_seconds))

    async def list_topics(
        self, *, include_internal: bool = True, timeout_seconds: float | None = None
    ) -> tuple[str, ...]:
        """Names, sorted."""
        found = await topics.listing(self._connections, self._deadline(timeout_seconds))
        return tuple(sorted(one.name for one in found if include_internal or not one.is_internal))

    async def describe_topics(
        self, names: Sequence[str] | None = None, timeout_seconds: float | None = None
    ) -> Mapping[str, TopicDescription | ApiError]:
        """All topics when `names` is None. Brokers only."""
        return await topics.describe(self._connections, names, self._deadline(timeout_seconds))

    async def alter_partition_reassignments(
        self, wanted: Mapping[tuple[str, int], tuple[int, ...] | None], timeout_seconds: float | None = None
    ) -> Mapping[tuple[str, int], ApiError | None]:
        """(Topic, partition) to the replicas it shall have, None to call a move off. The answer: None where the move
        began.
        """
        return await reassignments.alter(self._connections, wanted, self._deadline(timeout_seconds))

    async def list_partition_reassignments(self, timeout_seconds: float | None = None) -> tuple[Reassignment, ...]:
        return await reassignments.listing(self._connections, self._deadline(timeout_seconds))

    async def describe_configs(
        self, resources: Sequence[ConfigResource], timeout_seconds: float | None = None
    ) -> Mapping[ConfigResource, tuple[ConfigEntry, ...] | ApiError]:
        return await configs.describe(self._connections, resources, self._deadline(timeout_seconds))

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Sequence[ConfigChange]],
        *,
        validate_only: bool = False,
        timeout_seconds: float | None = None,
    ) -> Mapping[ConfigResource, ApiError | None]:
        deadline = self._deadline(timeout_seconds)
        return await configs.alter(self._connections, changes, deadline, validate_only=validate_only)

    def _deadline(self, seconds: float | None) -> Deadline:
        return Deadline(self._timeout_seconds if seconds is None else seconds)
