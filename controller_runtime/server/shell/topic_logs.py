"""What a topic's configurations say of its logs: from Kafka's names and text to values of `storage`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.storage.log.config import NEVER, CleanupRules, LogConfig

_WEEK_MS: Final = 604_800_000


def log_config(configs: Mapping[str, str]) -> LogConfig:
    """`configs` are effective and were checked when they were set; what is missing has Kafka's default."""
    policy = configs.get("cleanup.policy", "delete")
    rules = CleanupRules(
        deletes="delete" in policy,
        compacts="compact" in policy,
        retention_ms=int(configs.get("retention.ms", _WEEK_MS)),
        retention_bytes=int(configs.get("retention.bytes", -1)),
        file_delete_delay_ms=int(configs.get("file.delete.delay.ms", 60_000)),
        delete_retention_ms=int(configs.get("delete.retention.ms", 86_400_000)),
        min_dirty_ratio=float(configs.get("min.cleanable.dirty.ratio", 0.5)),
        min_compaction_lag_ms=int(configs.get("min.compaction.lag.ms", 0)),
        max_compaction_lag_ms=int(configs.get("max.compaction.lag.ms", NEVER)),
    )
    segment_ms = int(configs.get("segment.ms", _WEEK_MS))
    return LogConfig(
        segment_bytes=int(configs.get("segment.bytes", 1 << 30)),
        # What is to be compacted in time has to be in a closed segment by then (KIP-354).
        segment_ms=min(segment_ms, rules.max_compaction_lag_ms) if rules.compacts else segment_ms,
        index_interval_bytes=int(configs.get("index.interval.bytes", 4096)),
        max_index_bytes=int(configs.get("segment.index.bytes", 10 << 20)),
        flush_messages=int(configs.get("flush.messages", NEVER)),
        cleanup=rules,
    )
