"""What a SCRAM credential is in the log: keys that a password gives, and never the password (RFC 5802, KIP-554).

Functions that hash import what hashes: it brings OpenSSL, 3.7 MB that most nodes never need.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from controller_runtime.values import dataclass

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384


@dataclass(frozen=True, slots=True)
class Mechanism:
    number: int
    """In records and requests."""
    name: str
    algorithm: str


MECHANISMS: Final = (Mechanism(1, "SCRAM-SHA-256", "sha256"), Mechanism(2, "SCRAM-SHA-512", "sha512"))
BY_NUMBER: Final = {mechanism.number: mechanism for mechanism in MECHANISMS}
BY_NAME: Final = {mechanism.name: mechanism for mechanism in MECHANISMS}


def salted_password(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Hi() of RFC 5802."""
    import hashlib

    return hashlib.pbkdf2_hmac(mechanism.algorithm, password.encode(), salt, iterations)


def credential(
    name: str, mechanism: Mechanism, salt: bytes, salted: bytes, iterations: int
) -> UserScramCredentialRecord:
    """The record of a user's credential; `salted` is what `salted_password` gives, here or at the client."""
    import hashlib
    import hmac

    client_key = hmac.digest(salted, b"Client Key", mechanism.algorithm)
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism.number,
        salt=salt,
        stored_key=hashlib.new(mechanism.algorithm, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", mechanism.algorithm),
        iterations=iterations,
    )
