"""What OAUTHBEARER is configured with: values, read by `configuration.oauth`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.security.tls_settings import TlsSettings
from controller_runtime.values import dataclass, field

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
VALIDATOR: Final = f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler"
OLD_VALIDATOR: Final = f"{_PACKAGE}.secured.OAuthBearerValidatorCallbackHandler"
UNSECURED_VALIDATOR: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
LOGIN: Final = f"{_PACKAGE}.OAuthBearerLoginCallbackHandler"
OLD_LOGIN: Final = f"{_PACKAGE}.secured.OAuthBearerLoginCallbackHandler"
UNSECURED_LOGIN: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
DEFAULT_RETRIEVER: Final = f"{_PACKAGE}.DefaultJwtRetriever"
CREDENTIALS_RETRIEVER: Final = f"{_PACKAGE}.ClientCredentialsJwtRetriever"
ASSERTION_RETRIEVER: Final = f"{_PACKAGE}.JwtBearerJwtRetriever"
FILE_RETRIEVER: Final = f"{_PACKAGE}.FileJwtRetriever"
RETRIEVERS: Final = (DEFAULT_RETRIEVER, CREDENTIALS_RETRIEVER, ASSERTION_RETRIEVER, FILE_RETRIEVER)
TIMEOUT_SECONDS: Final = 10.0
VALIDATORS: Final = (f"{_PACKAGE}.DefaultJwtValidator", f"{_PACKAGE}.BrokerJwtValidator")
"""Of a server."""


@dataclass(frozen=True, slots=True)
class ClaimRules:
    audiences: tuple[str, ...] = ()
    """One of them must be in `aud`; none: a token may have no `aud` at all."""
    issuer: str | None = None
    """None: any."""
    clock_skew_seconds: int = 30
    scope_claim: str = "scope"
    principal_claim: str = "sub"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL that may be asked, and how."""

    url: str
    """`http:`, `https:` or `file:`."""
    tls: TlsSettings | None = None
    """Of https, if anything is said of it."""
    connect_timeout_seconds: float = TIMEOUT_SECONDS
    read_timeout_seconds: float = TIMEOUT_SECONDS
    backoff_ms: int = 100
    backoff_max_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class SignedTokens:
    """A listener that believes signatures of one issuer's keys."""

    keys: Endpoint
    rules: ClaimRules
    refresh_ms: int = 3_600_000


@dataclass(frozen=True, slots=True)
class UnsecuredTokens:
    """A listener that believes whatever a token says, for trials."""

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scopes: tuple[str, ...] = ()
    clock_skew_ms: int = 0


ServerTokens = SignedTokens | UnsecuredTokens


@dataclass(frozen=True, slots=True)
class Refresh:
    """When a token is replaced before it ends (`sasl.login.refresh.*`)."""

    window_factor: float = 0.8
    window_jitter: float = 0.05
    min_period_seconds: int = 60
    buffer_seconds: int = 300


@dataclass(frozen=True, slots=True)
class FileToken:
    """The token lies in a file that somebody else keeps fresh."""

    path: str


@dataclass(frozen=True, slots=True)
class SecretGrant:
    """Client credentials by id and secret (RFC 6749 §4.4)."""

    endpoint: Endpoint
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    encodes: bool = False
    """`sasl.oauthbearer.header.urlencode`"""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A JWT that a client signs about itself (RFC 7523), or finds in a file."""

    file: str | None = None
    algorithm: str = "RS256"
    key_file: str | None = None
    passphrase: str | None = field(default=None, repr=False)
    template_file: str | None = None
    claims: Mapping[str, str] = field(default_factory=dict)
    """`aud`, `iss`, `sub`, as far as they are set."""
    expires_seconds: int = 300
    not_before_seconds: int = 60
    has_id: bool = False


@dataclass(frozen=True, slots=True)
class AssertionGrant:
    """A token for an assertion: as a grant of its own (KIP-1139), or in a client's place of a secret (KIP-1258)."""

    endpoint: Endpoint
    assertion: Assertion
    scope: str | None = None
    is_client: bool = False
    client_id: str | None = None


@dataclass(frozen=True, slots=True)
class UnsecuredToken:
    """A token that the client makes itself and nobody signs."""

    claims: Mapping[str, object]
    lifetime_seconds: int = 3600
    principal_claim: str = "sub"


TokenSource = FileToken | SecretGrant | AssertionGrant | UnsecuredToken


@dataclass(frozen=True, slots=True)
class ClientTokens:
    """How a client of ours comes to a token."""

    source: TokenSource
    refresh: Refresh = Refresh()
    extensions: Mapping[str, str] = field(default_factory=dict)
    principal_claim: str = "sub"
    scope_claim: str = "scope"
