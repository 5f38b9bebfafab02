"""Certificates as Strimzi makes them: an authority of the cluster's own, RSA, for a year, and for each pod one of
`CN=CLUSTER-kafka,O=io.strimzi`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from kraft_operator.security.certificates import Pair


@cache
def rsa_key() -> Any:
    return rsa.generate_private_key(65537, 2048)


def authority(
    *, begins: datetime | None = None, days: int = 365, ca: bool = True, signs: bool = True, key: Any = None
) -> Pair:
    key, name = key or rsa_key(), _name("cluster-ca v0")
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=signs, crl_sign=signs, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    made = (
        _begun(name, name, key, begins or datetime.now(UTC), days)
        .add_extension(x509.SubjectKeyIdentifier(b"named in a way of its own"), critical=False)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=0 if ca else None), critical=True)
        .add_extension(usage, critical=True)
    )
    return _pair(key, made.sign(key, hashes.SHA256()))


def node(by: Pair, cluster: str, hosts: Iterable[str]) -> Pair:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key: Any = rsa.generate_private_key(65537, 2048)
    signer: Any = load_pem_private_key(by.key.encode(), None)
    issuer = x509.load_pem_x509_certificate(by.certificate.encode()).subject
    names = x509.SubjectAlternativeName([x509.DNSName(each) for each in hosts])
    made = _begun(_name(f"{cluster}-kafka"), issuer, key, datetime.now(UTC), 365).add_extension(names, critical=False)
    return _pair(key, made.sign(signer, hashes.SHA256()))


def _name(common: str) -> x509.Name:
    organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "io.strimzi")
    return x509.Name([organization, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _begun(subject: x509.Name, issuer: x509.Name, key: Any, begins: datetime, days: int) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins - timedelta(minutes=5))
        .not_valid_after(begins + timedelta(days=days))
    )


def _pair(key: Any, certificate: x509.Certificate) -> Pair:
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Pair(text, certificate.public_bytes(Encoding.PEM).decode())
