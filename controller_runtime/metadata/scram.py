"""What a SCRAM credential is in the log: the keys of a user and a mechanism (KIP-554), never a password."""

from __future__ import annotations

from typing import Final

from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from controller_runtime.security.scram_keys import ALGORITHMS, ScramKeys
from controller_runtime.values import dataclass

MAX_ITERATIONS: Final = 16384


@dataclass(frozen=True, slots=True)
class Mechanism:
    number: int
    """In records and requests."""
    name: str
    algorithm: str


MECHANISMS: Final = tuple(Mechanism(number, *row) for number, row in enumerate(ALGORITHMS.items(), 1))
BY_NUMBER: Final = {mechanism.number: mechanism for mechanism in MECHANISMS}
BY_NAME: Final = {mechanism.name: mechanism for mechanism in MECHANISMS}


def credential(name: str, mechanism: Mechanism, keys: ScramKeys) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism.number,
        salt=keys.salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=keys.iterations,
    )
