"""How a log is cut into segments; one class for the metadata log and for topic partitions."""

from __future__ import annotations

from controller_runtime.storage.log.indexes import DEFAULT_INTERVAL_BYTES
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Kafka's `segment.bytes`, `segment.ms` and `index.interval.bytes`. `tail_bytes`: how much of what is flushed the
    metadata log keeps in memory; a partition's log keeps nothing.
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = DEFAULT_INTERVAL_BYTES
    tail_bytes: int = 1 << 20
