"""Whose signature a token has: a set of public keys (RFC 7517), and the one that a token's header asks for.

Only public keys are used, by algorithms that need one: `none` proves nothing, and an HMAC would take the public key for
the secret. Keys that a token brings along (`jwk`, `jku`, `x5u`, `x5c`) are not looked at. PyJWT is imported with the
first key set: a node without OAUTHBEARER never has it in memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from jwt import PyJWK
from jwt.api_jws import PyJWS
from jwt.exceptions import PyJWTError

from controller_runtime.security.oauth.tokens import BadToken

TYPE_OF_KEY: Final = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    "EdDSA": "OKP",
}
"""By algorithm."""
MAX_KEYS: Final = 256
_CURVE_OF: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_MIN_RSA_BITS: Final = 2048


class BadKeySet(ValueError):
    """The text is no key set."""


class UnknownKey(BadToken):
    """No key of the set can be the token's: `kid` may be of one that is newer."""

    def __init__(self, kid: str | None) -> None:
        self.kid = kid
        super().__init__("no known key is the token's")


class KeySet:
    def __init__(self, keys: tuple[Mapping[str, Any], ...]) -> None:
        self._keys = keys
        self._made: dict[tuple[int, str], PyJWK] = {}
        self._signatures = PyJWS(algorithms=tuple(TYPE_OF_KEY))

    @property
    def key_ids(self) -> tuple[str | None, ...]:
        return tuple(key.get("kid") for key in self._keys)

    def check(self, token: str, header: Mapping[str, Any]) -> None:
        """Is it signed by one of the keys? Raises BadToken, and UnknownKey if none can be it."""
        algorithm, kid = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in TYPE_OF_KEY:
            raise BadToken("the algorithm of the token's signature is none that is taken")
        if kid is not None and not isinstance(kid, str):
            raise BadToken("the token's key id is no text")
        position = next((at for at, key in enumerate(self._keys) if _fits(key, algorithm, kid)), None)
        if position is None:
            raise UnknownKey(kid)
        try:
            self._signatures.decode_complete(token, self._key(position, algorithm), algorithms=[algorithm])
        except (PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise BadToken(f"the token is not signed by the key that it names ({type(error).__name__})") from error

    def _key(self, position: int, algorithm: str) -> PyJWK:
        made = self._made.get((position, algorithm))
        if made is None:
            made = self._made[position, algorithm] = PyJWK(dict(self._keys[position]), algorithm)
            if getattr(made.key, "key_size", _MIN_RSA_BITS) < _MIN_RSA_BITS and TYPE_OF_KEY[algorithm] == "RSA":
                raise BadToken(f"the key that the token names has less than {_MIN_RSA_BITS} bits")
        return made


def _fits(key: Mapping[str, Any], algorithm: str, kid: str | None) -> bool:
    return (
        key.get("kty") == TYPE_OF_KEY[algorithm]
        and (kid is None or key.get("kid") == kid)
        and key.get("use", "sig") == "sig"
        and "verify" in key.get("key_ops", ("verify",))
        and key.get("alg", algorithm) == algorithm
        and key.get("crv") in (_CURVE_OF.get(algorithm), *(("Ed25519", "Ed448") if algorithm == "EdDSA" else ()))
    )


def read_key_set(text: str | bytes) -> KeySet:
    """Of a JWKS document. Keys that are not understood are left out. Raises BadKeySet."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadKeySet("it is no JSON") from error
    keys = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(keys, list) or len(keys) > MAX_KEYS:
        raise BadKeySet(f"it has no list of at most {MAX_KEYS} keys")
    return KeySet(tuple(key for key in keys if isinstance(key, dict) and key.get("kty") in TYPE_OF_KEY.values()))
