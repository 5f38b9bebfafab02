"""What the configuration of a node, and that of a group, say about partitions that are shared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from controller_runtime.metadata.config_values import ConfigType, integer
from controller_runtime.values import dataclass

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_DURATION: Final = re.compile(
    r"by_duration:[+]?P(?:[+]?(\d+)D)?(?:T(?:[+]?(\d+)H)?(?:[+]?(\d+)M)?(?:[+]?(\d+)(?:[.,](\d*))?S)?)?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """Of a node."""

    max_record_locks: int = 2_000
    delivery_count_limit: int = 5
    record_lock_ms: int = 30_000
    max_sessions: int = 2_000

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> ShareSettings:
        """Of the lines of a configuration file; what it does not say is as Kafka's default."""
        default = cls()
        return cls(
            max_record_locks=_number(configs, "group.share.partition.max.record.locks", default.max_record_locks),
            delivery_count_limit=_number(configs, "group.share.delivery.count.limit", default.delivery_count_limit),
            record_lock_ms=_number(configs, "group.share.record.lock.duration.ms", default.record_lock_ms),
            max_sessions=_number(configs, "group.share.max.share.sessions", default.max_sessions),
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a group, now."""

    max_record_locks: int
    delivery_count_limit: int
    record_lock_ms: int
    renews: bool = True
    reads_committed: bool = False
    begins: str = LATEST
    """Where nobody has said where the group begins: `share.auto.offset.reset`."""

    @property
    def throttled_from(self) -> int:
        """How often a record was delivered when it is handed out with fewer others."""
        return max(2, -(-self.delivery_count_limit // 2))


def limits_of(group: Mapping[str, str], node: ShareSettings) -> Limits:
    """`group`: what was configured for it."""
    return Limits(
        max_record_locks=_number(group, "share.partition.max.record.locks", node.max_record_locks),
        delivery_count_limit=_number(group, "share.delivery.count.limit", node.delivery_count_limit),
        record_lock_ms=_number(group, "share.record.lock.duration.ms", node.record_lock_ms),
        renews=group.get("share.renew.acknowledge.enable", "true").strip().lower() != "false",
        reads_committed=group.get("share.isolation.level", "") == "read_committed",
        begins=group.get("share.auto.offset.reset", LATEST),
    )


def duration_ms(begins: str) -> int:
    """Of `by_duration:P…`, which was checked when it was configured."""
    found = _DURATION.fullmatch(begins)
    if found is None:
        return 0
    days, hours, minutes, seconds = (int(number or 0) for number in found.groups()[:4])
    thousandths = int(f"{found[5] or ''}000"[:3])
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + thousandths


def _number(values: Mapping[str, str], name: str, otherwise: int) -> int:
    found = integer(values.get(name), ConfigType.LONG)
    return otherwise if found is None else found
