"""The Secrets of a secure cluster, read by their names: the operator may neither list nor watch Secrets.

What was read is believed for a while, so that a cluster of five hundred nodes costs a few questions a second at most;
what the operator itself wrote is read at once. A Secret that is deleted or damaged meanwhile harms nobody: nodes go on
with what they have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from controller_runtime.security.listener_security import PLAINTEXT, ListenerSecurity
from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.credentials import Authority, Credentials, IssueCertificate, Issued, MakeAuthority
from kraft_operator.kube import SECRET, Gateway, Object
from kraft_operator.security.access import access_by
from kraft_operator.security.certificates import BadCertificate
from kraft_operator.security.secret_objects import TRUSTED, authority_of, issued_in, published_by, text_of
from kraft_operator.security.user_objects import settings_of, user_secret_seen
from kraft_operator.users import MakePassword, SetPassword, User, Users, UserSecret

OWN_SECONDS: Final = 30.0
"""How long the authority and the operator's own certificate are believed."""
NODES_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Access:
    """What a look at the Secrets of a cluster gives: what the planner sees, and how the nodes are asked; None while
    they cannot be.
    """

    credentials: Credentials | None = None
    security: ListenerSecurity | None = PLAINTEXT


@dataclass(slots=True)
class SecretMemory:
    """Of one cluster, in this process. It keeps no key but the operator's own, as `ListenerSecurity`."""

    _issued: dict[str, tuple[float, Issued | None]] = field(default_factory=dict)
    _authority: tuple[float, Authority | None, str, str] | None = None
    """When it was read, what it is, whose certificate is published, what is wrong with it."""
    _security: ListenerSecurity | None = None
    _users: dict[str, tuple[float, UserSecret | None]] = field(default_factory=dict)
    _trusted: str = ""
    """The published certificate of the authority."""

    def look(self, cluster: KRaftCluster, nodes: Collection[int], kube: Gateway, now: float) -> Access:
        """Raises KubeError."""
        if not cluster.spec.security.required:
            return Access()
        own = names.operator_tls(cluster.name)
        secrets = {names.node_tls(cluster.name, node_id) for node_id in nodes}
        authority, published, fault = self._read_authority(cluster, kube, now)
        self._issued = {name: known for name, known in self._issued.items() if name in secrets or name == own}
        for name in sorted(secrets | {own}):
            known = self._issued.get(name)
            if known is None or known[1] is None or now - known[0] >= (OWN_SECONDS if name == own else NODES_SECONDS):
                self._read(cluster, name, kube, now, own=name == own)
        issued = {name: found for name, (_, found) in self._issued.items() if found is not None}
        return Access(Credentials(authority, published, issued, fault), self._security)

    def users(self, cluster: KRaftCluster, wanted: tuple[User, ...], kube: Gateway, now: float) -> Users | None:
        """What is asked for, and what its Secrets say. Raises KubeError."""
        if not cluster.spec.security.required:
            problem = f"{cluster.name} is not secure: nobody could say who it is (spec.security.tls.mode)"
            return Users(tuple(replace(each, fault=problem) for each in wanted)) if wanted else None
        self._users = {name: known for name, known in self._users.items() if name in {each.name for each in wanted}}
        for name in (each.name for each in wanted if not each.fault):
            known = self._users.get(name)
            if known is None or known[1] is None or now - known[0] >= NODES_SECONDS:
                secret = kube.find(SECRET, cluster.namespace, names.user_secret(name))
                self._users[name] = now, user_secret_seen(secret) if secret is not None else None
        seen = {name: found for name, (_, found) in self._users.items() if found is not None}
        return Users(wanted, seen, settings_of(cluster, self._trusted))

    def forget(self, actions: Iterable[object]) -> None:
        """What these write, or would have written had it been as it was believed to be, is read by the next look."""
        for action in actions:
            if isinstance(action, IssueCertificate):
                self._issued.pop(action.wanted.secret, None)
            if isinstance(action, MakePassword | SetPassword):
                self._users.pop(action.user, None)
            if isinstance(action, MakeAuthority | IssueCertificate):
                self._authority = None

    def _read(self, cluster: KRaftCluster, name: str, kube: Gateway, now: float, *, own: bool) -> None:
        secret = kube.find(SECRET, cluster.namespace, name)
        self._issued[name] = now, issued_in(secret) if secret is not None else None
        if own:
            self._security = access_by(secret)

    def _read_authority(self, cluster: KRaftCluster, kube: Gateway, now: float) -> tuple[Authority | None, str, str]:
        known = self._authority
        if known is None or known[1] is None or now - known[0] >= OWN_SECONDS:
            secret = kube.find(SECRET, cluster.namespace, names.authority_key(cluster.name))
            public = kube.find(SECRET, cluster.namespace, names.authority_certificate(cluster.name))
            found, fault = _authority(secret)
            known = self._authority = now, found, published_by(public), fault
            self._trusted = text_of(public, TRUSTED) if known[2] and public is not None else ""
        return known[1:]


def _authority(secret: Object | None) -> tuple[Authority | None, str]:
    """What it is, and what is wrong with it."""
    try:
        return (authority_of(secret) if secret is not None else None), ""
    except BadCertificate as error:
        return None, str(error)
