"""`--add-scram MECHANISM=[name=…,password=…]`: SCRAM credentials as metadata records (RFC 5802).

Only the stored and the server key are kept, never the password. Chance comes in as `new_salt`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Final

from controller_runtime.metadata.scram import BY_NAME, MAX_ITERATIONS, Mechanism, credential
from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from controller_runtime.security.scram_keys import MIN_ITERATIONS, keys_from_salted, salted_password

_KEYS: Final = ("name", "password", "saltedpassword", "salt", "iterations")


class BadScram(ValueError):
    """An argument that is no credential; the message is Apache Kafka's."""


def scram_records(arguments: Sequence[str], new_salt: Callable[[], bytes]) -> list[UserScramCredentialRecord]:
    return [_record(argument, new_salt) for argument in arguments]


def _record(argument: str, new_salt: Callable[[], bytes]) -> UserScramCredentialRecord:
    name, equals, rest = argument.partition("=")
    if not equals:
        raise BadScram(f"Failed to find equals sign in SCRAM argument '{argument}'")
    if name not in BY_NAME:
        raise BadScram(f"The add-scram mechanism {name} is not supported.")
    mechanism = BY_NAME[name]
    values = _values(rest)
    if "name" not in values:
        raise BadScram("You must supply 'name' to add-scram")
    iterations = _iterations(values, name)
    salt = b64decode(values["salt"]) if "salt" in values else new_salt()
    salted = _salted(values, mechanism, salt, iterations)
    return credential(values["name"], mechanism, keys_from_salted(mechanism.algorithm, salted, salt, iterations))


def _values(text: str) -> dict[str, str]:
    if not (text.startswith("[") and text.endswith("]")):
        raise BadScram("Expected configuration string to start with [ and to end with ]")
    values: dict[str, str] = {}
    for part in text[1:-1].split(","):
        key, equals, value = part.strip().partition("=")
        if not equals or key not in _KEYS:
            raise BadScram(f"Unexpected add-scram setting '{part.strip()}': one of {', '.join(_KEYS)} is needed")
        values[key] = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    return values


def _iterations(values: dict[str, str], mechanism: str) -> int:
    enum_name = mechanism.replace("-", "_")
    try:
        iterations = int(values.get("iterations", MIN_ITERATIONS))
    except ValueError as error:
        raise BadScram(f"The 'iterations' value must be a number, not {values['iterations']!r}") from error
    if iterations < MIN_ITERATIONS:
        raise BadScram(f"The 'iterations' value must be >= {MIN_ITERATIONS} for add-scram using {enum_name}")
    if iterations > MAX_ITERATIONS:
        raise BadScram(f"The 'iterations' value must be <= {MAX_ITERATIONS} for add-scram using {enum_name}")
    return iterations


def _salted(values: dict[str, str], mechanism: Mechanism, salt: bytes, iterations: int) -> bytes:
    if ("password" in values) == ("saltedpassword" in values):
        raise BadScram("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if "password" in values:
        return salted_password(mechanism.algorithm, values["password"].encode(), salt, iterations)
    if "salt" not in values:
        raise BadScram("You must supply 'salt' with 'saltedpassword' to add-scram")
    return b64decode(values["saltedpassword"])
