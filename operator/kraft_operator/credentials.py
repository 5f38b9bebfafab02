"""Certificates as the planner sees them: whose they are, for which hosts, until when. No key is in any of these values,
so that none can reach a plan, a status, an Event or a log.

The actions say what is to be made; only `certificate_writes` makes keys, and puts them into Secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class Subject:
    """As whom a certificate's owner comes. Its text is that of Java's principals (RFC 2253)."""

    common_name: str
    namespace: str
    cluster: str

    @property
    def text(self) -> str:
        return f"CN={self.common_name},OU={self.namespace},O={self.cluster}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A certificate that the cluster needs, and the Secret that shall hold it."""

    secret: str
    subject: Subject
    hosts: tuple[str, ...]
    """Names and addresses, each once; empty for who only connects to others."""
    seconds: float
    """How long it is valid."""
    owner: tuple[str, str, str, str]
    """apiVersion, kind, name and UID of the object with which the Secret goes."""
    needed: tuple[str, ...] = ()
    """Of the hosts, those by whose names somebody connects: what others issue has to be for these at least."""
    origin: str = ""
    """The Secret in which somebody else puts the certificate; empty where the operator issues it."""
    also: tuple[str, ...] = ()
    """Other subjects by which its owner may come."""


@dataclass(frozen=True, slots=True)
class Issued:
    """What is in a Secret. `fault` says why that is of no use; then the rest means nothing."""

    uid: str = ""
    version: str = ""
    """Its resourceVersion: what takes its place is fenced by it."""
    subject: str = ""
    hosts: frozenset[str] = frozenset()
    begins: float = 0.0
    ends: float = float("inf")
    """Seconds since 1970."""
    issuer: str = ""
    """Fingerprint of the authority whose signature it bears, among those that the Secret trusts."""
    trusts: tuple[str, ...] = ()
    """Fingerprints of the authorities beside it."""
    fault: str = ""
    fingerprint: str = ""
    origin: str = ""
    """The Secret of which this one is a copy; empty where the operator issued it."""


@dataclass(frozen=True, slots=True)
class Authority:
    """The cluster's own."""

    fingerprint: str
    begins: float = 0.0
    ends: float = float("inf")


class Turn(StrEnum):
    """The steps by which another authority takes the place of the one that there is. Before each of them, what the one
    before it wrote is proven at every node.
    """

    TRUST = "trust"
    """Everybody trusts both; the old one signs."""
    ISSUE = "issue"
    """The new one signs; everybody still trusts both. The old one's key is thrown away."""
    FORGET = "forget"
    """Nobody trusts the old one."""


@dataclass(frozen=True, slots=True)
class Succession:
    """Where the authority stands on its way to another one. At rest: nobody follows, nobody went before."""

    successor: str = ""
    """Fingerprint of the one that is trusted and does not sign yet."""
    predecessor: str = ""
    """Of the one that is trusted still and does not sign any more."""
    since: float = 0.0
    """When the last step was taken, in seconds since 1970."""
    turns: int = 0
    """Steps that were taken in the life of the cluster."""
    asked: str = ""
    """The wish for another authority that was heard last."""
    uid: str = ""
    version: str = ""
    """Of the Secret that says all of this: the next step is fenced by them."""

    @property
    def trusted(self) -> tuple[str, ...]:
        """Beside the authority itself."""
        return tuple(each for each in (self.successor, self.predecessor) if each)


@dataclass(frozen=True, slots=True)
class Sourced:
    """Certificates that somebody else issues, as they were read."""

    bundle: tuple[str, ...] = ()
    """Fingerprints of the authorities that are to be trusted."""
    sources: Mapping[str, Issued] = field(default_factory=dict)
    """By the name of the Secret in which somebody else puts them; what is not there has no Secret."""
    authorities: Mapping[str, str] = field(default_factory=dict)
    """Certificates of all authorities that are known, in PEM, by fingerprint."""
    fault: str = ""
    """Why none of them can be used."""
    requests: Mapping[str, Request] = field(default_factory=dict)
    """What cert-manager was asked for, by the name of the Secret that it is to fill."""


@dataclass(frozen=True, slots=True)
class Request:
    """A Certificate of cert-manager."""

    digest: str
    """Names what is asked for."""
    waits: str = ""
    """What it says while it is not Ready."""
    owned: bool = True
    """It is this cluster's."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of a secure cluster, as they were read."""

    authority: Authority | None = None
    """Whose key is there."""
    succession: Succession = field(default_factory=Succession)
    published: tuple[str, ...] = ()
    """Fingerprints of the authorities that everybody may read; empty without one."""
    published_since: float = 0.0
    """Since when, in seconds since 1970, where somebody else issues; 0 when it is not known."""
    proven: frozenset[int] = frozenset()
    """Nodes that were seen to have what the last step of a succession wrote; means nothing without one."""
    issued: Mapping[str, Issued] = field(default_factory=dict)
    """By the name of the Secret; what is not there has no Secret."""
    fault: str = ""
    """Why the Secret with the authority's key cannot be used."""
    sourced: Sourced | None = None
    """Where somebody else issues."""

    @property
    def trusted(self) -> tuple[str, ...]:
        """Fingerprints of those whom everybody shall trust, the one that signs first."""
        return (self.authority.fingerprint, *self.succession.trusted) if self.authority is not None else ()


@dataclass(frozen=True, slots=True)
class MakeAuthority:
    """Make the cluster's authority unless it is there, and publish its certificate. An authority that is there is
    never replaced.
    """

    secret: str
    public_secret: str
    subject: Subject
    reason: str
    asked: str = ""
    """The wish for another authority that is fulfilled by this one."""


@dataclass(frozen=True, slots=True)
class TurnAuthority:
    """Take the next step towards another authority, in exactly the Secret that was read (`uid`, `version`)."""

    secret: str
    turn: Turn
    subject: Subject
    operator: Subject
    """For whom the new one makes a certificate, to prove that it is trusted."""
    replaced: str
    """Fingerprint of the authority that goes."""
    uid: str
    version: str
    asked: str
    reason: str


@dataclass(frozen=True, slots=True)
class IssueCertificate:
    """Make a key and a certificate, and put them in the place of what was read (`uid`, `version`; empty: of nothing).
    `authority` is the fingerprint of the one that the plan knows.
    """

    wanted: Wanted
    authority: str
    uid: str
    version: str
    reason: str
    trusts: tuple[str, ...] = ()
    """Fingerprints of those whom its owner shall trust."""


@dataclass(frozen=True, slots=True)
class RequestCertificate:
    """Ask cert-manager for a certificate: this Certificate, as a whole."""

    wanted: Wanted
    manifest: Mapping[str, Any] = field(repr=False)
    digest: str
    reason: str


@dataclass(frozen=True, slots=True)
class PublishAuthorities:
    """Let everybody read who is trusted."""

    secret: str
    certificates: str = field(repr=False)
    """In PEM."""
    fingerprints: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class CopyCertificate:
    """Put what is in exactly this Secret of somebody else (`source`) into the Secret that nodes mount, in the place of
    what was read there (`uid`, `version`; empty: of nothing), with those whom its owner shall trust. Without a `source`
    key and certificate stay what they are.
    """

    wanted: Wanted
    source: Issued | None
    uid: str
    version: str
    trusted: str = field(repr=False)
    """In PEM."""
    trusts: tuple[str, ...]
    """Their fingerprints."""
    reason: str


@dataclass(frozen=True, slots=True)
class EnterStage:
    """The cluster goes on to the next stage on the way to a secure one, or `back`. The ledger has it: nothing else is
    done for it.
    """

    stage: str
    """Its name, such as Turned."""
    reason: str
    back: bool = False

    @property
    def name(self) -> str:
        return f"stage {self.stage}"


SourcedAction = RequestCertificate | PublishAuthorities | CopyCertificate
CredentialAction = MakeAuthority | TurnAuthority | IssueCertificate | SourcedAction


def written_by(action: CredentialAction) -> str:
    """For people."""
    match action:
        case IssueCertificate() | CopyCertificate():
            return f"Secret/{action.wanted.secret}"
        case MakeAuthority() | TurnAuthority() | PublishAuthorities():
            return f"Secret/{action.secret}"
        case RequestCertificate():
            return f"Certificate/{action.wanted.origin}"
