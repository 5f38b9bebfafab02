"""PKCS#12 stores, by `cryptography`: imported when one is read, because it costs 16 MiB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller_runtime.security.der import BadDer, read_certificate
from controller_runtime.security.stores.contents import KeyMaterial, StoreError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates


def read_pkcs12_key(data: bytes, password: str) -> KeyMaterial:
    """Raises StoreError."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    store = _loaded(data, password)
    if store.key is None or store.cert is None:
        raise StoreError("a key store with a key and its certificate is needed")
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")
    others = [one.certificate.public_bytes(Encoding.DER) for one in store.additional_certs]
    return KeyMaterial(key, _chain(store.cert.certificate.public_bytes(Encoding.DER), others))


def read_pkcs12_certificates(data: bytes, password: str | None) -> tuple[bytes, ...]:
    """Raises StoreError."""
    from cryptography.hazmat.primitives.serialization import Encoding

    store = _loaded(data, password)
    found = [*store.additional_certs, *([store.cert] if store.cert is not None and store.key is None else [])]
    return tuple(one.certificate.public_bytes(Encoding.DER) for one in found)


def _loaded(data: bytes, password: str | None) -> PKCS12KeyAndCertificates:
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError as error:
        raise StoreError("install the library cryptography, or use PEM stores") from error
    try:
        return load_pkcs12(data, None if password is None else password.encode())
    except (ValueError, TypeError) as error:
        raise StoreError("keystore password was incorrect, or it is no PKCS#12") from error


def _chain(own: bytes, others: list[bytes]) -> tuple[bytes, ...]:
    """Each followed by who issued it, whatever the order in the file."""
    chain = [own]
    try:
        while others:
            issuer = read_certificate(chain[-1]).issuer_der
            following = next((one for one in others if read_certificate(one).subject_der == issuer), None)
            if following is None:
                break
            others = [one for one in others if one != following]
            chain.append(following)
    except BadDer as error:
        raise StoreError(f"a certificate cannot be read: {error}") from error
    return tuple(chain)
