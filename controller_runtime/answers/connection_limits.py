"""How many connections a node's listeners may have, by its dynamic configurations and its file.

So many a second may be made (KIP-612): by the same configurations, and of one address by its quota
`connection_creation_rate`.

As in Apache Kafka: this node's own values, then those of all nodes, then the file's; a value that makes no sense counts
for nothing. A listener may have a bound of its own (`listener.name.<listener>.max.connections`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.metadata.broker_config_relations import Values
from controller_runtime.metadata.broker_configs import OwnConfigs, base_name, in_force
from controller_runtime.metadata.client_quotas import CONNECTION_CREATION_RATE, IP, Quotas
from controller_runtime.metadata.config_values import BLANKS, integer, items_of
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, ConfigsImage
from controller_runtime.parts.effects import LimitConnections

_CREATION: Final = "max.connection.creation.rate"
_OF_A_LISTENER: Final = re.compile(r"listener\.name\.([^.]*)\.(max\.connections|max\.connection\.creation\.rate)")


def connection_limits(configs: ConfigsImage, quotas: Quotas, own: OwnConfigs) -> LimitConnections:
    mine = in_force(configs.of(BROKER, str(own.node_id)), own, of_all=False)
    of_all = in_force(configs.of(BROKER, ALL_BROKERS), own, of_all=True)
    values = Values((_without_none(mine), _without_none(of_all), own.file))
    return LimitConnections(
        of_all=values.whole("max.connections"),
        per_address=values.whole("max.connections.per.ip"),
        of_host=tuple(_of_hosts(values.text("max.connections.per.ip.overrides"))),
        of_listener=tuple(_of_listeners(values, "max.connections")),
        created_of_all=values.whole(_CREATION),
        created_of_listener=tuple(_of_listeners(values, _CREATION)),
        created_of_address=tuple(_of_addresses(quotas)),
    )


def _without_none(values: Mapping[str, str]) -> Mapping[str, str]:
    """Controllers keep a 0 that no broker takes: nobody could connect to change it."""
    return {
        name: text
        for name, text in values.items()
        if base_name(name) not in ("max.connections", _CREATION) or integer(text) != 0
    }


def _of_hosts(overrides: str) -> Iterator[tuple[str, int]]:
    for entry in items_of(overrides):
        host, _, limit = entry.rpartition(":")
        if (number := integer(limit)) is not None and host:
            yield host.strip(BLANKS), number


def _of_addresses(quotas: Quotas) -> Iterator[tuple[str | None, int]]:
    for entity, rates in quotas.items():
        if len(entity) == 1 and entity[0][0] == IP and CONNECTION_CREATION_RATE in rates:
            yield entity[0][1], int(rates[CONNECTION_CREATION_RATE])


def _of_listeners(values: Values, of: str) -> Iterator[tuple[str, int]]:
    names = sorted({name for layer in values.layers for name in layer})
    for name in names:
        if (
            (found := _OF_A_LISTENER.fullmatch(name))
            and found.group(2) == of
            and (limit := integer(values.text(name))) is not None
            and limit > 0
        ):
            yield found.group(1), limit
