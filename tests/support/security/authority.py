"""A certificate authority of tests: makes certificates of every kind, good ones and bad ones, and the files of nodes.

authority = Authority("ca")
node = authority.issue("CN=node-1", hosts=["127.0.0.1"])
properties = tls_properties(node.write(directory), authority.write(directory))
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
DAY: Final = dt.timedelta(days=1)


def today() -> dt.datetime:
    return dt.datetime.now(dt.UTC).replace(microsecond=0)


@dataclass(frozen=True)
class Identity:
    """A key, and its certificate with those between it and the authority."""

    key: Key
    chain: tuple[x509.Certificate, ...]

    @property
    def certificate(self) -> x509.Certificate:
        return self.chain[0]

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def chain_pem(self) -> str:
        return "".join(one.public_bytes(Encoding.PEM).decode() for one in self.chain)

    def key_pem(self, password: str | None = None, form: PrivateFormat = PrivateFormat.PKCS8) -> str:
        encryption = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, form, encryption).decode()

    def pem(self, password: str | None = None) -> str:
        return self.key_pem(password) + self.chain_pem

    def write(self, directory: Path, name: str = "node.pem") -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / name
        path.write_text(self.pem())
        return path


class Authority:
    def __init__(self, name: str = "test-ca", issuer: Authority | None = None) -> None:
        self.key = _ca_key(name)
        self.issuer = issuer
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        signer = self if issuer is None else issuer
        self.certificate: x509.Certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if issuer is None else issuer.certificate.subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(today() - 30 * DAY)
            .not_valid_after(today() + 3650 * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(signer.key, hashes.SHA256())
        )

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def write(self, directory: Path, name: str = "ca.pem", *others: Authority) -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / name
        path.write_text(self.pem + "".join(one.pem for one in others))
        return path

    def issue(
        self,
        name: str | x509.Name = "node",
        hosts: Iterable[str] = ("127.0.0.1", "localhost"),
        *,
        days: tuple[float, float] = (-1, 365),
        key: Key | None = None,
    ) -> Identity:
        """`days`: from when until when, from now."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        common = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]) if isinstance(name, str) else name
        made = (
            x509.CertificateBuilder()
            .subject_name(common)
            .issuer_name(self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(today() + days[0] * DAY)
            .not_valid_after(today() + days[1] * DAY)
        )
        if names := [_general_name(host) for host in hosts]:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        between = () if self.issuer is None else (self.certificate,)
        return Identity(key, (made.sign(self.key, hashes.SHA256()), *between))


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@cache
def _ca_key(name: str) -> Key:
    del name
    return ec.generate_private_key(ec.SECP256R1())


def tls_properties(own: Path | None, trusted: Path, prefix: str = "") -> dict[str, str]:
    """Of a node, or of a client, that has PEM files."""
    properties = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(trusted)}
    if own is not None:
        properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(own)}
    return {prefix + name: value for name, value in properties.items()}


def write_properties(path: Path, properties: dict[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return path


def secure_properties(
    own: Path, trusted: Path, listeners: Sequence[str] = ("CONTROLLER", "PLAINTEXT")
) -> dict[str, str]:
    """Of a node whose listeners all speak mutual TLS, whatever they are called."""
    return {
        **tls_properties(own, trusted),
        "ssl.client.auth": "required",
        "listener.security.protocol.map": ",".join(f"{name}:SSL" for name in listeners),
    }
