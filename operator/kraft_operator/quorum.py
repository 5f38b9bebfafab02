"""Asking the nodes themselves, over Kafka's protocol only: any runtime that serves these APIs will do.

Every voter is asked directly and in parallel; each question has a deadline, and no answer is an answer (`None`), never
a verdict. The methods block: they are called from worker threads, and the questions run in the loop of `pools`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, Self

from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.results import (
    ConfigChange,
    ConfigResource,
    FeatureUpdate,
    QuorumDescription,
    ReplicaDescription,
)
from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, NodeId, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.security.listener_security import PLAINTEXT, ListenerSecurity
from kraft_operator import cluster_queries, user_queries
from kraft_operator.api.metadata_versions import KRAFT_FEATURE
from kraft_operator.cluster_queries import PROBE_SECONDS, TOPICS_SECONDS, answered
from kraft_operator.directories import EVERY, Directories
from kraft_operator.directory_queries import directories, relocate
from kraft_operator.judgement import Belief, Described, Replica, Round, agreed_leader, judge
from kraft_operator.observed import Brokers, Quorum, Registry
from kraft_operator.pages import ask_sessions
from kraft_operator.pools import Pools
from kraft_operator.proofs import Doubt, prove
from kraft_operator.user_queries import UserChange

DELETE: Final = 1
"""IncrementalAlterConfigs: back to what it is without."""


class AdminFailed(Exception):
    """A change that was asked for was refused, or may or may not have happened."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Whom to ask: voters by node id (None: has no running process), brokers that run."""

    controllers: Mapping[int, Endpoint | None]
    directories: Mapping[int, str | None]
    """What the ledger knows of the controllers."""
    brokers: Mapping[int, Endpoint] = field(default_factory=dict)
    with_replicas: bool = False
    """Ask the brokers also who holds what: a long answer, wanted only when one is to leave or to restart."""
    leaving: frozenset[int] = frozenset()
    """Brokers that are to leave: ask also which replicas are on the move, and these whether they take new ones."""
    emptied: frozenset[int] = frozenset()
    """Brokers that are to do without one of their volumes: ask these what lies in which directory."""
    with_versions: bool = False
    """Ask every node which levels it supports."""
    trials: tuple[tuple[str, int], ...] = ()
    """Feature levels that the active controller is asked about, without changing anything."""
    with_users: bool = False
    """Ask the brokers also who can log in, and what everybody may."""
    security: ListenerSecurity = PLAINTEXT
    """How the operator connects. It holds a key, which its text leaves out."""
    before: Round | None = None
    """The round to compare with: long enough ago for every live replica to have fetched since."""


class QuorumChanges(Protocol):
    """What is asked of the quorum itself. Each raises AdminFailed when it is not known to have happened."""

    def unregister(self, node_id: int, timeout: float) -> None: ...

    def remove(self, node_id: int, directory_id: str, timeout: float) -> None: ...

    def add(self, node_id: int, directory_id: str, endpoints: Mapping[str, Endpoint], timeout: float) -> None: ...

    def update(
        self, node_id: int, directory_id: str, endpoints: Mapping[str, Endpoint], epoch: int, timeout: float
    ) -> None: ...

    def finalize(self, feature: str, level: int, timeout: float) -> None: ...

    def move(self, replicas: Mapping[tuple[str, int], tuple[int, ...]], timeout: float) -> None: ...

    def cordon(self, node_id: int, endpoint: Endpoint, timeout: float, directories: Sequence[str] = ()) -> None: ...

    def uncordon(self, node_id: int, timeout: float) -> None: ...

    def relocate(
        self, node_id: int, endpoint: Endpoint, replicas: Mapping[tuple[str, int], str], timeout: float
    ) -> None: ...

    def change_user(self, change: UserChange, timeout: float) -> None: ...


class QuorumProbe(Protocol):
    def look(self, addresses: Addresses) -> tuple[Quorum, Brokers]: ...

    def prove(self, asked: Collection[Doubt], security: ListenerSecurity) -> frozenset[str]: ...

    def sessions(self, pages: Mapping[int, str], listeners: Collection[str]) -> dict[int, int]:
        """Connections on these listeners, of the nodes whose metrics page tells."""
        ...

    def changes(self, controllers: Collection[Endpoint], security: ListenerSecurity) -> QuorumChanges: ...


class KafkaProbe:
    """The real one. It keeps its connections until it is closed."""

    def __init__(self) -> None:
        self._pools = Pools()

    def look(self, addresses: Addresses) -> tuple[Quorum, Brokers]:
        return self._pools.run(_look(addresses, self._pools))

    def prove(self, asked: Collection[Doubt], security: ListenerSecurity) -> frozenset[str]:
        return self._pools.run(prove(asked, security, self._pools))

    def sessions(self, pages: Mapping[int, str], listeners: Collection[str]) -> dict[int, int]:
        return ask_sessions(pages, listeners)

    def changes(self, controllers: Collection[Endpoint], security: ListenerSecurity) -> QuorumChanges:
        return KafkaChanges(tuple(controllers), self._pools, security)

    def close(self) -> None:
        self._pools.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class KafkaChanges:
    """What is asked of the active controller. That a change is there already is success; whatever leaves it open is
    AdminFailed.
    """

    controllers: tuple[Endpoint, ...]
    pools: Pools
    security: ListenerSecurity = PLAINTEXT

    def unregister(self, node_id: int, timeout: float) -> None:
        self._ask(
            f"broker {node_id} was not unregistered",
            lambda admin: admin.unregister_broker(NodeId(node_id)),
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            timeout,
        )

    def remove(self, node_id: int, directory_id: str, timeout: float) -> None:
        self._ask(
            f"voter {node_id} was not removed",
            lambda admin: admin.remove_voter(NodeId(node_id), DirectoryId(Uuid.parse(directory_id))),
            ErrorCode.VOTER_NOT_FOUND,
            timeout,
        )

    def add(self, node_id: int, directory_id: str, endpoints: Mapping[str, Endpoint], timeout: float) -> None:
        """DUPLICATE_VOTER is no success: the id may be there under another directory. The next look tells."""
        self._ask(
            f"voter {node_id} was not added",
            lambda admin: admin.add_voter(NodeId(node_id), DirectoryId(Uuid.parse(directory_id)), endpoints),
            None,
            timeout,
        )

    def update(
        self, node_id: int, directory_id: str, endpoints: Mapping[str, Endpoint], epoch: int, timeout: float
    ) -> None:
        """Asked of the voter itself first: where it does not answer, it is not to be sought."""
        voter = NodeId(node_id), DirectoryId(Uuid.parse(directory_id))
        self._ask(
            f"voter {node_id} was not updated",
            lambda admin: _updated(admin, *voter, endpoints, Epoch(epoch)),
            None,
            timeout,
        )

    def finalize(self, feature: str, level: int, timeout: float) -> None:
        self._ask(
            f"{feature} was not raised to {level}",
            lambda admin: admin.update_features([FeatureUpdate(feature, level)]),
            None,
            timeout,
        )

    def move(self, replicas: Mapping[tuple[str, int], tuple[int, ...]], timeout: float) -> None:
        """Asking again for what is under way already changes nothing."""
        self._ask("replicas were not moved", lambda admin: _moved(admin, replicas), None, timeout)

    def cordon(self, node_id: int, endpoint: Endpoint, timeout: float, directories: Sequence[str] = ()) -> None:
        """Only the broker itself knows its directories: all are closed, or these. Asking again changes nothing."""
        change = ConfigChange(cluster_queries.CORDONED, ",".join(directories) or EVERY)
        failed = f"broker {node_id} was not cordoned"
        self._ask_broker(failed, endpoint, lambda admin: _configured(admin, node_id, change), timeout)

    def uncordon(self, node_id: int, timeout: float) -> None:
        self._ask(f"broker {node_id} is still cordoned", lambda admin: _opened(admin, node_id), None, timeout)

    def relocate(
        self, node_id: int, endpoint: Endpoint, replicas: Mapping[tuple[str, int], str], timeout: float
    ) -> None:
        failed = f"replicas of broker {node_id} were not moved to another directory"
        self._ask_broker(failed, endpoint, lambda admin: relocate(admin, node_id, replicas), timeout)

    def change_user(self, change: UserChange, timeout: float) -> None:
        """Asking for what is there already changes nothing."""
        failed = f"user {change.user} was not changed"
        self._ask(failed, lambda admin: user_queries.change(admin, change), None, timeout)

    def _ask_broker(
        self,
        failed: str,
        endpoint: Endpoint,
        change: Callable[[AdminClient], Coroutine[Any, Any, None]],
        timeout: float,
    ) -> None:
        client = self.pools.brokers([endpoint], timeout, self.security)
        self.pools.run(self._changed(failed, client, change, None, timeout))

    def _ask(
        self,
        failed: str,
        change: Callable[[AdminClient], Coroutine[Any, Any, None]],
        done_already: ErrorCode | None,
        timeout: float,
    ) -> None:
        if not self.controllers:
            raise AdminFailed(f"{failed}: no controller runs")
        client = self.pools.controllers(self.controllers, timeout, self.security)
        self.pools.run(self._changed(failed, client, change, done_already, timeout))

    async def _changed(
        self,
        failed: str,
        client: Coroutine[Any, Any, AdminClient],
        change: Callable[[AdminClient], Coroutine[Any, Any, None]],
        done_already: ErrorCode | None,
        timeout: float,
    ) -> None:
        admin = await client
        try:
            async with asyncio.timeout(timeout):
                await change(admin)
        except ApiError as error:
            if error.code is not done_already:
                raise AdminFailed(f"{failed}: {error}") from error
        except (AdminError, OSError, TimeoutError) as error:
            raise AdminFailed(f"{failed}, or its answer was lost: {error!r}") from error


async def _moved(admin: AdminClient, replicas: Mapping[tuple[str, int], tuple[int, ...]]) -> None:
    for error in (await admin.alter_partition_reassignments(replicas)).values():
        if error is not None:
            raise error


async def _opened(admin: AdminClient, node_id: int) -> None:
    await _configured(admin, node_id, ConfigChange(cluster_queries.CORDONED, None, DELETE))


async def _configured(admin: AdminClient, node_id: int, change: ConfigChange) -> None:
    resource = ConfigResource(cluster_queries.BROKER, str(node_id))
    error = (await admin.incremental_alter_configs({resource: [change]})).get(resource)
    if error is not None:
        raise error


async def _updated(
    admin: AdminClient, node_id: NodeId, directory_id: DirectoryId, endpoints: Mapping[str, Endpoint], epoch: Epoch
) -> None:
    features = await admin.describe_features(next(iter(endpoints.values())))
    versions = features.supported.get(KRAFT_FEATURE, (0, 0))
    await admin.update_voter(node_id, directory_id, endpoints, versions, epoch)


async def _look(addresses: Addresses, pools: Pools) -> tuple[Quorum, Brokers]:
    async with asyncio.TaskGroup() as group:
        controllers = group.create_task(_controllers(addresses, pools))
        brokers = group.create_task(_brokers(addresses, pools))
        cordoned = group.create_task(_cordoned(addresses, pools))
        emptied = group.create_task(_emptied(addresses, pools))
    quorum, registry, moving = controllers.result()
    seen = replace(brokers.result(), registry=registry, moving=moving, cordoned=cordoned.result())
    return quorum, replace(seen, directories=emptied.result())


async def _controllers(
    addresses: Addresses, pools: Pools
) -> tuple[Quorum, Registry, frozenset[tuple[str, int]] | None]:
    asked = {node_id: endpoint for node_id, endpoint in addresses.controllers.items() if endpoint is not None}
    beliefs: dict[int, Belief | None] = dict.fromkeys(addresses.controllers)
    if not asked:
        return judge(beliefs, None, addresses.directories), Registry(), None
    admin = await pools.controllers(asked.values(), PROBE_SECONDS, addresses.security)
    answers = await asyncio.gather(*(_belief(admin, endpoint) for endpoint in asked.values()))
    beliefs |= dict(zip(asked, answers, strict=True))
    leader = agreed_leader(beliefs)
    described = await answered(admin.describe_quorum()) if leader is not None else None
    nodes = {**asked, **addresses.brokers} if addresses.with_versions else {}
    registry, moving = Registry(), None
    if described is not None:
        registry = await cluster_queries.registry(admin, nodes, addresses.trials)
        moving = await cluster_queries.moving(admin) if addresses.leaving else None
    quorum = judge(beliefs, _described(described) if described else None, addresses.directories, addresses.before)
    return quorum, registry, moving


async def _cordoned(addresses: Addresses, pools: Pools) -> dict[int, bool | None]:
    return await cluster_queries.cordoned(await _each(addresses, addresses.leaving, pools))


async def _emptied(addresses: Addresses, pools: Pools) -> dict[int, Directories]:
    return await directories(await _each(addresses, addresses.emptied, pools))


async def _each(addresses: Addresses, wanted: Collection[int], pools: Pools) -> dict[int, AdminClient]:
    """A client of each of these brokers alone."""
    return {
        node_id: await pools.brokers([endpoint], PROBE_SECONDS, addresses.security)
        for node_id, endpoint in addresses.brokers.items()
        if node_id in wanted
    }


async def _belief(admin: AdminClient, endpoint: Endpoint) -> Belief | None:
    seen = await answered(admin.raft_fetch_as_non_replica(endpoint))
    return Belief(int(seen.leader_id), int(seen.epoch)) if seen is not None else None


async def _brokers(addresses: Addresses, pools: Pools) -> Brokers:
    if not addresses.brokers:
        return Brokers()
    admin = await pools.brokers(addresses.brokers.values(), PROBE_SECONDS, addresses.security)
    cluster = await answered(admin.describe_cluster(include_fenced=True))
    topics = None
    if addresses.with_replicas and cluster is not None:
        topics = await answered(admin.with_timeout(TOPICS_SECONDS).describe_topics(), TOPICS_SECONDS)
    if cluster is None:
        return Brokers()
    users = await answered(user_queries.found(admin)) if addresses.with_users else None
    registered = frozenset(int(node.node_id) for node in cluster.nodes)
    fenced = frozenset(int(node.node_id) for node in cluster.nodes if node.is_fenced)
    racks = {int(node.node_id): node.rack for node in cluster.nodes if node.rack}
    if topics is None:
        return Brokers(registered, fenced, racks=racks, users=users)
    return Brokers(
        registered,
        fenced,
        cluster_queries.held(topics),
        at_risk=cluster_queries.at_risk(topics),
        racks=racks,
        partitions=cluster_queries.placements(topics),
        users=users,
    )


def _described(found: QuorumDescription) -> Described:
    return Described(
        int(found.leader_id),
        int(found.leader_epoch),
        int(found.high_watermark),
        tuple(_replica(each, found.endpoints) for each in found.voters),
        tuple(_replica(each, {}) for each in found.observers),
    )


def _replica(found: ReplicaDescription, endpoints: Mapping[NodeId, Mapping[str, Endpoint]]) -> Replica:
    known = endpoints.get(found.replica_id, {})
    return Replica(
        int(found.replica_id), str(found.directory_id), int(found.log_end_offset), found.last_fetch_timestamp,
        tuple((name, at.host, at.port) for name, at in known.items()),
    )  # fmt: skip
