"""`spec.security` out of the resource, what it makes of the listeners, and what it forbids elsewhere.

A secure cluster that names no listeners of its brokers gets two: REPLICATION for the cluster itself, CLIENTS for
clients. In a secure cluster the first listener of the brokers is theirs and the operator's alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from kraft_operator.api.reader import InvalidSpec, Reader, duration
from kraft_operator.api.security import Authentication, Security, TlsMode
from kraft_operator.api.spec import ClusterSpec, Exposure, ListenerSpec

PLAINTEXT_DEFAULT: Final = (ListenerSpec("PLAINTEXT", 9092),)
"""As the resource definition fills it in."""
SECURE_DEFAULT: Final = (ListenerSpec("REPLICATION", 9091), ListenerSpec("CLIENTS", 9092))
MIN_VALIDITY_SECONDS: Final = 600.0
MAX_VALIDITY_SECONDS: Final = 365 * 86400.0
_PRINCIPAL: Final = re.compile(r"[A-Za-z]+:[^;\r\n]{1,255}")
_OWNED: Final = (
    *("ssl.", "sasl.", "listener.name.", "authorizer.", "super.users", "security.", "early.start.listeners"),
    *("allow.everyone.if.no.acl.found", "principal.builder.class"),
)
_FREE: Final = ("ssl.cipher.suites", "ssl.enabled.protocols", "ssl.protocol")


def security_of(spec: Reader) -> Security:
    tls, authorization = spec.child("security").child("tls"), spec.child("security").child("authorization")
    seconds = duration(tls.text("validity", "2160h"), tls.at("validity"))
    if not MIN_VALIDITY_SECONDS <= seconds <= MAX_VALIDITY_SECONDS:
        raise InvalidSpec(tls.at("validity"), "must lie between 10m and 8760h")
    rotation = tls.child("rotation")
    waits = duration(rotation.text("waitForClients", "168h"), rotation.at("waitForClients"))
    if waits > MAX_VALIDITY_SECONDS:
        raise InvalidSpec(rotation.at("waitForClients"), "must be at most 8760h")
    users = authorization.words("superUsers")
    for name in users:
        if not _PRINCIPAL.fullmatch(name):
            raise InvalidSpec(authorization.at("superUsers"), f"{name!r} is no principal such as User:ann")
    return Security(tls.choice("mode", TlsMode, TlsMode.DISABLED), seconds, waits, users)


def secured(listeners: tuple[ListenerSpec, ...], security: Security) -> tuple[ListenerSpec, ...]:
    """The brokers' listeners with what they ask of those who connect."""
    if not security.required:
        return listeners
    first, *others = SECURE_DEFAULT if listeners == PLAINTEXT_DEFAULT else listeners
    found = [replace(each, authentication=each.authentication or Authentication.SCRAM) for each in others]
    return (replace(first, authentication=first.authentication or Authentication.TLS), *found)


def check_security(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    if not spec.security.required:
        if any(each.authentication for each in spec.broker_listeners):
            yield "endpoints.broker", "authentication needs security.tls.mode Required"
        return
    first, *others = spec.broker_listeners
    if first.authentication is not Authentication.TLS:
        yield "endpoints.broker", "the first listener is the brokers' own: its authentication is Tls"
    for listener in others:
        if listener.authentication is Authentication.TLS:
            yield "endpoints.broker", f"authentication Tls of {listener.name} is for the first listener only: use Scram"
        if listener.exposure is Exposure.NODE_PORT and not _hosts_are_named(spec, listener):
            why = "no certificate can name the Kubernetes nodes on which its pods will run"
            yield "endpoints.broker", f"NodePort {listener.name} of a secure cluster needs an advertisedHost: {why}"
    if any(each.name == "PLAINTEXT" for each in (*spec.controller_listeners, *spec.broker_listeners)):
        yield "endpoints", "no listener of a secure cluster is PLAINTEXT: give it another name"
    for path, config in _configs(spec):
        for key in config:
            if key.startswith(_OWNED) and key not in _FREE:
                yield f"{path}[{key}]", "belongs to the operator in a secure cluster: use spec.security"


def _hosts_are_named(spec: ClusterSpec, listener: ListenerSpec) -> bool:
    """Of the listener, or of each broker."""
    wanted = {node_id for pool in spec.broker_pools for node_id in pool.node_ids}
    return listener.advertised_host is not None or all(listener.host_of(each) for each in wanted)


def _configs(spec: ClusterSpec) -> Iterator[tuple[str, Mapping[str, str]]]:
    config = spec.config
    yield from (("config.common", config.common), ("config.controller", config.controller))
    yield "config.broker", config.broker
    for group in spec.groups:
        yield f"{group.name}.config", group.config
