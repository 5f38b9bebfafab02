"""What the values of several names say together on one node, in Kafka's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.metadata.broker_config_specs import specs
from controller_runtime.metadata.config_values import BLANKS, ConfigType, InvalidConfig, check, integer, items_of, shown
from controller_runtime.values import dataclass

_THREADS: Final = (
    "background.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size", "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size", "remote.log.reader.threads",
)  # fmt: skip
"""Pools that may at most double or halve at once."""


_RETENTION: Final = (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000))
"""Names of one duration, the most exact first, and the milliseconds of their units."""


_WEEK_MS: Final = 604_800_000
"""How long it is when none of them is set."""


_ADDRESS: Final = re.compile(r"[0-9a-zA-Z\-%._:]*")


_CONNECTIONS: Final = re.compile(r"(?:listener\.name\.[^.]*\.)?(max\.connections|max\.connection\.creation\.rate)")


_MEBIBYTE: Final = 1024 * 1024


_REPORTER: Final = "org.apache.kafka.common.metrics.JmxReporter"


@dataclass(frozen=True, slots=True)
class Values:
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
class Together:
    """What values of several names say together, in Kafka's words."""

    before: Values
    after: Values
    changed: Mapping[str, str]

    def check(self) -> None:
        for why in self._faults():
            raise InvalidConfig(why)

    def _faults(self) -> Iterator[str]:
        yield from self._times()
        yield from self._cleaner()
        yield from self.connections()
        yield from self._nobody()
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

    def connections(self) -> Iterator[str]:
        name = "max.connections.per.ip.overrides"
        if self.after.number("max.connections.per.ip") == 0 and not self.after.text(name):
            yield f"requirement failed: max.connections.per.ip can be set to zero only if {name} property is set."
        for entry in items_of(self.changed.get(name, "").rstrip(f"{BLANKS},")):
            address, colon, limit = entry.rpartition(":")
            if not colon or integer(limit) is None:
                yield f"Error parsing configuration property '{name}': {shown(entry)}"
            if not _ADDRESS.fullmatch(address.strip(BLANKS)):
                yield f"{name} contains invalid addresses : {shown(address.strip(BLANKS))}"

    def _nobody(self) -> Iterator[str]:
        """A file may say that nobody is let in; then nobody could change it."""
        for name, text in self.changed.items():
            if (bound := _CONNECTIONS.fullmatch(name)) and integer(text) == 0:
                yield f"Invalid {bound.group(1)} 0"

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
                yield (
                    f"Invalid value -1 for configuration {name}: Value must not be -1 as "
                    f"log.retention.{unit} value is set as {of_all}."
                )
            elif local > of_all:
                yield (
                    f"Invalid value {local} for configuration {name}: Value must not be more than "
                    f"log.retention.{unit} property value: {of_all}"
                )
