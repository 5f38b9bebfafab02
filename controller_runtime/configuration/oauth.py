"""From `sasl.oauthbearer.*` and the options of the login module to how tokens are judged, and how one is got (KIP-255,
KIP-768, KIP-1139, KIP-1258).

A listener needs the handler that believes signatures by name, or the one that believes nobody has to sign: Kafka's
default is the latter, and here there is none. No problem shows the value of a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from controller_runtime.configuration.allowed_resources import AllowedResources
from controller_runtime.configuration.names import BY_NAME
from controller_runtime.configuration.properties import Property
from controller_runtime.configuration.security import read_security
from controller_runtime.configuration.settings import Settings
from controller_runtime.security.oauth.settings import (
    ASSERTION_RETRIEVER,
    DEFAULT_RETRIEVER,
    FILE_RETRIEVER,
    LOGIN,
    OLD_LOGIN,
    OLD_VALIDATOR,
    RETRIEVERS,
    TIMEOUT_SECONDS,
    UNSECURED_LOGIN,
    UNSECURED_VALIDATOR,
    VALIDATOR,
    VALIDATORS,
    Assertion,
    AssertionGrant,
    ClaimRules,
    ClientTokens,
    Endpoint,
    FileToken,
    Refresh,
    SecretGrant,
    ServerTokens,
    SignedTokens,
    TokenSource,
    UnsecuredToken,
    UnsecuredTokens,
)
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.sasl.oauthbearer import extension_fault
from controller_runtime.security.tls_settings import TlsSettings

SERVER_HANDLER: Final = "sasl.server.callback.handler.class"
LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
URL_ENCODES: Final = "sasl.oauthbearer.header.urlencode"
_TOKENS_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_CLIENT_ID: Final = "sasl.oauthbearer.client.credentials.client.id"
_SECRET: Final = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105  a name
_PRINCIPAL: Final = "sasl.oauthbearer.sub.claim.name"
_SCOPE: Final = "sasl.oauthbearer.scope.claim.name"
_UNSECURED: Final = "unsecuredLogin"
_RANGES: Final = {
    "sasl.login.refresh.window.factor": (0.5, 1.0),
    "sasl.login.refresh.window.jitter": (0.0, 0.25),
    "sasl.login.refresh.min.period.seconds": (0, 900),
    "sasl.login.refresh.buffer.seconds": (0, 3600),
}
"""Kafka's own."""

Value = Callable[[str], str | None]
"""What is set for a name, else Kafka's default, else None."""
Problem = Callable[[str, str], None]


class OAuthReading:
    def __init__(self, value: Value, options: Mapping[str, str], allowed: AllowedResources, problem: Problem) -> None:
        """`options`: of the login module."""
        self._value = value
        self._options = options
        self._allowed = allowed
        self._problem = problem

    # Who takes tokens.

    def of_server(self) -> ServerTokens | None:
        handler = self._text(SERVER_HANDLER)
        if handler == UNSECURED_VALIDATOR:
            return self._unsecured()
        if handler not in {VALIDATOR, OLD_VALIDATOR}:
            why = (
                f"OAUTHBEARER needs {VALIDATOR}, which believes signatures, or by name {UNSECURED_VALIDATOR}, "
                "which believes everybody (Apache Kafka's default)"
            )
            self._problem(SERVER_HANDLER, why)
            return None
        self._check_class("sasl.oauthbearer.jwt.validator.class", VALIDATORS)
        url = self._url("sasl.oauthbearer.jwks.endpoint.url")
        if url is None:
            return None
        keys = Endpoint(
            url,
            self._tls(url),
            backoff_ms=self._number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"),
            backoff_max_ms=self._number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
        )
        audiences = (self._text("sasl.oauthbearer.expected.audience") or "").split(",")
        rules = ClaimRules(
            audiences=tuple(one.strip() for one in audiences if one.strip()),
            issuer=self._text("sasl.oauthbearer.expected.issuer"),
            clock_skew_seconds=self._number("sasl.oauthbearer.clock.skew.seconds"),
            scope_claim=self._needed(_SCOPE),
            principal_claim=self._needed(_PRINCIPAL),
        )
        return SignedTokens(keys, rules, refresh_ms=self._number("sasl.oauthbearer.jwks.endpoint.refresh.ms", lowest=1))

    def _unsecured(self) -> UnsecuredTokens:
        option = "unsecuredValidator"
        skew = self._options.get(f"{option}AllowableClockSkewMs", "").strip() or "0"
        if not skew.isascii() or not skew.isdigit():
            self._problem("sasl.jaas.config", f"{option}AllowableClockSkewMs is no number of milliseconds")
        return UnsecuredTokens(
            principal_claim=self._options.get(f"{option}PrincipalClaimName", "").strip() or "sub",
            scope_claim=self._options.get(f"{option}ScopeClaimName", "").strip() or "scope",
            required_scopes=tuple(self._options.get(f"{option}RequiredScope", "").split()),
            clock_skew_ms=int(skew) if skew.isdigit() else 0,
        )

    # Who shows one.

    def of_client(self) -> ClientTokens | None:
        handler = self._text(LOGIN_HANDLER)
        if handler in {None, UNSECURED_LOGIN}:
            source: TokenSource | None = self._own_token()
            prefix = f"{_UNSECURED}Extension_"
        elif handler in {LOGIN, OLD_LOGIN}:
            source, prefix = self._source(), "extension_"
        else:
            self._problem(LOGIN_HANDLER, f"one of {LOGIN}, {UNSECURED_LOGIN} is needed")
            return None
        extensions = dict(self._extensions(prefix))
        refresh = self._refresh()
        if source is None:
            return None
        claims = "sasl.oauthbearer.{}.claim.name"
        principal = source.principal_claim if isinstance(source, UnsecuredToken) else self._needed(claims.format("sub"))
        return ClientTokens(source, refresh, extensions, principal, self._needed(claims.format("scope")))

    def _source(self) -> TokenSource | None:
        retriever = "sasl.oauthbearer.jwt.retriever.class"
        chosen = self._check_class(retriever, RETRIEVERS)
        url = self._url(_TOKENS_URL)
        if url is None or chosen is None:
            return None
        is_file = url.lower().startswith("file:")
        if chosen == FILE_RETRIEVER or (chosen == DEFAULT_RETRIEVER and is_file):
            return FileToken(url.partition(":")[2].removeprefix("//") if is_file else url)
        if is_file:
            self._problem(_TOKENS_URL, f"{chosen} needs http or https")
            return None
        endpoint = self._token_endpoint(url)
        if chosen == ASSERTION_RETRIEVER:
            told = self._assertion()
            scope = self._text("sasl.oauthbearer.scope")
            return None if told is None else AssertionGrant(endpoint, told, scope)
        return self._by_credentials(endpoint)

    def _by_credentials(self, endpoint: Endpoint) -> TokenSource | None:
        """KIP-1258's order: an assertion of a file, one that is made, a secret."""
        scope = self._configured("sasl.oauthbearer.scope", "scope")
        client_id = self._configured(_CLIENT_ID, "clientId")
        if self._text("sasl.oauthbearer.assertion.file") or self._text("sasl.oauthbearer.assertion.claim.iss"):
            told = self._assertion()
            return None if told is None else AssertionGrant(endpoint, told, scope, is_client=True, client_id=client_id)
        secret = self._configured(_SECRET, "clientSecret")
        for name, found in ((_CLIENT_ID, client_id), (_SECRET, secret)):
            if found is None:
                self._problem(name, "it is needed where a token is asked for")
        if client_id is None or secret is None:
            return None
        encodes = (self._text(URL_ENCODES) or "false").lower() == "true"
        return SecretGrant(endpoint, client_id, secret, scope, encodes=encodes)

    def _assertion(self) -> Assertion | None:
        if self._text("sasl.oauthbearer.assertion.file") is not None:
            path = self._file("sasl.oauthbearer.assertion.file")
            return None if path is None else Assertion(file=path)
        algorithm = (self._text("sasl.oauthbearer.assertion.algorithm") or "").upper()
        if algorithm not in {"RS256", "ES256"}:
            self._problem("sasl.oauthbearer.assertion.algorithm", "one of RS256, ES256 is needed")
        key = self._file("sasl.oauthbearer.assertion.private.key.file")
        template = "sasl.oauthbearer.assertion.template.file"
        claims = {
            "aud": self._text("sasl.oauthbearer.assertion.claim.aud"),
            "iss": self._text("sasl.oauthbearer.assertion.claim.iss"),
            "sub": self._text("sasl.oauthbearer.assertion.claim.sub"),
        }
        if key is None:
            return None
        return Assertion(
            algorithm=algorithm,
            key_file=key,
            passphrase=self._text("sasl.oauthbearer.assertion.private.key.passphrase"),
            template_file=self._file(template) if self._text(template) is not None else None,
            claims={name: found for name, found in claims.items() if found is not None},
            expires_seconds=self._number("sasl.oauthbearer.assertion.claim.exp.seconds"),
            not_before_seconds=self._number("sasl.oauthbearer.assertion.claim.nbf.seconds"),
            has_id=(self._text("sasl.oauthbearer.assertion.claim.jti.include") or "").lower() == "true",
        )

    def _own_token(self) -> UnsecuredToken | None:
        """What the client says of itself, and nobody signs."""
        claims: dict[str, object] = {}
        for name, text in self._options.items():
            kind, _, claim = name.removeprefix(_UNSECURED).partition("Claim_")
            if not name.startswith(_UNSECURED) or not claim:
                continue
            if claim in {"iat", "exp"}:
                self._problem("sasl.jaas.config", f"Cannot explicitly set the '{claim}' claim")
            claims[claim] = self._claim(kind, text)
        principal = self._options.get(f"{_UNSECURED}PrincipalClaimName", "").strip() or "sub"
        lifetime = self._options.get(f"{_UNSECURED}LifetimeSeconds", "3600").strip()
        if not lifetime.isascii() or not lifetime.isdigit():
            self._problem("sasl.jaas.config", f"{_UNSECURED}LifetimeSeconds is no number of seconds")
            return None
        if not isinstance(claims.get(principal), str):
            why = f"set {_UNSECURED}StringClaim_{principal} of the login module, or choose {LOGIN} in {LOGIN_HANDLER}"
            self._problem("sasl.jaas.config", why)
            return None
        return UnsecuredToken(claims, int(lifetime), principal)

    def _claim(self, kind: str, text: str) -> object:
        if kind == "List":
            return text[1:].split(text[0]) if len(text) > 1 else []
        if kind != "Number":
            return text
        try:
            return float(text)
        except ValueError:
            self._problem("sasl.jaas.config", f"a {_UNSECURED}NumberClaim_ is no number")
            return 0

    def _extensions(self, prefix: str) -> Iterator[tuple[str, str]]:
        for option, value in self._options.items():
            if option.startswith(prefix):
                name = option.removeprefix(prefix)
                if (why := extension_fault(name, value)) is not None:
                    self._problem("sasl.jaas.config", why)
                yield name, value

    def _refresh(self) -> Refresh:
        found: dict[str, float] = {}
        for name, (lowest, highest) in _RANGES.items():
            found[name] = value = float(self._text(name) or 0)
            if not lowest <= value <= highest:
                self._problem(name, f"Value must be at least {lowest} and no more than {highest}")
        factor, jitter, period, buffer = found.values()
        return Refresh(factor, jitter, int(period), int(buffer))

    # Single values.

    def _text(self, name: str) -> str | None:
        return (self._value(name) or "").strip() or None

    def _needed(self, name: str) -> str:
        found = self._text(name)
        if found is None:
            self._problem(name, "it is needed")
        return found or ""

    def _configured(self, name: str, option: str) -> str | None:
        """What the configuration says, else the option of the login module that Kafka had before."""
        return self._text(name) or self._options.get(option, "").strip() or None

    def _number(self, name: str, lowest: int = 0) -> int:
        text = self._text(name) or "0"
        if not text.isascii() or not text.isdigit() or int(text) < lowest:
            self._problem(name, f"Value must be at least {lowest}")
            return lowest
        return int(text)

    def _check_class(self, name: str, known: tuple[str, ...]) -> str | None:
        found = self._text(name) or BY_NAME[name].default
        if found not in known:
            self._problem(name, f"one of {', '.join(known)} is needed")
            return None
        return found

    def _url(self, name: str) -> str | None:
        url = self._text(name)
        if url is None:
            self._problem(name, "it is needed, so that signatures of tokens can be verified" if "jwks" in name else
                          "it is needed where a token is asked for")  # fmt: skip
            return None
        if (why := self._allowed.url_fault(url)) is not None:
            self._problem(name, why)
            return None
        return url

    def _file(self, name: str) -> str | None:
        path = self._needed(name)
        if path and (why := self._allowed.file_fault(path)) is not None:
            self._problem(name, why)
        return path or None

    def _token_endpoint(self, url: str) -> Endpoint:
        return Endpoint(
            url,
            self._tls(url),
            connect_timeout_seconds=self._timeout("sasl.login.connect.timeout.ms"),
            read_timeout_seconds=self._timeout("sasl.login.read.timeout.ms"),
            backoff_ms=self._number("sasl.login.retry.backoff.ms"),
            backoff_max_ms=self._number("sasl.login.retry.backoff.max.ms"),
        )

    def _timeout(self, name: str) -> float:
        """In seconds; where Kafka waits for ever, a bound of ours."""
        return TIMEOUT_SECONDS if self._text(name) is None else self._number(name, lowest=1) / 1000

    def _tls(self, url: str) -> TlsSettings | None:
        """Of the options of the login module, with the names of a client's settings."""
        if not url.lower().startswith("https:"):
            return None
        told = {name: text for name, text in self._options.items() if name.startswith("ssl.")}
        settings = Settings({name: Property(name, text, "sasl.jaas.config") for name, text in told.items()})
        problem = self._problem
        return read_security(
            settings, None, SecurityProtocol.SSL, lambda name, why: problem("sasl.jaas.config", f"{name}: {why}"),
            serves=False,
        ).tls  # fmt: skip
