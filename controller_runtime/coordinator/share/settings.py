"""What the node's file says about share groups, with Kafka's names and defaults."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.metadata.config_values import ConfigType, integer
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class ShareGroupSettings:
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 200
    initialize_retry_ms: int = 30_000

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> ShareGroupSettings:
        default = cls()

        def number(name: str, otherwise: int) -> int:
            found = integer(configs.get(name), ConfigType.INT)
            return otherwise if found is None else found

        return cls(
            session_timeout_ms=number("group.share.session.timeout.ms", default.session_timeout_ms),
            heartbeat_interval_ms=number("group.share.heartbeat.interval.ms", default.heartbeat_interval_ms),
            assignment_interval_ms=number("group.share.assignment.interval.ms", default.assignment_interval_ms),
            max_size=number("group.share.max.size", default.max_size),
            initialize_retry_ms=number("group.share.initialize.retry.interval.ms", default.initialize_retry_ms),
        )
