"""What a configuration says of TLS on one listener, or of one client: values only, no file is read here.

One `TlsSettings` serves both directions, as in Kafka: a node shows the same certificate to who connects and where it
connects. Passwords and inline keys are left out of every representation.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from controller_runtime.security.mapping_rules import DEFAULT_RULES, MappingRules
from controller_runtime.values import dataclass, field

STORE_NAMES: Final = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.key.password",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.certificates",
)
"""What may change while a node runs."""


class ClientAuth(Enum):
    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


class StoreType(Enum):
    JKS = "JKS"
    PKCS12 = "PKCS12"
    PEM = "PEM"


@dataclass(frozen=True, slots=True)
class KeyStore:
    """Where a node's own key and certificates are: a file, or PEM in the configuration itself."""

    type: StoreType
    location: str | None = None
    password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    chain: str | None = None


@dataclass(frozen=True, slots=True)
class TrustStore:
    """Whose certificates are believed."""

    type: StoreType
    location: str | None = None
    password: str | None = field(default=None, repr=False)
    certificates: str | None = None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    keystore: KeyStore | None = None
    truststore: TrustStore | None = None
    """None: what this machine's libraries trust."""
    client_auth: ClientAuth = ClientAuth.NONE
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    ciphers: tuple[str, ...] = ()
    """IANA names; empty: all that the library thinks good."""
    checks_host: bool = True
    """A client compares the name that it dialled with the server's certificate."""
    rules: MappingRules = DEFAULT_RULES
    may_change_names: bool = False
    """A reload may bring a certificate of another subject (`ssl.allow.dn.changes`)."""
    may_lose_hosts: bool = False
    """A reload may bring a certificate for fewer hosts (`ssl.allow.san.changes`)."""
