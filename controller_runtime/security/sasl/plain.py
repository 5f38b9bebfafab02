"""PLAIN (RFC 4616): name and password as they are, so the listener has to be a protected one."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final

from controller_runtime.security.principals import Identity
from controller_runtime.security.sasl.server import Accepted, Refused

NAME: Final = "PLAIN"
USER_OPTION: Final = "user_"
"""In a JAAS entry `user_ann="secret"` lets ann in."""
_OTHER_IDENTITY: Final = "Authentication failed: Client requested an authorization id that is different from username"


class PlainServer:
    def __init__(self, users: Mapping[str, str]) -> None:
        """Passwords by name."""
        self._users = users

    def on_token(self, token: bytes) -> Accepted:
        parts = token.decode(errors="replace").split("\0", 3)
        if len(parts) != 3:
            raise _said(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization, user, password = parts
        if not user:
            raise _said("Authentication failed: username not specified")
        if not password:
            raise _said("Authentication failed: password not specified")
        expected = self._users.get(user)
        # A stranger costs the same comparison as a user.
        same = hmac.compare_digest((expected or "\0").encode(errors="replace"), password.encode(errors="replace"))
        if expected is None or not same:
            raise _said("Authentication failed: Invalid username or password")
        if authorization and authorization != user:
            raise _said(_OTHER_IDENTITY)
        return Accepted(Identity(f"User:{user}"))


def _said(words: str) -> Refused:
    return Refused(words, words)


def client_token(user: str, password: str) -> bytes:
    """All that a client says."""
    return f"\0{user}\0{password}".encode()
