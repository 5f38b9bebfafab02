"""A cluster's users as the planner sees them: what their resources ask for, what their Secrets and the cluster have.
No password is in any of these values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class UserAuthentication(StrEnum):
    """How a user says who it is."""

    SCRAM = "Scram"
    TLS = "Tls"
    """By a certificate that the cluster's own authority has issued."""
    EXTERNAL = "External"
    """By a certificate or token of somebody else: it has no Secret."""


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """One rule of a user, by Kafka's numbers."""

    resource_type: int
    name: str
    pattern_type: int
    host: str
    operation: int
    permission: int


@dataclass(frozen=True, slots=True)
class User:
    """A KRaftUser. `fault` says why it cannot be acted upon."""

    name: str
    uid: str
    generation: int
    acls: frozenset[Acl] = frozenset()
    quotas: Mapping[str, float] = field(default_factory=dict)
    rotate: str = ""
    """What its annotation says: another value is another password."""
    status: Mapping[str, object] = field(default_factory=dict)
    fault: str = ""
    by: UserAuthentication = UserAuthentication.SCRAM


@dataclass(frozen=True, slots=True)
class UserSecret:
    """What is known of a user's Secret without its password or key."""

    uid: str
    version: str
    owner: str
    """UID of the KRaftUser that it belongs to; empty for somebody else's."""
    rotated: str = ""
    """The value of the annotation for which its password was made."""
    settings: str = ""
    """Digest of what it says besides the password: where to connect, whom to trust."""
    fault: str = ""
    by: UserAuthentication = UserAuthentication.SCRAM
    begins: float = 0.0
    ends: float = 0.0
    """Of its certificate; seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the cluster itself has of users."""

    scram: frozenset[str] = frozenset()
    """Who can log in by SCRAM-SHA-512."""
    acls: Mapping[str, frozenset[Acl]] = field(default_factory=dict)
    """By the name of a principal of type User."""
    quotas: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Users:
    wanted: tuple[User, ...] = ()
    secrets: Mapping[str, UserSecret] = field(default_factory=dict)
    """By the name of the user."""
    settings: str = ""
    """The digest that a Secret with a password should have."""
    settings_with_certificate: str = ""
    found: Found | None = None
    """None: nobody could be asked."""

    def settings_by(self, by: UserAuthentication) -> str:
        return self.settings_with_certificate if by is UserAuthentication.TLS else self.settings


@dataclass(frozen=True, slots=True)
class MakeCredential:
    """Draw a password, or issue a certificate, and write the user's Secret, in the place of exactly the one that was
    read (`version`).
    """

    user: str
    user_uid: str
    version: str
    rotated: str
    fresh: bool
    """Draw a new password; else the one that is there stays. A certificate is always made anew."""
    reason: str
    by: UserAuthentication = UserAuthentication.SCRAM


@dataclass(frozen=True, slots=True)
class SetPassword:
    """Let the user log in by the password of its Secret, as it was read."""

    user: str
    version: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChangeAcls:
    user: str
    add: tuple[Acl, ...]
    remove: tuple[Acl, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class SetQuotas:
    """`values`: by Kafka's name; None takes one away."""

    user: str
    values: Mapping[str, float | None]
    reason: str


@dataclass(frozen=True, slots=True)
class ForgetUser:
    """Its login, all of its ACLs, its quotas."""

    user: str
    login: bool
    acls: tuple[Acl, ...]
    quotas: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class TellUser:
    """Write the status of a KRaftUser."""

    user: str
    user_uid: str
    status: Mapping[str, object]
    reason: str


UserAction = MakeCredential | SetPassword | ChangeAcls | SetQuotas | ForgetUser | TellUser
