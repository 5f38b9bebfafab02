"""What a client asks a token endpoint, and how it reads the answer (RFC 6749, 7523; KIP-768, 1139, 1258)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from controller_runtime.security.oauth.settings import AssertionGrant, SecretGrant
from controller_runtime.security.oauth.tokens import BadToken, BearerToken, sections
from controller_runtime.values import dataclass, field

JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
CLIENT_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_HEADERS: Final = {
    "Accept": "application/json",
    "Cache-Control": "no-cache",
    "Content-Type": "application/x-www-form-urlencoded",
}
FINAL_STATUSES: Final = frozenset({400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 501, 505})
"""Who is answered so is not answered better later."""


class NoToken(Exception):
    """The endpoint gave none; the text holds no secret."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def by_secret(grant: SecretGrant) -> TokenRequest:
    user, secret, scope = grant.client_id, grant.client_secret, grant.scope
    if grant.encodes:
        user, secret, scope = quote_plus(user), quote_plus(secret), scope and quote_plus(scope)
    shown = base64.b64encode(f"{user}:{secret}".encode()).decode()
    body = "grant_type=client_credentials" + (f"&scope={scope}" if scope else "")
    return TokenRequest({**_HEADERS, "Authorization": f"Basic {shown}"}, body.encode())


def by_assertion(grant: AssertionGrant, assertion: str) -> TokenRequest:
    if grant.is_client:
        fields = {
            "client_assertion_type": CLIENT_ASSERTION,
            "client_assertion": assertion,
            "grant_type": "client_credentials",
        }
        fields |= {"client_id": grant.client_id} if grant.client_id else {}
    else:
        fields = {"grant_type": JWT_BEARER, "assertion": assertion}
    fields |= {"scope": grant.scope} if grant.scope else {}
    return TokenRequest(_HEADERS, urlencode(fields).encode())


def token_in(answer: bytes) -> str:
    """Raises NoToken."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise NoToken("The token endpoint response is no JSON") from error
    for name in ("access_token", "id_token"):
        token = found.get(name) if isinstance(found, dict) else None
        if isinstance(token, str) and token.strip():
            return token.strip()
    raise NoToken("The token endpoint response did not contain a valid JWT")


def error_in(answer: bytes) -> str:
    """What an endpoint says of its refusal (RFC 6749 §5.2): a word and an explanation, of bounded length."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return "{}"
    names = (("error", "error_description"), ("errorCode", "errorSummary"))
    for word, text in names:
        if isinstance(found, dict) and word in found:
            return f"{{{str(found[word])[:200]!r} - {str(found.get(text, ''))[:500]!r}}}"
    return "{}"


def own_token(token: str, principal_claim: str) -> BearerToken:
    """What the token that a client got says of itself: read, not verified, as ClientJwtValidator. Raises NoToken."""
    try:
        claims = sections(token).claims
    except BadToken as bad:
        raise NoToken(f"Could not validate the access token: {bad}") from bad
    expires, issued = _milliseconds(claims, "exp"), _milliseconds(claims, "iat")
    principal = claims.get(principal_claim)
    if expires is None or not isinstance(principal, str) or not principal.strip():
        raise NoToken(f"Could not validate the access token: it needs exp and {principal_claim}")
    return BearerToken(principal.strip(), expires, issued_at_ms=issued)


def _milliseconds(claims: Mapping[str, Any], name: str) -> int | None:
    found = claims.get(name)
    is_time = isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= 2**53
    return int(found * 1000) if is_time else None  # type: ignore[operator]
