"""Makes authorities and certificates, and writes them into Secrets: the only code that has keys in its hands.

An authority is only ever created; who finds one takes it. A certificate, and a step towards another authority, takes
the place of exactly the Secret that the plan was made upon, so that of two operators one is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from kraft_operator.api.spec import KRaftCluster
from kraft_operator.credentials import (
    CopyCertificate,
    CredentialAction,
    IssueCertificate,
    MakeAuthority,
    PublishAuthorities,
    RequestCertificate,
    Turn,
    TurnAuthority,
)
from kraft_operator.fence import Stale
from kraft_operator.kube import CERTIFICATE, SECRET, Gateway, Object
from kraft_operator.security.certificates import BadCertificate, Issuer, as_nodes_read, facts
from kraft_operator.security.secret_objects import leaf_secret, pair_of, public_secret
from kraft_operator.security.succession import Keys, authority_of, authority_secret, keys_of
from kraft_operator.settings import Failpoints

READ_AGAIN: Final = "it is read again"


@dataclass(frozen=True, slots=True)
class CertificateWrites:
    cluster: KRaftCluster
    kube: Gateway
    issuer: Issuer
    failpoints: Failpoints
    timeout: float
    authority: str
    """The Secret with the authority's key."""

    def perform(self, action: CredentialAction) -> None:
        match action:
            case MakeAuthority():
                self.make_authority(action)
            case TurnAuthority():
                self.turn(action)
            case IssueCertificate():
                self.issue(action)
            case RequestCertificate():
                self.failpoints.hit("before_call.request_certificate")
                self.kube.apply(CERTIFICATE, dict(action.manifest), timeout=self.timeout)
            case PublishAuthorities():
                since = self.issuer.now().timestamp()
                published = public_secret(self.cluster, action.secret, action.certificates, since)
                self.kube.apply(SECRET, published, timeout=self.timeout)
            case CopyCertificate():
                self.copy(action)

    def make_authority(self, action: MakeAuthority) -> None:
        namespace = self.cluster.namespace
        secret = self.kube.find(SECRET, namespace, action.secret)
        if secret is None:
            self.failpoints.hit("before_call.authority")
            keys = Keys(self.issuer.authority(action.subject))
            made = authority_secret(self.cluster, action.secret, keys, asked=action.asked)
            secret = self.kube.create(SECRET, namespace, made, timeout=self.timeout)
            self.failpoints.hit("after_call.authority")
        trusted = self._keys(secret).trusted
        self.kube.apply(SECRET, public_secret(self.cluster, action.public_secret, trusted), timeout=self.timeout)

    def turn(self, action: TurnAuthority) -> None:
        secret = self.kube.find(SECRET, self.cluster.namespace, action.secret)
        meta = (secret or {"metadata": {}})["metadata"]
        if secret is None or (meta.get("uid"), meta.get("resourceVersion")) != (action.uid, action.version):
            raise Stale(f"Secret {action.secret} is not the one that was planned upon; {READ_AGAIN}")
        keys, known = self._keys(secret), authority_of(secret)[1]
        body = authority_secret(
            self.cluster, action.secret, self._turned(keys, action), since=self.issuer.now().timestamp(),
            turns=known.turns + 1, asked=action.asked,
        )  # fmt: skip
        body["metadata"] |= {"uid": action.uid, "resourceVersion": action.version}
        self.failpoints.hit(f"before_call.{action.turn.value}_authority")
        self.kube.replace(SECRET, body, timeout=self.timeout)
        self.failpoints.hit(f"after_call.{action.turn.value}_authority")

    def _turned(self, keys: Keys, action: TurnAuthority) -> Keys:
        match action.turn:
            case Turn.TRUST:
                new = self.issuer.authority(action.subject)
                ends = facts(new.certificate).ends - self.issuer.now().timestamp()
                return Keys(keys.signing, new, self.issuer.issue(new, action.operator, (), ends))
            case Turn.ISSUE:
                if keys.successor is None:
                    raise Stale(f"Secret {action.secret} has no successor; {READ_AGAIN}")
                return Keys(keys.successor, previous=keys.signing.certificate)
            case Turn.FORGET:
                return Keys(keys.signing)
            case _ as unknown:
                assert_never(unknown)

    def issue(self, action: IssueCertificate) -> None:
        """An action that was planned before there was an authority is planned anew with the one that there is."""
        namespace, wanted = self.cluster.namespace, action.wanted
        secret = self.kube.find(SECRET, namespace, self.authority)
        if secret is None:
            raise Stale(f"Secret {self.authority} is gone; {READ_AGAIN}")
        keys = self._keys(secret)
        if action.trusts != keys.fingerprints:
            raise Stale(f"Secret {self.authority} holds another authority; {READ_AGAIN}")
        pair = self.issuer.issue(keys.signing, wanted.subject, wanted.hosts, wanted.seconds)
        self._put(leaf_secret(self.cluster, wanted, pair, keys.trusted), action.uid, action.version)

    def copy(self, action: CopyCertificate) -> None:
        """Of exactly what was judged: somebody may have written another one since."""
        wanted, source = action.wanted, action.source
        name = wanted.origin if source is not None else wanted.secret
        known = (source.uid, source.version) if source is not None else (action.uid, action.version)
        found = self.kube.find(SECRET, self.cluster.namespace, name)
        meta = (found or {"metadata": {}})["metadata"]
        if found is None or (meta.get("uid"), meta.get("resourceVersion")) != known:
            raise Stale(f"Secret {name} is not the one that was planned upon; {READ_AGAIN}")
        try:
            pair = as_nodes_read(pair_of(found))
        except BadCertificate as error:
            raise Stale(f"Secret {name} cannot be used: {error}; {READ_AGAIN}") from error
        self._put(leaf_secret(self.cluster, wanted, pair, action.trusted), action.uid, action.version)

    def _put(self, body: Object, uid: str, version: str) -> None:
        """In the place of exactly the Secret that was read, or of none."""
        self.failpoints.hit("before_call.certificate")
        if not version:
            self.kube.create(SECRET, self.cluster.namespace, body, timeout=self.timeout)
        else:
            body["metadata"] |= {"uid": uid, "resourceVersion": version}
            self.kube.replace(SECRET, body, timeout=self.timeout)
        self.failpoints.hit("after_call.certificate")

    def _keys(self, secret: Object) -> Keys:
        try:
            return keys_of(secret)
        except BadCertificate as error:
            raise Stale(f"Secret {self.authority} cannot be used: {error}; {READ_AGAIN}") from error
