"""A node as the process sees it: what is driven, what is asked for probes and metrics, what is closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from controller_runtime.configuration.config import ServerConfig
from controller_runtime.identifiers import Endpoint, Instant
from controller_runtime.network.client_pool import PoolCounts
from controller_runtime.node.controller_node import ControllerNode
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.faults import FailedRequests
from controller_runtime.node.ports import Node
from controller_runtime.server.shell.assembly import Disk, build_controller
from controller_runtime.server.shell.driver import DataPlane, StepRequests
from controller_runtime.server.shell.requests import Requests
from controller_runtime.server.telemetry.facts import (
    LogFacts,
    NodeFacts,
    Observer,
    controller_facts,
    failed_requests,
    log_facts,
    resident_bytes,
)
from controller_runtime.server.telemetry.health import Readiness


class RunningNode(Protocol):
    @property
    def node(self) -> Node: ...

    @property
    def step_requests(self) -> StepRequests | None:
        """How the node decides requests together; None if it takes them one by one."""
        ...

    @property
    def data_plane(self) -> DataPlane | None: ...

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        """Where completions of the data plane go."""
        ...

    def readiness(self) -> Readiness: ...

    async def facts(self, connections: Mapping[str, int], outgoing: PoolCounts) -> NodeFacts: ...

    def close(self) -> None: ...


def build(
    config: ServerConfig,
    disk: Disk,
    advertised: Mapping[str, Endpoint],
    now: Instant,
    requests: Requests,
    started_at_ms: int,
) -> RunningNode:
    if config.is_broker:
        from controller_runtime.server.shell.running_broker import RunningBroker

        return RunningBroker(config, disk, advertised, now, requests, started_at_ms)
    node = build_controller(config, disk, advertised, now)
    return RunningController(config, disk, node, requests.faults, started_at_ms)


class RunningController:
    """A controller-only process."""

    data_plane: DataPlane | None = None

    def __init__(
        self, config: ServerConfig, disk: Disk, node: ControllerNode, faults: FailedRequests, started_at_ms: int
    ) -> None:
        """`faults`: of the shell."""
        self._faults = faults
        self._config = config
        self._disk = disk
        self._controller = node
        self._observer = Observer(node)
        self._started_at_ms = started_at_ms

    @property
    def node(self) -> Node:
        return self._observer.node

    @property
    def step_requests(self) -> StepRequests | None:
        return self._observer.node.requests_together(self._controller.step_requests)

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        """A controller has no data plane."""

    def readiness(self) -> Readiness:
        replica = self._controller.meta.replica
        return Readiness(replica.leader_id, replica.hears_leader(self._observer.now()))

    async def facts(self, connections: Mapping[str, int], outgoing: PoolCounts) -> NodeFacts:
        node, observer = self._controller, self._observer
        observer.node.watch()
        image = await observer.count(node.image)
        return NodeFacts(
            node_id=self._config.node_id,
            cluster_id=self._disk.directories.cluster_id,
            raft=observer.raft(node.meta),
            log=controller_log_facts(node, self._disk),
            image=image,
            controller=controller_facts(node, observer),
            is_broker=False,
            connections=connections,
            outgoing=observer.channel.read(outgoing, observer.now()),
            resident_bytes=resident_bytes(),
            started_at_ms=self._started_at_ms,
            failed_requests=failed_requests(node.faults, self._faults),
        )

    def close(self) -> None:
        """Nothing beyond what the process closes."""


def controller_log_facts(node: ControllerNode, disk: Disk) -> LogFacts:
    return log_facts(
        node.keeper, node.image_offset, node.applied_timestamp, node.loaded_snapshots, disk.metadata_log.syncs
    )
