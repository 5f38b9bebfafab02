"""The configurations of a node as DescribeConfigs tells them: every name that Kafka has, and what else is set.

A value comes from the first of Kafka's places that has one: this node's dynamic values, those of all nodes, the file,
the default. One duration may have several names in falling precision (`log.retention.ms`, `.minutes`, `.hours`): a
place of higher rank hides all of them. What a node would not take is of no place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import dropwhile
from typing import Final

from controller_runtime.metadata.broker_config_specs import specs
from controller_runtime.metadata.broker_configs import OwnConfigs, base_name, in_force
from controller_runtime.metadata.config_values import BLANKS, ConfigType, items_of
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, ConfigsImage
from controller_runtime.metadata.topic_configs import ConfigSource, Synonym
from controller_runtime.values import dataclass

_FAMILIES: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_RELATED: Final = {
    **{name: family for family in _FAMILIES for name in family},
    "log.flush.scheduler.interval.ms": ("log.flush.scheduler.interval.ms",),
}
"""The scheduler's interval stands in for the other one, not the other way round."""
_OF_A_MECHANISM: Final = (
    "sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class", "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)  # fmt: skip
"""After `listener.name.<listener>.` these may have a mechanism before them."""


@dataclass(frozen=True, slots=True)
class NodeConfig:
    name: str
    type: ConfigType | None
    """None: Kafka does not know the name."""
    value: str | None
    """None: there is none, or it is not shown."""
    synonyms: tuple[Synonym, ...]
    """The places that have a value, in the order of their rank."""

    @property
    def is_sensitive(self) -> bool:
        """Of a name that Kafka does not know nobody can say whether its value is a secret."""
        return self.type in (None, ConfigType.PASSWORD)

    @property
    def is_read_only(self) -> bool:
        return self.name not in specs()


def of_all_nodes(configs: ConfigsImage, own: OwnConfigs) -> Iterator[NodeConfig]:
    """What is set for all nodes, without what a node sets aside."""
    values = in_force(configs.of(BROKER, ALL_BROKERS), own, of_all=True)
    for name, value in sorted(values.items()):
        places = ((values, ConfigSource.DYNAMIC_DEFAULT_BROKER),)
        yield NodeConfig(name, _type(name, own), value, tuple(_synonyms(name, places)))


def of_this_node(configs: ConfigsImage, own: OwnConfigs) -> Iterator[NodeConfig]:
    mine = in_force(configs.of(BROKER, str(own.node_id)), own, of_all=False)
    of_all = in_force(configs.of(BROKER, ALL_BROKERS), own, of_all=True)
    file = _with_both_ids(own.file)
    known = own.rules.names
    defaults = {name: row.default for name, row in known.items() if row.default is not None}
    places = (
        (mine, ConfigSource.DYNAMIC_BROKER),
        (of_all, ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (file, ConfigSource.STATIC_BROKER),
        (defaults, ConfigSource.DEFAULT),
    )
    set_here = _together(file, of_all, mine)
    for name in sorted({*set_here, *known}):
        kind, value = _type(name, own), set_here.get(name, defaults.get(name))
        shown = value if value is None or name not in known or kind is None else _written(kind, value)
        yield NodeConfig(name, kind, shown, tuple(_synonyms(name, places)))


def _type(name: str, own: OwnConfigs) -> ConfigType | None:
    row = own.rules.names.get(name) or own.rules.names.get(_stands_for(name))
    return None if row is None else row.type


def _stands_for(name: str) -> str:
    """The name that this one is of a listener, or of a mechanism of one; else itself."""
    base = base_name(name)
    return base if base == name else next((one for one in _OF_A_MECHANISM if base.endswith(one)), base)


def _with_both_ids(file: Mapping[str, str]) -> Mapping[str, str]:
    """`broker.id` is the older name of `node.id`: who has one has the other."""
    node_id = file.get("node.id", file.get("broker.id"))
    return file if node_id is None else {**file, "node.id": node_id, "broker.id": file.get("broker.id", node_id)}


def _together(*layers: Mapping[str, str]) -> dict[str, str]:
    """The last layer wins, and with it its name over the others of one family."""
    found: dict[str, str] = {}
    for layer in layers:
        for name in layer:
            for other in _RELATED.get(name, (name,)):
                found.pop(other, None)
        found.update(layer)
    return found


def _synonyms(name: str, places: tuple[tuple[Mapping[str, str], ConfigSource], ...]) -> Iterator[Synonym]:
    """From the first that has this very name on: of a base name those of listeners are not shown."""
    names = _RELATED.get(name, (name,))
    if (base := _stands_for(name)) != name:
        names = (name, base)
    found = (Synonym(one, values[one], source) for values, source in places for one in names if one in values)
    return dropwhile(lambda synonym: synonym.name != name, found)


def _written(kind: ConfigType, text: str) -> str:
    """As Kafka writes a value that it has read."""
    text = text.strip(BLANKS)
    match kind:
        case ConfigType.BOOLEAN:
            return text.lower()
        case ConfigType.INT | ConfigType.LONG | ConfigType.SHORT:
            return str(int(text))
        case ConfigType.LIST:
            return ",".join(items_of(text))
        case _:
            return text
