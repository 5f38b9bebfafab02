"""What a node's configuration says about the share coordinator, with Kafka's names and defaults."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.metadata.config_values import ConfigType, integer
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class ShareStateSettings:
    updates_per_snapshot: int = 500
    write_timeout_ms: int = 5_000
    prune_interval_ms: int = 300_000
    cold_interval_ms: int = 300_000
    load_buffer_bytes: int = 5_242_880
    topic_partitions: int = 50
    topic_replication_factor: int = 3
    topic_segment_bytes: int = 104_857_600
    topic_min_isr: int = 2

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> ShareStateSettings:
        """Of the lines of a configuration file; what it does not say is as Kafka's default."""
        default = cls()

        def number(name: str, otherwise: int) -> int:
            found = integer(configs.get(name), ConfigType.LONG)
            return otherwise if found is None else found

        return cls(
            updates_per_snapshot=number(
                "share.coordinator.snapshot.update.records.per.snapshot", default.updates_per_snapshot
            ),
            write_timeout_ms=number("share.coordinator.write.timeout.ms", default.write_timeout_ms),
            prune_interval_ms=max(
                1, number("share.coordinator.state.topic.prune.interval.ms", default.prune_interval_ms)
            ),
            cold_interval_ms=max(
                1, number("share.coordinator.cold.partition.snapshot.interval.ms", default.cold_interval_ms)
            ),
            load_buffer_bytes=number("share.coordinator.load.buffer.size", default.load_buffer_bytes),
            topic_partitions=number("share.coordinator.state.topic.num.partitions", default.topic_partitions),
            topic_replication_factor=number(
                "share.coordinator.state.topic.replication.factor", default.topic_replication_factor
            ),
            topic_segment_bytes=number("share.coordinator.state.topic.segment.bytes", default.topic_segment_bytes),
            topic_min_isr=number("share.coordinator.state.topic.min.isr", default.topic_min_isr),
        )
