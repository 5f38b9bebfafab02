"""When and how a broker looks after its logs: what its file says, and its dynamic configurations for the cleaner.

As in Apache Kafka: this node's own values, then those of all nodes, then the file's; each round asks anew.
"""

from __future__ import annotations

import math
from typing import Final

from controller_runtime.configuration.config import ServerConfig
from controller_runtime.configuration.names import INITIAL_TASK_DELAY
from controller_runtime.configuration.settings import RULES
from controller_runtime.metadata.broker_config_relations import Values
from controller_runtime.metadata.broker_configs import OwnConfigs, in_force
from controller_runtime.metadata.config_values import BLANKS
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, ConfigsImage
from controller_runtime.server.shell.housekeeping import UpkeepSettings
from controller_runtime.storage.compaction.cleaning import CleanerSettings

_BUFFERS: Final = 2
"""Kafka's cleaner divides its buffer into one to read and one to write."""


def upkeep_settings(config: ServerConfig, configs: ConfigsImage) -> UpkeepSettings:
    settings = config.settings
    own = OwnConfigs(config.node_id, settings.values(), RULES)
    mine = in_force(configs.of(BROKER, str(own.node_id)), own, of_all=False)
    of_all = in_force(configs.of(BROKER, ALL_BROKERS), own, of_all=True)
    values = Values((mine, of_all, own.file))
    return UpkeepSettings(
        initial_delay_s=int(settings.plain(INITIAL_TASK_DELAY, "30000")) / 1000,
        retention_interval_s=settings.integer("log.retention.check.interval.ms") / 1000,
        cleans=settings.boolean("log.cleaner.enable"),
        producer_expiration_ms=values.whole("producer.id.expiration.ms"),
        backoff_s=values.whole("log.cleaner.backoff.ms") / 1000,
        bytes_per_second=_real(values, "log.cleaner.io.max.bytes.per.second", math.inf),
        cleaner=CleanerSettings(
            # Each directory has a thread of its own, and so may have a map at the same time.
            map_bytes=values.whole("log.cleaner.dedupe.buffer.size") // max(1, len(config.log_dirs)),
            load_factor=_real(values, "log.cleaner.io.buffer.load.factor", 0.9),
            piece_bytes=max(1, values.whole("log.cleaner.io.buffer.size") // _BUFFERS),
        ),
    )


def _real(values: Values, name: str, default: float) -> float:
    """As Java reads one."""
    try:
        found = float(values.text(name).strip(BLANKS).rstrip("fFdD"))
    except ValueError:
        return default
    return found if found > 0 else default
