"""From configuration and disk to a node: its roles say which parts it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller_runtime.configuration.config import ServerConfig
from controller_runtime.identifiers import Endpoint, Instant
from controller_runtime.node.compose import NodeConfig, NodeDisk, compose
from controller_runtime.node.node import Node
from controller_runtime.parts.chance import Chance
from controller_runtime.server.shell.assembly import (
    Disk,
    below,
    jitter,
    raft_config,
    random_uuid,
    snapshot_config,
    static_voters,
)
from controller_runtime.values import replace


def build_node(
    config: ServerConfig,
    disk: Disk,
    advertised: Mapping[str, Endpoint],
    now: Instant,
    previous_broker_epoch: int = -1,
    unusable_stores: Callable[[Mapping[str, str]], str | None] = lambda _: None,
) -> Node:
    """`advertised` holds the ports that were bound; `previous_broker_epoch` is -1 unless the last stop was clean;
    `unusable_stores` says why listeners could not use their stores, of dynamic values of this node.
    """
    listeners = tuple((name, advertised[name]) for name in config.controller_listener_names if name in advertised)
    node_config = NodeConfig(
        raft=raft_config(config, disk, listeners if config.is_controller else ()),
        cluster_id=disk.directories.cluster_id,
        static_voters=static_voters(config),
        snapshots=snapshot_config(config),
    )
    if config.is_controller:
        from controller_runtime.server.shell.controller_assembly import controller_config

        node_config = replace(node_config, controller=controller_config(config, disk, listeners))
    if config.is_broker:
        from controller_runtime.server.shell.broker_assembly import broker_config

        broker = broker_config(config, disk, advertised, previous_broker_epoch, unusable_stores)
        node_config = replace(node_config, broker=broker)
    found = NodeDisk(disk.metadata_log, disk.metadata_log, disk.stored)
    return compose(node_config, found, Chance(new_uuid=random_uuid, below=below), jitter, now)
