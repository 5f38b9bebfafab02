"""What the node's file and a group's own configuration say about streams groups, with Kafka's names and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.coordinator.consumer.settings import Pace
from controller_runtime.metadata.config_values import ConfigType, integer
from controller_runtime.values import dataclass

KIND: Final = "streams"
STANDBYS: Final = "num.standby.replicas"
"""What the last target was made with, as it is written down."""


@dataclass(frozen=True, slots=True)
class StreamsSettings:
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2_147_483_647
    standby_replicas: int = 0
    is_enabled: bool = True
    """By `group.coordinator.rebalance.protocols`."""

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> StreamsSettings:
        default = cls()

        def number(name: str, otherwise: int) -> int:
            found = integer(configs.get(name), ConfigType.INT)
            return otherwise if found is None else found

        protocols = configs.get("group.coordinator.rebalance.protocols", KIND).split(",")
        return cls(
            session_timeout_ms=number("group.streams.session.timeout.ms", default.session_timeout_ms),
            heartbeat_interval_ms=number("group.streams.heartbeat.interval.ms", default.heartbeat_interval_ms),
            assignment_interval_ms=number("group.streams.assignment.interval.ms", default.assignment_interval_ms),
            initial_rebalance_delay_ms=number(
                "group.streams.initial.rebalance.delay.ms", default.initial_rebalance_delay_ms
            ),
            max_size=number("group.streams.max.size", default.max_size),
            standby_replicas=number("group.streams.num.standby.replicas", default.standby_replicas),
            is_enabled=KIND in {each.strip().lower() for each in protocols},
        )


@dataclass(frozen=True, slots=True)
class StreamsPace:
    """Of one group: what it sets for itself goes before what its coordinator's file says."""

    times: Pace
    initial_rebalance_delay_ms: int
    standby_replicas: int

    @classmethod
    def of(cls, settings: StreamsSettings, configs: Mapping[str, str]) -> StreamsPace:
        """`configs`: of the group."""

        def number(name: str, otherwise: int) -> int:
            found = integer(configs.get(f"{KIND}.{name}"))
            return otherwise if found is None else found

        return cls(
            Pace.of(settings, configs, KIND),
            number("initial.rebalance.delay.ms", settings.initial_rebalance_delay_ms),
            number(STANDBYS, settings.standby_replicas),
        )
