"""An admin client for a cluster's brokers or its controllers.

    async with AdminClient(bootstrap_controllers="c-0:9093,c-1:9093") as admin:
        quorum = await admin.describe_quorum()                # leader, epoch, voters and observers with their lag
        seen = await admin.raft_fetch_as_non_replica(Endpoint("c-2", 9093))         # the leader as that node knows it
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
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

from controller_runtime.admin import configs, features, metadata_log, partitions, quorum, reassignments, topics, voters
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
    LogDirDescription,
    NewTopic,
    QuorumDescription,
    Reassignment,
    TopicDescription,
)
from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, NodeId, OffsetAndEpoch, ReplicaKey, Uuid
from controller_runtime.network.resolve import Resolver, system_resolver
from controller_runtime.protocol.api_errors import ApiError
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.security.listener_security import PLAINTEXT, ListenerSecurity

__all__ = ["AdminClient", "AdminError", "ApiError", "NotSupported", "Unreachable"]

M = TypeVar("M", bound=Message)
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
        security: ListenerSecurity = PLAINTEXT,
    ) -> None:
        """Raises ValueError for addresses, SecurityError for what secures the connections."""
        if (bootstrap_servers is None) == (bootstrap_controllers is None):
            raise ValueError("exactly one of bootstrap_servers and bootstrap_controllers is needed")
        kind = EndpointKind.BROKER if bootstrap_controllers is None else EndpointKind.CONTROLLER
        addresses = bootstrap_servers if bootstrap_controllers is None else bootstrap_controllers
        assert addresses is not None
        self._connections = Connections(parse_bootstrap(addresses), kind, client_id, resolver, security)
        self._timeout_seconds = timeout_seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def kind(self) -> EndpointKind:
        """Of the nodes that this client asks."""
        return self._connections.kind

    @property
    def timeout_seconds(self) -> float:
        """Of each call that is not told another one."""
        return self._timeout_seconds

    async def close(self) -> None:
        await self._connections.close()

    def with_timeout(self, seconds: float) -> AdminClient:
        """The same connections under another deadline. Whoever made this client closes them."""
        found = copy.copy(self)
        found._timeout_seconds = seconds
        return found

    async def ask(
        self,
        request: Message,
        answer: type[M],
        *,
        node: NodeId | None = None,
        code_of: Callable[[M], int] | None = None,
        timeout_seconds: float | None = None,
    ) -> M:
        """One question in Kafka's own words: asked of this node; or, with `code_of` (which tells NOT_CONTROLLER), of
        whoever decides; or of any node. Codes in the answer are the caller's to read.
        """
        deadline = self._deadline(timeout_seconds)
        if node is not None:
            return await self._connections.ask_node(node, request, answer, deadline)
        if code_of is not None:
            return await self._connections.ask_controller(request, answer, code_of, deadline)
        return await self._connections.ask_any(request, answer, deadline)

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
        await voters.update(
            self._connections,
            voter,
            listeners,
            kraft_versions=kraft_versions,
            epoch=epoch,
            deadline=deadline,
            cluster_id=cluster_id,
        )

    async def describe_quorum(self, timeout_seconds: float | None = None) -> QuorumDescription:
        """As the leader sees it; waits for a leader until the deadline."""
        return await quorum.describe(self._connections, self._deadline(timeout_seconds))

    async def raft_fetch_as_non_replica(self, node: Endpoint, timeout_seconds: float | None = None) -> LeaderSeen:
        """Ask one controller whom it takes for the leader, by a fetch that reads nothing and counts for nothing."""
        return await quorum.leader_seen_by(self._connections, node, self._deadline(timeout_seconds))

    async def fetch_metadata_log(
        self, after: OffsetAndEpoch, leader_epoch: Epoch, timeout_seconds: float | None = None
    ) -> metadata_log.LogPart:
        """What follows this offset in the metadata log, as the leader of this epoch has it; asked of controllers only.
        Raises FencedLeaderEpoch when there is a newer leader.
        """
        return await metadata_log.fetch(self._connections, after, leader_epoch, self._deadline(timeout_seconds))

    def fetch_metadata_snapshot(
        self, snapshot: OffsetAndEpoch, leader_epoch: Epoch, timeout_seconds: float | None = None
    ) -> AsyncIterator[tuple[bytes, int]]:
        """Slices of a snapshot that `fetch_metadata_log` named, each with the size of the whole."""
        deadline = self._deadline(timeout_seconds)
        return metadata_log.fetch_snapshot(self._connections, snapshot, leader_epoch, deadline)

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

    async def listed_topics(self, *, include_internal: bool = True) -> tuple[TopicDescription, ...]:
        """All, without what only their description says (eligible leader replicas)."""
        found = await topics.listing(self._connections, self._deadline(None))
        return tuple(one for one in found if include_internal or not one.is_internal)

    async def describe_topics(
        self,
        names: Sequence[str] | None = None,
        timeout_seconds: float | None = None,
        *,
        partitions_at_once: int = 2000,
    ) -> Mapping[str, TopicDescription | ApiError]:
        """All topics when `names` is None. Brokers only."""
        return await topics.describe(self._connections, names, self._deadline(timeout_seconds), partitions_at_once)

    async def create_partitions(
        self,
        wanted: Mapping[str, tuple[int, Sequence[Sequence[int]] | None]],
        *,
        validate_only: bool = False,
        timeout_seconds: float | None = None,
    ) -> Mapping[str, ApiError | None]:
        """Topic to (how many partitions it shall have, the replicas of each new one or None)."""
        deadline = self._deadline(timeout_seconds)
        return await partitions.create(self._connections, wanted, deadline, validate_only=validate_only)

    async def elect_leaders(
        self,
        election_type: int,
        wanted: Iterable[tuple[str, int]] | None = None,
        timeout_seconds: float | None = None,
    ) -> Mapping[tuple[str, int], ApiError | None]:
        """0: the preferred replica leads; 1: any, even one that lost records. None: of all partitions."""
        return await partitions.elect(self._connections, election_type, wanted, self._deadline(timeout_seconds))

    async def list_offsets(
        self, wanted: Mapping[tuple[str, int], int], timeout_seconds: float | None = None
    ) -> Mapping[tuple[str, int], int | ApiError]:
        """By timestamp, or -1 latest, -2 earliest, -3 the greatest timestamp's; -1 where there is none."""
        return await partitions.list_offsets(self._connections, wanted, self._deadline(timeout_seconds))

    async def delete_records(
        self, wanted: Mapping[tuple[str, int], int], timeout_seconds: float | None = None
    ) -> Mapping[tuple[str, int], int | ApiError]:
        """Delete what lies before these offsets; gives where the logs begin now. Brokers only."""
        return await partitions.delete_records(self._connections, wanted, self._deadline(timeout_seconds))

    async def describe_log_dirs(
        self, broker: NodeId, timeout_seconds: float | None = None
    ) -> tuple[LogDirDescription, ...]:
        return await partitions.describe_log_dirs(self._connections, broker, self._deadline(timeout_seconds))

    async def alter_replica_log_dirs(
        self, broker: NodeId, wanted: Mapping[tuple[str, int], str], timeout_seconds: float | None = None
    ) -> Mapping[tuple[str, int], ApiError | None]:
        """Which directory of this broker each replica shall lie in."""
        return await partitions.alter_replica_log_dirs(
            self._connections, broker, wanted, self._deadline(timeout_seconds)
        )

    async def alter_partition_reassignments(
        self,
        wanted: Mapping[tuple[str, int], tuple[int, ...] | None],
        *,
        allow_factor_change: bool = True,
        timeout_seconds: float | None = None,
    ) -> Mapping[tuple[str, int], ApiError | None]:
        """(Topic, partition) to the replicas it shall have, None to call a move off. The answer: None where the move
        began.
        """
        deadline = self._deadline(timeout_seconds)
        return await reassignments.alter(self._connections, wanted, deadline, allow_factor_change=allow_factor_change)

    async def list_partition_reassignments(self, timeout_seconds: float | None = None) -> tuple[Reassignment, ...]:
        return await reassignments.listing(self._connections, self._deadline(timeout_seconds))

    async def describe_configs(
        self,
        resources: Sequence[ConfigResource],
        keys: Sequence[str] | None = None,
        timeout_seconds: float | None = None,
    ) -> Mapping[ConfigResource, tuple[ConfigEntry, ...] | ApiError]:
        """All of their configurations, or those with these names, as far as there are such."""
        return await configs.describe(self._connections, resources, keys, self._deadline(timeout_seconds))

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
