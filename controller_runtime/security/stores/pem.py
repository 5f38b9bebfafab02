"""PEM stores: a key in PKCS#8 and certificates, as text; Kafka's `DefaultSslEngineFactory` takes no other.

Text outside of the blocks and how lines are broken do not matter. "RSA PRIVATE KEY" and "EC PRIVATE KEY" are not
PKCS#8: OpenSSL would take them, Kafka does not, and a store that one node reads and its neighbour does not is worse
than one that none reads.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from controller_runtime.security.der import SEQUENCE, BadDer, elements, oid_text, read_certificate, single
from controller_runtime.security.stores.contents import KeyMaterial, StoreError, pem_of

_BLOCK: Final = re.compile(
    r"-+BEGIN\s+([A-Z0-9 ]+?)\s*-+\s+(?:[A-Za-z-]+:[^\n]*\n\s*)*([A-Za-z0-9/+=\s]+)-+END\s+\1\s*-+"
)
_KEY: Final = "PRIVATE KEY"
_ENCRYPTED_KEY: Final = "ENCRYPTED PRIVATE KEY"
_CERTIFICATES: Final = frozenset({"CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"})
_ALGORITHMS: Final = frozenset({"1.2.840.113549.1.1.1", "1.2.840.10045.2.1", "1.2.840.10040.4.1"})
"""RSA, EC, DSA."""


def read_key(text: str, chain: str, password: str | None) -> KeyMaterial:
    """`text` has the key, `chain` the certificates; they may be the same. Raises StoreError."""
    keys = [(label, der) for label, der in _blocks(text) if label.endswith(_KEY)]
    if len(keys) != 1:
        raise StoreError(
            "No private key entries were found" if not keys else "Expected one private key entry, found several"
        )
    label, der = keys[0]
    if label not in {_KEY, _ENCRYPTED_KEY}:
        raise StoreError(f'write the key in PKCS#8 ("openssl pkcs8 -topk8"): "{label}" is not supported')
    if label == _ENCRYPTED_KEY and password is None:
        raise StoreError("the key is encrypted: set ssl.key.password")
    if label == _KEY:
        _check_algorithm(der)
        password = None
    certificates = read_certificates(chain)
    if not certificates:
        raise StoreError("At least one certificate entry is required, found none")
    return KeyMaterial(pem_of(label, der), certificates, password)


def read_certificates(text: str) -> tuple[bytes, ...]:
    """Raises StoreError."""
    found = tuple(der for label, der in _blocks(text) if label in _CERTIFICATES)
    for der in found:
        try:
            read_certificate(der)
        except BadDer as error:
            raise StoreError(f"a certificate cannot be read: {error}") from error
    return found


def _blocks(text: str) -> list[tuple[str, bytes]]:
    found = []
    for block in _BLOCK.finditer(text):
        try:
            found.append((block.group(1), base64.b64decode("".join(block.group(2).split()), validate=True)))
        except (binascii.Error, ValueError) as error:
            raise StoreError(f"a block {block.group(1)} is not base64") from error
    return found


def _check_algorithm(key: bytes) -> None:
    try:
        parts = list(elements(single(key, SEQUENCE).content))
        algorithm = oid_text(next(elements(parts[1].content)).content)
    except (BadDer, IndexError, StopIteration) as error:
        raise StoreError("the key is not PKCS#8") from error
    if algorithm not in _ALGORITHMS:
        raise StoreError("the key is of none of RSA, EC, DSA")
