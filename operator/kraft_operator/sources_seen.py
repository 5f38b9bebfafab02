"""Certificates that somebody else issues, read by the names of their Secrets, and what cert-manager says of them.

No key is kept but the operator's own, to prove that nodes trust its next certificate before it is in use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.tls_settings import KeyStore
from kraft_operator.api import names
from kraft_operator.api.security import CertificateSource
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.credentials import Issued, Request, Sourced
from kraft_operator.kube import CERTIFICATE, SECRET, Gateway, NotFound, Object
from kraft_operator.security.access import key_store, secured_by
from kraft_operator.security.certificates import BadCertificate, each_of, joined
from kraft_operator.security.identities import origin_of
from kraft_operator.security.secret_objects import TRUSTED, pair_of, text_of
from kraft_operator.security.sources import CERTIFICATES, request_seen, sourced_in

SECONDS: Final = 30.0
"""How long what was read is believed."""


@dataclass(frozen=True, slots=True)
class SourceRead:
    found: Issued | None = None
    authorities: str = ""
    """Of cert-manager: those that it names beside the certificate, in PEM."""


@dataclass(slots=True)
class SourceMemory:
    """Of one cluster, in this process."""

    _bundle: str = ""
    _sources: dict[str, tuple[float, SourceRead]] = field(default_factory=dict)
    _requests: dict[str, tuple[float, Request | None]] = field(default_factory=dict)
    _own: KeyStore | None = None
    """The operator's next certificate."""

    def look(self, cluster: KRaftCluster, secrets: Iterable[str], nodes: Iterable[int], *, known: str, kube: Gateway,
             now: float) -> Sourced:  # fmt: skip
        """`secrets`: those of the operator's that are no node's; `known`: authorities that are trusted now, in PEM.
        Raises KubeError.
        """
        origins = {secret: origin_of(cluster, secret) for secret in secrets}
        origins |= {names.node_tls(cluster.name, each): origin_of(cluster, "", each) for each in nodes}
        if cluster.spec.security.source is CertificateSource.CERT_MANAGER:
            origins |= {secret: names.issued_secret(secret) for secret in origins}
        wanted, own = sorted(set(origins.values())), origins[names.operator_tls(cluster.name)]
        owned = {*origins, names.authority_key(cluster.name), names.authority_certificate(cluster.name)}
        if taken := [each for each in wanted if each in owned]:
            return Sourced(fault=f"name another Secret than {taken[0]} in security.tls.provided: it is the operator's")
        provided = cluster.spec.security.provided
        try:
            if provided is not None:
                return self._provided(cluster, provided.trusted, wanted, own=own, known=known, kube=kube, now=now)
            return self._issued(cluster, wanted, own=own, known=known, kube=kube, now=now)
        except BadCertificate as error:
            return Sourced(authorities=_each(known), fault=str(error))

    def proof(self, sourced: Sourced, issued: Iterable[Issued], own: Issued | None, published: str,
              shown: KeyStore | None) -> tuple[ListenerSecurity | None, str]:  # fmt: skip
        """How nodes are asked whether they are ready for the next step towards another authority, and the name of what
        they prove; None at rest. `own` is the operator's next certificate, `shown` the one that it shows now.
        """
        copies = [each for each in issued if not each.fault]
        if own is None or own.fault or not copies or not published:
            return None, ""
        if any(each.issuer != own.issuer for each in copies):
            step = f"accepts {own.fingerprint}"
            return (secured_by(self._own, published), step) if self._own is not None else (None, "")
        if all(set(each.trusts) == set(sourced.bundle) for each in copies) or shown is None:
            return None, ""
        step = "shows " + sha256(" ".join((own.issuer, *sourced.bundle)).encode()).hexdigest()
        return secured_by(shown, joined(sourced.authorities[each] for each in sourced.bundle)), step

    def _provided(self, cluster: KRaftCluster, trusted: str, wanted: list[str], *, own: str, known: str, kube: Gateway,
                  now: float) -> Sourced:  # fmt: skip
        found = kube.find(SECRET, cluster.namespace, trusted)
        if found is None:
            raise BadCertificate(f"make the Secret {trusted}: its ca.crt is to hold the authorities")
        try:
            bundle = text_of(found, TRUSTED)
            named = each_of(bundle)
        except BadCertificate as error:
            raise BadCertificate(f"correct the Secret {trusted}: {error}") from error
        if bundle != self._bundle:
            self._sources.clear()
        self._bundle = bundle
        for each in self._due(wanted, now):
            secret = kube.find(SECRET, cluster.namespace, each)
            self._sources[each] = now, SourceRead(sourced_in(secret, bundle) if secret is not None else None)
            self._remember_own(each == own, secret)
        return Sourced(tuple(named), self._found(wanted), {**_each(known), **named})

    def _issued(
        self, cluster: KRaftCluster, wanted: list[str], *, own: str, known: str, kube: Gateway, now: float
    ) -> Sourced:
        for each in self._due(wanted, now):
            request = kube.find(CERTIFICATE, cluster.namespace, each)
            if request is None and not _served(kube):
                raise BadCertificate("install cert-manager, or set security.tls.issuer otherwise: nobody serves "
                                     f"{CERTIFICATES} here")  # fmt: skip
            seen = request_seen(cluster, request) if request is not None else None
            secret = kube.find(SECRET, cluster.namespace, each) if seen is not None and seen.owned else None
            self._requests[each] = now, seen
            self._sources[each] = now, _of_cert_manager(secret)
            self._remember_own(each == own, secret)
        named: dict[str, str] = {}
        for each in wanted:
            named |= _each(self._sources[each][1].authorities)
        requests = {name: known for name, (_, known) in self._requests.items() if known is not None and name in wanted}
        return Sourced(tuple(named), self._found(wanted), {**_each(known), **named}, requests=requests)

    def forget(self, name: str) -> None:
        self._sources.pop(name, None)

    def _due(self, wanted: list[str], now: float) -> list[str]:
        self._sources = {name: kept for name, kept in self._sources.items() if name in wanted}
        late = (each for each in wanted if each not in self._sources or _is_late(self._sources[each], now))
        return list(late)

    def _found(self, wanted: list[str]) -> dict[str, Issued]:
        reads = ((each, self._sources[each][1].found) for each in wanted)
        return {name: found for name, found in reads if found is not None}

    def _remember_own(self, own: bool, secret: Object | None) -> None:
        if own:
            try:
                self._own = key_store(pair_of(secret or {}))
            except BadCertificate:
                self._own = None


def _of_cert_manager(secret: Object | None) -> SourceRead:
    if secret is None or not (secret.get("data") or {}).get("tls.crt"):
        return SourceRead()
    uid = secret["metadata"]["uid"]
    try:
        authorities = text_of(secret, TRUSTED)
        each_of(authorities)
    except BadCertificate as error:
        fault = f"its issuer names no authority ({error}): take one that does, or issuer Provided"
        return SourceRead(Issued(uid, fault=fault))
    return SourceRead(sourced_in(secret, authorities), authorities)


def _served(kube: Gateway) -> bool:
    try:
        return any(each.get("kind") == CERTIFICATE.kind for each in kube.discover(CERTIFICATES))
    except NotFound:
        return False


def _is_late(kept: tuple[float, SourceRead], now: float) -> bool:
    """What is missing or of no use is read again by every look."""
    read_at, read = kept
    return read.found is None or bool(read.found.fault) or now - read_at >= SECONDS


def _each(certificates: str) -> dict[str, str]:
    try:
        return each_of(certificates) if certificates else {}
    except BadCertificate:
        return {}
