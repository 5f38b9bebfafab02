"""A process with the broker role, alone or beside a controller: its node, its data plane, and what probes are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller_runtime.configuration.config import ServerConfig
from controller_runtime.identifiers import Endpoint, Instant
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.network.client_pool import PoolCounts
from controller_runtime.node.broker_node import BrokerNode
from controller_runtime.node.combined_node import CombinedNode
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.metadata_replica import MetadataReplica
from controller_runtime.node.ports import Node
from controller_runtime.server.shell.assembly import Disk
from controller_runtime.server.shell.broker_assembly import build_broker, build_combined, log_directories
from controller_runtime.server.shell.data_plane import BrokerDataPlane
from controller_runtime.server.shell.driver import DataPlane, StepRequests
from controller_runtime.server.shell.requests import Requests
from controller_runtime.server.telemetry.facts import (
    BatchFacts,
    LogFacts,
    NodeFacts,
    Observer,
    controller_facts,
    failed_requests,
    log_facts,
    resident_bytes,
)
from controller_runtime.server.telemetry.health import Readiness
from controller_runtime.server.telemetry.measuring import distribution_of


class RunningBroker:
    """Implements `running.RunningNode`."""

    step_requests: StepRequests | None = None
    """A request may need what an earlier one asked of the data plane: one by one."""

    def __init__(
        self,
        config: ServerConfig,
        disk: Disk,
        advertised: Mapping[str, Endpoint],
        now: Instant,
        requests: Requests,
        started_at_ms: int,
    ) -> None:
        self._config = config
        self._disk = disk
        self._started_at_ms = started_at_ms
        self._faults = requests.faults
        self._data = BrokerDataPlane(disk.filesystem, log_directories(config, disk), requests.finish_without_reply)
        build = build_combined if config.is_controller else build_broker
        self._broker: BrokerNode | CombinedNode = build(config, disk, advertised, now, self._data.previous_broker_epoch)
        self._observer = Observer(self._broker)

    @property
    def node(self) -> Node:
        return self._observer.node

    @property
    def data_plane(self) -> DataPlane | None:
        return self._data

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        self._data.attach(feed)

    @property
    def _meta(self) -> MetadataReplica:
        node = self._broker
        return node.controller.meta if isinstance(node, CombinedNode) else node.meta

    @property
    def _image(self) -> MetadataImage:
        node = self._broker
        return node.controller.image if isinstance(node, CombinedNode) else node.image

    def readiness(self) -> Readiness:
        replica = self._meta.replica
        hears = not isinstance(self._broker, CombinedNode) or replica.hears_leader(self._observer.now())
        return Readiness(replica.leader_id, hears, self._broker.service.is_serving)

    async def facts(self, connections: Mapping[str, int], outgoing: PoolCounts) -> NodeFacts:
        node, observer, service = self._broker, self._observer, self._broker.service
        observer.node.watch()
        image = await observer.count(self._image)
        return NodeFacts(
            node_id=self._config.node_id,
            cluster_id=self._disk.directories.cluster_id,
            raft=observer.raft(self._meta),
            log=self._log_facts(),
            image=image,
            controller=controller_facts(node.controller, observer) if isinstance(node, CombinedNode) else None,
            is_broker=True,
            connections=connections,
            outgoing=observer.channel.read(outgoing, observer.now()),
            resident_bytes=resident_bytes(),
            started_at_ms=self._started_at_ms,
            broker_state=service.lifecycle.state.value,
            leaders=service.partitions.leader_count,
            replicas=service.partitions.replica_count,
            not_served=service.partitions.not_served_count,
            batches=self._batches(),
            failed_requests=failed_requests(self._meta.faults, service.faults, self._faults),
        )

    def _batches(self) -> BatchFacts:
        node = self._broker.controller if isinstance(self._broker, CombinedNode) else self._broker
        count, sizes = node.replayed_batches
        return BatchFacts(
            records=distribution_of([records for records, _ in sizes], count),
            size_bytes=distribution_of([size for _, size in sizes], count),
            replaying=self._observer.node.replaying.distribution(),
        )

    def _log_facts(self) -> LogFacts:
        node = self._broker.controller if isinstance(self._broker, CombinedNode) else self._broker
        syncs = self._disk.metadata_log.syncs
        return log_facts(node.keeper, node.image_offset, node.applied_timestamp, node.loaded_snapshots, syncs)

    def close(self) -> None:
        """After a clean stop: flush and close every partition, and leave the mark that says so."""
        self._data.close(self._broker.service.epoch)
