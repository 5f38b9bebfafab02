"""What the node's file and a group's own configuration say about groups of the consumer protocol."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, Protocol

from controller_runtime.metadata.config_values import ConfigType, integer
from controller_runtime.values import dataclass

ASSIGNORS: Final = ("uniform", "range")
_PROTOCOL: Final = "consumer"


class MigrationPolicy(Enum):
    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def may_upgrade(self) -> bool:
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def may_downgrade(self) -> bool:
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """With Kafka's names and defaults."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 2_147_483_647
    assignors: tuple[str, ...] = ASSIGNORS
    """The first one is the default."""
    migration: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    regex_refresh_ms: int = 600_000
    is_enabled: bool = True
    """By `group.coordinator.rebalance.protocols`."""

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> ConsumerSettings:
        default = cls()

        def number(name: str, otherwise: int) -> int:
            found = integer(configs.get(name), ConfigType.LONG)
            return otherwise if found is None else found

        named = _listed(configs.get("group.consumer.assignors", ""))
        protocols = _listed(configs.get("group.coordinator.rebalance.protocols", _PROTOCOL))
        policies = {each.value: each for each in MigrationPolicy}
        policy = configs.get("group.consumer.migration.policy", "").strip().lower()
        return cls(
            session_timeout_ms=number("group.consumer.session.timeout.ms", default.session_timeout_ms),
            heartbeat_interval_ms=number("group.consumer.heartbeat.interval.ms", default.heartbeat_interval_ms),
            assignment_interval_ms=number("group.consumer.assignment.interval.ms", default.assignment_interval_ms),
            max_size=number("group.consumer.max.size", default.max_size),
            assignors=tuple(each for each in named if each in ASSIGNORS) or default.assignors,
            migration=policies.get(policy, default.migration),
            regex_refresh_ms=number("group.consumer.regex.refresh.interval.ms", default.regex_refresh_ms),
            is_enabled=_PROTOCOL in {each.lower() for each in protocols},
        )


class Paced(Protocol):
    """What a coordinator's file says of all groups of a kind."""

    @property
    def session_timeout_ms(self) -> int: ...
    @property
    def heartbeat_interval_ms(self) -> int: ...
    @property
    def assignment_interval_ms(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Pace:
    """Of one group: what it sets for itself goes before what its coordinator's file says."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int

    @classmethod
    def of(cls, settings: Paced, configs: Mapping[str, str], kind: str = _PROTOCOL) -> Pace:
        """`configs`: of the group. `kind`: what their names begin with."""
        if not configs:
            return cls(settings.session_timeout_ms, settings.heartbeat_interval_ms, settings.assignment_interval_ms)

        def number(name: str, otherwise: int) -> int:
            found = integer(configs.get(f"{kind}.{name}"))
            return otherwise if found is None else found

        return cls(
            number("session.timeout.ms", settings.session_timeout_ms),
            number("heartbeat.interval.ms", settings.heartbeat_interval_ms),
            number("assignment.interval.ms", settings.assignment_interval_ms),
        )


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
