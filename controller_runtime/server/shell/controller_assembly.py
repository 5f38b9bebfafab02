"""From configuration and disk to what a controller is made of."""

from __future__ import annotations

from typing import Final

from controller_runtime.configuration.config import ServerConfig
from controller_runtime.configuration.settings import RULES
from controller_runtime.controller.service import ControllerConfig
from controller_runtime.identifiers import Endpoint
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.records import decode_record
from controller_runtime.node.active.log_writer import LINGER_S
from controller_runtime.node.controller_part import ControllerPartConfig
from controller_runtime.node.controller_registration import ControllerIdentity
from controller_runtime.server.shell.assembly import Disk, random_uuid
from controller_runtime.server.telemetry import logs
from controller_runtime.storage.formatting import load_bootstrap_values
from controller_runtime.values import replace

APPEND_LINGER: Final = "controller.quorum.append.linger.ms"


def controller_config(
    config: ServerConfig, disk: Disk, listeners: tuple[tuple[str, Endpoint], ...]
) -> ControllerPartConfig:
    """`listeners`: this node's own controller listeners, as they are advertised."""
    settings = config.settings
    idle_ms = settings.integer("metadata.max.idle.interval.ms")
    decisions = ControllerConfig(
        node_id=config.node_id,
        cluster_id=disk.directories.cluster_id,
        bootstrap_records=_bootstrap_records(disk),
        broker_session_timeout_s=settings.integer("broker.session.timeout.ms") / 1000,
        heartbeat_interval_s=settings.integer("broker.heartbeat.interval.ms") / 1000,
        rebalance_interval_s=(
            settings.integer("leader.imbalance.check.interval.seconds")
            if settings.boolean("auto.leader.rebalance.enable")
            else None
        ),
        no_op_interval_s=idle_ms / 1000 if idle_ms else float("inf"),
        num_partitions=settings.integer("num.partitions"),
        default_replication_factor=settings.integer("default.replication.factor"),
        delete_topic_enable=settings.boolean("delete.topic.enable"),
        node_configs=settings.values(),
        rules=replace(RULES, loggers=logs.levels),
        static_voters=frozenset(config.quorum_voters),
        security=config.security,
        mutation_window_s=settings.integer("controller.quota.window.num")
        * settings.integer("controller.quota.window.size.seconds"),
    )
    identity = ControllerIdentity(
        node_id=config.node_id,
        incarnation_id=random_uuid(),
        listeners=tuple(
            (name, endpoint, config.listener_security[name].protocol.value) for name, endpoint in listeners
        ),
    )
    linger_s = settings.integer(APPEND_LINGER) / 1000 if settings.has(APPEND_LINGER) else LINGER_S
    return ControllerPartConfig(decisions, identity, linger_s)


def _bootstrap_records(disk: Disk) -> tuple[VersionedRecord, ...]:
    values = load_bootstrap_values(disk.filesystem, disk.directories.metadata_dir) or ()
    return tuple(decode_record(value) for value in values)
