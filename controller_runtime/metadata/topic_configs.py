"""The configurations of a topic: names, types, limits, defaults, and where an effective value comes from.

Facts of Apache Kafka 4.3.1, with its words in the errors. An effective value is looked for in Kafka's order: the topic,
this broker's dynamic values, the dynamic default of all brokers, the node's configuration file, the default. Brokers
know most topic configurations under another name (`broker_names`), some under several in falling precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from itertools import dropwhile
from typing import Final

from controller_runtime.metadata.config_values import (
    ConfigSpec,
    ConfigType,
    InvalidConfig,
    check,
    integer,
    is_true,
    shown,
)
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, TOPIC, ConfigsImage
from controller_runtime.values import dataclass, replace

MAX_VALUE_LENGTH: Final = 32767


class ConfigSource(IntEnum):
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


_B, _S, _I, _L, _D, _C = (
    ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST,
)  # fmt: skip
_LONG_MAX: Final = str(2**63 - 1)
_CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_HOURS_AND_MINUTES: Final = {
    "log.retention.hours": 3_600_000,
    "log.retention.minutes": 60_000,
    "log.roll.hours": 3_600_000,
    "log.roll.jitter.hours": 3_600_000,
}
"""Broker names in another unit than the topic's milliseconds."""

_DECLARED: Final = (
    ConfigSpec("cleanup.policy", _C, "delete", one_of=("compact", "delete"), broker_names=("log.cleanup.policy",)),
    ConfigSpec("compression.gzip.level", _I, "-1", 1, 9, or_equal_to=-1, broker_names=("compression.gzip.level",)),
    ConfigSpec("compression.lz4.level", _I, "9", 1, 17, broker_names=("compression.lz4.level",)),
    ConfigSpec("compression.type", _S, "producer", one_of=_CODECS, broker_names=("compression.type",)),
    ConfigSpec("compression.zstd.level", _I, "3", -131072, 22, broker_names=("compression.zstd.level",)),
    ConfigSpec("delete.retention.ms", _L, "86400000", 0, broker_names=("log.cleaner.delete.retention.ms",)),
    ConfigSpec("file.delete.delay.ms", _L, "60000", 0, broker_names=("log.segment.delete.delay.ms",)),
    ConfigSpec("flush.messages", _L, _LONG_MAX, 1, broker_names=("log.flush.interval.messages",)),
    ConfigSpec("flush.ms", _L, _LONG_MAX, 0, broker_names=("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
    ConfigSpec("follower.replication.throttled.replicas", _C, ""),
    ConfigSpec("index.interval.bytes", _I, "4096", 0, broker_names=("log.index.interval.bytes",)),
    ConfigSpec("leader.replication.throttled.replicas", _C, ""),
    ConfigSpec("local.retention.bytes", _L, "-2", -2, broker_names=("log.local.retention.bytes",)),
    ConfigSpec("local.retention.ms", _L, "-2", -2, broker_names=("log.local.retention.ms",)),
    ConfigSpec("max.compaction.lag.ms", _L, _LONG_MAX, 1, broker_names=("log.cleaner.max.compaction.lag.ms",)),
    ConfigSpec("max.message.bytes", _I, "1048588", 0, broker_names=("message.max.bytes",)),
    ConfigSpec("message.timestamp.after.max.ms", _L, "3600000", 0,
        broker_names=("log.message.timestamp.after.max.ms",)),
    ConfigSpec("message.timestamp.before.max.ms", _L, _LONG_MAX, 0,
        broker_names=("log.message.timestamp.before.max.ms",)),
    ConfigSpec("message.timestamp.type", _S, "CreateTime", one_of=("CreateTime", "LogAppendTime"),
        broker_names=("log.message.timestamp.type",)),
    ConfigSpec("min.cleanable.dirty.ratio", _D, "0.5", 0, 1, broker_names=("log.cleaner.min.cleanable.ratio",)),
    ConfigSpec("min.compaction.lag.ms", _L, "0", 0, broker_names=("log.cleaner.min.compaction.lag.ms",)),
    ConfigSpec("min.insync.replicas", _I, "1", 1, broker_names=("min.insync.replicas",)),
    ConfigSpec("preallocate", _B, "false", broker_names=("log.preallocate",)),
    ConfigSpec("remote.log.copy.disable", _B, "false"),
    ConfigSpec("remote.log.delete.on.disable", _B, "false"),
    ConfigSpec("remote.storage.enable", _B, "false"),
    ConfigSpec("retention.bytes", _L, "-1", broker_names=("log.retention.bytes",)),
    ConfigSpec("retention.ms", _L, "604800000", -1,
        broker_names=("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
    ConfigSpec("segment.bytes", _I, "1073741824", 1048576, broker_names=("log.segment.bytes",)),
    ConfigSpec("segment.index.bytes", _I, "10485760", 4, broker_names=("log.index.size.max.bytes",)),
    ConfigSpec("segment.jitter.ms", _L, "0", 0, broker_names=("log.roll.jitter.ms", "log.roll.jitter.hours")),
    ConfigSpec("segment.ms", _L, "604800000", 1, broker_names=("log.roll.ms", "log.roll.hours")),
    ConfigSpec("unclean.leader.election.enable", _B, "false", broker_names=("unclean.leader.election.enable",)),
)  # fmt: skip
TOPIC_CONFIGS: Final[Mapping[str, ConfigSpec]] = {config.name: config for config in _DECLARED}
"""In the order of their names."""
_OTHER_UNITS: Final = {
    name: ConfigSpec(name, ConfigType.INT, "", at_least={"log.roll.hours": 1, "log.roll.jitter.hours": 0}.get(name))
    for name in _HOURS_AND_MINUTES
}

_BROKER_NAMES: Final = {
    name: _OTHER_UNITS.get(name, replace(config, name=name)) for config in _DECLARED for name in config.broker_names
}


def check_value(name: str, text: str) -> None:
    """Raise InvalidConfig, in Kafka's words, unless this is a value that the topic configuration may have."""
    config = TOPIC_CONFIGS.get(name)
    if config is None:
        raise InvalidConfig(f"Unknown topic config name: {shown(name)}")
    check(config, text)


def check_broker_value(name: str, text: str) -> None:
    """Raise InvalidConfig for a broker's configuration that no topic could have. Names that concern no topic are not
    looked at.
    """
    if name in _BROKER_NAMES:
        check(_BROKER_NAMES[name], text)


def is_usable(config: ConfigSpec, name: str, text: str) -> bool:
    """Whether this could have a broker's value of that name. A controller keeps any value; what is nonsense counts for
    nothing.
    """
    try:
        check(_OTHER_UNITS.get(name, config), text)
    except InvalidConfig:
        return False
    return True


def check_values(values: Mapping[str, str]) -> None:
    """Check each value, and what they say together. Raises InvalidConfig for the first that is wrong."""
    for name, text in values.items():
        check_value(name, text)
    shortest, longest = values.get("min.compaction.lag.ms", "0"), values.get("max.compaction.lag.ms", _LONG_MAX)
    if int(shortest) > int(longest):
        raise InvalidConfig(
            f"conflict topic config setting min.compaction.lag.ms ({int(shortest)}) > "
            f"max.compaction.lag.ms ({int(longest)})"
        )
    if is_true(values.get("remote.storage.enable", "false")):
        raise InvalidConfig(
            "Tiered Storage functionality is disabled in the broker. Topic cannot "
            "be configured with remote log storage."
        )


@dataclass(frozen=True, slots=True)
class Synonym:
    """One place where a value was found."""

    name: str
    value: str
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    config: ConfigSpec
    value: str
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
    """What DescribeConfigs lists: every place that has a value, in the order of their rank. It begins with the topic,
    or the first of the broker's names: where only others are set, as `log.retention.hours`, Kafka lists none and calls
    the value a default."""


def effective_configs(
    configs: ConfigsImage, topic_values: Mapping[str, str], node_id: int, node_values: Mapping[str, str]
) -> Iterator[EffectiveConfig]:
    """What holds for a topic with these own values on this node, in the order of the names."""
    for config in TOPIC_CONFIGS.values():
        own = (
            [Synonym(config.name, topic_values[config.name], ConfigSource.TOPIC)] if config.name in topic_values else []
        )
        of_brokers = [*of_node(config, configs, node_id, node_values), _default(config)]
        winner = (own + of_brokers)[0]
        yield EffectiveConfig(config, _in_milliseconds(winner), winner.source, (*own, *_listed(config, of_brokers)))


def _listed(config: ConfigSpec, found: Iterable[Synonym]) -> Iterator[Synonym]:
    return dropwhile(lambda one: one.name not in config.broker_names[:1], found)


def of_node(
    config: ConfigSpec, configs: ConfigsImage, node_id: int, node_values: Mapping[str, str]
) -> Iterator[Synonym]:
    """Where a node's configurations give a value, in the order of their rank."""
    for values, source in (
        (configs.of(BROKER, str(node_id)), ConfigSource.DYNAMIC_BROKER),
        (configs.of(BROKER, ALL_BROKERS), ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (node_values, ConfigSource.STATIC_BROKER),
    ):
        for name in config.broker_names:
            value = values.get(name)
            if value is not None and is_usable(config, name, value):
                yield Synonym(name, value, source)


def _default(config: ConfigSpec) -> Synonym:
    name = (config.name, *config.broker_names)[-1]
    return Synonym(name, _in_unit_of(name, config.default), ConfigSource.DEFAULT)


def topic_configs(configs: ConfigsImage, topic: str, node_id: int, node_values: Mapping[str, str]) -> Mapping[str, str]:
    """The effective values of a topic on a node, by name."""
    values = configs.of(TOPIC, topic)
    return {found.config.name: found.value for found in effective_configs(configs, values, node_id, node_values)}


def _in_milliseconds(found: Synonym) -> str:
    unit = _HOURS_AND_MINUTES.get(found.name)
    if unit is None or found.value == "-1" or found.source is ConfigSource.TOPIC:
        return found.value
    number = integer(found.value, ConfigType.LONG)
    return found.value if number is None else str(number * unit)


def _in_unit_of(name: str, default: str) -> str:
    unit = _HOURS_AND_MINUTES.get(name)
    return default if unit is None else str(int(default) // unit)
