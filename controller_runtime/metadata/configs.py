"""Dynamic configurations by resource: what ConfigRecords set, nothing about what the names mean.

Resource types are Kafka's: 2 topic, 4 broker (the empty name is the default of all brokers), 16 client metrics, 32
group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.metadata.sharded import ShardedMap, ShardedMapBuilder
from controller_runtime.values import dataclass, field

TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
"""Levels of logs: never recorded."""
CLIENT_METRICS: Final = 16
GROUP: Final = 32
ALL_BROKERS: Final = ""

Values = Mapping[str, str]
_NO_VALUES: Final[Values] = {}


@dataclass(frozen=True, slots=True)
class ConfigsImage:
    by_type: Mapping[int, ShardedMap[str, Values]] = field(default_factory=dict)

    def of(self, resource_type: int, name: str) -> Values:
        """What is set for this resource; empty when nothing is."""
        resources = self.by_type.get(resource_type)
        return _NO_VALUES if resources is None else resources.get(name, _NO_VALUES)

    def items(self) -> Iterator[tuple[int, str, Values]]:
        """(resource type, resource name, values) of every resource that has any."""
        for resource_type in sorted(self.by_type):
            for name, values in self.by_type[resource_type].items():
                yield resource_type, name, values

    def changes_since(self, before: ConfigsImage) -> Iterator[tuple[int, str, Values]]:
        """(resource type, resource name, values now) of every resource that was changed since an older image."""
        nothing: ShardedMap[str, Values] = ShardedMap()
        for resource_type in sorted({*self.by_type, *before.by_type}):
            mine = self.by_type.get(resource_type, nothing)
            for name, _, now in mine.changes_since(before.by_type.get(resource_type, nothing)):
                yield resource_type, name, now or _NO_VALUES


class ConfigsBuilder:
    """Collects changes; a resource whose last value is deleted disappears."""

    __slots__ = ("_base", "_builders", "_view")

    def __init__(self, base: ConfigsImage) -> None:
        self._base = base
        self._view: ConfigsImage | None = None
        self._builders: dict[int, ShardedMapBuilder[str, Values]] = {}

    def set(self, resource_type: int, name: str, key: str, value: str | None) -> None:
        """Set one value; None deletes it."""
        resources = self._of_type(resource_type)
        values = dict(resources.get(name) or _NO_VALUES)
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
        if values:
            resources[name] = values
        else:
            resources.pop(name)

    def remove(self, resource_type: int, name: str) -> None:
        """Forget the whole resource."""
        self._of_type(resource_type).pop(name)

    def view(self) -> ConfigsImage:
        """What `freeze` would give; it changes with the next write."""
        if self._view is None:
            views = {resource_type: builder.view() for resource_type, builder in self._builders.items()}
            self._view = ConfigsImage({**self._base.by_type, **views})
        return self._view

    def freeze(self) -> ConfigsImage:
        frozen = {resource_type: builder.freeze() for resource_type, builder in self._builders.items()}
        by_type = {key: value for key, value in {**self._base.by_type, **frozen}.items() if value}
        self._base = ConfigsImage(by_type)
        return self._base

    def _of_type(self, resource_type: int) -> ShardedMapBuilder[str, Values]:
        found = self._builders.get(resource_type)
        if found is None:
            base: ShardedMap[str, Values] = self._base.by_type.get(resource_type) or ShardedMap()
            found = self._builders[resource_type] = base.builder()
            self._view = None
        return found
