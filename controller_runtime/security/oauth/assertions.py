"""The JWT that a client signs about itself, by RS256 or ES256: claims as configured, of a template, of the moment.

PyJWT and the key's library are imported with this module: on first use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from controller_runtime.identifiers import WallClock
from controller_runtime.security.oauth.requests import NoToken
from controller_runtime.security.oauth.settings import Assertion


def signed_assertion(told: Assertion, key: bytes, template: str | None, wall: WallClock, identifier: str) -> str:
    """`key` is PEM (PKCS#8), `template` JSON with `header` and `payload`. Raises NoToken."""
    now = wall // 1000
    header, claims = _layers(template)
    claims = {
        **told.claims,
        **claims,
        "iat": now,
        "exp": now + told.expires_seconds,
        "nbf": now - told.not_before_seconds,
        **({"jti": identifier} if told.has_id else {}),
    }
    try:
        passphrase = None if told.passphrase is None else told.passphrase.encode()
        private = load_pem_private_key(key, passphrase)
        return str(jwt.encode(claims, private, told.algorithm, headers={**header, "typ": "JWT"}))
    except (ValueError, TypeError, jwt.exceptions.PyJWTError) as error:
        raise NoToken(f"the private key of the assertion cannot be used ({type(error).__name__})") from error


def _layers(template: str | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if template is None:
        return {}, {}
    try:
        found = json.loads(template)
        header, payload = found.get("header", {}), found.get("payload", {})
    except (ValueError, AttributeError, RecursionError) as error:
        raise NoToken("the template of the assertion is no JSON object") from error
    if not isinstance(header, dict) or not isinstance(payload, dict):
        raise NoToken("header and payload of the assertion's template are not objects")
    return header, payload
