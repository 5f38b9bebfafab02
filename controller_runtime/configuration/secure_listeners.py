"""What secures each listener of a node, and each at which it calls others.

A node calls controllers at the first of their listeners, and a broker calls brokers at the inter-broker listener: there
it has to show who it is, by the mechanism that the configuration names for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller_runtime.configuration.listener_settings import TO_BROKERS, TO_CONTROLLERS
from controller_runtime.configuration.listeners import ListenerAddress
from controller_runtime.configuration.security import Problem, read_security
from controller_runtime.configuration.settings import Settings
from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.protocols import SecurityProtocol


def meeting_places(names: Sequence[str], inter_broker: str, *, is_broker: bool) -> Mapping[str, str]:
    """Listeners at which a node calls others, and which setting says by which mechanism. `names`: the controllers'."""
    return {**dict.fromkeys(names[:1], TO_CONTROLLERS), **({inter_broker: TO_BROKERS} if is_broker else {})}


def secure_listeners(
    settings: Settings,
    listeners: Sequence[ListenerAddress],
    names: Sequence[str],
    *,
    protocols: Mapping[str, str],
    met: Mapping[str, str],
    problem: Problem,
    environment: Mapping[str, str] | None = None,
) -> dict[str, ListenerSecurity]:
    """Of a node's own listeners, and of the controllers' (`names`); `met` is what `meeting_places` says;
    `environment` may name what OAUTHBEARER reads.
    """
    found: dict[str, ListenerSecurity] = {}
    for name in dict.fromkeys((*(listener.name for listener in listeners), *names)):
        serves = any(listener.name == name for listener in listeners)
        protocol = protocols.get(name)
        if protocol is None:
            where = "listeners" if serves else "controller.listener.names"
            problem(where, f"No security protocol defined for listener {name} in listener.security.protocol.map")
            continue
        spoken = SecurityProtocol[protocol]
        found[name] = read_security(settings, name, spoken, problem, serves=serves)
        if spoken.is_sasl:
            from controller_runtime.configuration.allowed_resources import allowed_resources
            from controller_runtime.configuration.sasl import SaslReading

            allowed = allowed_resources(settings.properties, environment or {})
            reading = SaslReading(settings, problem, allowed)
            found[name] = reading.complete(found[name], name, serves=serves, connects_by=met.get(name))
    return found
