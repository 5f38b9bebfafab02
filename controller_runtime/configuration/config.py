"""A node's configuration, from `server.properties` with Apache Kafka's names.

`load` either returns a configuration in which everything agrees, or raises `ConfigError` naming every line that does
not. Endpoints are always a map from listener name to host and port. Names we do not act on are in `config_names`;
`notices` says which were found.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.configuration.further_checks import check_further
from controller_runtime.configuration.listeners import (
    BadValue,
    ListenerAddress,
    parse_endpoint,
    parse_host_port,
    parse_listeners,
    parse_map,
    parse_voters,
)
from controller_runtime.configuration.names import BY_NAME, OWN_NAMES
from controller_runtime.configuration.properties import BadProperties, Property, parse_properties
from controller_runtime.configuration.providers import BadProviders, Providers, read_providers
from controller_runtime.configuration.secure_listeners import meeting_places, secure_listeners
from controller_runtime.configuration.security import notices as security_notices
from controller_runtime.configuration.settings import Settings, check, is_secret, notices
from controller_runtime.identifiers import Endpoint, NodeId
from controller_runtime.metadata.authorizer import CLASS_NAME, AuthorizerRules
from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.values import dataclass

T = TypeVar("T")

_ENVIRONMENT: Final = {
    "quorate.acls": "QUORATE_ACLS",
    "quorate.http.listener": "QUORATE_HTTP_LISTENER",
    "quorate.log.format": "QUORATE_LOG_FORMAT",
    "quorate.log.level": "QUORATE_LOG_LEVEL",
    "quorate.scrub.interval.ms": "QUORATE_SCRUB_INTERVAL_MS",
}


class ConfigError(ValueError):
    """The configuration is refused; one line per problem, each naming its place."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class ServerConfig:
    node_id: NodeId
    is_controller: bool
    is_broker: bool
    listeners: tuple[ListenerAddress, ...]
    advertised: Mapping[str, Endpoint]
    """Of every listener, controller listeners too. A port 0 is replaced by the bound one at start."""
    controller_listener_names: tuple[str, ...]
    early_listeners: frozenset[str]
    """Those that open before the ACLs are known."""
    inter_broker_listener: str
    listener_security: Mapping[str, ListenerSecurity]
    """Of every listener of this node, and of the controllers' listeners that it connects to."""
    quorum_voters: Mapping[NodeId, Endpoint]
    """Static voters; empty when voters come from the log."""
    bootstrap_servers: tuple[Endpoint, ...]
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    rack: str | None
    http_listener: tuple[str, int] | None
    log_format: str
    log_level: str
    scrub_interval_ms: int
    security: SecurityRules
    settings: Settings
    """Everything else, by Kafka's name."""
    providers: Providers
    """Where values lie that are named and not written."""
    notices: tuple[str, ...]

    @property
    def controller_listeners(self) -> tuple[ListenerAddress, ...]:
        return tuple(listener for listener in self.listeners if listener.name in self.controller_listener_names)

    @property
    def broker_listeners(self) -> tuple[ListenerAddress, ...]:
        return tuple(listener for listener in self.listeners if listener.name not in self.controller_listener_names)

    @property
    def contact_points(self) -> tuple[Endpoint, ...]:
        """Where the quorum is looked for before a leader is known."""
        return self.bootstrap_servers or tuple(self.quorum_voters.values())


def load(path: str, overrides: Iterable[str] = ()) -> ServerConfig:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            properties = parse_properties(file.read(), os.path.basename(path))
    except OSError as error:
        raise ConfigError([f"{path}: {error.strerror}"]) from error
    except BadProperties as error:
        raise ConfigError([str(error)]) from error
    for override in overrides:
        name, separator, value = override.partition("=")
        if not separator or not name:
            raise ConfigError([f"--override {override}: property=value is needed"])
        properties[name] = Property(name, value, f"--override {name}")
    return from_properties(properties, os.path.basename(path), os.environ)


def from_properties(
    properties: Mapping[str, Property], source: str, environment: Mapping[str, str] | None = None
) -> ServerConfig:
    environment = environment or {}
    try:
        providers = read_providers(properties, environment)
        properties, unresolved = providers.resolve_all(properties)
    except BadProviders as error:
        raise ConfigError(error.problems) from error
    problems = list(check(properties))
    if "broker.id" in properties and "node.id" not in properties:
        properties = {
            **properties,
            "node.id": Property("node.id", properties["broker.id"].value, properties["broker.id"].origin),
        }
    missing = [name for name in ("process.roles", "node.id", "controller.listener.names") if not properties.get(name)]
    problems += [f'{source}: Missing required configuration "{name}" which has no default value.' for name in missing]
    if problems:
        raise ConfigError(problems)
    return _Reading(Settings(properties), source, environment).config(providers, unresolved)


def _parse_endpoints(values: tuple[str, ...]) -> tuple[Endpoint, ...]:
    return tuple(parse_endpoint(value) for value in values)


class _Reading:
    """One pass over checked settings that collects what does not agree."""

    def __init__(self, settings: Settings, source: str, environment: Mapping[str, str]) -> None:
        self.settings = settings
        self.source = source
        self.environment = environment
        self.problems: list[str] = []

    def config(self, providers: Providers, unresolved: tuple[str, ...]) -> ServerConfig:
        settings = self.settings
        roles = self._roles()
        names = tuple(name.upper() for name in settings.items("controller.listener.names"))
        listeners = self._listeners(roles, names)
        inter_broker = self._inter_broker()
        listener_security = self._secured(listeners, names, inter_broker, is_broker="broker" in roles)
        advertised, early = self._advertised(listeners), self._early(listeners, names)
        if "broker" in roles:
            self._check_broker_listeners(advertised, names, inter_broker)
        voters = self._parse("controller.quorum.voters", parse_voters)
        bootstrap = self._parse("controller.quorum.bootstrap.servers", _parse_endpoints)
        self._check_quorum(roles, voters, bootstrap)
        log_dirs = settings.items("log.dirs") or settings.items("log.dir")
        if not log_dirs:
            self._problem("log.dirs", "At least one log directory must be defined")
        if settings.has("broker.id") and settings.integer("broker.id") != settings.integer("node.id"):
            self._problem(
                "broker.id", f"You must set `node.id` to the same value as `broker.id` ({settings.raw('node.id')})"
            )
        check_further(settings, self._problem)
        http, security = self._http_listener(), self._security()
        if self.problems:
            raise ConfigError(self.problems)
        return ServerConfig(
            node_id=NodeId(settings.integer("node.id")),
            is_controller="controller" in roles,
            is_broker="broker" in roles,
            listeners=listeners,
            advertised=advertised,
            controller_listener_names=names,
            early_listeners=early,
            inter_broker_listener=inter_broker,
            listener_security=listener_security,
            quorum_voters=voters,
            bootstrap_servers=bootstrap,
            log_dirs=log_dirs,
            metadata_log_dir=settings.text("metadata.log.dir") or log_dirs[0],
            rack=settings.text("broker.rack"),
            http_listener=http,
            log_format=self._own("quorate.log.format", "text", ("text", "json")),
            log_level=self._own("quorate.log.level", "info", ("debug", "info", "warning", "error")),
            scrub_interval_ms=self._scrub_interval_ms(),
            security=security,
            settings=settings,
            providers=providers,
            notices=(
                *unresolved,
                *notices(settings.properties),
                *dict.fromkeys(one for each in listener_security.values() for one in security_notices(each)),
            ),
        )

    def _roles(self) -> frozenset[str]:
        roles = self.settings.items("process.roles")
        for role in roles:
            if role not in {"broker", "controller"}:
                self._problem(
                    "process.roles", f"Unknown process role {role!r} (only 'broker' and 'controller' are allowed roles)"
                )
        if not roles:
            self._problem("process.roles", "at least one of broker, controller is needed")
        if len(set(roles)) != len(roles):
            self._problem("process.roles", "Duplicate role names found")
        return frozenset(roles)

    def _listeners(self, roles: frozenset[str], names: tuple[str, ...]) -> tuple[ListenerAddress, ...]:
        listeners = self._parse("listeners", parse_listeners)
        if not names:
            self._problem("controller.listener.names", "must contain at least one value when running KRaft")
            return listeners
        own = {listener.name for listener in listeners}
        if "controller" in roles and not own & set(names):
            self._problem("listeners", f"must have at least one of controller.listener.names ({', '.join(names)})")
        if "controller" not in roles and (wrong := sorted(own & set(names))):
            self._problem("listeners", f"a broker must not listen on controller.listener.names ({', '.join(wrong)})")
        if "broker" not in roles and (wrong := sorted(own - set(names))):
            self._problem(
                "listeners", f"a controller may only listen on controller.listener.names ({', '.join(wrong)} is none)"
            )
        if "broker" in roles and not own - set(names):
            self._problem("listeners", "There must be at least one broker listener")
        return listeners

    def _protocols(self, listeners: tuple[ListenerAddress, ...], names: tuple[str, ...]) -> dict[str, str]:
        """As in Kafka: controller listeners default to PLAINTEXT when the map is not set and nothing secure is in
        sight.
        """
        protocols = self._parse("listener.security.protocol.map", parse_map)
        if not self.settings.has("listener.security.protocol.map"):
            secure = {"SSL", "SASL_PLAINTEXT", "SASL_SSL"} & {*names, *(listener.name for listener in listeners)}
            if not secure:
                protocols = {**protocols, **{name: "PLAINTEXT" for name in names if name not in protocols}}
        return protocols

    def _early(self, listeners: tuple[ListenerAddress, ...], names: tuple[str, ...]) -> frozenset[str]:
        name = "early.start.listeners"
        stated = frozenset(map(str.upper, self.settings.items(name) if self.settings.has(name) else names))
        for one in sorted(stated - {listener.name for listener in listeners} - set(names)):
            self._problem(name, f"{one} is not contained in listeners or controller.listener.names")
        return stated

    def _secured(
        self, listeners: tuple[ListenerAddress, ...], names: tuple[str, ...], inter_broker: str, *, is_broker: bool
    ) -> dict[str, ListenerSecurity]:
        return secure_listeners(
            self.settings,
            listeners,
            names,
            protocols=self._protocols(listeners, names),
            met=meeting_places(names, inter_broker, is_broker=is_broker),
            problem=self._problem,
            environment=self.environment,
        )

    def _inter_broker(self) -> str:
        """Kafka's two ways to say it, of which only one may be taken."""
        named, protocol = "inter.broker.listener.name", "security.inter.broker.protocol"
        text = (self.settings.text(protocol) or "PLAINTEXT").upper()
        if text not in SecurityProtocol.__members__:
            self._problem(protocol, f"one of {', '.join(SecurityProtocol.__members__)} is needed")
        if self.settings.has(named) and self.settings.has(protocol):
            self._problem(protocol, f"Only one of {named} and {protocol} should be set.")
        return (self.settings.text(named) or text).upper()

    def _advertised(self, listeners: tuple[ListenerAddress, ...]) -> dict[str, Endpoint]:
        stated = {listener.name: listener for listener in self._parse("advertised.listeners", parse_listeners)}
        if unknown := sorted(set(stated) - {listener.name for listener in listeners}):
            self._problem("advertised.listeners", f"{', '.join(unknown)} is not among the listeners")
        if wildcard := [str(one) for one in stated.values() if one.host in {"0.0.0.0", "::"}]:
            self._problem(
                "advertised.listeners", f"cannot use the nonroutable meta-address {wildcard[0]}; use a routable address"
            )
        return {listener.name: _reachable(stated.get(listener.name, listener)) for listener in listeners}

    def _check_broker_listeners(
        self, advertised: Mapping[str, Endpoint], names: tuple[str, ...], inter_broker: str
    ) -> None:
        if inter_broker in names:
            self._problem("inter.broker.listener.name", f"{inter_broker} is a controller listener")
        elif inter_broker not in advertised:
            self._problem(
                "inter.broker.listener.name", f"{inter_broker} must be a listener name defined in advertised.listeners"
            )

    def _check_quorum(
        self, roles: frozenset[str], voters: Mapping[NodeId, Endpoint], bootstrap: tuple[Endpoint, ...]
    ) -> None:
        node_id = self.settings.integer("node.id")
        if not voters and not bootstrap:
            self._problem(
                "process.roles",
                "either controller.quorum.bootstrap.servers must contain the set of bootstrap controllers "
                "or controller.quorum.voters must contain a parseable set of controllers",
            )
        if "controller" not in roles and self.settings.boolean("controller.quorum.auto.join.enable"):
            self._problem(
                "controller.quorum.auto.join.enable",
                "is only supported when process.roles contains the 'controller' role.",
            )
        if voters and "controller" in roles and node_id not in voters:
            self._problem("controller.quorum.voters", f"must contain the node id {node_id} of this controller")
        if voters and "controller" not in roles and node_id in voters:
            self._problem("controller.quorum.voters", f"must not contain the node id {node_id} of this broker")

    def _http_listener(self) -> tuple[str, int] | None:
        text = self._own("quorate.http.listener", "", None)
        if not text:
            return None
        try:
            host, port = parse_host_port(text, text)
        except BadValue as error:
            self._problem("quorate.http.listener", str(error))
            return None
        return host, port

    def _security(self) -> SecurityRules:
        settings = self.settings
        secret = settings.text("delegation.token.secret.key")
        return SecurityRules(
            keeps_acls=self._own("quorate.acls", "off", ("off", "kept")) == "kept",
            authorizer=self._authorizer(),
            token_secret=None if secret is None else secret.encode(),
            token_max_lifetime_ms=settings.integer("delegation.token.max.lifetime.ms"),
            token_expiry_ms=settings.integer("delegation.token.expiry.time.ms"),
            token_check_interval_s=settings.integer("delegation.token.expiry.check.interval.ms") / 1000,
        )

    def _authorizer(self) -> AuthorizerRules | None:
        name = self.settings.text("authorizer.class.name")
        if not name:
            return None
        if name != CLASS_NAME:
            self._problem("authorizer.class.name", f"the only authorizer of this node is {CLASS_NAME}")
        everyone = self.settings.plain("allow.everyone.if.no.acl.found", "false")
        return AuthorizerRules(self._super_users(), everyone.strip().lower() == "true")

    def _super_users(self) -> frozenset[str]:
        names = [name.strip() for name in self.settings.plain("super.users", "").split(";")]
        for name in names:
            if name and not all(name.partition(":")[::2]):
                why = f"expected a string in format principalType:principalName but got {name}"
                self._problem("super.users", why)
        return frozenset(filter(None, names))

    def _scrub_interval_ms(self) -> int:
        text = self._own("quorate.scrub.interval.ms", "10000", None)
        if not text.isascii() or not text.isdigit():
            self._problem("quorate.scrub.interval.ms", f"{text!r} is not a number of milliseconds (0: never)")
            return 0
        return int(text)

    def _own(self, name: str, default: str, allowed: tuple[str, ...] | None) -> str:
        assert name in OWN_NAMES, name
        written = self.settings.properties.get(name)
        value = written.value.strip() if written else self.environment.get(_ENVIRONMENT[name], default)
        if allowed is not None and value not in allowed:
            origin = written.origin if written else _ENVIRONMENT[name]
            raise ConfigError(
                [f"{origin}: Invalid value {value} for configuration {name}: one of {', '.join(allowed)}"]
            )
        return value

    def _parse(self, name: str, parse: Callable[[tuple[str, ...]], T]) -> T:
        try:
            return parse(self.settings.items(name))
        except BadValue as error:
            self._problem(name, str(error))
            return parse(())

    def _problem(self, name: str, why: str) -> None:
        written = self.settings.properties.get(name)
        origin = written.origin if written else self.source
        value = written.value if written else BY_NAME[name].default if name in BY_NAME else ""
        if is_secret(name):
            value = "[hidden]"
        self.problems.append(f"{origin}: Invalid value {value} for configuration {name}: {why}")


def _reachable(listener: ListenerAddress) -> Endpoint:
    """A listener on every address is advertised under this machine's name, as Kafka does."""
    if listener.host in {"", "0.0.0.0", "::"}:
        return Endpoint(socket.getfqdn(), listener.port)
    return Endpoint(listener.host, listener.port)
