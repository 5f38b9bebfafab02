"""What a configuration says of the security of a listener, or of a client.

`listener.name.<listener>.<name>` wins over `<name>`, as in Kafka; but `ssl.client.auth` of a SASL_SSL listener counts
with the prefix only. What is wrong is said with the name and the line that hold it. No store is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from controller_runtime.configuration.listener_settings import items_for, value_for, written_for
from controller_runtime.configuration.properties import Property
from controller_runtime.configuration.providers import Providers
from controller_runtime.configuration.settings import Settings, is_store_of_listener
from controller_runtime.security.cipher_suites import TLS_1_3, UnknownSuite, choose
from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.mapping_rules import DEFAULT_RULES, BadRules, MappingRules, parse_rules
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.tls_settings import ClientAuth, KeyStore, StoreType, TlsSettings, TrustStore

SPOKEN: Final = ("TLSv1.2", "TLSv1.3")
_TYPES: Final = {one.value: one for one in StoreType}

Problem = Callable[[str, str], None]
"""Called with the name whose value is wrong, and why."""


def read_security(
    settings: Settings, listener: str | None, protocol: SecurityProtocol, problem: Problem, *, serves: bool
) -> ListenerSecurity:
    """`listener`: whose prefix counts; a client has none. `serves`: others connect to it."""
    if not protocol.is_tls:
        return ListenerSecurity(protocol)
    return ListenerSecurity(protocol, _Reading(settings, listener, protocol, problem).tls(serves=serves))


class _Reading:
    def __init__(self, settings: Settings, listener: str | None, protocol: SecurityProtocol, problem: Problem) -> None:
        self._settings = settings
        self._listener = listener
        self._protocol = protocol
        self._problem = problem

    def tls(self, *, serves: bool) -> TlsSettings:
        keystore = self._keystore()
        if serves and keystore is None:
            self._wrong("ssl.keystore.location", "a listener that speaks TLS needs a certificate: name a key store")
        return TlsSettings(
            keystore=keystore,
            truststore=self._truststore(),
            client_auth=self._client_auth(),
            protocols=self._protocols(),
            ciphers=self._ciphers(),
            checks_host=self._checks_host(),
            rules=self._rules(),
            may_change_names=self._is_true("ssl.allow.dn.changes"),
            may_lose_hosts=self._is_true("ssl.allow.san.changes"),
        )

    def _written(self, name: str) -> Property | None:
        return written_for(self._settings, self._listener, name)

    def _text(self, name: str) -> str | None:
        return value_for(self._settings, self._listener, name) or None

    def _items(self, name: str) -> tuple[str, ...]:
        return items_for(self._settings, self._listener, name)

    def _is_true(self, name: str) -> bool:
        return (self._text(name) or "").lower() == "true"

    def _wrong(self, name: str, why: str) -> None:
        written = self._written(name)
        self._problem(name if written is None else written.name, why)

    def _type(self, name: str) -> StoreType:
        text = self._text(name) or StoreType.JKS.value
        if text.upper() not in _TYPES:
            self._wrong(name, f"one of {', '.join(_TYPES)} is needed")
        return _TYPES.get(text.upper(), StoreType.PEM)

    def _keystore(self) -> KeyStore | None:
        kind, location = self._type("ssl.keystore.type"), self._text("ssl.keystore.location")
        password, key_password = self._text("ssl.keystore.password"), self._text("ssl.key.password")
        key, chain = self._text("ssl.keystore.key"), self._text("ssl.keystore.certificate.chain")
        if key is None and chain is None and location is None:
            if kind is StoreType.PEM and password is not None:
                self._wrong("ssl.keystore.password", "SSL key store password cannot be specified with PEM format")
            return None
        if key is not None or chain is not None:
            self._check_inline(kind, location, password, key, chain)
        elif kind is StoreType.PEM and password is not None:
            self._wrong(
                "ssl.keystore.password",
                "SSL key store password cannot be specified with PEM format, only key password may be specified",
            )
        elif kind is not StoreType.PEM and password is None:
            self._wrong("ssl.keystore.password", "SSL key store is specified, but key store password is not specified")
        return KeyStore(kind, location, password=password, key_password=key_password, key=key, chain=chain)

    def _check_inline(
        self, kind: StoreType, location: str | None, password: str | None, key: str | None, chain: str | None
    ) -> None:
        if kind is not StoreType.PEM:
            self._wrong(
                "ssl.keystore.type", "SSL private key and certificate chain can be specified only for PEM stores"
            )
        if location is not None:
            self._wrong("ssl.keystore.location", "Both SSL key store location and separate private key are specified")
        if password is not None:
            self._wrong("ssl.keystore.password", "SSL key store password cannot be specified with PEM format")
        if key is None:
            self._wrong("ssl.keystore.key", "SSL certificate chain is specified, but private key is not specified")
        if chain is None:
            self._wrong(
                "ssl.keystore.certificate.chain",
                "SSL private key is specified, but certificate chain is not specified",
            )

    def _truststore(self) -> TrustStore | None:
        kind, location = self._type("ssl.truststore.type"), self._text("ssl.truststore.location")
        password, certificates = self._text("ssl.truststore.password"), self._text("ssl.truststore.certificates")
        if location is None and certificates is None:
            if password is not None:
                self._wrong(
                    "ssl.truststore.password", "SSL trust store is not specified, but trust store password is specified"
                )
            return None
        if certificates is not None and kind is not StoreType.PEM:
            self._wrong("ssl.truststore.type", "SSL trust store certificates can be specified only for PEM type")
        if certificates is not None and location is not None:
            self._wrong(
                "ssl.truststore.location", "Both SSL trust store location and separate trust certificates are specified"
            )
        if kind is StoreType.PEM and password is not None:
            self._wrong("ssl.truststore.password", "SSL trust store password cannot be specified for PEM format")
        return TrustStore(kind, location, password=password, certificates=certificates)

    def _client_auth(self) -> ClientAuth:
        name = "ssl.client.auth"
        if self._protocol is SecurityProtocol.SASL_SSL and self._written(name) is None:
            return ClientAuth.NONE
        text = (self._text(name) or "none").lower()
        if text not in {one.value for one in ClientAuth}:
            self._wrong(name, "String must be one of: none, requested, required")
            return ClientAuth.REQUIRED
        return ClientAuth(text)

    def _protocols(self) -> tuple[str, ...]:
        name = "ssl.enabled.protocols"
        stated = self._items(name) or SPOKEN
        for one in stated:
            if one not in SPOKEN:
                self._wrong(name, f"{one} is not safe, or not known: {' and '.join(SPOKEN)} are spoken")
        return tuple(one for one in SPOKEN if one in stated)

    def _ciphers(self) -> tuple[str, ...]:
        name = "ssl.cipher.suites"
        stated = self._items(name)
        try:
            suites = choose(stated)
        except UnknownSuite as error:
            self._wrong(name, str(error))
            return ()
        spoken = self._protocols()
        if not (suites.allows_1_2 and "TLSv1.2" in spoken) and not (suites.allows_1_3 and "TLSv1.3" in spoken):
            self._wrong(name, f"none of these suites belongs to {', '.join(spoken)}")
        return stated

    def _checks_host(self) -> bool:
        name = "ssl.endpoint.identification.algorithm"
        written = self._written(name) or self._settings.properties.get(name)
        text = "https" if written is None else written.value.strip().lower()
        if text not in {"", "https"}:
            self._wrong(name, "https, or nothing at all, is needed")
        return text != ""

    def _rules(self) -> MappingRules:
        name = "ssl.principal.mapping.rules"
        try:
            return parse_rules(self._text(name) or "DEFAULT")
        except BadRules as error:
            self._wrong(name, str(error))
            return DEFAULT_RULES


def with_stores(settings: Settings, dynamic: Mapping[str, str], providers: Providers) -> Settings:
    """As they would be with stores of listeners that were set while the node runs. Raises BadProviders."""
    stores = {
        name: Property(name, value, "IncrementalAlterConfigs")
        for name, value in dynamic.items()
        if is_store_of_listener(name)
    }
    resolved, _ = providers.resolve_all(stores)
    return Settings({**settings.properties, **resolved})


def notices(security: ListenerSecurity) -> tuple[str, ...]:
    """What is taken with less effect than in Kafka."""
    chosen = set(security.tls.ciphers) & TLS_1_3 if security.tls is not None else set()
    if chosen and len(chosen) < len(TLS_1_3):
        return ("ssl.cipher.suites: of TLS 1.3 all suites are spoken, OpenSSL chooses among them",)
    return ()
