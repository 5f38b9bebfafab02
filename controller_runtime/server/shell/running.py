"""A node as the process sees it: what is driven, what is asked for probes and metrics, what is closed at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

from controller_runtime.configuration.config import ServerConfig
from controller_runtime.identifiers import Endpoint, Instant
from controller_runtime.metadata.configs import ConfigsImage
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.network.client_pool import PoolCounts
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.node import Node
from controller_runtime.node.ports import DrivenNode
from controller_runtime.server.shell.assembly import Disk, quota_samples
from controller_runtime.server.shell.driver import DataPlane
from controller_runtime.server.shell.node_assembly import build_node
from controller_runtime.server.shell.requests import Requests
from controller_runtime.server.telemetry.facts import (
    NodeFacts,
    Observer,
    authorizations,
    batch_facts,
    controller_facts,
    failed_requests,
    log_facts,
    resident_bytes,
)
from controller_runtime.server.telemetry.health import Readiness
from controller_runtime.values import replace

if TYPE_CHECKING:  # a process loads only what its roles need
    from controller_runtime.broker.service import BrokerService
    from controller_runtime.server.shell.client_rates import ClientRates
    from controller_runtime.server.shell.data_plane import BrokerDataPlane
    from controller_runtime.server.shell.housekeeping import UpkeepSettings


class RunningNode(Protocol):
    @property
    def node(self) -> DrivenNode: ...

    @property
    def data_plane(self) -> DataPlane | None: ...

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        """Where completions of the data plane go."""
        ...

    def readiness(self) -> Readiness: ...

    def known_image(self) -> MetadataImage | None:
        """None while it may be too old to say who does not exist."""
        ...

    async def facts(self, connections: Mapping[str, int], outgoing: PoolCounts) -> NodeFacts: ...

    def close(self) -> None: ...


def build(
    config: ServerConfig,
    disk: Disk,
    advertised: Mapping[str, Endpoint],
    now: Instant,
    requests: Requests,
    started_at_ms: int,
    unusable_stores: Callable[[Mapping[str, str]], str | None],
) -> RunningNode:
    data = _open_data_plane(config, disk, requests) if config.is_broker else None
    previous_epoch = -1 if data is None else data.previous_broker_epoch
    node = build_node(
        config, disk, advertised, now, previous_broker_epoch=previous_epoch, unusable_stores=unusable_stores
    )
    if config.is_broker:
        requests.rates = _client_rates(config, node)
    if data is not None:
        data.attach_upkeep(_upkeep(config, node))
    return Running(node, disk, data, requests, started_at_ms)


def _upkeep(config: ServerConfig, node: Node) -> Callable[[], UpkeepSettings]:
    from controller_runtime.server.shell.upkeep_settings import upkeep_settings

    return lambda: upkeep_settings(config, node.image.configs)


def _client_rates(config: ServerConfig, node: Node) -> ClientRates:
    from controller_runtime.broker.byte_rates import ByteRates
    from controller_runtime.server.shell.client_rates import ClientRates

    rates = ByteRates(*quota_samples(config.settings))
    return ClientRates(rates, lambda: node.image.client_quotas, asyncio.get_running_loop().time)


def _open_data_plane(config: ServerConfig, disk: Disk, requests: Requests) -> BrokerDataPlane:
    from controller_runtime.server.shell.broker_assembly import log_directories
    from controller_runtime.server.shell.data_plane import BrokerDataPlane
    from controller_runtime.server.shell.upkeep_settings import upkeep_settings

    return BrokerDataPlane(
        disk.filesystem,
        log_directories(config, disk),
        requests.finish_without_reply,
        wall_ms=lambda: time.time_ns() // 1_000_000,
        upkeep=partial(upkeep_settings, config, ConfigsImage()),
        has_offline=bool(disk.directories.offline),
    )


class Running:
    """Implements `RunningNode` for a node of whatever roles."""

    def __init__(
        self, node: Node, disk: Disk, data: BrokerDataPlane | None, requests: Requests, started_at_ms: int
    ) -> None:
        self._node = node
        self._disk = disk
        self._data = data
        self._faults = requests.faults
        self._meter = requests.meter
        self._started_at_ms = started_at_ms
        self._observer = Observer(node, requests.meter)
        requests.measure = self._observer.node.watch

    @property
    def node(self) -> DrivenNode:
        return self._observer.node

    @property
    def data_plane(self) -> DataPlane | None:
        return self._data

    @property
    def _broker(self) -> BrokerService | None:
        return None if self._node.broker is None else self._node.broker.service

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        if self._data is not None:
            self._data.attach(feed)
        if self._data is not None and self._broker is not None:
            self._data.attach_high_watermarks(self._broker.partitions.high_watermarks)

    def readiness(self) -> Readiness:
        replica, broker = self._node.meta.replica, self._broker
        hears = self._node.controller is None or replica.hears_leader(self._observer.now())
        if broker is None:
            return Readiness(replica.leader_id, hears)
        return Readiness(replica.leader_id, hears, broker.is_serving, broker.has_caught_up)

    def known_image(self) -> MetadataImage | None:
        node, broker = self._node, self._broker
        is_early = node.image_offset == 0 if broker is None else not broker.has_caught_up
        return None if is_early else node.image

    async def facts(self, connections: Mapping[str, int], outgoing: PoolCounts) -> NodeFacts:
        node, observer, broker = self._node, self._observer, self._broker
        observer.node.watch()
        image = await observer.count(node.image)
        roles = {"controller": node.controller, "broker": broker}
        guards = {role: part.admission.guard for role, part in roles.items() if part is not None and part.admission}
        facts = NodeFacts(
            node_id=node.meta.config.node_id,
            cluster_id=self._disk.directories.cluster_id,
            raft=observer.raft(node.meta),
            log=log_facts(node, self._disk.metadata_log.syncs),
            image=image,
            controller=controller_facts(node, observer),
            is_broker=broker is not None,
            connections=connections,
            outgoing=observer.channel.read(outgoing, observer.now()),
            resident_bytes=resident_bytes(),
            started_at_ms=self._started_at_ms,
            failed_requests=failed_requests(node.meta.faults, self._faults),
            authorizations=authorizations(guards.values()),
            authorizers=tuple(observer.authorizer(role, guard, len(node.image.acls)) for role, guard in guards.items()),
            apis=self._meter.facts(),
        )
        return facts if broker is None else self._with_broker(facts, broker)

    def _with_broker(self, facts: NodeFacts, broker: BrokerService) -> NodeFacts:
        partitions = broker.partitions
        return replace(
            facts,
            broker_state=broker.lifecycle.state.value,
            leaders=partitions.leader_count,
            replicas=partitions.replica_count,
            in_sync=partitions.in_sync_counts(),
            late_transactions=_late_transactions(broker),
            fetch_sessions=broker.sessions.cache.counts,
            shared=broker.share_facts,
            batches=batch_facts(self._node, self._observer),
            failed_requests=failed_requests(self._node.meta.faults, broker.faults, self._faults),
        )

    def close(self) -> None:
        """After a clean stop: flush and close every partition, and leave the mark that says so."""
        if self._data is not None and self._broker is not None:
            self._data.close(self._broker.epoch)


def _late_transactions(broker: BrokerService) -> int:
    logs = (broker.partitions.open_log(key) for key in broker.partitions.here())
    found = [log.producers for log in logs if log is not None and log.unstable.markers]
    if not found:
        return 0
    from controller_runtime.broker.unstable_offsets import LATE_BUFFER_MS, count_late
    from controller_runtime.coordinator.transactions.settings import TransactionSettings

    longest_ms = TransactionSettings.of(broker.config.node_configs).max_timeout_ms + LATE_BUFFER_MS
    return count_late(found, time.time_ns() // 1_000_000 - longest_ms)
