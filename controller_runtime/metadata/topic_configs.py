"""The configurations of a topic: names, types, limits, defaults, and where an effective value comes from.

Facts of Apache Kafka 4.3.1, with its words in the errors. An effective value is looked for in Kafka's order: the topic, this broker's
dynamic values, the dynamic default of all brokers, the node's configuration file, the default. Brokers know most topic configurations
under another name (`broker_names`), some under several in falling precision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final

from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, TOPIC, ConfigsImage
from controller_runtime.values import dataclass, replace

MAX_VALUE_LENGTH: Final = 32767


class ConfigType(IntEnum):
    """Kafka's numbers in DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class ConfigSource(IntEnum):
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class InvalidConfig(ValueError):
    """A value that Kafka refuses; the message is Kafka's."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    name: str
    type: ConfigType
    default: str
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()
    or_equal_to: int | None = None
    """A value outside of the limits that is allowed, too."""
    broker_names: tuple[str, ...] = ()


_B, _S, _I, _L, _D, _C = (
    ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST,
)  # fmt: skip
_LONG_MAX: Final = str(2**63 - 1)
_CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_THROTTLED: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_HOURS_AND_MINUTES: Final = {
    "log.retention.hours": 3_600_000,
    "log.retention.minutes": 60_000,
    "log.roll.hours": 3_600_000,
}
"""Broker names in another unit than the topic's milliseconds."""

_DECLARED: Final = (
    TopicConfig("cleanup.policy", _C, "delete", one_of=("compact", "delete"), broker_names=("log.cleanup.policy",)),
    TopicConfig("compression.gzip.level", _I, "-1", 1, 9, or_equal_to=-1, broker_names=("compression.gzip.level",)),
    TopicConfig("compression.lz4.level", _I, "9", 1, 17, broker_names=("compression.lz4.level",)),
    TopicConfig("compression.type", _S, "producer", one_of=_CODECS, broker_names=("compression.type",)),
    TopicConfig("compression.zstd.level", _I, "3", -131072, 22, broker_names=("compression.zstd.level",)),
    TopicConfig("delete.retention.ms", _L, "86400000", 0, broker_names=("log.cleaner.delete.retention.ms",)),
    TopicConfig("file.delete.delay.ms", _L, "60000", 0, broker_names=("log.segment.delete.delay.ms",)),
    TopicConfig("flush.messages", _L, _LONG_MAX, 1, broker_names=("log.flush.interval.messages",)),
    TopicConfig("flush.ms", _L, _LONG_MAX, 0, broker_names=("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
    TopicConfig("follower.replication.throttled.replicas", _C, ""),
    TopicConfig("index.interval.bytes", _I, "4096", 0, broker_names=("log.index.interval.bytes",)),
    TopicConfig("leader.replication.throttled.replicas", _C, ""),
    TopicConfig("local.retention.bytes", _L, "-2", -2, broker_names=("log.local.retention.bytes",)),
    TopicConfig("local.retention.ms", _L, "-2", -2, broker_names=("log.local.retention.ms",)),
    TopicConfig("max.compaction.lag.ms", _L, _LONG_MAX, 1, broker_names=("log.cleaner.max.compaction.lag.ms",)),
    TopicConfig("max.message.bytes", _I, "1048588", 0, broker_names=("message.max.bytes",)),
    TopicConfig("message.timestamp.after.max.ms", _L, "3600000", 0, broker_names=("log.message.timestamp.after.max.ms",)),
    TopicConfig("message.timestamp.before.max.ms", _L, _LONG_MAX, 0, broker_names=("log.message.timestamp.before.max.ms",)),
    TopicConfig("message.timestamp.type", _S, "CreateTime", one_of=("CreateTime", "LogAppendTime"), broker_names=("log.message.timestamp.type",)),
    TopicConfig("min.cleanable.dirty.ratio", _D, "0.5", 0, 1, broker_names=("log.cleaner.min.cleanable.ratio",)),
    TopicConfig("min.compaction.lag.ms", _L, "0", 0, broker_names=("log.cleaner.min.compaction.lag.ms",)),
    TopicConfig("min.insync.replicas", _I, "1", 1, broker_names=("min.insync.replicas",)),
    TopicConfig("preallocate", _B, "false", broker_names=("log.preallocate",)),
    TopicConfig("remote.log.copy.disable", _B, "false"),
    TopicConfig("remote.log.delete.on.disable", _B, "false"),
    TopicConfig("remote.storage.enable", _B, "false"),
    TopicConfig("retention.bytes", _L, "-1", broker_names=("log.retention.bytes",)),
    TopicConfig("retention.ms", _L, "604800000", -1, broker_names=("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
    TopicConfig("segment.bytes", _I, "1073741824", 1048576, broker_names=("log.segment.bytes",)),
    TopicConfig("segment.index.bytes", _I, "10485760", 4, broker_names=("log.index.size.max.bytes",)),
    TopicConfig("segment.jitter.ms", _L, "0", 0, broker_names=("log.roll.jitter.ms", "log.roll.jitter.hours")),
    TopicConfig("segment.ms", _L, "604800000", 1, broker_names=("log.roll.ms", "log.roll.hours")),
    TopicConfig("unclean.leader.election.enable", _B, "false", broker_names=("unclean.leader.election.enable",)),
)  # fmt: skip
TOPIC_CONFIGS: Final[Mapping[str, TopicConfig]] = {config.name: config for config in _DECLARED}
"""In the order of their names."""
_WITHOUT_DIGITS: Final = dict.fromkeys(map(ord, "0123456789"))
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""What both Java and Python read as a number; Python alone would also read 1_000."""

_BROKER_NAMES: Final = {
    name: replace(config, name=name)
    if name not in _HOURS_AND_MINUTES
    else TopicConfig(name, ConfigType.INT, config.default)
    for config in _DECLARED
    for name in config.broker_names
}
"""What a broker's configuration must be for a topic to have it."""

_DEFAULT_HAS_NO_SYNONYM: Final = {config.name for config in _DECLARED if not config.broker_names} | {
    "flush.ms",
    "segment.jitter.ms",
    "segment.ms",
}
"""Whose default Kafka does not list as a synonym."""


def check_value(name: str, text: str) -> None:
    """Raise InvalidConfig, in Kafka's words, unless this is a value that the topic configuration may have."""
    config = TOPIC_CONFIGS.get(name)
    if config is None:
        raise InvalidConfig(f"Unknown topic config name: {name}")
    _check(config, text)


def check_broker_values(values: Mapping[str, str]) -> None:
    """Raise InvalidConfig for a broker's configuration that no topic could have. Names that concern no topic are not looked at."""
    for name, text in values.items():
        if name in _BROKER_NAMES:
            _check(_BROKER_NAMES[name], text)


def _check(config: TopicConfig, text: str) -> None:
    match config.type:
        case ConfigType.BOOLEAN:
            if text.strip().lower() not in ("true", "false"):
                raise _invalid(config, text, "Expected value to be either true or false")
        case ConfigType.LIST:
            _check_list(config, text)
        case ConfigType.STRING:
            if config.one_of and text not in config.one_of:
                raise _invalid(config, text, f"String must be one of: {', '.join(config.one_of)}")
        case ConfigType.INT | ConfigType.LONG | ConfigType.DOUBLE:
            _check_number(config, text)


def _invalid(config: TopicConfig, value: object, why: str) -> InvalidConfig:
    return InvalidConfig(f"Invalid value {value} for configuration {config.name}: {why}")


def _check_list(config: TopicConfig, text: str) -> None:
    if config.name in _THROTTLED and _is_plain_throttled_list(text):
        return
    items = [item.strip() for item in text.split(",")] if text.strip() else []
    for item in items:
        if config.one_of and item not in config.one_of:
            raise _invalid(config, item, f"String must be one of: {', '.join(config.one_of)}")
    if config.name in _THROTTLED and items not in ([], ["*"]) and not all(map(_is_throttled_replica, items)):
        raise _invalid(
            config,
            f"[{', '.join(items)}]",
            f"{config.name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )


def _is_plain_throttled_list(text: str) -> bool:
    """Seen at one glance, as most are: `1:2,3:4`. Whatever is written otherwise is looked at item by item."""
    marks = text.translate(_WITHOUT_DIGITS)
    return (
        marks == ":," * (len(marks) // 2) + ":"  # digits, colon, digits, comma, ... and none of the digits missing:
        and not (":," in text or ",:" in text or text[0] == ":" or text[-1] == ":")
    )


def _is_throttled_replica(item: str) -> bool:
    partition, colon, broker = item.partition(":")
    return bool(colon) and partition.isdecimal() and broker.isdecimal()


def _check_number(config: TopicConfig, text: str) -> None:
    pattern = _DECIMAL if config.type is ConfigType.DOUBLE else _INTEGER
    if not pattern.fullmatch(text.strip()):
        raise _invalid(config, text, f"Not a number of type {config.type.name}")
    number = float(text) if config.type is ConfigType.DOUBLE else int(text)
    bits = {ConfigType.INT: 31, ConfigType.LONG: 63}.get(config.type)
    if bits and not -(2**bits) <= number < 2**bits:
        raise _invalid(config, text, f"Not a number of type {config.type.name}")
    if number == config.or_equal_to and config.or_equal_to is not None:
        return
    low, high = config.at_least, config.at_most
    if config.or_equal_to is not None and low is not None and high is not None and not low <= number <= high:
        raise _invalid(config, number, f"Value must be between {low} and {high} or equal to {config.or_equal_to}")
    if low is not None and number < low:
        raise _invalid(config, number, f"Value must be at least {low}")
    if high is not None and number > high:
        raise _invalid(config, number, f"Value must be no more than {high}")


def check_values(values: Mapping[str, str]) -> None:
    """Check each value, and what they say together. Raises InvalidConfig for the first that is wrong."""
    for name, text in values.items():
        check_value(name, text)
    shortest, longest = values.get("min.compaction.lag.ms", "0"), values.get("max.compaction.lag.ms", _LONG_MAX)
    if shortest != "0" and int(shortest) > int(longest):
        raise InvalidConfig(
            f"conflict topic config setting min.compaction.lag.ms ({int(shortest)}) > max.compaction.lag.ms ({int(longest)})"
        )
    if values.get("remote.storage.enable", "false").strip().lower() == "true":
        raise InvalidConfig(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
        )


def is_list(name: str) -> bool:
    """Whether APPEND and SUBTRACT make sense."""
    config = TOPIC_CONFIGS.get(name)
    return config is not None and config.type is ConfigType.LIST


@dataclass(frozen=True, slots=True)
class Synonym:
    """One place where a value was found."""

    name: str
    value: str
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    config: TopicConfig
    value: str
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
    """Every place that has a value, the winner first."""


def effective_configs(
    configs: ConfigsImage, topic_values: Mapping[str, str], node_id: int, node_values: Mapping[str, str]
) -> Iterator[EffectiveConfig]:
    """What holds for a topic with these own values on this node, in the order of the names."""
    own, defaults = configs.of(BROKER, str(node_id)), configs.of(BROKER, ALL_BROKERS)
    for config in TOPIC_CONFIGS.values():
        found = []
        if config.name in topic_values:
            found.append(Synonym(config.name, topic_values[config.name], ConfigSource.TOPIC))
        for values, source in (
            (own, ConfigSource.DYNAMIC_BROKER),
            (defaults, ConfigSource.DYNAMIC_DEFAULT_BROKER),
            (node_values, ConfigSource.STATIC_BROKER),
        ):
            found += [
                Synonym(name, values[name], source) for name in config.broker_names if values.get(name) is not None
            ]
        default = _default(config)
        winner = (found or [default])[0]
        shown = found if config.name in _DEFAULT_HAS_NO_SYNONYM else [*found, default]
        yield EffectiveConfig(config, _in_milliseconds(winner), winner.source, tuple(shown))


def _default(config: TopicConfig) -> Synonym:
    if config.name in _DEFAULT_HAS_NO_SYNONYM:
        return Synonym(config.name, config.default, ConfigSource.DEFAULT)
    name = config.broker_names[-1]
    return Synonym(name, _in_unit_of(name, config.default), ConfigSource.DEFAULT)


def topic_configs(configs: ConfigsImage, topic: str, node_id: int, node_values: Mapping[str, str]) -> Mapping[str, str]:
    """The effective values of a topic on a node, by name."""
    values = configs.of(TOPIC, topic)
    return {found.config.name: found.value for found in effective_configs(configs, values, node_id, node_values)}


def _in_milliseconds(found: Synonym) -> str:
    unit = _HOURS_AND_MINUTES.get(found.name)
    if unit is None or found.value == "-1" or found.source is ConfigSource.TOPIC:
        return found.value
    return str(int(found.value) * unit)


def _in_unit_of(name: str, default: str) -> str:
    unit = _HOURS_AND_MINUTES.get(name)
    return default if unit is None else str(int(default) // unit)
