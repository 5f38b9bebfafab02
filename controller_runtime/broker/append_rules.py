"""What a topic's configuration says about appends, and why a batch is refused."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.metadata.config_values import BLANKS, ConfigType, integer
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass

_LONG_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class AppendRules:
    """What the topic's configuration says about appends."""

    max_message_bytes: int = 1048588
    log_append_time: bool = False
    compression: Compression | None = None
    """None: as the producer sent it."""
    timestamp_before_max_ms: int = _LONG_MAX
    timestamp_after_max_ms: int = 3600000
    needs_keys: bool = False
    """The topic is compacted."""
    deletes: bool = True
    """Records of the topic may be deleted, by age or on request."""
    segment_bytes: int = 1 << 30
    min_insync_replicas: int = 1
    verifies_transactions: bool = True
    """`transaction.partition.verification.enable` of the broker."""

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> AppendRules:
        """As Kafka reads values: what surrounds them is trimmed, control characters too. What cannot be read is as if
        it were not set.
        """
        codec = configs.get("compression.type", "producer").strip(BLANKS)
        named = {"uncompressed": Compression.NONE, **{each.name.lower(): each for each in Compression}}
        return cls(
            max_message_bytes=_number(configs, "max.message.bytes", 1048588),
            log_append_time=configs.get("message.timestamp.type", "").strip(BLANKS) == "LogAppendTime",
            compression=named.get(codec),
            timestamp_before_max_ms=_number(configs, "message.timestamp.before.max.ms", _LONG_MAX),
            timestamp_after_max_ms=_number(configs, "message.timestamp.after.max.ms", 3600000),
            deletes="delete" in configs.get("cleanup.policy", "delete"),
            needs_keys="compact" in configs.get("cleanup.policy", "delete"),
            segment_bytes=_number(configs, "segment.bytes", 1 << 30),
            min_insync_replicas=_number(configs, "min.insync.replicas", 1),
        )


def _number(configs: Mapping[str, str], name: str, default: int) -> int:
    found = integer(configs.get(name), ConfigType.LONG)
    return default if found is None else found


@dataclass(frozen=True, slots=True)
class BatchRefusal:
    """Why a batch is not taken. `records`: what is wrong with each of these, by its place in the batch."""

    error: ErrorCode
    message: str | None = None
    records: tuple[tuple[int, str], ...] = ()
    before_log: bool = False
    """Kafka does not get as far as the log with it: its answer does not say where that begins."""
