"""Java's own key stores, "JKS": read here because no library that is looked after reads them.

The whole file is digested with its password, so a changed one is refused; each key is hidden by a stream of digests of
the key's password (Sun's `KeyProtector`). Neither is strong: who has the file and can guess has the key.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from controller_runtime.security.der import SEQUENCE, BadDer, elements, oid_text, single
from controller_runtime.security.stores.contents import KeyMaterial, StoreError, pem_of

MAGIC: Final = b"\xfe\xed\xfe\xed"
_WHITENER: Final = b"Mighty Aphrodite"
_DIGEST_BYTES: Final = 20
_KEY_ENTRY: Final = 1
_CERTIFICATE_ENTRY: Final = 2
_PROTECTOR: Final = "1.3.6.1.4.1.42.2.17.1.1"


def read_jks_key(data: bytes, password: str, key_password: str) -> KeyMaterial:
    """Raises StoreError."""
    keys, _ = _Reader(data, password).entries()
    if len(keys) != 1:
        raise StoreError(f"a key store with exactly one key is needed, it has {len(keys)}")
    hidden, chain = keys[0]
    if not chain:
        raise StoreError("its key has no certificate")
    return KeyMaterial(pem_of("PRIVATE KEY", _revealed(hidden, key_password)), chain)


def read_jks_certificates(data: bytes, password: str | None) -> tuple[bytes, ...]:
    """Without a password the file is not proven to be whole, as in Java. Raises StoreError."""
    _, certificates = _Reader(data, password).entries()
    return certificates


class _Reader:
    def __init__(self, data: bytes, password: str | None) -> None:
        if len(data) < 12 + _DIGEST_BYTES or not data.startswith(MAGIC):
            raise StoreError("it is no JKS")
        self._data, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
        if password is not None:
            whole = hashlib.sha1(_wide(password) + _WHITENER + self._data, usedforsecurity=False).digest()
            if not hmac.compare_digest(whole, digest):
                raise StoreError("keystore password was incorrect, or the file was changed")
        self._at = 4
        self._version = self._number(4)
        if self._version not in {1, 2}:
            raise StoreError(f"JKS of version {self._version} is not known")

    def entries(self) -> tuple[list[tuple[bytes, tuple[bytes, ...]]], tuple[bytes, ...]]:
        """Hidden keys with their chains, and trusted certificates."""
        keys, certificates = [], []
        for _ in range(self._number(4)):
            kind = self._number(4)
            self._take(self._number(2))  # its alias
            self._take(8)  # when it was made
            if kind == _KEY_ENTRY:
                hidden = self._take(self._number(4))
                keys.append((hidden, tuple(self._certificate() for _ in range(self._number(4)))))
            elif kind == _CERTIFICATE_ENTRY:
                certificates.append(self._certificate())
            else:
                raise StoreError(f"an entry of kind {kind} is not known")
        return keys, tuple(certificates)

    def _certificate(self) -> bytes:
        if self._version == 2 and self._take(self._number(2)) != b"X.509":
            raise StoreError("a certificate that is not X.509")
        return self._take(self._number(4))

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) != size:
            raise StoreError("it ends too early")
        self._at += size
        return taken


def _revealed(hidden: bytes, password: str) -> bytes:
    """The key in PKCS#8."""
    try:
        algorithm, octets = elements(single(hidden, SEQUENCE).content)
        oid = oid_text(next(elements(algorithm.content)).content)
    except (BadDer, ValueError, StopIteration) as error:
        raise StoreError("its key cannot be read") from error
    if oid != _PROTECTOR or len(octets.content) < 2 * _DIGEST_BYTES:
        raise StoreError(f"its key is hidden in an unknown way ({oid})")
    salt, text, check = (
        octets.content[:_DIGEST_BYTES],
        octets.content[_DIGEST_BYTES:-_DIGEST_BYTES],
        octets.content[-_DIGEST_BYTES:],
    )
    wide, stream, block = _wide(password), bytearray(), salt
    while len(stream) < len(text):
        block = hashlib.sha1(wide + block, usedforsecurity=False).digest()
        stream += block
    key = bytes(one ^ other for one, other in zip(text, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(wide + key, usedforsecurity=False).digest(), check):
        raise StoreError("the private key cannot be decrypted: is ssl.key.password the key's?")
    return key


def _wide(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")
