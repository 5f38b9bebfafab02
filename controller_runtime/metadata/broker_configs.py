"""What may be changed of a broker's configurations while it runs, and by whom.

`tests/golden/kafka-4.3.1/configs` holds its answers to values of every name. A name may also stand after
`listener.name.<listener>.`. Names that Kafka does not know are anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Final

from controller_runtime.metadata.broker_config_relations import Together, Values
from controller_runtime.metadata.broker_config_specs import NAMES_OF_ONE, specs
from controller_runtime.metadata.config_values import (
    ConfigType,
    InvalidConfig,
    check,
    integer,
    shown,
)
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, ConfigsImage
from controller_runtime.values import dataclass, field

_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_OF_ALL_LISTENERS: Final = ("max.connections", "max.connection.creation.rate", "num.network.threads")
_AFTER_A_LISTENER_ONLY: Final = re.compile(r"ssl\.(key\.password|(keystore|truststore)\..*)")


def base_name(name: str) -> str:
    """Without `listener.name.<listener>.`."""
    found = _LISTENER.fullmatch(name)
    return found.group(1) if found else name


def _no_loggers() -> Mapping[str, str]:
    return {}


def _no_documentation(_resource_type: int) -> Mapping[str, str]:
    return {}


def _no_reason(_name: str, _value: str) -> str | None:
    return None


def _no_fault(_values: Mapping[str, str]) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class NameOfANode:
    """A name of Kafka's for nodes."""

    type: ConfigType
    default: str | None


@dataclass(frozen=True, slots=True)
class NodeRules:
    """What a node's own program knows of names. By default it knows none and refuses none."""

    names: Mapping[str, NameOfANode] = field(default_factory=dict)
    """What Kafka lists."""
    hidden: Container[str] = ()
    """What Kafka has besides and does not list."""
    documentation: Callable[[int], Mapping[str, str]] = _no_documentation
    """What Kafka says of the names of a type of resources."""
    loggers: Callable[[], Mapping[str, str]] = _no_loggers
    """The loggers of its process and their levels, in Kafka's words."""
    refusal: Callable[[str, str], str | None] = _no_reason
    """Why this node may not be given a value, if it may not: it would be without effect where security or durability
    need one.
    """

    unusable_stores: Callable[[Mapping[str, str]], str | None] = _no_fault
    """What would be wrong with the stores of this node's listeners if it had these dynamic values; looks into files."""

    def is_known(self, name: str) -> bool:
        """Whether Kafka has a configuration of this name."""
        return name in self.names or name in self.hidden


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


def refuse_stores(before: Mapping[str, str], after: Mapping[str, str], rules: NodeRules) -> None:
    """Raise InvalidConfig when the stores of this node's listeners could not be used after a change of what concerns
    them.
    """
    touched = {name for name in {*before, *after} if _AFTER_A_LISTENER_ONLY.fullmatch(base_name(name))}
    if all(before.get(name) == after.get(name) for name in touched):
        return
    if (why := rules.unusable_stores(after)) is not None:
        raise InvalidConfig(f"{why}. The node keeps the stores that it has.")


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


def in_force(values: Mapping[str, str], own: OwnConfigs, *, of_all: bool) -> Mapping[str, str]:
    """What a node takes of its dynamic values, or of those of all nodes: a controller keeps any."""
    return {name: text for name, text in values.items() if _is_taken(name, text, own, of_all=of_all)}


def _is_taken(name: str, text: str, own: OwnConfigs, *, of_all: bool) -> bool:
    if _AFTER_A_LISTENER_ONLY.fullmatch(name) or (of_all and _is_of_one(name)):
        return False
    spec = specs().get(base_name(name))
    if spec is None:
        return not own.rules.is_known(name)
    try:
        check(spec, text)
    except InvalidConfig:
        return False
    return True


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
            "These security configs can be dynamically updated only per-listener using "
            f"the listener prefix: {_set_of(bare)}"
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
    Together(Values((mine, of_all, own.file)), Values(after), set_now).check()


def _set_of(names: list[str]) -> str:
    return f"[{shown(', '.join(names))}]"


def _is_of_one(name: str) -> bool:
    base = base_name(name)
    return name in NAMES_OF_ONE or (base != name and base not in _OF_ALL_LISTENERS)
