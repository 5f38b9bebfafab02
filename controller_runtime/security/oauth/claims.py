"""What the claims of a token must say before anybody is let in by it: BrokerJwtValidator's rules (KIP-768), pure.

Times are whole seconds; the skew is given to the token at both of its ends. A token that names its audience is for
nobody else: where no audience is expected, only a token without one is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from controller_runtime.identifiers import WallClock
from controller_runtime.security.oauth.settings import ClaimRules
from controller_runtime.security.oauth.tokens import BadToken, BearerToken

_LATEST: Final = 2**53
"""Seconds: what JSON's numbers hold."""


def judge(claims: Mapping[str, Any], rules: ClaimRules, wall: WallClock) -> BearerToken:
    """Raises BadToken."""
    expires, issued = _seconds(claims, "exp"), _seconds(claims, "iat")
    if expires is None or issued is None:
        raise BadToken(f"the token has no {'exp' if expires is None else 'iat'}")
    _check_times(expires, issued, _seconds(claims, "nbf"), rules.clock_skew_seconds, wall // 1000)
    _check_issuer(claims, rules)
    _check_audience(claims, rules)
    return BearerToken(
        principal=principal_of(claims, rules.principal_claim),
        expires_at_ms=expires * 1000,
        scopes=scopes_of(claims, rules.scope_claim),
        issued_at_ms=issued * 1000,
    )


def _check_times(expires: int, issued: int, not_before: int | None, skew: int, now: int) -> None:
    if now - skew >= expires:
        raise BadToken(f"the token is not valid any more: it ended {now - expires} s ago")
    if expires < issued or (not_before is not None and expires < not_before):
        raise BadToken("the token ends before it begins")
    if not_before is not None and now + skew < not_before:
        raise BadToken(f"the token is not valid yet: it begins in {not_before - now} s")


def _check_issuer(claims: Mapping[str, Any], rules: ClaimRules) -> None:
    issuer = claims.get("iss")
    if issuer is not None and not isinstance(issuer, str):
        raise BadToken("the issuer of the token is no text")
    if rules.issuer is not None and issuer != rules.issuer:
        raise BadToken("the token is of another issuer, or of none")


def _check_audience(claims: Mapping[str, Any], rules: ClaimRules) -> None:
    found = claims.get("aud")
    audience = [found] if isinstance(found, str) else found if isinstance(found, list) else None
    if found is not None and (audience is None or not all(isinstance(one, str) for one in audience)):
        raise BadToken("the audience of the token is neither a text nor a list of texts")
    if rules.audiences and not set(rules.audiences).intersection(audience or ()):
        raise BadToken("the token is for another audience, or names none")
    if not rules.audiences and found is not None:
        raise BadToken("the token names an audience, and none is expected: set sasl.oauthbearer.expected.audience")


def principal_of(claims: Mapping[str, Any], name: str) -> str:
    """Raises BadToken."""
    found = claims.get(name)
    if not isinstance(found, str) or not found.strip():
        raise BadToken(f"the claim {name} of the token names nobody")
    return found.strip()


def scopes_of(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Raises BadToken."""
    found = claims.get(name)
    scopes = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    if not all(isinstance(one, str) and one.strip() for one in scopes):
        raise BadToken(f"the claim {name} of the token has something that is no scope")
    names = [one.strip() for one in scopes]
    if len(set(names)) != len(names):
        raise BadToken(f"the claim {name} of the token has a scope twice")
    return frozenset(names)


def _seconds(claims: Mapping[str, Any], name: str) -> int | None:
    found = claims.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= _LATEST:
        raise BadToken(f"the claim {name} of the token is no time")
    return int(found)
