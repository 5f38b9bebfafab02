"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), server and client: nobody sends a password, both prove keys.

Stricter than Apache Kafka: the client's `c=` must repeat what it began with, and somebody who does not exist is asked
for a proof like everybody else, with a salt that stays the same: only the wrong proof ends it (attack: user names are
guessed by the round in which a login fails).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final, Protocol

from controller_runtime.security.principals import Identity
from controller_runtime.security.sasl.scram_messages import (
    MAX_CLIENT_ITERATIONS,
    BadScram,
    ClientFirst,
    base64_text,
    escaped,
    read_client_final,
    read_client_first,
    read_server_final,
    read_server_first,
    xored,
)
from controller_runtime.security.sasl.server import Accepted, Challenge, Refused
from controller_runtime.security.scram_keys import (
    ALGORITHMS,
    MIN_ITERATIONS,
    ScramKeys,
    client_key,
    keys_from_salted,
    salted_password,
    stored_key,
)
from controller_runtime.values import dataclass

_OTHER_IDENTITY: Final = "Authentication failed: Client requested an authorization id that is different from username"
_DELEGATED: Final = "tokenauth"
"""The extension that says: the name is that of a delegation token."""


@dataclass(frozen=True, slots=True)
class Login:
    """The keys that a name has to prove, and who that is then."""

    keys: ScramKeys
    identity: Identity


class ScramUsers(Protocol):
    """Who may log in, looked up at the moment of the login."""

    def user(self, mechanism: str, name: str) -> Login | None: ...

    def token(self, mechanism: str, token_id: str) -> Login | None: ...

    def decoy(self, mechanism: str, name: str) -> ScramKeys:
        """Of somebody who does not exist: the same for the same name, shaped like those of who does."""
        ...


class ScramServer:
    def __init__(self, mechanism: str, users: ScramUsers, nonce: Callable[[], str]) -> None:
        """`nonce`: printable, without a comma, new at each call."""
        self._mechanism = mechanism
        self._algorithm = ALGORITHMS[mechanism]
        self._users = users
        self._new_nonce = nonce
        self._first: ClientFirst | None = None
        self._said = ""
        self._nonce = ""
        self._keys: ScramKeys | None = None
        self._identity: Identity | None = None

    def on_token(self, token: bytes) -> Challenge | Accepted:
        try:
            return self._on_first(token) if self._first is None else self._on_final(self._first, token)
        except BadScram as bad:
            raise Refused(str(bad)) from bad

    def _on_first(self, token: bytes) -> Challenge:
        first = read_client_first(token)
        by_token = first.extensions.get(_DELEGATED, "").lower() == "true"
        find = self._users.token if by_token else self._users.user
        login = find(self._mechanism, first.name)
        if login is not None and login.keys.iterations < MIN_ITERATIONS:
            raise Refused(f"Iterations {login.keys.iterations} is less than the minimum {MIN_ITERATIONS}")
        if first.authorization and first.authorization != first.name:
            raise Refused(_OTHER_IDENTITY, _OTHER_IDENTITY)
        keys = self._users.decoy(self._mechanism, first.name) if login is None else login.keys
        self._identity = None if login is None else login.identity
        self._first, self._keys, self._nonce = first, keys, first.nonce + self._new_nonce()
        self._said = f"r={self._nonce},s={base64_text(keys.salt)},i={keys.iterations}"
        return Challenge(self._said.encode())

    def _on_final(self, first: ClientFirst, token: bytes) -> Accepted:
        keys, identity = self._keys, self._identity
        assert keys is not None, "the first message sets them"
        final = read_client_final(token)
        if not hmac.compare_digest(final.nonce, self._nonce):
            raise Refused("Invalid client nonce in the final client message.")
        if final.binding != first.header.encode():
            raise Refused("the client's channel binding is not the one it began with")
        signed = f"{first.bare},{self._said},{final.bare}".encode()
        signature = hmac.digest(keys.stored_key, signed, self._algorithm)
        if len(final.proof) != len(signature):
            raise Refused("Invalid client credentials")
        shown = stored_key(self._algorithm, xored(final.proof, signature))
        if not hmac.compare_digest(shown, keys.stored_key) or identity is None:
            raise Refused("Invalid client credentials")
        proof = hmac.digest(keys.server_key, signed, self._algorithm)
        return Accepted(identity, b"v=" + base64_text(proof).encode())


class ServerNotTrusted(Exception):
    """The server cannot be who it should be: the client gives up, and has shown nothing that helps it."""


class ScramClient:
    """`first()`, then what `on_challenge` gives for each answer, until it gives none: the server has proven itself."""

    def __init__(self, mechanism: str, user: str, password: str, nonce: str, *, by_token: bool = False) -> None:
        self._algorithm = ALGORITHMS[mechanism]
        self._password = password.encode()
        self._nonce = nonce
        self._bare = f"n={escaped(user)},r={nonce}" + (f",{_DELEGATED}=true" if by_token else "")
        self._expected: bytes | None = None

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def on_challenge(self, data: bytes) -> bytes | None:
        """Raises ServerNotTrusted."""
        try:
            if self._expected is None:
                return self._final(data)
            self._judge(data, self._expected)
        except BadScram as bad:
            raise ServerNotTrusted(str(bad)) from bad
        return None

    def _final(self, data: bytes) -> bytes:
        said = read_server_first(data)
        if not said.nonce.startswith(self._nonce) or said.nonce == self._nonce:
            raise ServerNotTrusted("Invalid server nonce: does not start with client nonce")
        if not MIN_ITERATIONS <= said.iterations <= MAX_CLIENT_ITERATIONS:
            bounds = f"{MIN_ITERATIONS} to {MAX_CLIENT_ITERATIONS}"
            raise ServerNotTrusted(f"Requested iterations {said.iterations} are not in {bounds}")
        salted = salted_password(self._algorithm, self._password, said.salt, said.iterations)
        keys = keys_from_salted(self._algorithm, salted, said.salt, said.iterations)
        bare = f"c=biws,r={said.nonce}"
        signed = f"{self._bare},{said.text},{bare}".encode()
        signature = hmac.digest(keys.stored_key, signed, self._algorithm)
        proof = xored(client_key(self._algorithm, salted), signature)
        self._expected = hmac.digest(keys.server_key, signed, self._algorithm)
        return f"{bare},p={base64_text(proof)}".encode()

    @staticmethod
    def _judge(data: bytes, expected: bytes) -> None:
        if not hmac.compare_digest(read_server_final(data), expected):
            raise ServerNotTrusted("Invalid server signature in server final message")
