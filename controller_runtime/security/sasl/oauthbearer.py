"""OAUTHBEARER (RFC 7628, KIP-255): a client shows a token, and the server says what is wrong with it in JSON.

A token that is refused is no error yet: the server answers with the JSON, the client says 0x01, and then the exchange
fails with the same JSON as its words. Stricter than Apache Kafka: after the JSON nothing but 0x01 may come, so that one
handshake buys one guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from controller_runtime.security.oauth.tokens import BadToken, BearerToken
from controller_runtime.security.principals import Identity
from controller_runtime.security.sasl.scram_messages import unescaped
from controller_runtime.security.sasl.server import Accepted, Challenge, Refused

NAME: Final = "OAUTHBEARER"
AUTH: Final = "auth"
AGREED: Final = b"\x01"
"""What a client says to an error, and no more."""

_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_KEY: Final = "[A-Za-z]+"
_VALUE: Final = r"[\x21-\x7e \t\r\n]+"
_FIRST: Final = re.compile(f"n,(?:a=(?P<authzid>{_NAME}))?,\x01(?P<pairs>(?:{_KEY}={_VALUE}\x01)*)\x01")
_AUTH: Final = re.compile(r"(?P<scheme>[0-9A-Za-z_]+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")
_EXTENSION: Final = re.compile(f"({_KEY})\0({_VALUE})")

Judge = Callable[[str], BearerToken]
"""Says whose token it is. Raises BadToken."""


class OAuthBearerServer:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._error: str | None = None
        """What the client was told, and has not agreed to yet."""
        self._why = ""

    def on_token(self, token: bytes) -> Challenge | Accepted:
        if self._error is not None:
            raise Refused(self._why, self._error if token == AGREED else None)
        authorization, bearer = read_first(token)
        try:
            found = self._judge(bearer)
        except BadToken as bad:
            self._why, self._error = str(bad), _said(bad)
            return Challenge(self._error.encode())
        if authorization and unescaped(authorization) != found.principal:
            words = (
                "Authentication failed: Client requested an authorization id "
                f"({authorization}) that is different from the token's principal name ({found.principal})"
            )
            raise Refused("the client asks to be somebody else than its token says", words)
        return Accepted(Identity(f"User:{found.principal}", expires_at_ms=found.expires_at_ms))


def read_first(message: bytes) -> tuple[str, str]:
    """Who the client wants to be (empty: whoever the token says), and its token. Raises Refused."""
    found = _FIRST.fullmatch(message.decode("utf-8", "replace"))
    if found is None:
        raise Refused("Invalid OAUTHBEARER client first message")
    pairs = (pair.partition("=") for pair in found["pairs"].split("\x01") if pair)
    auth = {name: value for name, _, value in pairs}.get(AUTH)
    if auth is None:
        raise Refused("Invalid OAUTHBEARER client first message: 'auth' not specified")
    shown = _AUTH.fullmatch(auth)
    if shown is None or shown["scheme"].lower() != "bearer":
        raise Refused("Invalid OAUTHBEARER client first message: invalid 'auth' format")
    return found["authzid"] or "", shown["token"]


def client_first(token: str, extensions: Mapping[str, str]) -> bytes:
    """All that a client says, unless it is refused."""
    more = "".join(f"{name}={value}\x01" for name, value in extensions.items())
    return f"n,,\x01auth=Bearer {token}\x01{more}\x01".encode()


def extension_fault(name: str, value: str) -> str | None:
    """Why a client may not send it."""
    if name == AUTH or _EXTENSION.fullmatch(f"{name}\0{value}") is None:
        return f"Extension name {name} is invalid, or its value"
    return None


def _said(bad: BadToken) -> str:
    """As Apache Kafka writes it."""
    scope = "" if bad.scope is None else f', "scope":{json.dumps(bad.scope)}'
    return f'{{"status":"{bad.status}"{scope}}}'
