"""From `sasl.*` to how clients of a listener are authenticated, and how this node authenticates itself.

Everything that does not hold is a problem of the name that says it. No problem shows a value of a JAAS entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from controller_runtime.configuration.allowed_resources import AllowedResources
from controller_runtime.configuration.listener_settings import (
    JAAS,
    MAX_REAUTH,
    TO_BROKERS,
    TO_CONTROLLERS,
    items_for,
    jaas_name,
    number_for,
    value_for,
    written_for,
)
from controller_runtime.configuration.names import BY_NAME, HANDLERS
from controller_runtime.configuration.oauth import OAuthReading
from controller_runtime.configuration.settings import Settings
from controller_runtime.security.jaas import (
    OAUTHBEARER_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    BadJaas,
    JaasEntry,
    parse_jaas,
)
from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.sasl.oauthbearer import NAME as OAUTHBEARER
from controller_runtime.security.sasl.plain import NAME as PLAIN
from controller_runtime.security.sasl.plain import USER_OPTION
from controller_runtime.security.sasl_settings import ClientLogin, SaslSettings
from controller_runtime.security.scram_keys import ALGORITHMS
from controller_runtime.values import replace

ENABLED: Final = "sasl.enabled.mechanisms"
MAX_RECEIVE: Final = "sasl.server.max.receive.size"
FAILURE_DELAY: Final = "connection.failed.authentication.delay.ms"
_MODULE_OF: Final = {PLAIN: PLAIN_MODULE, **dict.fromkeys(ALGORITHMS, SCRAM_MODULE), OAUTHBEARER: OAUTHBEARER_MODULE}
MECHANISMS: Final = tuple(_MODULE_OF)


class SaslReading:
    def __init__(
        self, settings: Settings, problem: Callable[[str, str], None], allowed: AllowedResources | None = None
    ) -> None:
        """`problem` takes the name and what is wrong with it; `allowed`: what OAUTHBEARER may read."""
        self._settings = settings
        self._allowed = allowed or AllowedResources()
        self._problem = problem

    def complete(
        self, security: ListenerSecurity, listener: str, *, serves: bool, connects_by: str | None
    ) -> ListenerSecurity:
        """With what `listener` asks of others, if others connect to it, and what it is told by this node, if this node
        connects to it on others: `connects_by` is the name of the mechanism's setting.
        """
        for name in filter(self._settings.has, HANDLERS):
            self._problem(name, f"write it as {jaas_name(listener, OAUTHBEARER).replace(JAAS, name)}")
        return replace(
            security,
            sasl=self._listener(listener) if serves else None,
            login=self._login(listener, connects_by, serves=serves) if connects_by is not None else None,
        )

    def _listener(self, listener: str) -> SaslSettings:
        """How clients of this listener show who they are."""
        enabled = tuple(dict.fromkeys(items_for(self._settings, listener, ENABLED)))
        if not enabled:
            self._problem(ENABLED, f"listener {listener} asks for SASL, and no mechanism is enabled")
        entries = {mechanism: self._entry(listener, mechanism, ENABLED) for mechanism in enabled}
        plain, bearer = entries.get(PLAIN), entries.get(OAUTHBEARER)
        return SaslSettings(
            mechanisms=enabled,
            plain_users={} if plain is None else dict(_users(plain)),
            tokens=None if bearer is None else self._oauth(listener, bearer).of_server(),
            max_reauth_ms={
                each: most for each in enabled if (most := self._number(listener, MAX_REAUTH, mechanism=each)) > 0
            },
            max_receive_bytes=self._number(listener, MAX_RECEIVE),
            failure_delay_seconds=self._failure_delay(),
        )

    def _login(self, listener: str, named_by: str, *, serves: bool) -> ClientLogin | None:
        """As whom this node comes to other brokers, or to controllers."""
        mechanism = self._settings.raw(named_by) or ""
        if named_by == TO_BROKERS and mechanism not in items_for(self._settings, listener, ENABLED):
            why = f"must be included in {ENABLED} of {listener} when SASL is used for inter-broker communication"
            self._problem(TO_BROKERS, why)
            return None
        if serves and named_by == TO_CONTROLLERS and mechanism in ALGORITHMS:
            why = (
                "choose PLAIN or mTLS: the credentials of SCRAM are in the metadata log, which controllers "
                "have to agree upon before they know them"
            )
            self._problem(TO_CONTROLLERS, why)
        entry = self._entry(listener, mechanism, named_by)
        if entry is None:
            return None
        if mechanism == OAUTHBEARER:
            return ClientLogin(mechanism, tokens=self._oauth(listener, entry).of_client())
        try:
            return login_of(mechanism, entry)
        except BadJaas as error:
            self._problem(jaas_name(listener, mechanism), str(error))
            return None

    def _oauth(self, listener: str, entry: JaasEntry) -> OAuthReading:
        """Settings of the listener and mechanism win; handlers count with both prefixes only, as in Kafka."""

        def value(name: str) -> str | None:
            written = written_for(self._settings, listener, name, OAUTHBEARER)
            if name in HANDLERS or name not in BY_NAME:
                return None if written is None else written.value
            return value_for(self._settings, listener, name, OAUTHBEARER)

        def problem(name: str, why: str) -> None:
            written = written_for(self._settings, listener, name, OAUTHBEARER)
            prefixed = jaas_name(listener, OAUTHBEARER).replace(JAAS, name)
            handler = name in {*HANDLERS, JAAS}
            self._problem(written.name if written is not None else prefixed if handler else name, why)

        return OAuthReading(value, entry.options, self._allowed, problem)

    def _entry(self, listener: str, mechanism: str, named_by: str) -> JaasEntry | None:
        if mechanism not in _MODULE_OF:
            self._problem(named_by, unknown_mechanism(mechanism))
            return None
        name = jaas_name(listener, mechanism)
        written = self._settings.properties.get(name)
        if written is None:
            self._problem(name, f"set it: listener {listener} has no login module for {mechanism}")
            return None
        try:
            return entry_of(mechanism, written.value)
        except BadJaas as error:
            self._problem(name, str(error))
            return None

    def _failure_delay(self) -> float:
        settings = self._settings
        delay, idle = settings.integer(FAILURE_DELAY), settings.integer("connections.max.idle.ms")
        if 0 <= idle <= delay:
            self._problem(FAILURE_DELAY, f"{FAILURE_DELAY} should be less than connections.max.idle.ms={idle}")
        return delay / 1000

    def _number(self, listener: str, name: str, *, mechanism: str | None = None) -> int:
        try:
            return number_for(self._settings, listener, name, mechanism)
        except ValueError as error:
            self._problem(name, f"for listener {listener}: {error}")
            return 0


def entry_of(mechanism: str, text: str) -> JaasEntry:
    """The login module of a mechanism that there is. Raises BadJaas."""
    entry = parse_jaas(text)
    if entry.module != _MODULE_OF[mechanism]:
        raise BadJaas(f"{mechanism} needs {_MODULE_OF[mechanism]}")
    return entry


def login_of(mechanism: str, entry: JaasEntry) -> ClientLogin:
    """As whom a client comes. Raises BadJaas."""
    user, password = entry.options.get("username", ""), entry.options.get("password", "")
    if not user or not password:
        raise BadJaas("a client needs username and password in its login module")
    by_token = mechanism in ALGORITHMS and entry.options.get("tokenauth", "").lower() == "true"
    return ClientLogin(mechanism, user, password, by_token=by_token)


def unknown_mechanism(mechanism: str) -> str:
    return f"SASL mechanism {mechanism} is not supported: choose among {', '.join(MECHANISMS)}"


def _users(entry: JaasEntry) -> Iterator[tuple[str, str]]:
    for name, value in entry.options.items():
        if name.startswith(USER_OPTION):
            yield name.removeprefix(USER_OPTION), value
