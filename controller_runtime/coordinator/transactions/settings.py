"""What a node's configuration says about transactions, with Kafka's names and defaults."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.metadata.config_values import ConfigType, integer
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    max_timeout_ms: int = 900_000
    two_phase_commit: bool = False
    abort_interval_ms: int = 10_000
    expiration_ms: int = 604_800_000
    expiration_interval_ms: int = 3_600_000
    request_timeout_ms: int = 30_000
    topic_partitions: int = 50
    topic_replication_factor: int = 3
    topic_segment_bytes: int = 104_857_600
    topic_min_isr: int = 2
    load_buffer_bytes: int = 5_242_880

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> TransactionSettings:
        """Of the lines of a configuration file; what it does not say is as Kafka's default."""
        default = cls()

        def number(name: str, otherwise: int) -> int:
            found = integer(configs.get(name), ConfigType.LONG)
            return otherwise if found is None else found

        two_phase_commit = configs.get("transaction.two.phase.commit.enable", "false").strip().lower() == "true"
        return cls(
            max_timeout_ms=number("transaction.max.timeout.ms", default.max_timeout_ms),
            two_phase_commit=two_phase_commit,
            abort_interval_ms=number(
                "transaction.abort.timed.out.transaction.cleanup.interval.ms", default.abort_interval_ms
            ),
            expiration_ms=number("transactional.id.expiration.ms", default.expiration_ms),
            expiration_interval_ms=number(
                "transaction.remove.expired.transaction.cleanup.interval.ms", default.expiration_interval_ms
            ),
            request_timeout_ms=number("request.timeout.ms", default.request_timeout_ms),
            topic_partitions=number("transaction.state.log.num.partitions", default.topic_partitions),
            topic_replication_factor=number(
                "transaction.state.log.replication.factor", default.topic_replication_factor
            ),
            topic_segment_bytes=number("transaction.state.log.segment.bytes", default.topic_segment_bytes),
            topic_min_isr=number("transaction.state.log.min.isr", default.topic_min_isr),
            load_buffer_bytes=number("transaction.state.log.load.buffer.size", default.load_buffer_bytes),
        )
