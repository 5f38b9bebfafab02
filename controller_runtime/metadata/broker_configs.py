"""A broker's configurations that can change while it runs: types, limits and defaults of Apache Kafka 4.3.1, and what
they say together.

The tables are what Kafka's own classes report (`DynamicBrokerConfig`, `AbstractKafkaConfig`);
`tests/golden/kafka-4.3.1/configs` holds its answers to values of every name. A name may also stand after
`listener.name.<listener>.`. Names that Kafka does not know are anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from controller_runtime.metadata.config_values import (
    BLANKS,
    ConfigSpec,
    ConfigType,
    InvalidConfig,
    check,
    integer,
    items_of,
    shown,
)
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, ConfigsImage
from controller_runtime.values import dataclass

_OF_ALL: Final = """
background.threads int 1.. 10
compression.gzip.level int 1..9|-1 -1
compression.lz4.level int 1..17 9
compression.type string =uncompressed,zstd,lz4,snappy,gzip,producer producer
compression.zstd.level int -131072..22 3
config.providers list -
follower.fetch.last.tiered.offset.enable boolean - false
follower.replication.throttled.rate long 0.. 9223372036854775807
group.consumer.assignment.interval.ms int 0.. 1000
group.coordinator.cached.buffer.max.bytes int 524288.. 1048588
group.share.assignment.interval.ms int 0.. 1000
group.streams.assignment.interval.ms int 0.. 1000
leader.replication.throttled.rate long 0.. 9223372036854775807
log.cleaner.backoff.ms long 0.. 15000
log.cleaner.dedupe.buffer.size long - 134217728
log.cleaner.delete.retention.ms long 0.. 86400000
log.cleaner.io.buffer.load.factor double - 0.9
log.cleaner.io.buffer.size int 0.. 524288
log.cleaner.io.max.bytes.per.second double - 1.7976931348623157E308
log.cleaner.max.compaction.lag.ms long 1.. 9223372036854775807
log.cleaner.min.cleanable.ratio double 0..1 0.5
log.cleaner.min.compaction.lag.ms long 0.. 0
log.cleaner.threads int 0.. 1
log.cleanup.policy list =compact,delete delete
log.flush.interval.messages long 1.. 9223372036854775807
log.flush.interval.ms long - null
log.index.interval.bytes int 0.. 4096
log.index.size.max.bytes int 4.. 10485760
log.local.retention.bytes long -2.. -2
log.local.retention.ms long -2.. -2
log.message.timestamp.after.max.ms long 0.. 3600000
log.message.timestamp.before.max.ms long 0.. 9223372036854775807
log.message.timestamp.type string =CreateTime,LogAppendTime CreateTime
log.preallocate boolean - false
log.retention.bytes long - -1
log.retention.ms long - null
log.roll.jitter.ms long - null
log.roll.ms long - null
log.segment.bytes int 1048576.. 1073741824
log.segment.delete.delay.ms long 0.. 60000
max.connection.creation.rate int 0.. 2147483647
max.connections int 0.. 2147483647
max.connections.per.ip int 0.. 2147483647
max.connections.per.ip.overrides string -
message.max.bytes int 0.. 1048588
metric.reporters list - org.apache.kafka.common.metrics.JmxReporter
min.insync.replicas int 1.. 1
num.io.threads int 1.. 8
num.network.threads int 1.. 3
num.recovery.threads.per.data.dir int 1.. 2
num.replica.fetchers int 1.. 1
producer.id.expiration.ms int 1.. 86400000
remote.fetch.max.wait.ms int 1.. 500
remote.list.offsets.request.timeout.ms long 1.. 30000
remote.log.index.file.cache.total.size.bytes long 1.. 1073741824
remote.log.manager.copier.thread.pool.size int 1.. 10
remote.log.manager.copy.max.bytes.per.second long 1.. 9223372036854775807
remote.log.manager.expiration.thread.pool.size int 1.. 10
remote.log.manager.fetch.max.bytes.per.second long 1.. 9223372036854775807
remote.log.manager.follower.thread.pool.size int 1.. 2
remote.log.reader.threads int 1.. 10
replica.alter.log.dirs.io.max.bytes.per.second long 0.. 9223372036854775807
share.coordinator.cached.buffer.max.bytes int 524288.. 1048588
transaction.partition.verification.enable boolean - true
unclean.leader.election.enable boolean - false
"""
"""Name, type, limits (`-`: none), default. May be set for one broker or for all."""

_OF_ONE: Final = """
cordoned.log.dirs list -
listener.security.protocol.map string - SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
listeners list - PLAINTEXT://:9092
principal.builder.class class - org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder
sasl.enabled.mechanisms list - GSSAPI
sasl.jaas.config password - null
sasl.kerberos.kinit.cmd string - /usr/bin/kinit
sasl.kerberos.min.time.before.relogin long - 60000
sasl.kerberos.principal.to.local.rules list - DEFAULT
sasl.kerberos.service.name string - null
sasl.kerberos.ticket.renew.jitter double - 0.05
sasl.kerberos.ticket.renew.window.factor double - 0.8
sasl.login.refresh.buffer.seconds short - 300
sasl.login.refresh.min.period.seconds short - 60
sasl.login.refresh.window.factor double - 0.8
sasl.login.refresh.window.jitter double - 0.05
sasl.mechanism.inter.broker.protocol string - GSSAPI
ssl.cipher.suites list -
ssl.client.auth string =required,requested,none none
ssl.enabled.protocols list - TLSv1.2,TLSv1.3
ssl.endpoint.identification.algorithm string - https
ssl.engine.factory.class class - null
ssl.key.password password - null
ssl.keymanager.algorithm string - SunX509
ssl.keystore.certificate.chain password - null
ssl.keystore.key password - null
ssl.keystore.location string - null
ssl.keystore.password password - null
ssl.keystore.type string - JKS
ssl.protocol string - TLSv1.3
ssl.provider string - null
ssl.secure.random.implementation string - null
ssl.trustmanager.algorithm string - PKIX
ssl.truststore.certificates password - null
ssl.truststore.location string - null
ssl.truststore.password password - null
ssl.truststore.type string - JKS
"""
"""For one broker only."""
_NAMES_OF_ONE: Final = frozenset(line.partition(" ")[0] for line in _OF_ONE.strip().split("\n"))

_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_OF_ALL_LISTENERS: Final = ("max.connections", "max.connection.creation.rate", "num.network.threads")
_AFTER_A_LISTENER_ONLY: Final = re.compile(r"ssl\.(key\.password|(keystore|truststore)\..*)")
_THREADS: Final = (
    "background.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size", "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size", "remote.log.reader.threads",
)  # fmt: skip
"""Pools that may at most double or halve at once."""
_RETENTION: Final = (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000))
"""Names of one duration, the most exact first, and the milliseconds of their units."""
_WEEK_MS: Final = 604_800_000
"""How long it is when none of them is set."""
_ADDRESS: Final = re.compile(r"[0-9a-zA-Z\-%._:]*")
_MEBIBYTE: Final = 1024 * 1024
_REPORTER: Final = "org.apache.kafka.common.metrics.JmxReporter"


@cache
def specs() -> Mapping[str, ConfigSpec]:
    return {spec.name: spec for spec in map(_spec, f"{_OF_ALL}{_OF_ONE}".split("\n")) if spec}


def _spec(line: str) -> ConfigSpec | None:
    if not line:
        return None
    name, kind, limits, default, *_ = [*line.split(), ""]
    low, dots, high = limits.partition("..")
    high, _, other = high.partition("|")
    return ConfigSpec(
        name,
        ConfigType[kind.upper()],
        default,
        at_least=int(low) if dots else None,
        at_most=int(high) if high else None,
        one_of=tuple(limits[1:].split(",")) if limits.startswith("=") else (),
        or_equal_to=int(other) if other else None,
        items_not_empty=name != "config.providers",
    )


def base_name(name: str) -> str:
    """Without `listener.name.<listener>.`."""
    found = _LISTENER.fullmatch(name)
    return found.group(1) if found else name


def _never(_: str) -> bool:
    return False


def _no_reason(_name: str, _value: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class NodeRules:
    """What a node's own program knows of names. By default it knows none and refuses none."""

    is_known: Callable[[str], bool] = _never
    """Whether Kafka has a configuration of this name."""
    refusal: Callable[[str, str], str | None] = _no_reason
    """Why this node may not be given a value, if it may not: it would be without effect where security or durability
    need one.
    """


@dataclass(frozen=True, slots=True)
class OwnConfigs:
    """A node as the one whose configurations are changed: its id, its file, its rules."""

    node_id: int
    file: Mapping[str, str]
    rules: NodeRules = NodeRules()

    def is_named(self, resource: str) -> bool:
        return node_id_of(resource) == self.node_id


def node_id_of(resource: str) -> int | None:
    """The number that a broker resource's name is, as Java reads one."""
    return integer(resource) if _NUMBER.fullmatch(resource) else None


def refuse_names(names: Mapping[str, str], rules: NodeRules) -> None:
    """Raise InvalidConfig, naming the first, when this node may not be given one of these values."""
    for name, value in names.items():
        if (why := rules.refusal(name, value)) is not None:
            raise InvalidConfig(f"{shown(name)} cannot be set on this node: {why}. Leave it at Kafka's default.")


def without_effect(before: ConfigsImage, after: ConfigsImage, own: OwnConfigs) -> Iterator[str]:
    """What a node should tell when its dynamic configurations become `after`: names that it does not know, or cannot
    honour.

    They come from a controller that was asked directly, or through another broker. Values are not shown: they may be
    secrets.
    """
    for resource in (str(own.node_id), ALL_BROKERS):
        old, new = before.of(BROKER, resource), after.of(BROKER, resource)
        for name, value in new.items():
            if old.get(name) == value:
                continue
            if (why := own.rules.refusal(name, value)) is not None:
                yield f"{shown(name)} is without effect on this node: {why}"
            elif base_name(name) not in specs() and not own.rules.is_known(name):
                yield f"{shown(name)} is not a known configuration, it is ignored"


def check_change(
    configs: ConfigsImage, resource: str, values: Mapping[str, str], set_now: Mapping[str, str], own: OwnConfigs
) -> None:
    """Raise InvalidConfig when a broker of Kafka's would not take `set_now` for itself (or for all, the resource
    without a name).

    `values`: everything that the resource will have.
    """
    if static := [name for name in set_now if own.rules.is_known(name) and name not in specs()]:
        raise InvalidConfig(f"Cannot update these configs dynamically: {_set_of(static)}")
    if bare := [name for name in set_now if _AFTER_A_LISTENER_ONLY.fullmatch(name)]:
        raise InvalidConfig(
            f"These security configs can be dynamically updated only per-listener using the listener prefix: {_set_of(bare)}"
        )
    for name, text in set_now.items():
        if (spec := specs().get(base_name(name))) is not None:
            check(spec, text)
    if resource == ALL_BROKERS and (single := [name for name in set_now if _is_of_one(name)]):
        raise InvalidConfig(
            f"Cannot update these configs at default cluster level, broker id must be specified: {_set_of(single)}"
        )
    mine, of_all = configs.of(BROKER, str(own.node_id)), configs.of(BROKER, ALL_BROKERS)
    after = (mine, values, own.file) if resource == ALL_BROKERS else (values, of_all, own.file)
    _Together(_Values((mine, of_all, own.file)), _Values(after), set_now).check()


def _set_of(names: list[str]) -> str:
    return f"[{shown(', '.join(names))}]"


def _is_of_one(name: str) -> bool:
    base = base_name(name)
    return name in _NAMES_OF_ONE or (base != name and base not in _OF_ALL_LISTENERS)


@dataclass(frozen=True, slots=True)
class _Values:
    """What holds on a node. Dynamic values that make no sense count for nothing, as in Kafka."""

    layers: tuple[Mapping[str, str], ...]

    def text(self, name: str) -> str:
        """Empty where nothing is set, nor by default."""
        found = (layer[name] for layer in self.layers if name in layer and _makes_sense(name, layer[name]))
        known = specs().get(name)
        return next(found, known.default if known is not None and known.default != "null" else "")

    def number(self, name: str) -> int | None:
        return integer(self.text(name), ConfigType.LONG)

    def whole(self, name: str, default: int = 0) -> int:
        number = self.number(name)
        return default if number is None else number


def _makes_sense(name: str, text: str) -> bool:
    spec = specs().get(name)
    if spec is None:
        return True
    try:
        check(spec, text)
    except InvalidConfig:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Together:
    """What values of several names say together, in Kafka's words."""

    before: _Values
    after: _Values
    changed: Mapping[str, str]

    def check(self) -> None:
        for why in self._faults():
            raise InvalidConfig(why)

    def _faults(self) -> Iterator[str]:
        yield from self._times()
        yield from self._cleaner()
        yield from self._connections()
        yield from self._directories_and_classes()
        yield from self._groups()
        yield from self._pools()
        yield from self._tiers()

    def _times(self) -> Iterator[str]:
        for name, least in (("log.roll.ms", 1), ("log.roll.jitter.ms", 0)):
            number = integer(self.changed.get(name), ConfigType.LONG)
            if number is not None and number < least:
                yield f"requirement failed: {name} must be greater than or equal to {least}"
        if integer(self.changed.get("log.retention.ms"), ConfigType.LONG) == 0:
            yield "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"

    def _cleaner(self) -> Iterator[str]:
        threads, size = self.after.whole("log.cleaner.threads"), self.after.whole("log.cleaner.dedupe.buffer.size")
        if threads == 0:
            yield "log.cleaner.threads must be at least 1"
        elif size // threads <= _MEBIBYTE:
            yield "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
        before = self.before.whole("log.cleaner.threads")
        if threads < before // 2:
            yield f"Log cleaner threads cannot be reduced to less than half the current value {before}"
        if threads > before * 2:
            yield f"Log cleaner threads cannot be increased to more than double the current value {before}"

    def _connections(self) -> Iterator[str]:
        name = "max.connections.per.ip.overrides"
        if self.after.number("max.connections.per.ip") == 0 and not self.after.text(name):
            yield f"requirement failed: max.connections.per.ip can be set to zero only if {name} property is set."
        for entry in items_of(self.changed.get(name, "").rstrip(f"{BLANKS},")):
            address, colon, limit = entry.rpartition(":")
            if not colon or integer(limit) is None:
                yield f"Error parsing configuration property '{name}': {shown(entry)}"
            if not _ADDRESS.fullmatch(address.strip(BLANKS)):
                yield f"{name} contains invalid addresses : {shown(address.strip(BLANKS))}"

    def _directories_and_classes(self) -> Iterator[str]:
        cordoned = items_of(self.changed.get("cordoned.log.dirs", ""))
        own = items_of(self.after.text("log.dirs") or self.after.text("log.dir"))
        if "*" in cordoned and len(cordoned) > 1:
            yield "requirement failed: When cordoned.log.dirs is set to *, it must not contain other values"
        if missing := [one for one in cordoned if one not in own and one != "*"]:
            yield (
                "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. "
                f"Missing entries : {shown(', '.join(dict.fromkeys(missing)))}"
            )
        if any(one != _REPORTER for one in items_of(self.changed.get("metric.reporters", ""))):
            yield "Validation of dynamic config update of metric.reporters failed: no such class"

    def _groups(self) -> Iterator[str]:
        for kind in ("consumer", "share", "streams"):
            name, limits = f"group.{kind}.assignment.interval.ms", f"group.{kind}.%s.assignment.interval.ms"
            interval = self.after.whole(name)
            if interval < self.after.whole(limits % "min"):
                yield f"{name} must be greater than or equal to {limits % 'min'}"
            if interval > self.after.whole(limits % "max", 15_000):
                yield f"{name} must be less than or equal to {limits % 'max'}"

    def _pools(self) -> Iterator[str]:
        for name in _THREADS:
            old, new = self.before.whole(name), self.after.whole(name)
            failed = f"Dynamic thread count update validation failed for {name}={new}, value should"
            if new < old // 2:
                yield f"{failed} be at least half the current value {old}"
            if new > old * 2:
                yield f"{failed} not be greater than double the current value {old}"

    def _tiers(self) -> Iterator[str]:
        times = ((self.after.number(name), unit) for name, unit in _RETENTION)
        whole_ms = next((number * unit for number, unit in times if number is not None), _WEEK_MS)
        for unit, of_all in (("ms", whole_ms), ("bytes", self.after.whole("log.retention.bytes"))):
            name = f"log.local.retention.{unit}"
            local = self.after.whole(name)
            if of_all < 0:
                continue
            if local == -1:
                yield f"Invalid value -1 for configuration {name}: Value must not be -1 as log.retention.{unit} value is set as {of_all}."
            elif local > of_all:
                yield (
                    f"Invalid value {local} for configuration {name}: Value must not be more than log.retention.{unit} property "
                    f"value: {of_all}"
                )
