"""The Secrets of a secure cluster, read by their names: the operator may neither list nor watch Secrets.

What was read is believed for a while, so that a cluster of five hundred nodes costs a few questions a second at most;
what the operator itself wrote is read at once. A Secret that is deleted or damaged meanwhile harms nobody: nodes go on
with what they have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol
from zlib import crc32

from controller_runtime.security.listener_security import PLAINTEXT, ListenerSecurity
from kraft_operator.api import names
from kraft_operator.api.security import CertificateSource
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.credentials import (
    Authority,
    CopyCertificate,
    CredentialAction,
    Credentials,
    IssueCertificate,
    Issued,
    RequestCertificate,
    Succession,
)
from kraft_operator.kube import SECRET, Gateway, Object
from kraft_operator.observed import Pod
from kraft_operator.proofs import Doubt, doubts
from kraft_operator.security.access import access_by, key_store, secured_by
from kraft_operator.security.certificates import BadCertificate
from kraft_operator.security.identities import origin_of
from kraft_operator.security.secret_objects import TRUSTED, issued_in, published_by, published_since, text_of
from kraft_operator.security.succession import authority_of, keys_of
from kraft_operator.security.user_objects import settings_of, user_secret_seen
from kraft_operator.sources_seen import SourceMemory
from kraft_operator.users import (
    Found,
    MakeCredential,
    SetPassword,
    User,
    UserAction,
    UserAuthentication,
    Users,
    UserSecret,
)

OWN_SECONDS: Final = 30.0
"""How long the authority and the operator's own certificate are believed."""
NODES_SECONDS: Final = 300.0
"""At the longest. Each Secret has a time of its own between half of it and this, so that a thousand are not read at
once.
"""
USERS_SECONDS: Final = 30.0
"""How long what the cluster has of users is believed: their answers are long where users are many."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a look at the Secrets of a cluster gives: what the planner sees, and how the nodes are asked; None while
    they cannot be.
    """

    credentials: Credentials | None = None
    security: ListenerSecurity | None = PLAINTEXT
    proof: ListenerSecurity | None = None
    """How a node is asked whether it has what the last step towards another authority wrote; None at rest."""
    step: str = ""
    """Names what it proves, where somebody else issues."""


@dataclass(frozen=True, slots=True)
class AuthorityRead:
    authority: Authority | None = None
    succession: Succession = field(default_factory=Succession)
    published: tuple[str, ...] = ()
    published_since: float = 0.0
    fault: str = ""
    """What is wrong with its Secret."""
    signing: str = ""
    """Its certificate."""
    probe: ListenerSecurity | None = None
    """With a certificate of the successor. It holds a key, which its text leaves out."""


@dataclass(slots=True)
class SecretMemory:
    """Of one cluster, in this process. It keeps no key but the operator's own, as `ListenerSecurity`."""

    _issued: dict[str, tuple[float, Issued | None]] = field(default_factory=dict)
    _authority: tuple[float, AuthorityRead] | None = None
    _security: ListenerSecurity | None = None
    _users: dict[str, tuple[float, UserSecret | None]] = field(default_factory=dict)
    _trusted: str = ""
    """The published certificate of the authority."""
    _proven: dict[str, str] = field(default_factory=dict)
    """UIDs of pods whose node was seen to have what a step towards another authority wrote, to that step."""
    _found: tuple[float, Found] | None = None
    """What the cluster itself has of users."""
    _sources: SourceMemory = field(default_factory=SourceMemory)

    def look(self, cluster: KRaftCluster, nodes: Collection[int], kube: Gateway, now: float) -> Access:
        """Raises KubeError."""
        if not cluster.spec.security.certified:
            return Access()
        own = names.operator_tls(cluster.name)
        secrets = {names.node_tls(cluster.name, node_id) for node_id in nodes}
        secrets |= {names.archive_tls(cluster.name)} if cluster.spec.archive is not None else set()
        read = self._read_authority(cluster, kube, now)
        self._issued = {name: known for name, known in self._issued.items() if name in secrets or name == own}
        for name in sorted(secrets | {own}):
            known = self._issued.get(name)
            if known is None or known[1] is None or now - known[0] >= (OWN_SECONDS if name == own else _patience(name)):
                self._read(cluster, name, kube, now, own=name == own)
        issued = {name: found for name, (_, found) in self._issued.items() if found is not None}
        found = Credentials(
            read.authority, read.succession, read.published, read.published_since, issued=issued, fault=read.fault
        )
        speaks = self._security if cluster.spec.security.speaks_tls else PLAINTEXT
        if cluster.spec.security.source is not CertificateSource.OPERATOR:
            others = [own, *((names.archive_tls(cluster.name),) if cluster.spec.archive is not None else ())]
            found, proof, step = self._sourced(cluster, found, others, nodes, kube=kube, now=now)
            return Access(found, speaks, self._security if cluster.spec.security.on_its_way else proof, step)
        proof = self._security if cluster.spec.security.on_its_way else self._proof(read)
        return Access(found, speaks, proof)

    def _sourced(
        self, cluster: KRaftCluster, seen: Credentials, others: list[str], nodes: Collection[int], *, kube: Gateway,
        now: float,
    ) -> tuple[Credentials, ListenerSecurity | None, str]:  # fmt: skip
        """The operator's own authority means nothing here, but for the restarts that were made for it."""
        tls = self._security.tls if self._security is not None else None
        shown, trust = (tls.keystore, tls.truststore) if tls is not None else (None, None)
        known = self._trusted + ((trust.certificates or "") if trust is not None else "")
        sourced = self._sources.look(cluster, others, nodes, known=known, kube=kube, now=now)
        own = sourced.sources.get(origin_of(cluster, names.operator_tls(cluster.name)))
        proof, step = self._sources.proof(sourced, seen.issued.values(), own, self._trusted, shown)
        turns = Succession(turns=seen.succession.turns)
        return replace(seen, authority=None, succession=turns, fault="", sourced=sourced), proof, step

    def _proof(self, read: AuthorityRead) -> ListenerSecurity | None:
        if read.probe is not None:
            return read.probe
        tls = self._security.tls if self._security is not None else None
        if not read.succession.predecessor or tls is None or tls.keystore is None:
            return None
        return secured_by(tls.keystore, read.signing)

    def proven(self, step: str, uids: Collection[str] = ()) -> frozenset[str]:
        """Pods of which this step is proven, with those that were just found to be."""
        self._proven = {uid: known for uid, known in self._proven.items() if known == step}
        self._proven |= dict.fromkeys(uids, step)
        return frozenset(self._proven)

    def users(self, cluster: KRaftCluster, wanted: tuple[User, ...], kube: Gateway, now: float) -> Users | None:
        """What is asked for, and what its Secrets say. Raises KubeError."""
        if not cluster.spec.security.authorized:
            problem = f"{cluster.name} is not secure: nobody could say who it is (spec.security.tls.mode)"
            return Users(tuple(replace(each, fault=problem) for each in wanted)) if wanted else None
        names_of = {each.name for each in wanted}
        self._users = {name: known for name, known in self._users.items() if name in names_of}
        for each in (each for each in wanted if not each.fault and each.by is not UserAuthentication.EXTERNAL):
            known = self._users.get(each.name)
            if known is None or known[1] is None or now - known[0] >= _believed(each, known[1]):
                secret = kube.find(SECRET, cluster.namespace, names.user_secret(each.name))
                self._users[each.name] = now, user_secret_seen(secret) if secret is not None else None
        seen = {name: found for name, (_, found) in self._users.items() if found is not None}
        certified = settings_of(cluster, self._trusted, UserAuthentication.TLS)
        return Users(wanted, seen, settings_of(cluster, self._trusted), certified)

    def asks_about_users(self, now: float) -> bool:
        return self._found is None or now - self._found[0] >= USERS_SECONDS

    def users_found(self, answer: Found | None, now: float) -> Found | None:
        """What the cluster has of users: by this answer, or by the last one that is believed."""
        if answer is not None:
            self._found = now, answer
        return None if self.asks_about_users(now) or self._found is None else self._found[1]

    def forget(self, actions: Iterable[object]) -> None:
        """What these write, or would have written had it been as it was believed to be, is read by the next look."""
        for action in actions:
            if isinstance(action, IssueCertificate | CopyCertificate):
                self._issued.pop(action.wanted.secret, None)
            if isinstance(action, RequestCertificate | CopyCertificate):
                self._sources.forget(action.wanted.origin)
            if isinstance(action, MakeCredential | SetPassword):
                self._users.pop(action.user, None)
            if isinstance(action, CredentialAction):
                self._authority = None
            if isinstance(action, UserAction):
                self._found = None

    def _read(self, cluster: KRaftCluster, name: str, kube: Gateway, now: float, *, own: bool) -> None:
        secret = kube.find(SECRET, cluster.namespace, name)
        self._issued[name] = now, issued_in(secret) if secret is not None else None
        if own:
            self._security = access_by(secret)

    def _read_authority(self, cluster: KRaftCluster, kube: Gateway, now: float) -> AuthorityRead:
        if self._authority is None or self._authority[1].authority is None or now - self._authority[0] >= OWN_SECONDS:
            secret = kube.find(SECRET, cluster.namespace, names.authority_key(cluster.name))
            public = kube.find(SECRET, cluster.namespace, names.authority_certificate(cluster.name))
            self._authority = now, replace(_authority(secret, public), published_since=published_since(public))
            self._trusted = text_of(public, TRUSTED) if public is not None and self._authority[1].published else ""
        return self._authority[1]


def _patience(name: str) -> float:
    return NODES_SECONDS * (0.5 + (crc32(name.encode()) % 1000) / 2000)


def _believed(user: User, secret: UserSecret) -> float:
    """One that is somebody else's may be given away at any time."""
    return _patience(user.name) if secret.owner == user.uid else OWN_SECONDS


def _authority(secret: Object | None, public: Object | None) -> AuthorityRead:
    published = published_by(public)
    try:
        if secret is None:
            return AuthorityRead(published=published)
        keys, (found, succession) = keys_of(secret), authority_of(secret)
    except BadCertificate as error:
        return AuthorityRead(published=published, fault=str(error))
    probe = secured_by(key_store(keys.probe), keys.trusted) if keys.probe is not None else None
    return AuthorityRead(found, succession, published, signing=keys.signing.certificate, probe=probe)


class Asks(Protocol):
    def prove(self, asked: Collection[Doubt], security: ListenerSecurity) -> frozenset[str]: ...


def proven(
    cluster: KRaftCluster, pods: Collection[Pod], access: Access, probe: Asks, secrets: SecretMemory
) -> Credentials | None:
    """What was seen of the credentials, with the nodes that have what the last step towards another authority wrote."""
    found = access.credentials
    if found is None or access.proof is None:
        return found
    step = access.step or f"{found.succession.turns}.{found.succession.uid}"
    if cluster.spec.security.on_its_way:
        step = cluster.formed
    asked = doubts(cluster, pods, secrets.proven(step))
    known = secrets.proven(step, probe.prove(asked, access.proof) if asked else ())
    return replace(found, proven=frozenset(each.node_id for each in pods if each.uid in known))
