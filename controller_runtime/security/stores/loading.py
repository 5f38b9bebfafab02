"""A store of any type: settings and the bytes of its file into what it holds."""

from __future__ import annotations

from controller_runtime.security.der import BadDer, read_certificate
from controller_runtime.security.stores.contents import KeyMaterial, StoreError
from controller_runtime.security.stores.jks import MAGIC, read_jks_certificates, read_jks_key
from controller_runtime.security.stores.pem import read_certificates, read_key
from controller_runtime.security.stores.pkcs12 import read_pkcs12_certificates, read_pkcs12_key
from controller_runtime.security.tls_settings import KeyStore, StoreType, TrustStore


def key_material(store: KeyStore, data: bytes) -> KeyMaterial:
    """`data`: of the file at `store.location`; empty for PEM in the configuration itself. Raises StoreError."""
    if store.type is StoreType.PEM:
        if store.location is None:
            return read_key(store.key or "", store.chain or "", store.key_password)
        text = data.decode("utf-8", "replace")
        return read_key(text, text, store.key_password)
    password = store.password or ""
    if _is_jks(store.type, data):
        found = read_jks_key(data, password, store.key_password or password)
    else:
        found = read_pkcs12_key(data, password)
    _check(found.chain)
    return found


def trusted_certificates(store: TrustStore, data: bytes) -> tuple[bytes, ...]:
    """Raises StoreError."""
    if store.type is StoreType.PEM:
        text = data.decode("utf-8", "replace") if store.location is not None else store.certificates or ""
        found = read_certificates(text)
    elif _is_jks(store.type, data):
        found = read_jks_certificates(data, store.password)
    else:
        found = read_pkcs12_certificates(data, store.password)
    if not found:
        raise StoreError("At least one certificate entry is required, found none")
    _check(found)
    return found


def _is_jks(type_: StoreType, data: bytes) -> bool:
    """Java's type JKS opens PKCS#12 too, and the other way round (keystore.type.compat): the file says what it is."""
    return data.startswith(MAGIC) or (type_ is StoreType.JKS and data[:1] != b"\x30")


def _check(certificates: tuple[bytes, ...]) -> None:
    for der in certificates:
        try:
            read_certificate(der)
        except BadDer as error:
            raise StoreError(f"a certificate cannot be read: {error}") from error
