"""Makes authorities and certificates, and writes them into Secrets: the only code that has keys in its hands.

An authority is only ever created; who finds one takes it. A certificate takes the place of exactly the Secret that the
plan was made upon, so that of two operators one is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kraft_operator.api.spec import KRaftCluster
from kraft_operator.credentials import IssueCertificate, MakeAuthority
from kraft_operator.fence import Stale
from kraft_operator.kube import SECRET, Gateway, Object
from kraft_operator.security.certificates import BadCertificate, Issuer, Pair
from kraft_operator.security.secret_objects import (
    authority_of,
    authority_secret,
    leaf_secret,
    pair_of,
    public_secret,
)
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

    def perform(self, action: MakeAuthority | IssueCertificate) -> None:
        match action:
            case MakeAuthority():
                self.make_authority(action)
            case IssueCertificate():
                self.issue(action)

    def make_authority(self, action: MakeAuthority) -> None:
        namespace = self.cluster.namespace
        secret = self.kube.find(SECRET, namespace, action.secret)
        if secret is None:
            self.failpoints.hit("before_call.authority")
            made = authority_secret(self.cluster, action.secret, self.issuer.authority(action.subject))
            secret = self.kube.create(SECRET, namespace, made, timeout=self.timeout)
            self.failpoints.hit("after_call.authority")
        certificate = self._pair(secret)[0].certificate
        self.kube.apply(SECRET, public_secret(self.cluster, action.public_secret, certificate), timeout=self.timeout)

    def issue(self, action: IssueCertificate) -> None:
        """An action that was planned before there was an authority is planned anew with the one that there is."""
        namespace, wanted = self.cluster.namespace, action.wanted
        secret = self.kube.find(SECRET, namespace, self.authority)
        if secret is None:
            raise Stale(f"Secret {self.authority} is gone; {READ_AGAIN}")
        authority, fingerprint = self._pair(secret)
        if fingerprint != action.authority:
            raise Stale(f"Secret {self.authority} holds another authority; {READ_AGAIN}")
        pair = self.issuer.issue(authority, wanted.subject, wanted.hosts, wanted.seconds)
        body = leaf_secret(self.cluster, wanted, pair, authority.certificate)
        self.failpoints.hit("before_call.certificate")
        if not action.version:
            self.kube.create(SECRET, namespace, body, timeout=self.timeout)
        else:
            body["metadata"] |= {"uid": action.uid, "resourceVersion": action.version}
            self.kube.replace(SECRET, body, timeout=self.timeout)
        self.failpoints.hit("after_call.certificate")

    def _pair(self, secret: Object) -> tuple[Pair, str]:
        try:
            return pair_of(secret), authority_of(secret).fingerprint
        except BadCertificate as error:
            raise Stale(f"Secret {self.authority} cannot be used: {error}; {READ_AGAIN}") from error
