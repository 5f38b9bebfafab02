"""Typed values by Kafka's name: what the file says, else Kafka's default.

`check` finds everything wrong with single values at once, each problem with the line that holds it, so the getters
below cannot fail on a checked set. What names mean together (roles, listeners, voters) is for `config`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.configuration.documentation import documentation
from controller_runtime.configuration.names import (
    ACTED,
    BY_NAME,
    CONFIG_NAMES,
    HANDLERS,
    HIDDEN_NAMES,
    INTERNAL_NAMES,
    INTERNAL_ROWS,
    LISTENER_AT_START,
    LISTENER_PREFIX,
    MECHANISM_PREFIXES,
    OAUTH_PREFIX,
    OF_AUTHORIZER,
    OF_LISTENERS,
    OF_MECHANISMS,
    OF_OAUTH,
    OF_PROVIDERS,
    ON_CONNECTIONS,
    ONLY_AT_START,
    OWN_NAMES,
    REFUSED,
    REFUSED_PREFIXES,
    ConfigName,
)
from controller_runtime.configuration.properties import Property
from controller_runtime.metadata.broker_configs import NameOfANode, NodeRules, base_name
from controller_runtime.metadata.config_values import ConfigType, InvalidConfig
from controller_runtime.metadata.topic_configs import check_broker_value
from controller_runtime.security.tls_settings import STORE_NAMES
from controller_runtime.values import dataclass

_RANGES: Final = {"short": 2**15 - 1, "int": 2**31 - 1, "long": 2**63 - 1}

_SECRETS: Final = frozenset(row.name for row in CONFIG_NAMES if row.kind == "password")

_LOWEST: Final = {
    "node.id": 0,
    "alter.log.dirs.replication.quota.window.num": 1,
    "alter.log.dirs.replication.quota.window.size.seconds": 1,
    "broker.heartbeat.interval.ms": 1,
    "broker.session.timeout.ms": 1,
    "controller.quorum.append.linger.ms": 0,
    "controller.quorum.election.backoff.max.ms": 0,
    "controller.quorum.election.timeout.ms": 1,
    "controller.quorum.fetch.max.bytes": 1,
    "controller.quorum.fetch.snapshot.max.bytes": 1,
    "controller.quorum.fetch.timeout.ms": 1,
    "controller.quorum.request.timeout.ms": 1,
    "controller.quorum.retry.backoff.ms": 0,
    "controller.quota.window.num": 1,
    "controller.quota.window.size.seconds": 1,
    "default.replication.factor": 1,
    "delegation.token.expiry.check.interval.ms": 1,
    "delegation.token.expiry.time.ms": 1,
    "delegation.token.max.lifetime.ms": 1,
    "fetch.max.bytes": 1024,
    "initial.broker.registration.timeout.ms": 1,
    "internal.metadata.log.segment.bytes": 1,
    "leader.imbalance.check.interval.seconds": 1,
    "log.flush.interval.messages": 1,
    "log.index.interval.bytes": 0,
    "log.initial.task.delay.ms": 0,
    "log.retention.check.interval.ms": 1,
    "log.index.size.max.bytes": 4,
    "log.segment.bytes": 1024 * 1024,
    "max.connection.creation.rate": 0,
    "max.connections": 0,
    "max.connections.per.ip": 0,
    "message.max.bytes": 0,
    "metadata.log.max.record.bytes.between.snapshots": 1,
    "metadata.log.max.snapshot.interval.ms": 0,
    "metadata.log.segment.bytes": 8 * 1024 * 1024,
    "metadata.max.idle.interval.ms": 0,
    "num.partitions": 1,
    "quota.window.num": 1,
    "quota.window.size.seconds": 1,
    "replication.quota.window.num": 1,
    "replication.quota.window.size.seconds": 1,
    "socket.listen.backlog.size": 1,
    "socket.request.max.bytes": 1,
}
"""Kafka's own lower bounds."""


@dataclass(frozen=True, slots=True)
class Settings:
    properties: Mapping[str, Property]

    def raw(self, name: str) -> str | None:
        written = self.properties.get(name)
        if written is not None:
            return written.value.strip()
        default = BY_NAME[name].default
        return None if default in {"null", "REQUIRED"} else default

    def origin(self, name: str) -> str:
        return self.properties[name].origin if name in self.properties else "default"

    def has(self, name: str) -> bool:
        return name in self.properties

    def text(self, name: str) -> str | None:
        return self.raw(name) or None

    def integer(self, name: str) -> int:
        value = self.raw(name)
        assert value is not None, f"{name} has no default: ask has() first"
        return int(value)

    def plain(self, name: str, default: str) -> str:
        """Of a name that Kafka itself does not know."""
        written = self.properties.get(name)
        return default if written is None else written.value

    def boolean(self, name: str) -> bool:
        return (self.raw(name) or "").lower() == "true"

    def values(self) -> dict[str, str]:
        """The lines of the file."""
        return {one.name: one.value for one in self.properties.values()}

    def items(self, name: str) -> tuple[str, ...]:
        return tuple(item.strip() for item in (self.raw(name) or "").split(",") if item.strip())


def row_of(name: str) -> ConfigName | None:
    """What is known of a name, also of one with the prefix of a listener."""
    if name.startswith(LISTENER_PREFIX):
        bare = _of_listener(name)
        return None if bare is None else BY_NAME.get(bare)
    return BY_NAME.get(name) or INTERNAL_ROWS.get(name)


def _of_listener(name: str) -> str | None:
    """The name after the listener, and after the mechanism, where a listener or mechanism may have its own."""
    bare = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
    mechanism, _, rest = bare.partition(".")
    if mechanism in MECHANISM_PREFIXES:
        is_own = mechanism == OAUTH_PREFIX and (rest in HANDLERS or rest.startswith(OF_OAUTH))
        return rest if rest in OF_MECHANISMS or is_own else None
    return bare if bare in ON_CONNECTIONS or bare.startswith(OF_LISTENERS) else None


def check(properties: Mapping[str, Property]) -> Iterator[str]:
    """Problems of single values: wrong type, out of range, refused."""
    for written in properties.values():
        row = row_of(written.name)
        reason = refusal(written, row)
        if reason is not None:
            yield (
                f"{written.origin}: {written.name} is not supported, and without it {reason}. "
                "The node does not start; remove the line or set Kafka's default."
            )
        elif row is not None and (why := _fault(row, written.value.strip())) is not None:
            shown = "[hidden]" if is_secret(written.name) else written.value
            yield f"{written.origin}: Invalid value {shown} for configuration {written.name}: {why}"


def is_secret(name: str) -> bool:
    """Its value is never shown; before the name there may be a listener and a mechanism."""
    return any(name == one or name.endswith(f".{one}") for one in _SECRETS)


def refusal(written: Property, row: ConfigName | None) -> str | None:
    if row is not None and row.standing == REFUSED:
        return None if _same(row, written.value.strip()) else row.reason
    if written.name.startswith(LISTENER_PREFIX):
        return _refusal_of_listener(written)
    if row is None and written.name.startswith(REFUSED_PREFIXES):
        return "the security it asks for would be missing"
    return None


def _refusal_of_listener(written: Property) -> str | None:
    """`listener.name.<listener>.<name>`: as the name itself, if a listener may have its own."""
    name = _of_listener(written.name)
    row = None if name is None else BY_NAME.get(name)
    if name is None or row is None:
        return "the settings of that listener would not be in force"
    return refusal(Property(name, written.value, written.origin), row)


def is_store_of_listener(name: str) -> bool:
    """A store of one listener: what of its security may change while a node runs."""
    return name.startswith(LISTENER_PREFIX) and name.removeprefix(LISTENER_PREFIX).partition(".")[2] in STORE_NAMES


def refusal_at_run_time(name: str, value: str) -> str | None:
    """Why this node may not be given the value while it runs: it would be without effect where security or durability
    need one.
    """
    if name.startswith(LISTENER_PREFIX) and base_name(name) not in ON_CONNECTIONS:
        return None if is_store_of_listener(name) else LISTENER_AT_START
    return ONLY_AT_START.get(name) or refusal(Property(name, value, "IncrementalAlterConfigs"), BY_NAME.get(name))


RULES: Final = NodeRules(
    names={
        row.name: NameOfANode(
            ConfigType[row.kind.upper()], None if row.default in ("null", "REQUIRED") else row.default
        )
        for row in CONFIG_NAMES
    },
    hidden=frozenset(HIDDEN_NAMES),
    documentation=documentation,
    refusal=refusal_at_run_time,
)


def _same(row: ConfigName, value: str) -> bool:
    """Is the value Kafka's default, written in whatever way?"""
    if row.default == "null":
        return value == ""
    if row.kind in _RANGES and value.lstrip("-").isdigit():
        return int(value) == int(row.default)
    return value.lower() == row.default.lower() if row.kind == "boolean" else value == row.default


def _topic_fault(row: ConfigName, value: str) -> str | None:
    """What no topic may have, a broker may not give its topics."""
    try:
        check_broker_value(row.name, value)
    except InvalidConfig as error:
        return str(error).rpartition(": ")[2]
    return None


def _fault(row: ConfigName, value: str) -> str | None:
    if row.kind in _RANGES:
        return _integer_fault(row, value) or _topic_fault(row, value)
    if row.kind == "boolean" and value.lower() not in {"true", "false"}:
        return "Expected value to be either true or false"
    if row.kind == "double":
        try:
            float(value)
        except ValueError:
            return "Not a number of type DOUBLE"
    return None


def _integer_fault(row: ConfigName, value: str) -> str | None:
    digits = value.removeprefix("-").removeprefix("+")
    if not digits.isascii() or not digits.isdigit() or abs(int(value)) > _RANGES[row.kind]:
        return f"Not a number of type {row.kind.upper()}"
    if int(value) < _LOWEST.get(row.name, -(2**63)):
        return f"Value must be at least {_LOWEST[row.name]}"
    return None


def notices(properties: Mapping[str, Property]) -> Iterator[str]:
    """What a start says about names it does not act on."""
    for written in properties.values():
        row = row_of(written.name)
        if row is None:
            if not _is_of_others(written.name):
                yield f"{written.origin}: {written.name} is not a known configuration, it is ignored"
        elif (
            row.standing != ACTED
            and not written.name.startswith(LISTENER_PREFIX)
            and not _same(row, written.value.strip())
        ):
            yield f"{written.origin}: {written.name} is ignored: {row.reason}"


def _is_of_others(name: str) -> bool:
    """Not Kafka's own names, and known all the same."""
    return name in (*OWN_NAMES, *OF_AUTHORIZER, *INTERNAL_NAMES) or name.startswith(OF_PROVIDERS)
