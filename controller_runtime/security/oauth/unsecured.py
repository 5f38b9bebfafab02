"""Tokens that nobody has signed (`alg` is `none`), as OAuthBearerUnsecuredJws and its handlers make and take them.

For trials: whoever connects is whoever he says. A node takes them only with `quorate.insecure=true`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from controller_runtime.identifiers import WallClock
from controller_runtime.security.oauth.settings import UnsecuredToken, UnsecuredTokens
from controller_runtime.security.oauth.tokens import INSUFFICIENT, BadToken, BearerToken, sections


def judge_unsecured(token: str, rules: UnsecuredTokens, wall: WallClock) -> BearerToken:
    """Raises BadToken."""
    found = sections(token)
    if found.header.get("alg") != "none" or found.signature:
        raise BadToken("Unsecured JWS must have 'none' for an algorithm, and no signature")
    expires, issued = _milliseconds(found.claims, "exp"), _milliseconds(found.claims, "iat")
    if expires is None:
        raise BadToken("No expiration time in JWT")
    if issued is not None and issued > wall + rules.clock_skew_ms:
        raise BadToken("the token was issued in the future")
    if wall - rules.clock_skew_ms >= expires:
        raise BadToken("the token is not valid any more")
    if issued is not None and expires <= issued:
        raise BadToken("the token ends before it begins")
    principal = found.claims.get(rules.principal_claim)
    if not isinstance(principal, str) or not principal.strip():
        raise BadToken(f"the claim {rules.principal_claim} of the token names nobody")
    scopes = _scopes(found.claims, rules.scope_claim)
    if not scopes.issuperset(rules.required_scopes):
        raise BadToken("the token lacks a scope", INSUFFICIENT, f"[{', '.join(rules.required_scopes)}]")
    return BearerToken(principal, round(expires), scopes, None if issued is None else round(issued))


def unsecured_token(made: UnsecuredToken, wall: WallClock) -> str:
    now = wall / 1000
    claims = {"exp": now + made.lifetime_seconds, "iat": now, **made.claims}
    return f"{_section({'alg': 'none'})}.{_section(claims)}."


def _section(value: Mapping[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _milliseconds(claims: Mapping[str, Any], name: str) -> float | None:
    found = claims.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 2**53:
        raise BadToken(f"the claim {name} of the token is no time")
    return found * 1000


def _scopes(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    found = claims.get(name)
    scopes = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return frozenset(one.strip() for one in scopes if isinstance(one, str) and one.strip())
