"""What is set for one listener: `listener.name.<listener>.<name>`, with a mechanism before some names, else `<name>`.

Listeners and mechanisms are written in lower case there, as in Kafka.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.configuration.names import BY_NAME, LISTENER_PREFIX
from controller_runtime.configuration.properties import Property
from controller_runtime.configuration.settings import Settings

JAAS: Final = "sasl.jaas.config"
MAX_REAUTH: Final = "connections.max.reauth.ms"
TO_CONTROLLERS: Final = "sasl.mechanism.controller.protocol"
TO_BROKERS: Final = "sasl.mechanism.inter.broker.protocol"
"""By which mechanism a node shows there who it is."""


def written_for(settings: Settings, listener: str | None, name: str, mechanism: str | None = None) -> Property | None:
    """The line that holds for this listener, if there is one that names it. None: who connects, and has no listener."""
    if listener is None:
        return None
    prefix = f"{LISTENER_PREFIX}{listener.lower()}"
    names = ([f"{mechanism.lower()}.{name}"] if mechanism else []) + [name]
    found = (settings.properties.get(f"{prefix}.{one}") for one in names)
    return next((one for one in found if one is not None), None)


def value_for(settings: Settings, listener: str | None, name: str, mechanism: str | None = None) -> str:
    """Kafka's default where nothing is written; empty if there is none."""
    written = written_for(settings, listener, name, mechanism)
    return written.value.strip() if written is not None else settings.raw(name) or ""


def items_for(settings: Settings, listener: str | None, name: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in value_for(settings, listener, name).split(",") if item.strip())


def jaas_name(listener: str, mechanism: str) -> str:
    """Only with the mechanism's prefix, as Kafka: without one it would be anybody's."""
    return f"{LISTENER_PREFIX}{listener.lower()}.{mechanism.lower()}.{JAAS}"


def number_for(settings: Settings, listener: str, name: str, mechanism: str | None = None) -> int:
    value = value_for(settings, listener, name, mechanism)
    if not value.removeprefix("-").isdigit() or not value.isascii():
        raise ValueError(f"Not a number of type {BY_NAME[name].kind.upper()}")
    return int(value)
