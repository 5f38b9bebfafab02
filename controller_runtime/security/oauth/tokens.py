"""A bearer token as it comes: three sections of base64url, two of them JSON (RFC 7519). Nothing is believed yet.

No error text shows any of it: a token is a password for as long as it lives.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from controller_runtime.values import dataclass, field

MAX_TOKEN_CHARACTERS: Final = 65_536
"""A bound of ours; those of identity providers have some thousands."""
INVALID: Final = "invalid_token"
INSUFFICIENT: Final = "insufficient_scope"
_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


class BadToken(Exception):
    """The token opens nothing. `status` and `scope` go to the client; the text only to the log, and holds no secret."""

    def __init__(self, why: str, status: str = INVALID, scope: str | None = None) -> None:
        self.status = status
        self.scope = scope
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class BearerToken:
    """What a token that is believed says."""

    principal: str
    """The name alone, without `User:`."""
    expires_at_ms: int
    """On the wall clock."""
    scopes: frozenset[str] = frozenset()
    issued_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Sections:
    header: Mapping[str, Any] = field(repr=False)
    claims: Mapping[str, Any] = field(repr=False)
    signature: str = field(repr=False)
    """As it is written."""


def sections(token: str) -> Sections:
    """Raises BadToken."""
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise BadToken(f"the token has {len(token)} characters, more than {MAX_TOKEN_CHARACTERS}")
    parts = token.split(".")
    if len(parts) != 3 or not parts[0] or not parts[1]:
        raise BadToken("Malformed JWT provided; expected three sections (header, payload, and signature)")
    return Sections(_json(parts[0], "header"), _json(parts[1], "payload"), parts[2])


def _json(text: str, what: str) -> Mapping[str, Any]:
    if not _LETTERS.issuperset(text):
        raise BadToken(f"the {what} of the token is not base64url")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        found = json.loads(data, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadToken(f"the {what} of the token is no JSON") from error
    if not isinstance(found, dict):
        raise BadToken(f"the {what} of the token is no JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers of a name that is there twice may read different things."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
