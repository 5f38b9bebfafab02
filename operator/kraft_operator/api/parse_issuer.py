"""Who issues the certificates of a cluster, out of the resource: `spec.security.tls.issuer`, with `issuerRef` for an
issuer of cert-manager, or `provided` for Secrets that somebody else keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kraft_operator.api.reader import InvalidSpec, Reader
from kraft_operator.api.security import NODE_ID, CertificateSource, IssuerRef, Provided
from kraft_operator.api.spec import ClusterSpec

CERT_MANAGER_GROUP: Final = "cert-manager.io"
MIN_ISSUED_SECONDS: Final = 3600.0
"""cert-manager issues for no less."""
_SECRET: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")


def issuer_of(tls: Reader, validity: float) -> tuple[CertificateSource, IssuerRef | None, Provided | None]:
    """Raises InvalidSpec."""
    source = tls.choice("issuer", CertificateSource, CertificateSource.OPERATOR)
    for field, owner in (("issuerRef", CertificateSource.CERT_MANAGER), ("provided", CertificateSource.PROVIDED)):
        if tls.has(field) and source is not owner:
            raise InvalidSpec(tls.at(field), f"is for issuer {owner.value} only; set tls.issuer or take it out")
        if source is owner and not tls.has(field):
            raise InvalidSpec(tls.at(field), f"is needed by issuer {owner.value}")
    if source is CertificateSource.CERT_MANAGER:
        if validity < MIN_ISSUED_SECONDS:
            raise InvalidSpec(tls.at("validity"), "must be 1h at least: cert-manager issues for no less")
        return source, _reference(tls.child("issuerRef")), None
    return source, None, _provided(tls.child("provided")) if source is CertificateSource.PROVIDED else None


def check_issuer(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    provided = spec.security.provided
    if provided is not None and spec.archive is not None and not provided.archive:
        yield "security.tls.provided.archiveSecret", "is needed by spec.archive, which connects with a certificate"


def _reference(found: Reader) -> IssuerRef:
    name, kind = _secret(found, "name"), found.text("kind", "Issuer")
    if not _KIND.fullmatch(kind):
        raise InvalidSpec(found.at("kind"), f"{kind!r} is no kind such as Issuer or ClusterIssuer")
    group = found.text("group", CERT_MANAGER_GROUP)
    if not _SECRET.fullmatch(group):
        raise InvalidSpec(found.at("group"), f"{group!r} is no group such as {CERT_MANAGER_GROUP}")
    return IssuerRef(name, kind, group)


def _provided(found: Reader) -> Provided:
    node = found.text("nodeSecret")
    if not _SECRET.fullmatch(node.replace(NODE_ID, "0")):
        raise InvalidSpec(found.at("nodeSecret"), f"{node!r} is no name of a Secret, with {NODE_ID} where ids stand")
    archive = _secret(found, "archiveSecret") if found.has("archiveSecret") else ""
    made = Provided(_secret(found, "trustedSecret"), node, _secret(found, "operatorSecret"), archive)
    others = [made.operator, *([archive] if archive else [])]
    if node in others:
        raise InvalidSpec(found.at("nodeSecret"), f"{node!r} is the operator's or the archive's: nodes need their own")
    return made


def _secret(found: Reader, name: str) -> str:
    text = found.text(name)
    if not _SECRET.fullmatch(text):
        raise InvalidSpec(found.at(name), f"{text!r} is no name such as kafka-ca")
    return text
