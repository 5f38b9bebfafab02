"""What a node does without security only when it is told so by name: `quorate.insecure=true`.

Whoever reaches a controller's listener in the clear reads all metadata and, without an authorizer, changes it. Kafka
takes such a listener without a word; here somebody has to have written that he means it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Final

from controller_runtime.configuration.config import ServerConfig
from controller_runtime.configuration.names import HANDLERS, LISTENER_PREFIX, OAUTH_PREFIX
from controller_runtime.security.oauth.settings import VALIDATOR, UnsecuredTokens

INSECURE: Final = "quorate.insecure"
VARIABLE: Final = "QUORATE_INSECURE"


def refusals(config: ServerConfig, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Why the node does not start; a line each, with the remedy."""
    settings, written = config.settings, config.settings.properties.get(INSECURE)
    said = environment.get(VARIABLE, "false") if written is None else written.value
    if said.strip().lower() not in {"true", "false"}:
        origin = VARIABLE if written is None else written.origin
        return (f"{origin}: Invalid value {said} for configuration {INSECURE}: true or false is needed",)
    if said.strip().lower() == "true":
        return ()
    remedy = f"or accept it with {INSECURE}=true (or {VARIABLE}=true in the environment). The node does not start."
    return tuple(f"{settings.origin(name)}: {why}, {remedy}" for name, why in _findings(config))


def _findings(config: ServerConfig) -> Iterator[tuple[str, str]]:
    """The name that is the cause, and what is wrong."""
    for listener in config.controller_listeners:
        protocol = config.listener_security[listener.name].protocol
        if not protocol.is_tls and not is_loopback(listener.host):
            why = (
                f"{listener} would serve a controller as {protocol.name}, readable for whoever is on the way: give it "
                "SSL or SASL_SSL in listener.security.protocol.map, let it listen on 127.0.0.1 only"
            )
            yield "listeners", why
    for name, security in config.listener_security.items():
        if security.sasl is not None and isinstance(security.sasl.tokens, UnsecuredTokens):
            setting = f"{LISTENER_PREFIX}{name.lower()}.{OAUTH_PREFIX}.{HANDLERS[0]}"
            yield setting, f"listener {name} would believe tokens that nobody has signed: choose {VALIDATOR}"


def is_loopback(host: str) -> bool:
    """Only what is so by itself: a name may resolve to anything tomorrow."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
