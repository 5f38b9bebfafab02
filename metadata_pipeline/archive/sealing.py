"""Encryption of what an archive puts into a store: AES-256-GCM in chunks, with a key of its own for every object.

The object's key comes from the archive's key by HKDF with a random salt and the object's name, so nonces never repeat
under one key and an object cannot take another's place. The number of a chunk, and whether it is the last, are in its
nonce: a chunk that is cut off, left out or moved is seen.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MAGIC: Final = b"QSEAL\x00\x01"
CHUNK_BYTES: Final = 1 << 20
KEY_BYTES: Final = 32
_SALT_BYTES: Final = 16
_TAG_BYTES: Final = 16
_MAX_ID: Final = 64


class BadSeal(Exception):
    """It cannot be opened: of another key, or not what was sealed."""


class BadKeys(Exception):
    """The keys' directory has none, or what is none."""


@dataclass(frozen=True, slots=True)
class Keys:
    """By id. The last one seals, all of them open: a new one is added beside the old ones."""

    found: Mapping[str, bytes] = field(repr=False)

    @property
    def current(self) -> str:
        return max(self.found)


def load_keys(directory: Path) -> Keys:
    """Of the files of a directory: the name is the id, the content 32 bytes in Base64. Raises BadKeys, OSError."""
    found: dict[str, bytes] = {}
    for path in sorted(directory.iterdir()):
        if path.name.startswith(".") or not path.is_file():
            continue
        try:
            key = base64.b64decode(path.read_bytes().strip(), validate=True)
        except ValueError as error:
            raise BadKeys(f"write 32 bytes in Base64 into {path}: it is no Base64") from error
        if len(key) != KEY_BYTES or len(path.name.encode()) > _MAX_ID:
            raise BadKeys(f"write {KEY_BYTES} bytes in Base64 into {path}: there are {len(key)}")
        found[path.name] = key
    if not found:
        raise BadKeys(f"put a key into {directory}: there is none")
    return Keys(found)


def seal(data: bytes, name: str, keys: Keys, salt: bytes = b"") -> bytes:
    """`salt` is drawn unless it is given."""
    key_id, salt = keys.current.encode(), salt or os.urandom(_SALT_BYTES)
    cipher = _cipher(keys.found[keys.current], salt, name)
    parts = [MAGIC, bytes([len(key_id)]), key_id, salt]
    for number, start in enumerate(range(0, max(len(data), 1), CHUNK_BYTES)):
        last = start + CHUNK_BYTES >= len(data)
        parts.append(cipher.encrypt(_nonce(number, last=last), data[start : start + CHUNK_BYTES], None))
    return b"".join(parts)


def unseal(sealed: bytes, name: str, keys: Keys) -> bytes:
    """Raises BadSeal."""
    key_id = sealed_with(sealed)
    if key_id not in keys.found:
        raise BadSeal(f"{name} is sealed with the key {key_id}, which is not among {', '.join(sorted(keys.found))}")
    head = len(MAGIC) + 1 + len(key_id.encode())
    cipher = _cipher(keys.found[key_id], sealed[head : head + _SALT_BYTES], name)
    try:
        chunks = _chunks(sealed[head + _SALT_BYTES :])
        return b"".join(cipher.decrypt(_nonce(number, last=last), part, None) for number, part, last in chunks)
    except (InvalidTag, ValueError) as error:
        raise BadSeal(f"{name} is not what was sealed with the key {key_id}") from error


def sealed_with(sealed: bytes) -> str:
    """The key's id. Raises BadSeal."""
    length = sealed[len(MAGIC)] if len(sealed) > len(MAGIC) else 0
    head = len(MAGIC) + 1
    if not sealed.startswith(MAGIC) or len(sealed) < head + length + _SALT_BYTES + _TAG_BYTES:
        raise BadSeal("it is no sealed object")
    return sealed[head : head + length].decode(errors="replace")


def _chunks(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    step = CHUNK_BYTES + _TAG_BYTES
    for number, start in enumerate(range(0, len(data), step)):
        yield number, data[start : start + step], start + step >= len(data)


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _cipher(key: bytes, salt: bytes, name: str) -> AESGCM:
    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt, b"quorate archive " + name.encode()).derive(key))
