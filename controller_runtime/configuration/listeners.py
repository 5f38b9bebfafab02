"""Listeners and voters as configuration writes them: `NAME://host:port` and `id@host:port`.

Names are upper-cased as Kafka does, so that `controller` and `CONTROLLER` are one listener in every comparison and in
the voter set. Nothing is resolved here: a host stays the text it was, and is resolved anew on each connection attempt.
"""

from __future__ import annotations

from controller_runtime.identifiers import Endpoint, NodeId
from controller_runtime.values import dataclass


class BadValue(ValueError):
    """The value of one name makes no sense; the caller adds the name and the line."""


@dataclass(frozen=True, slots=True)
class ListenerAddress:
    name: str
    host: str
    """Empty: every address of this machine."""
    port: int
    """0: the system chooses (only where nobody has to know it beforehand)."""

    def __str__(self) -> str:
        return f"{self.name}://{Endpoint(self.host, self.port)}"


def parse_listeners(values: tuple[str, ...]) -> tuple[ListenerAddress, ...]:
    listeners = tuple(_parse_listener(value) for value in values)
    names = [listener.name for listener in listeners]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise BadValue(
            f"each listener must have a different name, listeners: {', '.join(values)} ({min(repeated)} is repeated)"
        )
    ports = [listener.port for listener in listeners if listener.port]
    hosts = {(listener.host, listener.port) for listener in listeners if listener.port}
    if len(hosts) != len(ports):
        raise BadValue(f"each listener must have a different port, listeners: {', '.join(values)}")
    return listeners


def _parse_listener(value: str) -> ListenerAddress:
    name, separator, address = value.partition("://")
    if not separator or not name or not all(letter.isalnum() or letter in "_-" for letter in name):
        raise BadValue(f"unable to parse {value!r} to a broker endpoint: NAME://host:port is needed")
    host, port = parse_host_port(address, value)
    return ListenerAddress(name.upper(), host, port)


def parse_host_port(address: str, whole: str) -> tuple[str, int]:
    host, separator, digits = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise BadValue(f"{whole!r}: an IPv6 address is written in brackets")
    if not separator or not digits.isascii() or not digits.isdigit() or int(digits) > 65535:
        raise BadValue(f"{whole!r}: a port from 0 to 65535 is needed after the last colon")
    return host, int(digits)


def parse_endpoint(value: str) -> Endpoint:
    host, port = parse_host_port(value, value)
    if not host or not port:
        raise BadValue(f"{value!r}: host:port is needed")
    return Endpoint(host, port)


def parse_voters(values: tuple[str, ...]) -> dict[NodeId, Endpoint]:
    voters: dict[NodeId, Endpoint] = {}
    for value in values:
        node_id, separator, address = value.partition("@")
        if not separator or not node_id.isascii() or not node_id.isdigit():
            raise BadValue(f"{value!r}: id@host:port is needed")
        if int(node_id) in voters:
            raise BadValue(f"voter {node_id} is listed twice")
        voters[NodeId(int(node_id))] = parse_endpoint(address)
    return voters


def parse_map(values: tuple[str, ...]) -> dict[str, str]:
    """`NAME:PROTOCOL` pairs of listener.security.protocol.map."""
    pairs: dict[str, str] = {}
    for value in values:
        name, separator, protocol = value.partition(":")
        if not separator or not name or not protocol:
            raise BadValue(f"{value!r}: NAME:PROTOCOL is needed")
        if protocol.upper() not in {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}:
            raise BadValue(f"{value!r}: the protocol is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL")
        if name.upper() in pairs:
            raise BadValue(f"{value!r}: listener {name} is mapped twice")
        pairs[name.upper()] = protocol.upper()
    return pairs
