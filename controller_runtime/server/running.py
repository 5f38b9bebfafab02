"""A node as the process sees it: what is driven, what is asked for probes and metrics, what is closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from controller_runtime.identifiers import Endpoint, Instant
from controller_runtime.node.controller_node import ControllerNode
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.ports import Node
from controller_runtime.server.assembly import Disk, build_controller
from controller_runtime.server.config import ServerConfig
from controller_runtime.server.driver import DataPlane, StepRequests
from controller_runtime.server.facts import image_facts, raft_facts, resident_bytes
from controller_runtime.server.health import Readiness
from controller_runtime.server.metrics import NodeFacts
from controller_runtime.server.requests import Requests


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

    def facts(self, connections: Mapping[str, int]) -> NodeFacts: ...

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
        from controller_runtime.server.running_broker import RunningBroker

        return RunningBroker(config, disk, advertised, now, requests, started_at_ms)
    return RunningController(config, disk, build_controller(config, disk, advertised, now), started_at_ms)


class RunningController:
    """A controller-only process."""

    data_plane: DataPlane | None = None

    def __init__(self, config: ServerConfig, disk: Disk, node: ControllerNode, started_at_ms: int) -> None:
        self._config = config
        self._disk = disk
        self._controller = node
        self._started_at_ms = started_at_ms

    @property
    def node(self) -> Node:
        return self._controller

    @property
    def step_requests(self) -> StepRequests | None:
        return self._controller.step_requests

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        """A controller has no data plane."""

    def readiness(self) -> Readiness:
        return Readiness(leader_known=self._controller.meta.replica.leader_id is not None, unfenced=None)

    def facts(self, connections: Mapping[str, int]) -> NodeFacts:
        return NodeFacts(
            node_id=self._config.node_id,
            cluster_id=self._disk.directories.cluster_id,
            raft=raft_facts(self._controller.meta, None),
            image=image_facts(self._controller.image),
            is_controller=True,
            is_broker=False,
            connections=connections,
            resident_bytes=resident_bytes(),
            started_at_ms=self._started_at_ms,
        )

    def close(self) -> None:
        """Nothing beyond what the process closes."""
