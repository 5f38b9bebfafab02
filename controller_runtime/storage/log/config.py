"""How a log is cut into segments, and what is kept of it; one class for the metadata log and for topic partitions."""

from __future__ import annotations

from typing import Final

from controller_runtime.storage.log.indexes import DEFAULT_INTERVAL_BYTES
from controller_runtime.values import dataclass

NEVER: Final = (1 << 63) - 1
UNLIMITED: Final = -1


@dataclass(frozen=True, slots=True)
class CleanupRules:
    """What a topic's configurations say of old records; names and units are Kafka's."""

    deletes: bool = True
    compacts: bool = False
    retention_ms: int = UNLIMITED
    retention_bytes: int = UNLIMITED
    file_delete_delay_ms: int = 60_000
    delete_retention_ms: int = 24 * 3600 * 1000
    min_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = NEVER


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Kafka's `segment.bytes`, `segment.ms`, `index.interval.bytes` and `segment.index.bytes`. `tail_bytes`: how much
    of what is flushed the metadata log keeps in memory; a partition's log keeps nothing. `flush_messages`
    (`flush.messages`) and `cleanup` concern the logs of partitions only.
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = DEFAULT_INTERVAL_BYTES
    tail_bytes: int = 1 << 20
    max_index_bytes: int = 10 << 20
    flush_messages: int = NEVER
    """An append that makes so many offsets, or more, that are not durable makes all of them durable."""
    cleanup: CleanupRules = CleanupRules()
