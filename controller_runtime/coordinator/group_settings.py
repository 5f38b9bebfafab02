"""What a node's configuration says about groups and their offsets, with Kafka's names and defaults."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.coordinator.consumer.settings import ConsumerSettings
from controller_runtime.coordinator.share.settings import ShareGroupSettings
from controller_runtime.coordinator.streams.settings import StreamsSettings
from controller_runtime.metadata.config_values import ConfigType, integer
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class GroupSettings:
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = 2_147_483_647
    initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    commit_timeout_ms: int = 5_000
    retention_ms: int = 10_080 * 60_000
    retention_check_interval_ms: int = 600_000
    topic_partitions: int = 50
    topic_replication_factor: int = 3
    topic_segment_bytes: int = 104_857_600
    topic_codec: int = 0
    load_buffer_bytes: int = 5_242_880
    consumer: ConsumerSettings = field(default_factory=ConsumerSettings)
    share: ShareGroupSettings = field(default_factory=ShareGroupSettings)
    streams: StreamsSettings = field(default_factory=StreamsSettings)

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> GroupSettings:
        """Of the lines of a configuration file; what it does not say is as Kafka's default."""
        default = cls()

        def number(name: str, otherwise: int) -> int:
            found = integer(configs.get(name), ConfigType.LONG)
            return otherwise if found is None else found

        return cls(
            min_session_timeout_ms=number("group.min.session.timeout.ms", default.min_session_timeout_ms),
            max_session_timeout_ms=number("group.max.session.timeout.ms", default.max_session_timeout_ms),
            max_size=number("group.max.size", default.max_size),
            initial_rebalance_delay_ms=number("group.initial.rebalance.delay.ms", default.initial_rebalance_delay_ms),
            offset_metadata_max_bytes=number("offset.metadata.max.bytes", default.offset_metadata_max_bytes),
            commit_timeout_ms=number("offsets.commit.timeout.ms", default.commit_timeout_ms),
            retention_ms=number("offsets.retention.minutes", default.retention_ms // 60_000) * 60_000,
            retention_check_interval_ms=number(
                "offsets.retention.check.interval.ms", default.retention_check_interval_ms
            ),
            topic_partitions=number("offsets.topic.num.partitions", default.topic_partitions),
            topic_replication_factor=number("offsets.topic.replication.factor", default.topic_replication_factor),
            topic_segment_bytes=number("offsets.topic.segment.bytes", default.topic_segment_bytes),
            topic_codec=number("offsets.topic.compression.codec", default.topic_codec),
            load_buffer_bytes=number("offsets.load.buffer.size", default.load_buffer_bytes),
            consumer=ConsumerSettings.of(configs),
            share=ShareGroupSettings.of(configs),
            streams=StreamsSettings.of(configs),
        )
