"""From configuration and disk to a broker, alone or beside a controller."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.broker.lifecycle import BrokerIdentity
from controller_runtime.configuration.config import ServerConfig
from controller_runtime.configuration.settings import RULES
from controller_runtime.identifiers import BrokerEpoch, DirectoryId, Endpoint, Instant
from controller_runtime.node.api_versions import SUPPORTED_LEVELS
from controller_runtime.node.broker_node import BrokerNode, BrokerNodeConfig
from controller_runtime.node.broker_service import BrokerConfig, BrokerService
from controller_runtime.node.combined_node import CombinedNode
from controller_runtime.node.metadata_replica import CallIds
from controller_runtime.server.shell.assembly import (
    Disk,
    build_controller,
    jitter,
    raft_config,
    random_uuid,
    snapshot_config,
    static_voters,
)

_PLAINTEXT = 0


def log_directories(config: ServerConfig, disk: Disk) -> Mapping[DirectoryId, str]:
    """Where topic partitions live: `log.dirs`, by directory id."""
    return {disk.directories.ids[path]: path for path in config.log_dirs}


def build_broker(
    config: ServerConfig, disk: Disk, advertised: Mapping[str, Endpoint], now: Instant, previous_epoch: int
) -> BrokerNode:
    """`advertised` holds the ports that were bound; `previous_epoch` is -1 unless the last stop was clean."""
    node_config = BrokerNodeConfig(
        raft=raft_config(config, disk, ()),
        broker=_broker_config(config, disk, advertised, previous_epoch),
        static_voters=static_voters(config),
        snapshots=snapshot_config(config),
    )
    return BrokerNode(node_config, disk.metadata_log, disk.metadata_log, disk.stored, jitter, now)


def build_combined(
    config: ServerConfig, disk: Disk, advertised: Mapping[str, Endpoint], now: Instant, previous_epoch: int
) -> CombinedNode:
    calls = CallIds()
    controller = build_controller(config, disk, advertised, now, calls)
    broker = BrokerService(_broker_config(config, disk, advertised, previous_epoch), calls, now)
    return CombinedNode(controller, broker, frozenset(config.controller_listener_names))


def _broker_config(
    config: ServerConfig, disk: Disk, advertised: Mapping[str, Endpoint], previous_epoch: int
) -> BrokerConfig:
    settings = config.settings
    names = [listener.name for listener in config.broker_listeners]
    identity = BrokerIdentity(
        node_id=config.node_id,
        cluster_id=disk.directories.cluster_id,
        incarnation_id=random_uuid(),
        listeners=tuple((name, advertised[name], _PLAINTEXT) for name in names),
        features=SUPPORTED_LEVELS,
        log_dirs=tuple(log_directories(config, disk)),
        rack=config.rack,
        previous_epoch=BrokerEpoch(previous_epoch),
        heartbeat_interval_s=settings.integer("broker.heartbeat.interval.ms") / 1000,
        registration_timeout_s=settings.integer("initial.broker.registration.timeout.ms") / 1000,
    )
    return BrokerConfig(
        identity=identity,
        auto_create_topics=settings.boolean("auto.create.topics.enable"),
        node_configs={one.name: one.value for one in settings.properties.values()},
        rules=RULES,
    )
