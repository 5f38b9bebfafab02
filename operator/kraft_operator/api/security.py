"""`spec.security`, and how the listeners of a secure cluster tell who connects.

How far a cluster is secure is the ledger's to say, not the resource's: `Security.stage` is what it says (`stages`),
`Security.mode` what the resource asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

VALIDITY_SECONDS: Final = 90 * 86400.0
WAIT_FOR_CLIENTS_SECONDS: Final = 7 * 86400.0
QUIET_SECONDS: Final = 600.0


class TlsMode(StrEnum):
    DISABLED = "Disabled"
    MIGRATING = "Migrating"
    """Of a plaintext cluster that runs: as far as there is a way back."""
    REQUIRED = "Required"


class Stage(IntEnum):
    """How far a plaintext cluster is on its way to a secure one, see `stages`. One that was formed secure is at the
    last.
    """

    PLAIN = 0
    PREPARED = 1
    LISTENING = 2
    TURNED = 3
    FOLLOWED = 4
    REPLICATING = 5
    CLOSED = 6
    AUTHORIZED = 7
    ENFORCED = 8


class Encryption(StrEnum):
    """Of one listener."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"


class AuthorizationMode(StrEnum):
    """Of a cluster that was plaintext once, or is taken over; one that was formed secure is enforced from its
    beginning.
    """

    TRANSITION = "Transition"
    """What no ACL is about is allowed."""
    ENFORCED = "Enforced"


class Authentication(StrEnum):
    """Of those who connect to a broker's listener."""

    NONE = "None"
    TLS = "Tls"
    """By a certificate of an authority that the cluster trusts. The brokers' own listener has it for its nodes and its
    operator, others for clients.
    """
    SCRAM = "Scram"
    """By name and password, SCRAM-SHA-512."""
    OAUTH = "OAuth"
    """By a token that an identity provider has signed, OAUTHBEARER."""

    @property
    def by_sasl(self) -> bool:
        return self in (Authentication.SCRAM, Authentication.OAUTH)


@dataclass(frozen=True, slots=True)
class OAuth:
    """Whose tokens a listener takes."""

    jwks_url: str
    """Where the keys are with which they are signed."""
    issuer: str
    audiences: tuple[str, ...]
    """Tokens that are made for one of them are taken."""
    user_claim: str = "sub"
    scope_claim: str = "scope"
    trusted: str = ""
    """Authorities of the URL, in PEM; those of the image when it is empty."""


class CertificateSource(StrEnum):
    """Who issues the certificates of nodes and operator."""

    OPERATOR = "OperatorCA"
    """The operator, with an authority of the cluster's own."""
    CERT_MANAGER = "CertManager"
    """An issuer of cert-manager."""
    PROVIDED = "Provided"
    """Somebody else, who puts them into Secrets."""


@dataclass(frozen=True, slots=True)
class IssuerRef:
    """Of cert-manager, or of what issues for it."""

    name: str
    kind: str
    group: str


NODE_ID: Final = "$(NODE_ID)"


@dataclass(frozen=True, slots=True)
class Provided:
    """The Secrets of somebody else, by name."""

    trusted: str
    """Whose `ca.crt` has the authorities."""
    node: str
    """One for all nodes, or with NODE_ID in it one for each."""
    operator: str
    archive: str = ""

    def node_secret(self, node_id: int) -> str:
        return self.node.replace(NODE_ID, str(node_id))


@dataclass(frozen=True, slots=True)
class Security:
    mode: TlsMode = TlsMode.DISABLED
    validity_seconds: float = VALIDITY_SECONDS
    """Of the certificates of nodes and operator."""
    wait_for_clients_seconds: float = WAIT_FOR_CLIENTS_SECONDS
    """How long clients have to read their Secret again before another authority signs, and before the old one is
    forgotten.
    """
    super_users: tuple[str, ...] = ()
    """Principals who may everything, besides the nodes and the operator."""
    authorization: AuthorizationMode = AuthorizationMode.TRANSITION
    quiet_seconds: float = QUIET_SECONDS
    """How long nobody may have used the controllers' plaintext listener before it is closed."""
    stage: Stage = Stage.PLAIN
    migrated: bool = False
    """It was plaintext once."""
    source: CertificateSource = CertificateSource.OPERATOR
    issuer: IssuerRef | None = None
    """Of CertManager."""
    provided: Provided | None = None
    """Of Provided."""

    @property
    def required(self) -> bool:
        """It was formed secure."""
        return self.stage > 0 and not self.migrated

    @property
    def certified(self) -> bool:
        """Its nodes have certificates, whether they use them already or not."""
        return self.stage > 0

    @property
    def speaks_tls(self) -> bool:
        """So the operator speaks to its nodes: from REPLICATING on all of them understand it."""
        return self.stage >= Stage.REPLICATING

    @property
    def on_its_way(self) -> bool:
        """From plaintext, where there is a way back."""
        return self.migrated and not self.closed

    @property
    def closed(self) -> bool:
        """From CLOSED on nodes speak nothing else to each other, and there is no way back."""
        return self.stage >= Stage.CLOSED

    @property
    def authorized(self) -> bool:
        """From AUTHORIZED on the nodes ask the authorizer."""
        return self.stage >= Stage.AUTHORIZED

    @property
    def enforced(self) -> bool:
        """What no ACL allows is denied."""
        return self.stage >= Stage.ENFORCED
