"""What SCRAM keeps of a password: keys that a password gives, and that do not give it back (RFC 5802 §3).

Functions that hash import what hashes: it brings OpenSSL, 3.7 MB that a node without SASL never needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.values import dataclass, field

ALGORITHMS: Final[Mapping[str, str]] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""By the name of the mechanism."""
MIN_ITERATIONS: Final = 4096


@dataclass(frozen=True, slots=True)
class ScramKeys:
    """What is kept of a password."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def salted_password(algorithm: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """Hi() of RFC 5802."""
    import hashlib

    return hashlib.pbkdf2_hmac(algorithm, password, salt, iterations)


def client_key(algorithm: str, salted: bytes) -> bytes:
    import hmac

    return hmac.digest(salted, b"Client Key", algorithm)


def stored_key(algorithm: str, key_of_client: bytes) -> bytes:
    """H() of the client's key."""
    import hashlib

    return hashlib.new(algorithm, key_of_client).digest()


def keys_from_salted(algorithm: str, salted: bytes, salt: bytes, iterations: int) -> ScramKeys:
    """`salted` is what `salted_password` gives, here or at the client."""
    import hmac

    stored = stored_key(algorithm, client_key(algorithm, salted))
    return ScramKeys(salt, stored, hmac.digest(salted, b"Server Key", algorithm), iterations)


def keys_of(algorithm: str, password: bytes, salt: bytes, iterations: int) -> ScramKeys:
    return keys_from_salted(algorithm, salted_password(algorithm, password, salt, iterations), salt, iterations)
