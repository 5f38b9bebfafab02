"""Configurations of groups and of client metrics subscriptions: names, types, limits, defaults of Apache Kafka 4.3.1.

A group's values stay between limits that the node's own file sets (`group.consumer.min.session.timeout.ms`, ...); what
a group does not set, the node's configuration of the longer name gives. Those of groups are acted on by their
coordinator; there is no telemetry yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.metadata.config_values import (
    ConfigSpec,
    ConfigType,
    InvalidConfig,
    check,
    integer,
    invalid,
    items_of,
    shown,
)
from controller_runtime.values import dataclass

_I: Final = ConfigType.INT
_GROUP: Final = (
    ConfigSpec("consumer.assignment.interval.ms", _I, "1000", 0,
        broker_names=("group.consumer.assignment.interval.ms",)),
    ConfigSpec("consumer.heartbeat.interval.ms", _I, "5000", 1, broker_names=("group.consumer.heartbeat.interval.ms",)),
    ConfigSpec("consumer.session.timeout.ms", _I, "45000", 1, broker_names=("group.consumer.session.timeout.ms",)),
    ConfigSpec("share.assignment.interval.ms", _I, "1000", 0, broker_names=("group.share.assignment.interval.ms",)),
    ConfigSpec("share.auto.offset.reset", ConfigType.STRING, "latest"),
    ConfigSpec("share.delivery.count.limit", _I, "5", 2, broker_names=("group.share.delivery.count.limit",)),
    ConfigSpec("share.heartbeat.interval.ms", _I, "5000", 1, broker_names=("group.share.heartbeat.interval.ms",)),
    ConfigSpec("share.isolation.level", ConfigType.STRING, "read_uncommitted",
        one_of=("read_committed", "read_uncommitted")),
    ConfigSpec("share.partition.max.record.locks", _I, "2000", 100,
        broker_names=("group.share.partition.max.record.locks",)),
    ConfigSpec("share.record.lock.duration.ms", _I, "30000", 1000,
        broker_names=("group.share.record.lock.duration.ms",)),
    ConfigSpec("share.renew.acknowledge.enable", ConfigType.BOOLEAN, "true"),
    ConfigSpec("share.session.timeout.ms", _I, "45000", 1, broker_names=("group.share.session.timeout.ms",)),
    ConfigSpec("streams.assignment.interval.ms", _I, "1000", 0, broker_names=("group.streams.assignment.interval.ms",)),
    ConfigSpec("streams.heartbeat.interval.ms", _I, "5000", 1, broker_names=("group.streams.heartbeat.interval.ms",)),
    ConfigSpec("streams.initial.rebalance.delay.ms", _I, "3000", 0,
        broker_names=("group.streams.initial.rebalance.delay.ms",)),
    ConfigSpec("streams.num.standby.replicas", _I, "0", 0, broker_names=("group.streams.num.standby.replicas",)),
    ConfigSpec("streams.session.timeout.ms", _I, "45000", 1, broker_names=("group.streams.session.timeout.ms",)),
)  # fmt: skip
GROUP_CONFIGS: Final[Mapping[str, ConfigSpec]] = {config.name: config for config in _GROUP}

CLIENT_CONFIGS: Final[Mapping[str, ConfigSpec]] = {
    config.name: config
    for config in (
        ConfigSpec("interval.ms", _I, "300000"),
        ConfigSpec("match", ConfigType.LIST, "", items_not_empty=True),
        ConfigSpec("metrics", ConfigType.LIST, "", items_not_empty=True),
    )
}


@dataclass(frozen=True, slots=True)
class _Limit:
    """A group's value and the node's configuration that bounds it."""

    name: str
    bound: str
    default: int
    is_least: bool


_LIMITS: Final = tuple(
    _Limit(name, f"group.{kind}.{end}.{rest}", default, end == "min")
    for name, least, most in (
        ("consumer.heartbeat.interval.ms", 5_000, 15_000),
        ("consumer.session.timeout.ms", 45_000, 60_000),
        ("consumer.assignment.interval.ms", 0, 15_000),
        ("share.heartbeat.interval.ms", 5_000, 15_000),
        ("share.session.timeout.ms", 45_000, 60_000),
        ("share.record.lock.duration.ms", 15_000, 60_000),
        ("share.delivery.count.limit", 2, 10),
        ("share.partition.max.record.locks", 100, 4_000),
        ("share.assignment.interval.ms", 0, 15_000),
        ("streams.heartbeat.interval.ms", 5_000, 15_000),
        ("streams.session.timeout.ms", 45_000, 60_000),
        ("streams.assignment.interval.ms", 0, 15_000),
    )
    for kind, rest in (name.split(".", 1),)
    for end, default in (("min", least), ("max", most))
)
_MOST_STANDBYS: Final = "group.streams.max.standby.replicas"

_RESETS: Final = ("earliest", "latest")
_DURATION: Final = re.compile(
    r"by_duration:(?i:[+]?P(?=.)(?:[+]?(\d{1,19})D)?(?:T(?=\+?\d)(?:[+]?(\d{1,19})H)?(?:[+]?(\d{1,19})M)?(?:[+]?(\d{1,19})([.,]\d{0,9})?S)?)?)",
    re.ASCII,
)
_LONGEST_S: Final = 2**63 - 1
_MATCHED: Final = (
    "client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address",
    "client_source_port",
)  # fmt: skip
_LEAST_INTERVAL_MS, _MOST_INTERVAL_MS = 100, 3_600_000


class InvalidSubscription(InvalidConfig):
    """What Kafka calls an invalid request, not an invalid configuration."""


def check_group(values: Mapping[str, str], node_values: Mapping[str, str]) -> None:
    """Raise InvalidConfig for the first value that a group cannot have on a node whose file says `node_values`."""
    for name in values:
        if name not in GROUP_CONFIGS:
            raise InvalidConfig(f"Unknown group config name: {shown(name)}")
    for name, text in values.items():
        check(GROUP_CONFIGS[name], text)
    reset = values.get("share.auto.offset.reset", "latest")
    if reset not in _RESETS and not _is_duration(reset):
        why = (
            f"Invalid value `{shown(reset)}` for configuration share.auto.offset.reset. The value must be either "
            "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )
        raise invalid("share.auto.offset.reset", reset, why)
    for why in _beyond_limits(values, node_values):
        raise InvalidConfig(why)


def _is_duration(text: str) -> bool:
    """Of ISO 8601, as Java reads one, but that no part of it may be negative."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return False
    days, hours, minutes, seconds = (int(number or 0) for number in found.groups()[:4])
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds <= _LONGEST_S


def _beyond_limits(values: Mapping[str, str], node_values: Mapping[str, str]) -> Iterator[str]:
    def value(name: str) -> int:
        config = GROUP_CONFIGS[name]
        of_node = _number(node_values, config.broker_names[0], int(config.default))
        return _number(values, name, of_node)

    for limit in _LIMITS:
        number, bound = value(limit.name), _number(node_values, limit.bound, limit.default)
        if number < bound if limit.is_least else number > bound:
            yield f"{limit.name} must be {'greater' if limit.is_least else 'less'} than or equal to {limit.bound}"
    if value("streams.num.standby.replicas") > _number(node_values, _MOST_STANDBYS, 2):
        yield f"streams.num.standby.replicas must be less than or equal to {_MOST_STANDBYS}"
    for kind in ("consumer", "share", "streams"):
        if value(f"{kind}.session.timeout.ms") <= value(f"{kind}.heartbeat.interval.ms"):
            yield f"{kind}.session.timeout.ms must be greater than {kind}.heartbeat.interval.ms"


def _number(values: Mapping[str, str], name: str, default: int) -> int:
    number = integer(values.get(name))
    return default if number is None else number


def check_subscription(values: Mapping[str, str]) -> None:
    """Raise InvalidConfig for the first value that a client metrics subscription cannot have."""
    for name in values:
        if name not in CLIENT_CONFIGS:
            raise InvalidSubscription(f"Unknown client metrics configuration: {shown(name)}")
    for name, text in values.items():
        check(CLIENT_CONFIGS[name], text)
    interval = integer(values.get("interval.ms"))
    if interval is not None and not _LEAST_INTERVAL_MS <= interval <= _MOST_INTERVAL_MS:
        raise InvalidSubscription(
            f"Invalid value {interval} for interval.ms, interval must be between "
            f"{_LEAST_INTERVAL_MS} and {_MOST_INTERVAL_MS} (1 hour)"
        )
    for pattern in items_of(values.get("match", "")):
        what, equals, wanted = pattern.partition("=")
        if not equals or what.strip() not in _MATCHED or not _is_pattern(wanted.strip()):
            raise InvalidConfig(f"Illegal client matching pattern: {shown(pattern)}")


def _is_pattern(text: str) -> bool:
    """Whether Java would read it as a regular expression, as far as brackets, escapes and quantifiers go. It is never
    matched here.
    """
    if not text or "=" in text or text[0] in "*+?":
        return False
    plain = re.sub(r"\\.", "", text, flags=re.DOTALL)
    without_sets = re.sub(r"\[\^?\]?[^\[\]]*\]", "", plain)
    depth = 0
    for mark in without_sets:
        depth += {"(": 1, ")": -1}.get(mark, 0)
        if depth < 0:
            return False
    return depth == 0 and not re.search(r"\[|\{(?!\d+\})|\\\Z", without_sets)
