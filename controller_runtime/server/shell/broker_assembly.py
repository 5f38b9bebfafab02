"""From configuration and disk to what a broker is made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from controller_runtime.answers.api_versions import SUPPORTED_LEVELS
from controller_runtime.broker.broker_config import BrokerConfig
from controller_runtime.broker.lifecycle import BrokerIdentity
from controller_runtime.broker.replica_fetchers import FetchSettings
from controller_runtime.broker.replication.throttles import ThrottleSamples
from controller_runtime.configuration.config import ServerConfig
from controller_runtime.configuration.replica_selectors import RACK_AWARE, SELECTOR
from controller_runtime.configuration.settings import RULES
from controller_runtime.identifiers import BrokerEpoch, DirectoryId, Endpoint
from controller_runtime.server.shell.assembly import Disk, random_uuid
from controller_runtime.server.telemetry import logs
from controller_runtime.storage.errors import StorageError
from controller_runtime.values import replace

StoreFaults = Callable[[Mapping[str, str]], str | None]
"""Dynamic values of a node to why its listeners could not use their stores."""


def log_directories(config: ServerConfig, disk: Disk) -> Mapping[DirectoryId, str]:
    """Where topic partitions live: `log.dirs`, by directory id, without those that are offline. Raises StorageError
    when all are.
    """
    ids = disk.directories.ids
    found = {ids[path]: path for path in config.log_dirs if path in ids}
    if not found:
        raise StorageError(f"every log directory is offline: {'; '.join(disk.directories.offline.values())}")
    return found


def broker_config(
    config: ServerConfig,
    disk: Disk,
    advertised: Mapping[str, Endpoint],
    previous_epoch: int,
    unusable_stores: StoreFaults,
) -> BrokerConfig:
    settings = config.settings
    names = [listener.name for listener in config.broker_listeners]
    identity = BrokerIdentity(
        node_id=config.node_id,
        cluster_id=disk.directories.cluster_id,
        incarnation_id=random_uuid(),
        listeners=tuple((name, advertised[name], config.listener_security[name].protocol.value) for name in names),
        features=SUPPORTED_LEVELS,
        log_dirs=tuple(log_directories(config, disk)),
        rack=config.rack,
        previous_epoch=BrokerEpoch(previous_epoch),
        heartbeat_interval_s=settings.integer("broker.heartbeat.interval.ms") / 1000,
        registration_timeout_s=settings.integer("initial.broker.registration.timeout.ms") / 1000,
        directory_failure_timeout_s=settings.integer("log.dir.failure.timeout.ms") / 1000,
    )
    return BrokerConfig(
        identity=identity,
        auto_create_topics=settings.boolean("auto.create.topics.enable"),
        node_configs=settings.values(),
        rules=replace(RULES, loggers=logs.levels, unusable_stores=unusable_stores),
        log_directories={each: os.path.abspath(path) for each, path in log_directories(config, disk).items()},
        named_directories={path: each for each, path in log_directories(config, disk).items()},
        offline_directories=tuple(os.path.abspath(path) for path in disk.directories.offline),
        metadata_directory=disk.directories.metadata_directory_id,
        replica_lag_s=settings.integer("replica.lag.time.max.ms") / 1000,
        inter_broker_listener=config.inter_broker_listener,
        replica_fetch=FetchSettings(
            wait_ms=settings.integer("replica.fetch.wait.max.ms"),
            min_bytes=settings.integer("replica.fetch.min.bytes"),
            partition_bytes=settings.integer("replica.fetch.max.bytes"),
            answer_bytes=settings.integer("replica.fetch.response.max.bytes"),
            backoff_ms=settings.integer("replica.fetch.backoff.ms"),
        ),
        throttle_samples=ThrottleSamples(
            count=settings.integer("replication.quota.window.num"),
            window_ms=settings.integer("replication.quota.window.size.seconds") * 1000,
            directory_count=settings.integer("alter.log.dirs.replication.quota.window.num"),
            directory_window_ms=settings.integer("alter.log.dirs.replication.quota.window.size.seconds") * 1000,
        ),
        fetch_session_slots=settings.integer("max.incremental.fetch.session.cache.slots"),
        sends_near=settings.text(SELECTOR) == RACK_AWARE,
        security=config.security,
    )
