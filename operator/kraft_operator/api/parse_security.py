"""`spec.security` out of the resource, what it makes of the listeners, and what it forbids elsewhere.

A cluster that is formed secure and names no listeners of its brokers gets two: REPLICATION for the cluster itself,
CLIENTS for clients; the first listener of its brokers is theirs and the operator's alone. In one that was plaintext the
listeners stay what they are, and the secure ones of `stages` come beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from kraft_operator.api.combined import broker_ids
from kraft_operator.api.network import Exposure, ListenerSpec
from kraft_operator.api.parse_issuer import check_issuer, issuer_of
from kraft_operator.api.reader import InvalidSpec, Reader, duration
from kraft_operator.api.security import Authentication, AuthorizationMode, Security, Stage, TlsMode
from kraft_operator.api.spec import ClusterSpec
from kraft_operator.api.stages import REPLICATION, SECURE_CONTROLLER, Formed, laid_out

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


SECURED: Final = "belongs to the operator in a secure cluster: use spec.security"


def secures(key: str) -> bool:
    """Whether this key of server.properties belongs to `spec.security` and the listeners in a secure cluster."""
    return key.startswith(_OWNED) and key not in _FREE


UNLESS_IT_SAYS: Final = "a new cluster is secure; set spec.security.tls.mode to Disabled for one that is not"


def asked_mode(spec: Reader) -> TlsMode | None:
    """What the resource asks for; None: it says nothing, and the cluster is what it was formed as."""
    tls = spec.child("security").child("tls")
    return tls.choice("mode", TlsMode, TlsMode.REQUIRED) if tls.has("mode") else None


def mode_of(spec: Reader, found: Formed) -> TlsMode:
    """What the resource asks of a cluster that is this: what says nothing is kept, and who is on the way goes back."""
    return asked_mode(spec) or (TlsMode.REQUIRED if found.stage >= Stage.CLOSED else TlsMode.DISABLED)


def formed_by(mode: TlsMode | None) -> Formed:
    """What a cluster is that is formed with this mode: secure, unless it says otherwise. One that is Migrating begins
    as it says, with plaintext.
    """
    return Formed(Stage.ENFORCED) if mode in (TlsMode.REQUIRED, None) else Formed()


def security_of(spec: Reader, found: Formed) -> Security:
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
    migration = tls.child("migration")
    quiet = duration(migration.text("quiet", "10m"), migration.at("quiet"))
    if quiet > MAX_VALIDITY_SECONDS:
        raise InvalidSpec(migration.at("quiet"), "must be at most 8760h")
    source, issuer, provided = issuer_of(tls, seconds)
    return Security(
        mode_of(spec, found), seconds, waits, users, source=source, issuer=issuer, provided=provided,
        authorization=authorization.choice("mode", AuthorizationMode, AuthorizationMode.TRANSITION),
        quiet_seconds=quiet, stage=found.stage, migrated=found.migrated,
    )  # fmt: skip


def secured(spec: ClusterSpec) -> ClusterSpec:
    """With the listeners that the cluster has, and what they ask of those who connect."""
    security, listeners = spec.security, spec.broker_listeners
    if security.migrated:
        return laid_out(replace(spec, broker_listeners=tuple(map(as_it_says, listeners))))
    if not security.required:
        return spec
    first, *others = SECURE_DEFAULT if listeners == PLAINTEXT_DEFAULT else listeners
    first = replace(
        first, authentication=first.authentication or Authentication.TLS, tls=first.tls is not False, own=True
    )
    own = (replace(each, authentication=Authentication.TLS, tls=True) for each in spec.controller_listeners)
    return replace(spec, controller_listeners=tuple(own), broker_listeners=(first, *map(_encrypted, others)))


def _encrypted(listener: ListenerSpec) -> ListenerSpec:
    """With a login, unless it says otherwise; without encryption there is none."""
    tls = listener.tls is not False
    how = listener.authentication or (Authentication.SCRAM if tls else Authentication.NONE)
    return replace(listener, authentication=how, tls=tls)


def as_it_says(listener: ListenerSpec) -> ListenerSpec:
    """In a cluster that was plaintext: who asks for a login asks for encryption, too; what says nothing stays as it
    was.
    """
    asks = listener.authentication not in (None, Authentication.NONE)
    return _encrypted(listener) if listener.tls or asks else replace(listener, tls=False)


def check_security(spec: ClusterSpec, asked: tuple[ListenerSpec, ...] = ()) -> Iterator[tuple[str, str]]:
    """`asked` are the brokers' listeners as the resource names them."""
    security = spec.security
    if not security.required and not security.migrated:
        ahead = security.mode is not TlsMode.DISABLED
        if not ahead and any(each.authentication or each.tls is not None for each in asked):
            yield "endpoints.broker", "tls and authentication need security.tls.mode Required or Migrating"
        for listener in map(as_it_says, asked) if ahead else asked:
            yield from _check_names_are_seen(listener)
        return
    if security.required:
        own, *others = spec.broker_listeners
        if own.authentication is not Authentication.TLS or not own.tls:
            yield "endpoints.broker", "the first listener is the brokers' own: its authentication is Tls"
        if own.mapping_rules:
            yield "endpoints.broker", f"take principalMappingRules out of {own.name}: it is the brokers' own listener"
    else:
        others = [as_it_says(each) for each in asked]
        yield from _check_migrated(spec, asked)
    for listener in others:
        yield from _check_listener(spec, listener)
    if any(each.name == "PLAINTEXT" and each.tls for each in (*spec.controller_listeners, *spec.broker_listeners)):
        yield "endpoints", "no encrypted listener is PLAINTEXT: give it another name"
    yield from check_issuer(spec)
    for path, config in _configs(spec):
        for key in config:
            if secures(key):
                yield f"{path}[{key}]", SECURED


_OPEN_TO_ALL: Final = {
    Authentication.TLS: "connections",
    Authentication.SCRAM: "passwords",
    Authentication.OAUTH: "tokens",
}


def _check_listener(spec: ClusterSpec, listener: ListenerSpec) -> Iterator[tuple[str, str]]:
    if listener.authentication not in (None, Authentication.NONE) and not listener.tls:
        what = _OPEN_TO_ALL[listener.authentication]
        yield "endpoints.broker", f"{what} of {listener.name} would be open to all: take out tls: Disabled"
    if listener.tls and listener.exposure is Exposure.NODE_PORT and not _hosts_are_named(spec, listener):
        why = "no certificate can name the Kubernetes nodes on which its pods will run"
        yield "endpoints.broker", f"NodePort {listener.name} of a secure cluster needs an advertisedHost: {why}"
    yield from _check_names_are_seen(listener)


def _check_names_are_seen(listener: ListenerSpec) -> Iterator[tuple[str, str]]:
    if listener.passthrough is not None and not listener.tls:
        what = f"{listener.exposure} {listener.name}"
        remedy = f"encrypt {what} (tls: Enabled, in a cluster whose security.tls.mode says so), or use LoadBalancer"
        yield "endpoints.broker", f"{remedy}: its brokers are told apart by the name that TLS begins with"


def _check_migrated(spec: ClusterSpec, asked: tuple[ListenerSpec, ...]) -> Iterator[tuple[str, str]]:
    """Its secure listeners of its own have room beside those of the resource, whatever the stage."""
    given = (*(each for each in spec.controller_listeners if each is not SECURE_CONTROLLER), *asked)
    for own in (SECURE_CONTROLLER, REPLICATION):
        for each in given:
            if each.name == own.name or each.port == own.port:
                why = f"a cluster that becomes secure needs {own.name} at {own.port} for itself"
                yield "endpoints", f"give {each.name} at {each.port} another name and port: {why}"
    if asked and as_it_says(asked[0]).tls and not spec.security.closed:
        yield "endpoints.broker", f"put {asked[0].name} behind the brokers' own plaintext listener until that is closed"


def _hosts_are_named(spec: ClusterSpec, listener: ListenerSpec) -> bool:
    """Of the listener, or of each broker."""
    return listener.advertised_host is not None or all(listener.host_of(each) for each in broker_ids(spec))


def _configs(spec: ClusterSpec) -> Iterator[tuple[str, Mapping[str, str]]]:
    config = spec.config
    yield from (("config.common", config.common), ("config.controller", config.controller))
    yield "config.broker", config.broker
    for group in spec.groups:
        yield f"{group.name}.config", group.config
